"""Prompts of a data set: a row a prompt, with an id that stays and its columns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.errors import RolloutsError
from rewardkit.primitives.messages import as_list
from rewardkit.rollouts.columns import ALIASES, mapped
from rewardkit.rollouts.files import read_files
from rewardkit.rollouts.source import Columns, Place, Source
from rewardkit.rollouts.values import present

Messages = list[dict[str, Any]]


def read_prompts(
    source: str | Path | pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    columns: Mapping[str, str] | None = None,
    system: str | None = None,
    reserved: Collection[str] = (),
) -> tuple[list[dict[str, Any]], tuple[Place, ...], list[str]]:
    """Read prompts, the rows that were kept out, and what a person should know.

    Columns have the names that `load_rollouts` knows, or those of `columns` ({"prompt":
    "text"}); `system` is put in front of each prompt. Columns called as the `reserved`
    ones, and those that JSON cannot hold, are left out and said so; the others go
    along, a `ground_truth` inside `reward_model` (verl, siiRL) as a column of its own.
    A row without `prompt_id` gets a hash of its prompt, the same wherever it stands.
    Rows without a prompt are kept out; a prompt that comes again counts once.
    RolloutsError: no prompts, one id for two prompts.

    >>> question = {"question": "2+2?"}
    >>> read_prompts([{**question, "answer": "4"}, {**question, "answer": "5"}])[0]
    [{'prompt_id': 'p-ab8c9f78ab2d', 'prompt': '2+2?', 'answer': '4'}]
    """
    name = str(source) if isinstance(source, str | Path) else "memory"
    wanted = dict(columns or {})
    read = Source.joined(read_files(source, wanted))
    prompt_name, id_name = _names(read.columns, wanted, name)
    others, warnings = _others(read.columns, {prompt_name, id_name}, reserved)
    nothing = [None] * len(read.places)
    given = zip(
        read.columns.get(prompt_name, nothing),
        read.columns.get(id_name, nothing),
        strict=True,
    )
    places, repeats = list(read.places), []
    kept: dict[str, tuple[dict[str, Any], str]] = {}  # by id, with its place
    for row, (value, given_id) in enumerate(given):
        place = places[row].place
        if places[row].reason:
            continue
        try:
            bare = _prompt(value)
            own = {
                "prompt_id": _prompt_id(given_id, bare),
                "prompt": _with_system(bare, system),
            }
        except ValueError as error:
            places[row] = replace(places[row], reason=str(error))
            continue
        known, before = kept.setdefault(
            str(own["prompt_id"]),
            (own | {column: cells[row] for column, cells in others.items()}, place),
        )
        if known["prompt"] != own["prompt"]:
            raise RolloutsError(
                f"{name} has prompt_id {own['prompt_id']!r} for two prompts ({before} "
                f"and {place}); give "
                "each an id of its own, or leave that column out"
            )
        if before != place:
            repeats.append(f"{place} repeats {before}")
    rejected = [place for place in places if place.reason]
    why = f"{rejected[0].place}: {rejected[0].reason}" if rejected else "it has no rows"
    if not kept:
        raise RolloutsError(
            f"{name} has no usable prompt; {why}; a file of prompts has one a row"
        )
    if rejected:
        warnings.append(
            f"{len(rejected)} of {len(places)} rows kept out (the first is {why})"
        )
    if repeats:
        warnings.append(
            f"{len(repeats)} rows repeat a prompt, which is sampled once, with the "
            "columns of its first row "
            f"({repeats[0]})"
        )
    return [row for row, _ in kept.values()], tuple(rejected), warnings


def _names(
    names: Collection[str], wanted: Mapping[str, str], source: str
) -> tuple[str, str]:
    """Return the columns of the prompts and of their ids, "prompt_id" by default."""
    mapping = mapped(names, wanted) if names else {"prompt": "prompt"}
    if "prompt" not in mapping:
        raise RolloutsError(
            f"no column holds the prompts; {source} has {list(names)}: name it with "
            f"columns={{'prompt': ...}} (known names: {', '.join(ALIASES['prompt'])})"
        )
    return mapping["prompt"], mapping.get("prompt_id", "prompt_id")


def _others(
    columns: Columns, taken: Collection[str], reserved: Collection[str]
) -> tuple[Columns, list[str]]:
    """Return the columns that go along, in JSON's types, and warnings of others."""
    others, warnings = {}, []
    for name in [name for name in columns if name not in taken]:
        try:
            if name in reserved:
                raise ValueError("the log has a column of that name for itself")
            others[name] = _plain(columns[name])
        except (TypeError, ValueError, RecursionError) as error:
            warnings.append(f"column {name!r} of the prompts is left out: {error}")
    return others, warnings


def _plain(value: Any) -> Any:
    """Return a value in JSON's own types; TypeError where JSON cannot hold it."""

    def as_json(value: Any) -> Any:
        if isinstance(value, np.generic | np.ndarray) or value is pd.NA:
            return present(value)
        raise TypeError(f"JSON cannot hold {type(value).__name__}")

    return json.loads(
        json.dumps(value, default=as_json), parse_constant=lambda constant: None
    )


def _prompt(value: Any) -> str | Messages:
    """Return a prompt without the empty entries that Parquet adds, or a ValueError."""
    if value is None or (isinstance(value, str) and not value.strip()):
        raise ValueError("has no prompt")
    if isinstance(value, str):
        return value
    items = as_list(value) or [None]
    if not all(
        isinstance(item, Mapping) and isinstance(item.get("role"), str)
        for item in items
    ):
        raise ValueError(
            f"has a prompt of type {type(value).__name__} that is neither text nor "
            "chat messages "
            "({'role': ..., 'content': ...})"
        )
    return [
        {
            key: inner
            for key, inner in item.items()
            if inner is not None or key == "content"
        }
        for item in _plain(items)
    ]


def _prompt_id(given: Any, prompt: str | Messages) -> str | int:
    """Return the id of a row, else a hash of its prompt, the same in every run."""
    if given is None:
        text = json.dumps(prompt, sort_keys=True)
        return f"p-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    if (
        isinstance(given, float) and given.is_integer()
    ):  # how a table holds whole numbers beside gaps
        return int(given)
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise ValueError(
            f"has a prompt_id of type {type(given).__name__}, not text or a whole "
            "number"
        )
    return given


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
