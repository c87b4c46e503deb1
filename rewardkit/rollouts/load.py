"""load_rollouts(): read and validate rollouts, one row a completion."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from rewardkit.errors import RolloutsError, did_you_mean
from rewardkit.primitives.messages import assistant_text
from rewardkit.rollouts.columns import ALIASES, Columns, map_columns
from rewardkit.rollouts.files import read_files
from rewardkit.rollouts.join import fill_columns, join_columns
from rewardkit.rollouts.logs import known_forms, read_log
from rewardkit.rollouts.logs.log import first, numeric
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import Place, SourceRows, as_column

logger = logging.getLogger(__name__)

GROUP_WITH = ("policy", "step", "data_source")


def load_rollouts(
    source: str | Path | pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    columns: Mapping[str, str] | None = None,
    group: str | Sequence[str] | None = None,
    join: str | Path | pd.DataFrame | Iterable[Mapping[str, Any]] | None = None,
    on: str = "prompt",
    fill: Mapping[str, Any] | None = None,
) -> Rollouts:
    """Load rollouts from a file, a folder of files, a DataFrame, or dicts.

    The logs of TRL, ms-swift, verl, siiRL, NeMo-RL, NeMo Gym, SkyRL, AReaL, prime-rl,
    verifiers and Inspect are recognised by their columns, and data sets that `datasets`
    saved by their files (`.kind` says which); see `ALIASES` for the column names it
    knows. A folder is read with those below it. Scores that stand in a log become
    columns ``logged/<name>`` (`.logged`).

    `columns` maps canonical names to the source's own ({"completion": "text"}) and
    comes before the known aliases. "gallery:arithmetic" stands for the bundled rollouts
    of that name. `group` names the columns that make a group; by default `prompt_id`
    (else the prompt's text) with policy, step and data_source where present. `join` is
    a data set with columns that the log lacks, of the rows with the same `on` (prompts
    in any form, see `join_columns`); `fill` gives constants for what the log lacks. A
    completion in the form of chat messages becomes the text of its last assistant turn.
    Rows without a completion, with one of the wrong type, broken lines and repeated
    `rollout_id` (default: the line, with the file's name in a folder) are kept out and
    listed in `.rejected`. RolloutsError: nothing usable, unknown column, unknown kind
    of file, a data set without completions, a join that matches nothing.

    >>> load_rollouts([{"question": "2+2?", "response": "4", "answer": "4"}]).mapping
    {'prompt': 'question', 'completion': 'response', 'ground_truth': 'answer'}
    """
    name = str(source) if isinstance(source, str | Path) else "memory"
    wanted = dict(columns or {})
    kind, log, logged = read_log(read_files(source, wanted), keep=set(wanted.values()))
    mapping = {}
    if names := log.rows.columns:
        usual = {
            name: log.usual[name] for name in log.usual if log.usual[name] in names
        }
        mapping = _map_columns(names, {**usual, **wanted})
    rows = _check_rows(log.rows, mapping)
    rejected = tuple(rows.rejected)
    if len(rejected) == len(rows.places):
        if not rejected:
            raise RolloutsError(
                f"{name} has no rows; a rollout file has one completion a row"
            )
        column = log.rows.columns.get(mapping.get("completion", ""), ())
        unknown = ""
        if isinstance(first(column), list | dict):
            unknown = f"; {_describe_unknown(log.rows.columns)}"
        raise RolloutsError(
            f"{name} has no usable row; {rejected[0].place}: {rejected[0].reason} "
            f"({len(rejected)} rows kept out){unknown}"
        )
    values = rows.keep([not place.reason for place in rows.places]).columns
    notes = [*log.notes]
    cautions = [*log.warnings]
    if fill:
        values, sentences = fill_columns(values, fill)
        notes += sentences
    if join is not None:
        values, sentence, warnings = join_columns(
            values, join, on=on, without=fill or ()
        )
        notes.append(sentence)
        cautions += warnings
    canonical = [name for name in ALIASES if name in values]
    order = list(dict.fromkeys([*canonical, *values]))
    rollouts = Rollouts(
        pd.DataFrame({name: as_column(values[name]) for name in order}),
        mapping,
        group_key(order, group),
        rejected,
        name,
        kind,
        logged,
        tuple(notes),
        tuple(cautions),
    )
    for sentence in rollouts.warnings:
        logger.warning("%s: %s", name, sentence)
    return rollouts


def _map_columns(columns: Columns, wanted: Mapping[str, str]) -> dict[str, str]:
    """Map canonical columns to the source's names; completions are required."""
    mapping = map_columns(columns, wanted)
    if "completion" in mapping or "messages" in mapping:
        return mapping
    if "reward_model" in columns:
        raise RolloutsError(
            "a training set of verl or siiRL has no completions; give the log of a run "
            "as the rollouts and join this set to it with join=..."
        )
    if all(map(numeric, columns.values())):
        names = ", ".join(columns)
        raise RolloutsError(
            "no column holds the completions: these are curves, numbers alone "
            f"({names}); give the log in which the trainer writes completions"
        )
    aliases = ", ".join(ALIASES["completion"])
    raise RolloutsError(
        f"no column holds the completions: {_describe_unknown(columns)}. Of a table "
        "with a completion a row, name the column with columns={'completion': ...} "
        f"(known names: {aliases})"
    )


def _describe_unknown(columns: Columns) -> str:
    """Say what the columns of a log in no known form are, and which forms are known."""
    kinds = [f"{name} ({type(first(columns[name])).__name__})" for name in columns]
    return (
        f"the columns are those of no log that is known, {', '.join(kinds)}; known are "
        f"{known_forms()}"
    )


def _check_rows(rows: SourceRows, mapping: Mapping[str, str]) -> SourceRows:
    """Return rows under canonical names, each with an id or a reason to keep it out."""
    columns = {name: rows.columns[column] for name, column in mapping.items()}
    for name, cells in rows.columns.items():
        if name not in mapping and name not in mapping.values():
            columns[name] = cells
    missing = [None] * len(rows.places)
    answers = list(columns.get("completion", missing))
    for row, messages in enumerate(columns.get("messages", missing)):
        if answers[row] is None:
            answers[row] = messages
    columns["completion"] = list(map(assistant_text, answers))
    columns["rollout_id"] = _ids(rows, columns.get("rollout_id", missing))
    places = list(rows.places)
    first_places: dict[Any, Place] = {}
    for row, place in enumerate(rows.places):
        reason = place.reason or _fault(
            answers[row], columns["completion"][row], columns["rollout_id"][row]
        )
        if not reason:
            rollout_id = columns["rollout_id"][row]
            first = first_places.setdefault(rollout_id, place)
            if first is not place:
                reason = f"repeats rollout_id {rollout_id!r} of {first.place}"
        places[row] = replace(place, reason=reason)
    return replace(rows, columns=columns, places=places)


def _fault(answer: Any, completion: str | None, rollout_id: Any) -> str:
    """Return why a row is no rollout, "" where it is one."""
    if answer is None:
        return "has no completion"
    if completion is None:
        kind = type(answer).__name__
        return f"has a completion of type {kind}, not text or chat messages"
    if not isinstance(rollout_id, str | int | float):
        kind = type(rollout_id).__name__
        return f"has a rollout_id of type {kind}, not text or a number"
    return ""


def _ids(rows: SourceRows, logged: Sequence[Any]) -> list[Any]:
    """Return the id of each row: the logged one, else its line if no other row has it.

    In a folder the file's name stands before the line, and before logged ids where one
    comes in several files.
    """
    placed = set()
    for place, rollout_id in zip(rows.places, logged, strict=True):
        if isinstance(rollout_id, int | str):
            placed.add((place.file, rollout_id))
    used = {rollout_id for _, rollout_id in placed}
    ids: list[Any] = []
    for place, rollout_id in zip(rows.places, logged, strict=True):
        prefix = f"{place.file.rpartition('.')[0]}:" if place.file else ""
        if rollout_id is None:
            line = f"{prefix}{place.line}" if prefix else place.line
            ids.append(f"line-{line}" if line in used else line)
        elif len(placed) > len(used) and isinstance(rollout_id, int | str):
            ids.append(f"{prefix}{rollout_id}")
        else:
            ids.append(rollout_id)
    return ids


def group_key(
    names: Sequence[str], group: str | Sequence[str] | None
) -> tuple[str, ...]:
    """Return the columns that make a group: those asked for, else the usual ones."""
    if group is not None:
        key = (group,) if isinstance(group, str) else tuple(group)
        for name in key:
            if name not in names:
                raise RolloutsError(
                    f"group= asks for {name!r}; the rollouts have "
                    f"{list(names)}{did_you_mean(name, names)}"
                )
        return key
    for prompt in ("prompt_id", "prompt"):
        if prompt in names:
            return (prompt, *(name for name in GROUP_WITH if name in names))
    return ()
