"""Rollouts out of the traces of verifiers v1: an episode a line, in it a graph of messages for each agent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["LOGGED", "SUM", "rows_of_episode"]

LOGGED = "logged/"
"""Columns with scores of a log are called so.

No reward can have a component of such a name, and a scored table has no such column of its own.
"""

SUM = f"{LOGGED}sum of rewards"
"""What verifiers trains on: rewards times their weights, over those that there are."""

TASK = frozenset(
    "idx id name description prompt system_prompt image workdir agent_user skills network_allow "
    "network_block artifacts artifact_max_bytes resources timeout".split()
)
"""What every task has (TaskData of verifiers 0.4.0); the rest is the task's own and becomes columns."""


def rows_of_episode(
    episode: Mapping[str, Any], weights: dict[str, float]
) -> tuple[list[dict[str, Any]], list[str]]:
    """One rollout for each trace of an episode, and why the others are none.

    The completion is the last message that a model wrote, `messages` the way to it through the graph, the
    prompt what stands before the first such message. Siblings have the group's id where there is one, else
    the task's key. Scores are put under ``logged/`` names, missing where scoring did not run, and the weight
    that each is first seen with into `weights` (0 for a metric, NaN while it was never scored).
    """
    rows, lost = [], []
    for trace in episode.get("traces") or ():
        path = _path(trace)
        if not any(node.get("sampled") for node in path):
            lost.append(f"trace {trace.get('id')} has no message of a model{_error(trace)}")
            continue
        rows.append(_row(episode, trace, path, weights))
    if not rows and not lost:
        lost.append(f"the episode has no trace{_error(episode)}")
    return rows, lost


def _row(
    episode: Mapping[str, Any],
    trace: Mapping[str, Any],
    path: Sequence[Mapping[str, Any]],
    weights: dict[str, float],
) -> dict[str, Any]:
    task = trace.get("task") or episode["task"]
    data = task.get("data") or {}
    messages = [node["message"] for node in path]
    before = next(at for at, node in enumerate(path) if node.get("sampled"))
    row = {
        "rollout_id": trace.get("id"),
        "prompt_id": (episode.get("group") or {}).get("id") or task.get("key") or task.get("hash"),
        "prompt": messages[:before] or data.get("prompt"),
        "completion": trace.get("root_reply") or messages[-1].get("content") or "",
        "messages": messages,
        "data_source": (episode.get("env") or {}).get("id") or None,
        "policy": next((call["model"] for call in trace.get("calls") or () if call.get("model")), None),
        "step": ((episode.get("run") or {}).get("work") or {}).get("step"),
        "agent": (trace.get("agent") or {}).get("name"),
        "stop_condition": trace.get("stop_condition"),
        **{name: value for name, value in data.items() if name not in TASK},
    }
    scores: dict[str, float | None] = {}
    total = None
    for name, reward in (trace.get("rewards") or {}).items():
        column = LOGGED + name
        weight = float(reward.get("weight", 1.0)) if reward else math.nan
        if math.isnan(weights.setdefault(column, weight)):  # scoring did not run where it was first seen
            weights[column] = weight
        scores[column] = reward["score"] if reward else None
        if reward:
            total = (total or 0.0) + reward["score"] * weight
    for name, value in (trace.get("metrics") or {}).items():
        weights.setdefault(LOGGED + name, 0.0)
        scores.setdefault(LOGGED + name, value)
    return {**{key: value for key, value in row.items() if value is not None}, **scores, SUM: total}


def _path(trace: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages from the root of the graph to the last one that a model wrote."""
    nodes = trace.get("nodes") or []
    at = next((place for place in reversed(range(len(nodes))) if nodes[place].get("sampled")), None)
    path: list[Mapping[str, Any]] = []
    while at is not None:
        if len(path) == len(nodes):
            raise ValueError("its messages go in circles")
        path.append(nodes[at])
        at = nodes[at].get("parent")
    return path[::-1]


def _error(record: Mapping[str, Any]) -> str:
    errors = record.get("errors") or []
    return f" ({errors[-1].get('type')}: {errors[-1].get('message')})"[:200] if errors else ""
