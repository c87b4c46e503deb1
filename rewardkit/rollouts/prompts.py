"""Read the prompts of a data set, each with a stable id and its other columns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.errors import RolloutsError
from rewardkit.plain import Plain, Record
from rewardkit.primitives.messages import as_list
from rewardkit.rollouts.columns import ALIASES, Columns, map_columns
from rewardkit.rollouts.files import read_files
from rewardkit.rollouts.values import Place, SourceRows, present

Messages = list[Record]


def read_prompts(
    source: str | Path | pd.DataFrame | Iterable[Plain],
    *,
    columns: Mapping[str, str] | None = None,
    system: str | None = None,
    reserved: Collection[str] = (),
) -> tuple[list[Record], tuple[Place, ...], list[str]]:
    """Read prompts with their other columns.

    Columns that JSON cannot hold are left out with a warning. A `ground_truth` inside
    `reward_model` (verl, siiRL) becomes a column. A row without `prompt_id` gets a hash
    of its prompt. Rows without a prompt are rejected; a repeated prompt counts once.

    Args:
        source: A file, a DataFrame or dicts, one prompt per row.
        columns: Canonical name -> the source's name ({"prompt": "text"}).
        system: A system prompt that precedes each prompt.
        reserved: Names of columns that are left out with a warning.

    Returns:
        The prompts, the places of rejected rows, and warnings.

    Raises:
        RolloutsError: There are no prompts, or two prompts have one id.

    >>> question = {"question": "2+2?"}
    >>> read_prompts([{**question, "answer": "4"}, {**question, "answer": "5"}])[0]
    [{'prompt_id': 'p-ab8c9f78ab2d', 'prompt': '2+2?', 'answer': '4'}]
    """
    name = str(source) if isinstance(source, str | Path) else "memory"
    rows = SourceRows.joined(read_files(source, columns or {}))
    prompt_name, id_name = _names(rows.columns, columns or {}, name)
    others, warnings = _others(rows.columns, {prompt_name, id_name}, reserved)
    missing = [None] * len(rows.places)
    prompts = rows.columns.get(prompt_name, missing)
    ids = rows.columns.get(id_name, missing)
    rejected = []
    repeats = []
    by_id: dict[str, tuple[Record, str]] = {}  # id -> prompt and place
    for row, place in enumerate(rows.places):
        if place.reason:
            rejected.append(place)
            continue
        try:
            prompt = _prompt(prompts[row])
            prompt_id = _prompt_id(ids[row], prompt)
            prompt = _with_system(prompt, system)
        except ValueError as error:
            rejected.append(place._replace(reason=str(error)))
            continue
        record: Record = {"prompt_id": prompt_id, "prompt": prompt}
        record |= {column: cells[row] for column, cells in others.items()}
        first, first_place = by_id.setdefault(str(prompt_id), (record, place.place))
        if first["prompt"] != prompt:
            raise RolloutsError(
                f"{name} has prompt_id {prompt_id!r} for two prompts ({first_place} "
                f"and {place.place}); give each an id of its own, or leave that column "
                "out"
            )
        if first_place != place.place:
            repeats.append(f"{place.place} repeats {first_place}")
    reason = "it has no rows"
    if rejected:
        reason = f"{rejected[0].place}: {rejected[0].reason}"
    if not by_id:
        raise RolloutsError(
            f"{name} has no usable prompt; {reason}; a file of prompts has one a row"
        )
    if rejected:
        warnings.append(
            f"{len(rejected)} of {len(rows.places)} rows kept out (the first is "
            f"{reason})"
        )
    if repeats:
        warnings.append(
            f"{len(repeats)} rows repeat a prompt, which is sampled once, with the "
            f"columns of its first row ({repeats[0]})"
        )
    return [record for record, _ in by_id.values()], tuple(rejected), warnings


def _names(
    names: Collection[str], wanted: Mapping[str, str], source: str
) -> tuple[str, str]:
    """Return the columns of the prompts and of their ids, "prompt_id" by default."""
    mapping = map_columns(names, wanted) if names else {"prompt": "prompt"}
    if "prompt" not in mapping:
        raise RolloutsError(
            f"no column holds the prompts; {source} has {list(names)}: name it with "
            f"columns={{'prompt': ...}} (known names: {', '.join(ALIASES['prompt'])})"
        )
    return mapping["prompt"], mapping.get("prompt_id", "prompt_id")


def _others(
    columns: Columns, used: Collection[str], reserved: Collection[str]
) -> tuple[Columns, list[str]]:
    """Return the columns to keep, as JSON values, and warnings about the others."""
    others = {}
    warnings = []
    for name, cells in columns.items():
        if name in used:
            continue
        reason = "the log has a column of that name for itself"
        if name not in reserved:
            try:
                others[name] = _plain(cells)
                continue
            except (TypeError, ValueError, RecursionError) as error:
                reason = str(error)
        warnings.append(f"column {name!r} of the prompts is left out: {reason}")
    return others, warnings


def _plain(value: Any) -> Any:
    """Return a value as JSON values; TypeError: JSON cannot hold it."""

    def as_json(value: Any) -> Any:
        if isinstance(value, np.generic | np.ndarray) or value is pd.NA:
            return present(value)
        raise TypeError(f"JSON cannot hold {type(value).__name__}")

    text = json.dumps(value, default=as_json)
    return json.loads(text, parse_constant=lambda constant: None)


def _prompt(value: Any) -> str | Messages:
    """Return a prompt without the None entries that Parquet adds to messages.

    ValueError: it is neither a text nor chat messages.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        raise ValueError("has no prompt")
    if isinstance(value, str):
        return value
    for message in as_list(value) or [None]:
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            kind = type(value).__name__
            raise ValueError(
                f"has a prompt of type {kind} that is neither text nor chat messages "
                "({'role': ..., 'content': ...})"
            )
    messages = []
    for message in _plain(as_list(value)):
        empty = [key for key, field in message.items() if field is None]
        for key in empty:
            if key != "content":
                del message[key]
        messages.append(message)
    return messages


def _prompt_id(value: Any, prompt: str | Messages) -> str | int:
    """Return the id of a row, else a hash of its prompt; ValueError: it is invalid."""
    if value is None:
        text = json.dumps(prompt, sort_keys=True)
        return f"p-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    # pandas stores whole numbers with gaps as floats
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        kind = type(value).__name__
        raise ValueError(f"has a prompt_id of type {kind}, not text or a whole number")
    return value


def as_messages(prompt: str | Messages) -> Messages:
    """Return a prompt as chat messages."""
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt


def _with_system(prompt: str | Messages, system: str | None) -> str | Messages:
    if system is None:
        return prompt
    messages = as_messages(prompt)
    if messages[0]["role"] in ("system", "developer"):
        raise ValueError(
            "has a system message of its own, beside the system prompt that was given"
        )
    return [{"role": "system", "content": system}, *messages]
