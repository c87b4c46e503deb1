"""Form: how a form of log is recognised and parsed, with helpers for parsing."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.findings import counted
from rewardkit.rollouts.columns import (
    ALL_ALIASES,
    LOGGED,
    Columns,
    free_name,
    lists_of_columns,
    map_columns,
)
from rewardkit.rollouts.values import Place, SourceRows, column_values

SCORE_NAME = re.compile(r"reward|score|acc", re.IGNORECASE)
"""Names of columns that are scores whatever their values."""

TOTALS = ("reward", "score", "rewards", "total_reward")
"""Names of a table's total, in order of preference; our own tables prefix `LOGGED`."""

FEWEST_DATA_VALUES = 3
"""Fewest values of a column of prompt data. Our choice: two may be right and wrong."""


@dataclass(frozen=True)
class Logged:
    """The scores of a log.

    `components` maps names of scores to columns. `weights` are their weights in the
    trainer's reward as far as the log shows them; 0 means recorded only. `total` is the
    column of that reward, ``None`` if it is not logged. `on_missing` is the trainer's
    treatment of a missing score, as in `Reward`.
    """

    components: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    total: str | None = None
    on_missing: str = "nan"

    def __bool__(self) -> bool:
        return bool(self.components)


@dataclass(frozen=True)
class ParsedLog:
    """A parsed log.

    Attributes:
        rows: The rows as rollouts.
        weights: Column with scores -> its weight.
        beside: Further columns that are not columns of a rollout.
        total: The column of the total, see `Logged`.
        on_missing: The treatment of a missing score, see `Logged`.
        usual: Canonical column -> this form's column.
        turns_before: Texts that make up a prompt.
        path: Keys that lead to rows within objects.
        notes: Sentences on how the log was interpreted.
        warnings: Sentences on what needs caution.
    """

    rows: SourceRows
    weights: Mapping[str, float] = field(default_factory=dict)
    beside: Collection[str] = ()
    total: str | None = None
    on_missing: str = "nan"
    usual: Mapping[str, str] = field(default_factory=dict)
    turns_before: int = 0
    path: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form:
    """A form of log, listed in `logs.FORMS`.

    Attributes:
        name: The name of the form.
        parse: Converts rows to rollouts.
        fits: Whether a file has the columns of this form; None if the file's reader
            knows the form.
        parse_more: Converts further rows of a log, given its parsed first rows; None if
            these decide only the scores.
        looks_back: Whether a training step is compared with the step before it.
        join_key: The column to join a data set on, if the data set has it.
    """

    name: str
    parse: Callable[[SourceRows], ParsedLog]
    fits: Callable[[Columns], bool] | None = None
    parse_more: Callable[[SourceRows, ParsedLog], ParsedLog] | None = None
    looks_back: bool = False
    join_key: str = "prompt"


def take_scores(log: ParsedLog) -> tuple[ParsedLog, Logged]:
    """Rename the scores of a log to ``logged/`` columns, and describe them.

    A score that is not a number counts as missing, with a warning. A note names the
    scores.
    """
    names = {name: name.removeprefix(LOGGED) for name in (*log.weights, *log.beside)}
    columns: Columns = {}
    for name, cells in log.rows.columns.items():
        columns[LOGGED + names[name] if name in names else name] = cells
    components: dict[str, str] = {}
    weights = {}
    warnings = [*log.rows.warnings, *log.warnings]
    rewards: list[str] = []
    recorded: list[str] = []
    for name, weight in log.weights.items():
        column = LOGGED + names[name]
        cells = columns.setdefault(column, [None] * len(log.rows.places))
        if not numeric(cells):
            scores = [cell if isinstance(cell, int | float) else None for cell in cells]
            columns[column] = scores
            invalid = scores.count(None) - cells.count(None)
            if invalid:
                warnings.append(
                    f"{invalid} values of {column} are no numbers: taken as missing"
                )
        component = free_name(identifier(names[name]), components)
        components[component] = column
        weights[component] = weight
        (rewards if weight else recorded).append(names[name])
    notes = list(log.notes)
    if rewards:
        note = f"took {listed(rewards)} for the reward"
        if recorded:
            note += f", recorded beside it {listed(recorded)}"
        notes.insert(0, note)
    log = replace(
        log,
        rows=replace(log.rows, columns=columns),
        notes=tuple(notes),
        warnings=tuple(warnings),
    )
    total = LOGGED + names[log.total] if log.total else None
    return log, Logged(components, weights, total, log.on_missing)


def unrolled(rows: SourceRows, by: str) -> SourceRows:
    """Return one row per value in the lists of column `by`.

    Other lists of the same length are split with it; any other value is repeated in
    each row. A list of another length is left out with a warning.
    """
    placed: list[tuple[Place, Any]] = []
    lengths: list[str] = []
    for place, row in zip(rows.places, rows.rows(), strict=True):
        cells = row.get(by)
        if place.reason or not isinstance(cells, list):
            placed.append((place, row))
            continue
        count = len(cells)
        columns = {}
        for name, cell in row.items():
            columns[name] = cell if isinstance(cell, list) else [cell] * count
            if len(columns[name]) != count:
                lengths.append(f"{place.place} has {len(cell)} of {name!r}")
                columns[name] = [None] * count
        if count > 1:
            ids = [f"{place.line}-{at}" for at in range(1, count + 1)]
            columns.setdefault("rollout_id", ids)
        for values in zip(*columns.values(), strict=True):
            placed.append((place, dict(zip(columns, values, strict=True))))
    single = rows.with_rows(placed)
    if not lengths:
        return single
    warning = (
        f"Left out {counted(len(lengths), 'list')} not as long as {by!r}, so that it "
        f"is unknown which value is whose ({'; '.join(lengths[:3])})"
    )
    return replace(single, warnings=(*rows.warnings, warning))


def has(names: str) -> Callable[[Columns], bool]:
    """Return a `fits` of a form that requires columns of these names."""
    return lambda columns: columns.keys() >= {*names.split()}


def columns_of_objects(cells: Iterable[Any]) -> Columns:
    """Return a column for each key of the objects in a column; missing values are None.

    Cells that are not objects have no keys.
    """
    objects = [cell if isinstance(cell, Mapping) else {} for cell in cells]
    return lists_of_columns(objects)


def with_columns(rows: SourceRows, **columns: list[Any]) -> SourceRows:
    """Add columns that rows lack, unless all their values are missing."""
    added = {
        name: columns[name] for name in columns if first(columns[name]) is not None
    }
    return replace(rows, columns={**added, **rows.columns})


def scored_table(
    rows: SourceRows,
    *,
    total: str = "reward",
    unpaid: Collection[str] = (),
    beside: Collection[str] = (),
    **options: Any,
) -> ParsedLog:
    """Read a table with a total; other columns of numbers get weight 0.

    `unpaid` are columns that are not scores, besides those of a rollout. `options` are
    passed to `ParsedLog`.
    """
    others = {total, *unpaid, *rows.reserved, *ALL_ALIASES}
    names = [total]
    for name, cells in rows.columns.items():
        if name not in others and numeric(cells):
            names.append(name)
    scores, notes = split_scores(rows.columns, names)
    weights = dict.fromkeys([total, *scores], 0.0) | {total: 1.0}
    data = {*names} - {*weights}
    totals = [total, *(name for name in weights if name in TOTALS and name != total)]
    return ParsedLog(
        rows,
        weights,
        beside=[name for name in beside if name not in data],
        total=total,
        notes=notes,
        warnings=differing_totals(rows.columns, totals),
        **options,
    )


def differing_totals(columns: Columns, totals: Sequence[str]) -> tuple[str, ...]:
    """Return a warning for each further total that differs from the first."""
    warnings = []
    for name in totals[1:]:
        first, other = (np.array(columns[total], float) for total in (totals[0], name))
        count = int((~np.isclose(first, other, equal_nan=True)).sum())
        if count:
            warnings.append(
                f"The log has two totals, which differ in {count} of {len(first)} "
                f"rows: took {totals[0]!r}. To take {name!r}, pass "
                f"--log-weight {totals[0]}=0 --log-weight {name}=1."
            )
    return tuple(warnings)


def split_scores(
    columns: Columns, names: Collection[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Return the scores among these columns of numbers, and notes on the others.

    A column that is constant for each prompt describes the prompt, such as a target or
    a level. Columns of few values are kept, as they may be constant by chance. If all
    columns are constant, all are kept.
    """
    mapping = map_columns(columns, {})
    prompts = columns.get(mapping.get("prompt_id", mapping.get("prompt", "")), ())
    data = [name for name in names if _is_of_prompt(name, columns[name], prompts)]
    if not data or len(data) == len(names):
        return list(names), ()
    note = (
        f"took {listed(data)} for data of the prompts, no score: all completions of a "
        "prompt have the same"
    )
    return [name for name in names if name not in data], (note,)


def _is_of_prompt(name: str, cells: Sequence[Any], prompts: Sequence[Any]) -> bool:
    """Return whether a column is constant for each prompt and has enough values."""
    if SCORE_NAME.search(name):
        return False
    values: dict[Any, Any] = {}
    repeated = set()
    for prompt, cell in zip(prompts, cells, strict=False):
        key = prompt if isinstance(prompt, str | int) else repr(prompt)
        if key not in values:
            values[key] = cell
        elif values[key] != cell:
            return False
        else:
            repeated.add(key)
    return len({values[key] for key in repeated}) >= FEWEST_DATA_VALUES


def numeric(values: Iterable[Any]) -> bool:
    """Return whether a column holds only numbers and missing values."""
    kinds = set(map(type, values)) - {type(None)}
    return bool(kinds) and kinds <= {int, float, bool}


def numeric_column(column: pd.Series[Any]) -> bool:
    """Return whether a column of a table is `numeric`, by its type if possible."""
    if pd.api.types.is_numeric_dtype(column):
        return bool(column.notna().any())
    return numeric(column_values(column))


def has_steps(table: pd.DataFrame) -> bool:
    """Return whether the rows of a table have steps that are numbers."""
    return "step" in table and numeric_column(table["step"])


def first(cells: Iterable[Any]) -> Any:
    """Return the first value of a column that is not missing, or None."""
    return next((cell for cell in cells if cell is not None), None)


def inner(record: Any, *names: str) -> Any:
    """Return a value inside nested objects, or None.

    >>> inner({"run": {"work": None}}, "run", "work", "step") is None
    True
    """
    for name in names:
        record = record.get(name) if isinstance(record, Mapping) else None
    return record


def listed(names: Iterable[str]) -> str:
    """Return names as an enumeration."""
    return ", ".join(map(repr, names))


def identifier(name: str) -> str:
    """Return a valid name of a component, made from a column's name."""
    word = re.sub(r"\W+", "_", name).strip("_") or "score"
    return word if word.isidentifier() else f"score_{word}"
