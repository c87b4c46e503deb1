"""Rollouts of verifiers: traces (v1), an episode a line, and results of vf-eval.

v1 appends an episode a line to traces.jsonl, in it a graph of messages for each agent
(0.4.0); vf-eval wrote results.jsonl.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rewardkit.rollouts.columns import ALIASES
from rewardkit.rollouts.logs.log import LOGGED, Form, Log, first, numeric
from rewardkit.rollouts.source import Columns, Source

SUM = f"{LOGGED}sum of rewards"
"""What verifiers trains on: rewards times their weights, over those that there are."""

TASK = frozenset(
    "idx id name description prompt system_prompt image workdir agent_user skills "
    "network_allow "
    "network_block artifacts artifact_max_bytes resources timeout".split()
)
"""What every task has (TaskData of verifiers 0.4.0); other keys become columns."""

NO_METRIC = frozenset(
    (
        "generation_ms scoring_ms total_ms is_completed is_truncated example_id id "
        "reward"
    ).split()
) | {alias for aliases in ALIASES.values() for alias in aliases}
"""Columns of results that are no metrics of a rubric, though they be numbers."""


def _are_traces(columns: Columns) -> bool:
    traces, tasks = columns.get("traces", ()), columns.get("task", ())
    return isinstance(first(traces), list) and isinstance(first(tasks), Mapping)


def _read_traces(source: Source, keep: Collection[str]) -> Log:
    weights: dict[str, float] = {}
    placed = [
        (place, row)
        for place, episode in zip(source.places, source.rows(), strict=True)
        for row in (
            [ValueError(place.reason)] if place.reason else _rows_of(episode, weights)
        )
    ]
    read = Source.of_rows(placed)
    weights = {name: weight for name, weight in weights.items() if name in read.columns}
    return Log(read, weights, beside=[SUM], total=SUM, on_missing="skip")


def _rows_of(
    episode: Mapping[str, Any], weights: dict[str, float]
) -> list[dict[str, Any] | ValueError]:
    """One rollout for each trace of an episode, or why it is none.

    The completion is the last message that a model wrote, `messages` the way to it
    through the graph, the prompt what stands before the first such message. Siblings
    have the group's id where there is one, else the task's key. Scores have ``logged/``
    names; the weight of each goes into `weights`, 0 for a metric.
    """
    rows: list[dict[str, Any] | ValueError] = []
    try:
        for trace in episode["traces"] or ():
            path = _path(trace)
            if path:
                rows.append(_row(episode, trace, path, weights))
            else:
                lost = (
                    f"trace {trace.get('id')} has no message of a model{_error(trace)}"
                )
                rows.append(ValueError(lost))
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        return [
            ValueError(
                f"is no episode that can be read ({type(error).__name__}: {error})"
            )
        ]
    return rows or [ValueError(f"the episode has no trace{_error(episode)}")]


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
    scores: dict[str, Any] = {}
    total = None
    for name, reward in (trace.get("rewards") or {}).items():
        weights.setdefault(LOGGED + name, 1.0)
        scores[LOGGED + name] = None
        if reward:  # else scoring did not run
            weight = weights[LOGGED + name] = float(reward.get("weight", 1.0))
            scores[LOGGED + name] = reward["score"]
            total = (total or 0.0) + reward["score"] * weight
    for name, value in (trace.get("metrics") or {}).items():
        weights.setdefault(LOGGED + name, 0.0)
        scores.setdefault(LOGGED + name, value)
    row = {
        "rollout_id": trace.get("id"),
        "prompt_id": (episode.get("group") or {}).get("id")
        or task.get("key")
        or task.get("hash"),
        "prompt": messages[:before] or data.get("prompt"),
        "completion": trace.get("root_reply") or messages[-1].get("content") or "",
        "messages": messages,
        "data_source": (episode.get("env") or {}).get("id"),
        "policy": next(
            (call["model"] for call in trace.get("calls") or () if call.get("model")),
            None,
        ),
        "step": ((episode.get("run") or {}).get("work") or {}).get("step"),
        "agent": (trace.get("agent") or {}).get("name"),
        "stop_condition": trace.get("stop_condition"),
        **{name: value for name, value in data.items() if name not in TASK},
    }
    return {
        **{name: value for name, value in row.items() if value is not None},
        **scores,
        SUM: total,
    }


def _path(trace: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the messages from the root to the last one that a model wrote."""
    nodes = trace.get("nodes") or []
    at = next(
        (place for place in reversed(range(len(nodes))) if nodes[place].get("sampled")),
        None,
    )
    path: list[Mapping[str, Any]] = []
    while at is not None:
        if len(path) == len(nodes):
            raise ValueError("its messages go in circles")
        path.append(nodes[at])
        at = nodes[at].get("parent")
    return path[::-1]


def _error(record: Mapping[str, Any]) -> str:
    errors = record.get("errors") or []
    return (
        f" ({errors[-1].get('type')}: {errors[-1].get('message')})"[:200]
        if errors
        else ""
    )


def _are_results(columns: Columns) -> bool:
    return {"example_id", "prompt", "completion", "reward"} <= columns.keys()


def _read_results(source: Source, keep: Collection[str]) -> Log:
    columns = dict(source.columns)
    metrics = [
        cell if isinstance(cell, Mapping) else {} for cell in columns.get("metrics", ())
    ]
    names = dict.fromkeys(
        name for cell in metrics for name in cell
    )  # as vf-eval writes them today
    columns |= {name: [cell.get(name) for cell in metrics] for name in names}
    both = zip(columns["prompt"], columns["completion"], strict=True)
    chats = [
        [*one, *two] if isinstance(one, list) and isinstance(two, list) else None
        for one, two in both
    ]
    columns = {"messages": chats, **columns}
    beside = [
        name
        for name, cells in columns.items()
        if (name in names or name not in {*NO_METRIC, *keep})
        and name != "reward"
        and numeric(cells)
    ]
    return Log(
        replace(source, columns=columns),
        {"reward": 1.0, **dict.fromkeys(beside, 0.0)},
        total="reward",
        usual={"prompt_id": "example_id"}
        | ({"data_source": "task"} if "task" in columns else {}),
    )


TRACES = Form("verifiers traces", _are_traces, _read_traces)
RESULTS = Form("verifiers results", _are_results, _read_results)
