"""Nested rows: lists of rollouts inside the objects of a file.

Evaluations write a header with rows inside it, or one row per question with a list of
completions. Preference data has one row per pair, `chosen` and `rejected`. Atropos
writes one line per group, `ScoredDataGroup`: messages and scores are lists with one
entry per completion.

tau-bench's results are an array with task_id, trial, reward, info (with the task) and
traj, the messages; the simulated user begins each trial with other words.

rLLM's Episode.to_dict has id, "{task}:{number}", task (a row of the data set) and
trajectories, each with a name, a reward and steps; a step has chat_completions (the
messages up to it) and model_response (2026-06).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rewardkit.plain import Record
from rewardkit.primitives.messages import opening_turns
from rewardkit.rollouts.columns import ALIASES, Columns
from rewardkit.rollouts.logs.log import (
    SCORE_NAME,
    Form,
    ParsedLog,
    first,
    inner,
    scored_table,
    unrolled,
    with_columns,
)
from rewardkit.rollouts.values import Place, SourceRows

COMPLETION_NAMES = (*ALIASES["completion"], *ALIASES["messages"])
BESIDE_COMPLETIONS = {*ALIASES["prompt"], *ALIASES["ground_truth"]}
LEVELS_DOWN = 5
"""Most levels of nested objects. Our choice."""

Path = tuple[str, ...]
"""Keys that lead from the row of a file to nested objects."""


def has_rows_within(columns: Columns) -> bool:
    """Return whether objects without completions hold lists of rollouts."""
    if not columns.keys().isdisjoint(COMPLETION_NAMES):
        return False
    for name, cells in columns.items():
        if any(next(_rows_within({name: cell}), None) for cell in cells):
            return True
    return False


def unfold(rows: SourceRows, path: Path = ()) -> tuple[SourceRows, Path, str]:
    """Return nested rows with their surrounding values, their path, and a note.

    Without a `path` the one with the most rows is used. A row without nested rows is
    rejected.
    """
    within: dict[Path, dict[int, list[Record]]] = {}
    for number, outer in enumerate(rows.rows()):
        for row_path, row in _rows_within(outer):
            within.setdefault(row_path, {}).setdefault(number, []).append(row)
    counts = {}
    for row_path, by_place in within.items():
        counts[row_path] = sum(map(len, by_place.values()))
    path = path or max(counts, key=lambda key: counts[key], default=())
    placed: list[tuple[Place, Any]] = []
    for number, place in enumerate(rows.places):
        inner_rows: list[Any] = within.get(path, {}).get(number, [])
        if not inner_rows:
            inner_rows = [ValueError(place.reason or "has no completions within")]
        placed += [(place, inner_row) for inner_row in inner_rows]
    others = [f"{counts[key]} under {'.'.join(key)!r}" for key in counts if key != path]
    note = f"took the objects under {'.'.join(path)!r} for the rollouts"
    if others:
        note += f", and left out {', '.join(others)}"
    return rows.with_rows(placed), path, note


def _rows_within(
    outer: Mapping[str, Any], above: Path = ()
) -> Iterator[tuple[Path, Record]]:
    """Yield the rollouts nested in an object, entries of lists, with their paths."""
    around = {}
    for name, value in outer.items():
        is_inner = isinstance(value, Mapping) or _holds_objects(value)
        if not is_inner and not SCORE_NAME.search(name):
            around[name] = value
    for name, value in outer.items() if len(above) < LEVELS_DOWN else ():
        path = (*above, name)
        entries = value if isinstance(value, list) else [value]
        for entry in entries:
            if not isinstance(entry, Mapping) or "role" in entry:
                continue  # a turn of a conversation
            if entry is not value and _is_rollout(entry):
                yield path, {**around, **entry}
                continue
            for longer_path, row in _rows_within(entry, path):
                yield longer_path, {**around, **row}


def _holds_objects(value: Any) -> bool:
    return isinstance(value, list) and any(
        isinstance(entry, Mapping) for entry in value
    )


def _is_rollout(entry: Mapping[str, Any]) -> bool:
    """Return whether an object has a completion, and a score, a prompt or a truth."""
    values = (entry.get(name) for name in COMPLETION_NAMES)
    if not any(isinstance(value, str | list) for value in values):
        return False
    return not BESIDE_COMPLETIONS.isdisjoint(entry) or any(
        SCORE_NAME.search(name) for name in entry
    )


def _are_groups(columns: Columns) -> bool:
    """Return whether each row has a list of conversations."""
    cells = columns.get("messages", ())
    for conversations in cells:
        if not isinstance(conversations, list) or not conversations:
            return False
        if not all(isinstance(turns, list) for turns in conversations):
            return False
    return bool(cells)


SPEAKERS = {"agent": "assistant", "environment": "user"}
"""Roles of Atropos' environments -> the usual ones."""


def _parse_groups(rows: SourceRows) -> ParsedLog:
    columns = dict(rows.columns)
    if "scores" in columns:
        columns["score"] = columns.pop("scores")
    columns["messages"] = [
        list(map(_usual_turns, cell)) for cell in columns["messages"]
    ]
    columns.setdefault("prompt_id", _numbers_of(rows.places))
    for name in ("tokens", "masks"):
        columns.pop(name, None)
    rows = unrolled(replace(rows, columns=columns), "messages")
    if "score" not in columns:
        return ParsedLog(rows)
    return scored_table(rows, total="score", unpaid=("seed",))


def _numbers_of(places: Sequence[Place]) -> list[Any]:
    """Return the line of each row, with its file if there are several."""
    return [f"{at.file}:{at.line}" if at.file else at.line for at in places]


def _usual_turns(turns: Any) -> Any:
    """Return a conversation with the usual roles."""
    if not isinstance(turns, list):
        return turns
    if not all(isinstance(turn, Mapping) for turn in turns):
        return turns
    usual_turns = []
    for turn in turns:
        role = turn.get("role")
        usual_turns.append({**turn, "role": SPEAKERS.get(str(role), role)})
    return usual_turns


def _are_pairs(columns: Columns) -> bool:
    has_completions = not columns.keys().isdisjoint(COMPLETION_NAMES)
    return {"chosen", "rejected"} <= columns.keys() and not has_completions


def _parse_pairs(rows: SourceRows) -> ParsedLog:
    columns = dict(rows.columns)
    pairs = zip(columns.pop("chosen"), columns.pop("rejected"), strict=True)
    columns["completion"] = list(map(list, pairs))
    columns["preferred"] = [[1.0, 0.0] for _ in rows.places]
    columns.setdefault("prompt_id", _numbers_of(rows.places))
    rows = unrolled(replace(rows, columns=columns), "completion")
    return scored_table(rows, total="preferred")


def _is_tau_bench(columns: Columns) -> bool:
    has_names = columns.keys() >= {"task_id", "trial", "reward", "info", "traj"}
    return has_names and isinstance(inner(first(columns["info"]), "task"), Mapping)


def _parse_tau_bench(rows: SourceRows) -> ParsedLog:
    tasks = [inner(cell, "task") for cell in rows.columns["info"]]
    # a task without outputs is judged only by its actions
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


NESTED_FORMS = (
    Form("tau-bench results", _parse_tau_bench, _is_tau_bench),
    Form("rLLM episodes", _parse_rllm, _is_rllm),
    Form("Atropos groups", _parse_groups, _are_groups),
    Form("preference pairs", _parse_pairs, _are_pairs),
)
