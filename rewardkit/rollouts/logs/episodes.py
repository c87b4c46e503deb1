"""Logs of episodes: tau-bench, rLLM.

tau-bench: its results are an array with task_id, trial, reward, info (with the task)
and traj, the messages; each trial begins with other words of the simulated user.

rLLM: Episode.to_dict has id, "{task}:{number}", task (a row of the data set) and
trajectories, each with a name, a reward and steps; a step has chat_completions (the
messages up to it) and model_response (2026-06).
"""

from __future__ import annotations

from collections.abc import Mapping

from rewardkit.plain import Record
from rewardkit.primitives.messages import opening_turns
from rewardkit.rollouts.columns import Columns
from rewardkit.rollouts.logs.log import (
    Form,
    ParsedLog,
    first,
    inner,
    scored_table,
    unrolled,
    with_columns,
)
from rewardkit.rollouts.values import SourceRows


def _is_tau_bench(columns: Columns) -> bool:
    has_names = columns.keys() >= {"task_id", "trial", "reward", "info", "traj"}
    return has_names and isinstance(inner(first(columns["info"]), "task"), Mapping)


def _parse_tau_bench(rows: SourceRows) -> ParsedLog:
    tasks = [inner(cell, "task") for cell in rows.columns["info"]]
    # a task without outputs is judged by its actions alone
    outputs = [inner(task, "outputs") or None for task in tasks]
    return scored_table(
        with_columns(rows, task=tasks, ground_truth=outputs),
        unpaid=("task_id", "trial"),
        usual={"messages": "traj", "prompt_id": "task_id"},
    )


def _is_rllm(columns: Columns) -> bool:
    trajectories = first(columns.get("trajectories", ()))
    if not {"id", "task"} <= columns.keys() or not isinstance(trajectories, list):
        return False
    return isinstance(inner(first(trajectories), "steps"), list)


def _parse_rllm(rows: SourceRows) -> ParsedLog:
    rows = unrolled(rows, "trajectories")
    episodes = []
    for place, row in zip(rows.places, rows.rows(), strict=True):
        episodes.append((place, {} if place.reason else _trajectory(row)))
    return scored_table(rows.with_rows(episodes))


def _trajectory(row: Record) -> Record:
    """Return a trajectory of an episode as a rollout, with the columns of its task."""
    trajectory, task = row.pop("trajectories"), row.pop("task")
    last = first(reversed(inner(trajectory, "steps") or [])) or {}
    messages = inner(last, "chat_completions") or []
    prompt_id = str(row.pop("id")).rpartition(":")[0]
    key = {"prompt_id": f"{prompt_id}:{inner(trajectory, 'name')}"} if prompt_id else {}
    return {
        **(task if isinstance(task, Mapping) else {"task": task}),
        **row,
        **key,
        "prompt": opening_turns(messages),
        "completion": inner(last, "model_response"),
        "messages": messages,
        "reward": inner(trajectory, "reward"),
    }


EPISODE_FORMS = (
    Form("tau-bench results", _parse_tau_bench, _is_tau_bench),
    Form("rLLM episodes", _parse_rllm, _is_rllm),
)
