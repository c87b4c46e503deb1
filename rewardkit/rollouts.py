"""Read and validate rollouts: one row = one completion."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.columns import as_column, column_values, present
from rewardkit.errors import RolloutsError, did_you_mean
from rewardkit.primitives.extraction import assistant_text
from rewardkit.reading import Numbered, Rejected, read_rows

__all__ = ["Rejected", "Rollouts", "load_rollouts"]

log = logging.getLogger(__name__)

ALIASES: dict[str, tuple[str, ...]] = {
    "rollout_id": ("rollout_id", "completion_id", "sample_id"),
    "prompt_id": ("prompt_id", "problem_id", "question_id", "uid"),
    "prompt": ("prompt", "question", "query", "input", "instruction", "problem"),
    "completion": ("completion", "response", "solution_str", "output", "generated_text", "model_output"),
    "messages": ("messages", "conversation", "transcript"),
    "ground_truth": ("ground_truth", "answer", "solution", "gts", "target", "reference", "gold"),
    "data_source": ("data_source", "dataset", "source"),
    "policy": ("policy", "checkpoint", "model"),
    "step": ("step", "global_step", "training_step"),
}
"""Canonical column -> the names it is known by, in the order in which they are tried."""

GROUP_WITH = ("policy", "step", "data_source")
TEXTS = ("rollout_id", "prompt_id", "prompt", "completion", "ground_truth", "data_source", "policy")
REJECTED_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Validated rollouts.

    `table` has one row a completion, canonical columns first and `rollout_id` in front. `mapping` says which
    source column each canonical one was taken from; `group_key` which columns make a group; `rejected` what
    was kept out. `rollouts[i]` is row i as a dict, missing values as ``None``.
    """

    table: pd.DataFrame
    mapping: dict[str, str]
    group_key: tuple[str, ...]
    rejected: tuple[Rejected, ...] = ()
    source: str = "memory"

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, position: int) -> dict[str, Any]:
        row = self.table.iloc[position]
        return {str(name): present(row[name]) for name in self.table.columns}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        columns = self.columns()
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    def columns(self) -> dict[str, list[Any]]:
        """Every column as a list of Python values, missing ones as ``None``."""
        return {str(name): column_values(self.table[name]) for name in self.table.columns}

    def select(self, rows: NDArray[np.bool_] | Sequence[int]) -> Rollouts:
        """The rollouts at these positions (or where the mask is true)."""
        return replace(self, table=self.table.iloc[np.arange(len(self))[np.asarray(rows)]])

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """Group code of each row, (rows,), numbered from 0 in order of first appearance."""
        return _codes([self._key_column(name) for name in self.group_key], len(self))

    @cached_property
    def prompts(self) -> NDArray[np.intp]:
        """Prompt code of each row, (rows,): what a bootstrap resamples.

        Groups of one prompt (say of two policies) share it.
        """
        name = next((name for name in ("prompt_id", "prompt") if name in self.table), None)
        if name is None:
            return self.groups
        return _codes(
            [self._key_column(key) for key in (name, "data_source") if key in self.table], len(self)
        )

    def _key_column(self, name: str) -> list[Any]:
        """Hashable values of a key column.

        A missing prompt_id falls back on the prompt, then on the row alone.
        """
        values = column_values(self.table[name])
        if name == "prompt_id" and None in values:
            prompts = column_values(self.table["prompt"]) if "prompt" in self.table else [None] * len(values)
            values = [
                prompt if value is None else value for value, prompt in zip(values, prompts, strict=True)
            ]
        if name in ("prompt_id", "prompt"):
            values = [("row", row) if value is None else value for row, value in enumerate(values)]
        return [
            json.dumps(value, sort_keys=True, default=str) if isinstance(value, list | dict) else value
            for value in values
        ]

    @cached_property
    def group_sizes(self) -> dict[int, int]:
        """Histogram: group size -> number of groups of that size."""
        return dict(sorted(Counter(Counter(self.groups.tolist()).values()).items()))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know before trusting figures on these rollouts, a sentence each."""
        sentences = []
        if self.rejected:
            shown = "; ".join(f"line {item.line}: {item.reason}" for item in self.rejected[:REJECTED_SHOWN])
            more = (
                f"; and {len(self.rejected) - REJECTED_SHOWN} more"
                if len(self.rejected) > REJECTED_SHOWN
                else ""
            )
            sentences.append(
                f"{len(self.rejected)} of {len(self) + len(self.rejected)} rows kept out ({shown}{more})"
            )
        key = ", ".join(self.group_key) or "none"
        if set(self.group_sizes) == {1}:
            sentences.append(
                f"every group has one completion (group key: {key}), so nothing can be said of group signal"
            )
        elif len(self.group_sizes) > 1:
            sizes = ", ".join(f"{count} of size {size}" for size, count in self.group_sizes.items())
            sentences.append(f"group sizes are mixed (group key: {key}): {sizes}")
        return tuple(sentences)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all values in all columns, the same on every machine."""
        digest = hashlib.sha256()
        for name, values in self.columns().items():
            digest.update(repr((name, values)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:16]

    def summary(self) -> dict[str, Any]:
        """What was read and how: rows, groups, group key, sizes, mapping, rejected rows, warnings."""
        return {
            "source": self.source,
            "rows": len(self),
            "rejected": [{"line": item.line, "reason": item.reason} for item in self.rejected],
            "mapping": self.mapping,
            "group_key": list(self.group_key),
            "groups": int(self.groups.max(initial=-1)) + 1,
            "group_sizes": {str(size): count for size, count in self.group_sizes.items()},
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        renamed = ", ".join(
            f"{name} from {source!r}" for name, source in self.mapping.items() if name != source
        )
        groups = int(self.groups.max(initial=-1)) + 1
        sizes = (
            f" of {next(iter(self.group_sizes))}" if len(self.group_sizes) == 1 else ""
        )  # else a warning says
        lines = [
            f"{len(self)} rollouts from {self.source} in {groups} groups{sizes} "
            f"by {', '.join(self.group_key) or 'row'}",
            f"columns: {', '.join(map(str, self.table.columns))}" + (f" ({renamed})" if renamed else ""),
            *(f"note: {sentence}" for sentence in self.warnings),
        ]
        return "\n".join(lines)


def load_rollouts(
    source: str | Path | pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    columns: Mapping[str, str] | None = None,
    group: str | Sequence[str] | None = None,
) -> Rollouts:
    """Rollouts from a JSONL, Parquet or CSV file, a DataFrame, or dicts.

    See `ALIASES` for the column names it knows.

    `columns` maps canonical names to the source's own ({"completion": "text"}) and comes before the known
    aliases. "gallery:arithmetic" stands for the bundled rollouts of that name. `group` names the columns that
    make a group; by default `prompt_id` (else the prompt's text) with policy, step and data_source where
    present. A completion in the form of chat messages becomes the text of its last assistant turn. Rows
    without a completion, with one of the wrong type, broken lines and repeated `rollout_id` (default: the
    line) are kept out and listed in `.rejected`. RolloutsError: nothing usable, unknown column, unknown kind
    of file.

    >>> load_rollouts([{"question": "2+2?", "response": "4", "answer": "4"}]).mapping
    {'prompt': 'question', 'completion': 'response', 'ground_truth': 'answer'}
    """
    name = str(source) if isinstance(source, str | Path) else "memory"
    wanted = dict(columns or {})
    texts = {alias for canonical in TEXTS for alias in (*ALIASES[canonical], wanted.get(canonical, ""))}
    completions = {*ALIASES["completion"], wanted.get("completion", "")}
    numbered, rejected = read_rows(source, texts=texts, completions=completions)
    if not numbered:
        raise RolloutsError(_nothing_usable(name, rejected))
    names = list(dict.fromkeys(column for _, row in numbered for column in row))
    mapping = _mapping(names, wanted)
    rows, bad = _validate(numbered, mapping)
    rejected = sorted([*rejected, *bad], key=lambda item: item.line)
    if not rows:
        raise RolloutsError(_nothing_usable(name, rejected))
    table = _table(rows)
    rollouts = Rollouts(table, mapping, _group_key(list(table.columns), group), tuple(rejected), name)
    for sentence in rollouts.warnings:
        log.warning("%s: %s", name, sentence)
    return rollouts


def _nothing_usable(name: str, rejected: Sequence[Rejected]) -> str:
    if not rejected:
        return f"{name} has no rows; a rollout file has one completion a row"
    return (
        f"{name} has no usable row; line {rejected[0].line}: {rejected[0].reason} ({len(rejected)} rows "
        "kept out)"
    )


def _mapping(names: Sequence[str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Canonical column -> the source's name for it, for the columns that are there."""
    for canonical, name in wanted.items():
        if canonical not in ALIASES:
            raise RolloutsError(
                f"columns= maps {canonical!r}, which is not one of "
                f"{list(ALIASES)}{did_you_mean(canonical, ALIASES)}"
            )
        if name not in names:
            raise RolloutsError(
                f"columns= asks for {name!r}; the rollouts have {list(names)}{did_you_mean(name, names)}"
            )
    mapping = {}
    for canonical, aliases in ALIASES.items():
        found = wanted.get(canonical) or next(
            (name for name in aliases if name in names and name not in wanted.values()), None
        )
        if found is not None:
            mapping[canonical] = found
    for canonical in wanted:
        if canonical in names and wanted[canonical] != canonical:
            log.warning(
                "columns= takes %r from %r, so the column that was called %r is left out",
                canonical,
                wanted[canonical],
                canonical,
            )
    if "completion" not in mapping and "messages" not in mapping:
        raise RolloutsError(
            f"no column holds the completions; the rollouts have {list(names)}: "
            f"name it with columns={{'completion': ...}} (known names: {', '.join(ALIASES['completion'])})"
        )
    return mapping


def _validate(numbered: Numbered, mapping: Mapping[str, str]) -> tuple[list[dict[str, Any]], list[Rejected]]:
    """Rows under canonical names with a text as completion and a rollout_id of their own; and the others."""
    rows, rejected = [], []
    seen: dict[Any, int] = {}
    taken = {*mapping, *mapping.values()}
    ids = mapping.get("rollout_id")
    given_ids = {raw[ids] for _, raw in numbered if isinstance(raw.get(ids), int | str)} if ids else set()
    for line, raw in numbered:
        row = {canonical: present(raw.get(source)) for canonical, source in mapping.items() if source in raw}
        row |= {name: present(value) for name, value in raw.items() if name not in taken}
        given = row.get("completion") if row.get("completion") is not None else row.get("messages")
        completion = assistant_text(given)
        rollout_id = row.get("rollout_id")
        if rollout_id is None:
            rollout_id = line if line not in given_ids else f"line-{line}"
        if completion is None:
            reason = (
                "has no completion"
                if given is None
                else f"has a completion of type {type(given).__name__}, not text or chat messages"
            )
            rejected.append(Rejected(line, reason))
        elif not isinstance(rollout_id, str | int | float):
            rejected.append(
                Rejected(line, f"has a rollout_id of type {type(rollout_id).__name__}, not text or a number")
            )
        elif rollout_id in seen:
            rejected.append(Rejected(line, f"repeats rollout_id {rollout_id!r} of line {seen[rollout_id]}"))
        else:
            seen[rollout_id] = line
            rows.append({**row, "rollout_id": rollout_id, "completion": completion})
    return rows, rejected


def _table(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    names = dict.fromkeys(name for row in rows for name in row)
    ordered = [name for name in ALIASES if name in names] + [name for name in names if name not in ALIASES]
    return pd.DataFrame({name: as_column([row.get(name) for row in rows]) for name in ordered})


def _group_key(names: Sequence[str], group: str | Sequence[str] | None) -> tuple[str, ...]:
    if group is not None:
        wanted = (group,) if isinstance(group, str) else tuple(group)
        for name in wanted:
            if name not in names:
                raise RolloutsError(
                    f"group= asks for {name!r}; the rollouts have {list(names)}{did_you_mean(name, names)}"
                )
        return wanted
    prompt = next((name for name in ("prompt_id", "prompt") if name in names), None)
    return (prompt, *(name for name in GROUP_WITH if name in names)) if prompt else ()


def _codes(keys: Sequence[Sequence[Any]], rows: int) -> NDArray[np.intp]:
    """Codes of the combinations of the key columns, in order of first appearance.

    Without a key each row is its own.
    """
    if not keys:
        return np.arange(rows)
    seen: dict[tuple[Any, ...], int] = {}
    return np.fromiter(
        (seen.setdefault(key, len(seen)) for key in zip(*keys, strict=True)), dtype=np.intp, count=rows
    )
