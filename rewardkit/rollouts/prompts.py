"""Prompts out of a data set: one row a prompt, with an id that stays and the columns it brings along."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd

from rewardkit.errors import RolloutsError, did_you_mean
from rewardkit.primitives.messages import as_list
from rewardkit.rollouts.columns import ALIASES, TEXTS, with_truth
from rewardkit.rollouts.files import Rejected, read_rows
from rewardkit.rollouts.values import present

__all__ = ["Prompt", "Prompts", "read_prompts"]

Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class Prompt:
    """A prompt as it is sent, text or chat messages; `columns` are the row's others, in JSON's types."""

    prompt_id: str | int
    prompt: str | Messages
    columns: dict[str, Any]

    @property
    def messages(self) -> Messages:
        """The prompt as chat messages."""
        return [{"role": "user", "content": self.prompt}] if isinstance(self.prompt, str) else self.prompt


@dataclass(frozen=True)
class Prompts:
    """The prompts of a data set, what was kept out, and what a person should know, a sentence each."""

    items: tuple[Prompt, ...]
    rejected: tuple[Rejected, ...]
    warnings: tuple[str, ...]


def read_prompts(
    source: str | Path | pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    columns: Mapping[str, str] | None = None,
    system: str | None = None,
    reserved: Collection[str] = (),
) -> Prompts:
    """Prompts of a data set, a row a prompt, under the names that `load_rollouts` knows.

    `columns` names them otherwise ({"prompt": "text"}); `system` is put in front of each. Columns called as
    the `reserved` ones, and those that JSON cannot hold, are left out and said so; the others go along, a
    `ground_truth` inside `reward_model` (verl, siiRL) as a column of its own. A row without `prompt_id` gets
    a hash of its prompt, the same wherever it stands. Rows without a prompt are kept out and listed; a prompt
    that comes again counts once. RolloutsError: no prompts, one id for two prompts.

    >>> read_prompts([{"question": "2+2?", "answer": "4"}, {"question": "2+2?", "answer": "5"}]).items
    (Prompt(prompt_id='p-ab8c9f78ab2d', prompt='2+2?', columns={'answer': '4'}),)
    """
    name = str(source) if isinstance(source, str | Path) else "memory"
    wanted = dict(columns or {})
    numbered, rejected = read_rows(source, texts={*TEXTS, *_aliases(wanted)}, completions=())
    rows = len(numbered) + len(rejected)
    names = list(dict.fromkeys(column for _, row in numbered for column in row))
    prompt_name, id_name = _names(names, wanted, name) if numbered else ("prompt", None)
    lines = [line for line, _ in numbered]
    made: list[tuple[int, Prompt]] = []
    unusable: dict[str, str] = {}
    for line, row in zip(lines, with_truth((row for _, row in numbered), names), strict=True):
        others = {key: value for key, value in row.items() if key not in (prompt_name, id_name)}
        try:
            given = _prompt(present(row.get(prompt_name)))
            prompt_id = _prompt_id(present(row.get(id_name)) if id_name else None, given)
            sent = _with_system(given, system)
        except ValueError as error:
            rejected.append(Rejected(line, str(error)))
        else:
            made.append((line, Prompt(prompt_id, sent, _others(others, reserved, unusable))))
    rejected.sort(key=lambda item: (item.file, item.line))
    if not made:
        why = f"; {rejected[0].place}: {rejected[0].reason}" if rejected else ""
        raise RolloutsError(f"{name} has no usable prompt{why}; a file of prompts has one a row")
    for _, prompt in made:
        for column in unusable:
            prompt.columns.pop(column, None)
    kept, repeats = _once(made, name)
    return Prompts(tuple(kept), tuple(rejected), _warnings(rejected, rows, repeats, unusable))


def _once(made: Sequence[tuple[int, Prompt]], name: str) -> tuple[list[Prompt], list[tuple[int, int, bool]]]:
    """Each prompt once; and the repeats: their line, the line of the first, whether other columns differ."""
    first: dict[str, tuple[int, Prompt]] = {}
    repeats = []
    for line, prompt in made:
        before, known = first.setdefault(str(prompt.prompt_id), (line, prompt))
        if known.prompt != prompt.prompt:
            raise RolloutsError(
                f"{name} has prompt_id {prompt.prompt_id!r} for two prompts (lines {before} and {line}); "
                "give each an id of its own, or leave that column out"
            )
        if known is not prompt:
            repeats.append((line, before, known.columns != prompt.columns))
    return [prompt for _, prompt in first.values()], repeats


def _aliases(wanted: Mapping[str, str]) -> set[str]:
    """Every column that holds text, in CSV, under every name it may have."""
    return {alias for name in TEXTS for alias in ALIASES[name]} | set(wanted.values())


def _names(names: Sequence[str], wanted: Mapping[str, str], source: str) -> tuple[str, str | None]:
    """The columns of the prompts and of their ids."""
    for canonical, name in wanted.items():
        if canonical not in ("prompt", "prompt_id"):
            raise RolloutsError(f"columns= maps {canonical!r}; of prompts it maps 'prompt' and 'prompt_id'")
        if name not in names:
            raise RolloutsError(
                f"columns= asks for {name!r}; {source} has {list(names)}{did_you_mean(name, names)}"
            )
    prompt = wanted.get("prompt") or next((name for name in ALIASES["prompt"] if name in names), None)
    if prompt is None:
        raise RolloutsError(
            f"no column holds the prompts; {source} has {list(names)}: name it with "
            f"columns={{'prompt': ...}} (known names: {', '.join(ALIASES['prompt'])})"
        )
    given = wanted.get("prompt_id") or next((name for name in ALIASES["prompt_id"] if name in names), None)
    return prompt, given


def _prompt(value: Any) -> str | Messages:
    """The prompt, text or messages; ValueError says why it is none."""
    if value is None or (isinstance(value, str) and not value.strip()):
        raise ValueError("has no prompt")
    messages = value if isinstance(value, str) else _messages(value)
    try:
        json.dumps(messages, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError(
            "has a prompt with half a character (a lone surrogate), which cannot be sent"
        ) from None
    return messages


def _messages(value: Any) -> Messages:
    """Chat messages without the empty entries that Parquet fills in; ValueError where they are none."""
    items = as_list(value)
    if not items or not all(
        isinstance(item, Mapping)
        and isinstance(item.get("role"), str)
        and isinstance(item.get("content"), str | list | None)
        for item in items
    ):
        raise ValueError(
            f"has a prompt of type {type(value).__name__} that is neither text nor chat messages "
            "({'role': ..., 'content': ...})"
        )
    return [
        {
            str(key): _plain(inner)
            for key, inner in item.items()
            if present(inner) is not None or key == "content"
        }
        for item in items
    ]


def _prompt_id(given: Any, prompt: str | Messages) -> str | int:
    """The id that the row has, else a hash of its prompt: no row before it, and no run, changes it."""
    if given is None:
        text = json.dumps(prompt, sort_keys=True)
        return f"p-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    if isinstance(given, float) and given.is_integer():  # how a table holds whole numbers beside gaps
        return int(given)
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise ValueError(f"has a prompt_id of type {type(given).__name__}, not text or a whole number")
    return given


def _with_system(prompt: str | Messages, system: str | None) -> str | Messages:
    if system is None:
        return prompt
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    if messages[0]["role"] in ("system", "developer"):
        raise ValueError("has a system message of its own, beside the system prompt that was given")
    return [{"role": "system", "content": system}, *messages]


def _others(row: Mapping[str, Any], reserved: Collection[str], unusable: dict[str, str]) -> dict[str, Any]:
    """The columns that go along, in JSON's types; `unusable` notes those that cannot, and why."""
    columns = {}
    for name, value in row.items():
        if name in reserved:
            unusable.setdefault(name, "the log has a column of that name for itself")
            continue
        try:
            columns[name] = _plain(value)
        except TypeError as error:
            unusable.setdefault(name, str(error))
    return columns


def _plain(value: Any) -> Any:
    """The value in JSON's own types, dates and decimals as text; TypeError where JSON cannot hold it."""
    value = present(value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, date | time | Decimal | UUID):
        return str(value)
    raise TypeError(f"JSON cannot hold {type(value).__name__}")


def _warnings(
    rejected: Sequence[Rejected],
    rows: int,
    repeats: Sequence[tuple[int, int, bool]],
    unusable: Mapping[str, str],
) -> tuple[str, ...]:
    sentences = [f"column {name!r} of the prompts is left out: {why}" for name, why in unusable.items()]
    if rejected:
        first = rejected[0]
        sentences.append(
            f"{len(rejected)} of {rows} rows kept out (the first is {first.place}: {first.reason})"
        )
    if repeats:
        line, first_line, _ = repeats[0]
        sentences.append(
            f"{len(repeats)} rows repeat a prompt, which is sampled once, with the columns of its first row "
            f"(line {line} repeats line {first_line})"
        )
        differing = sum(differs for *_, differs in repeats)
        if differing:
            sentences.append(f"{differing} of the repeated prompts have other values in other columns")
    return tuple(sentences)
