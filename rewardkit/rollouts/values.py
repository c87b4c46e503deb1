"""Values: Python values into a table and back, and rows before they are rollouts."""

from __future__ import annotations

import json
import math
import operator
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rewardkit.errors import RolloutsError
from rewardkit.plain import Record
from rewardkit.rollouts.columns import Columns, lists_of_columns, stack_columns

key_text = json.JSONEncoder(sort_keys=True, default=str).encode
"""Write a value as JSON text, which is the same for equal values."""


def as_column(values: list[Any]) -> pd.Series[Any]:
    """Return a column that gives its values back unchanged.

    Numbers stay numbers (whole ones stay whole); all else becomes objects.
    """
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {bool} and None not in values:
        return pd.Series(values, dtype=bool)
    if kinds == {int} and _are_below(2**63, values):
        return pd.Series(values, dtype="Int64" if None in values else "int64")
    if kinds == {float} or (kinds == {int, float} and _are_below(2**53, values)):
        return pd.Series(values, dtype="float64")
    if kinds and all(issubclass(kind, datetime) for kind in kinds):
        return pd.Series(pd.to_datetime(values))
    return pd.Series(values, dtype=object)


def _are_below(limit: int, values: list[Any]) -> bool:
    numbers = values
    if None in values:
        numbers = [value for value in values if value is not None]
    return bool(max(numbers) < limit and min(numbers) > -limit)


def column_values(column: pd.Series[Any]) -> list[Any]:
    """Return the values of a column as Python objects, missing ones as None."""
    values: list[Any] = column.tolist()
    if column.dtype != object and not column.hasnans:
        return values
    return all_present(values)


MOST_EXTRA_VALUES = 12
"""Texts under a key of `extra_info` that name slices of a log. Our choice."""
LONGEST_EXTRA_VALUE = 40  # characters of such a text: our choice


def extra_names(extras: Iterable[Any]) -> list[str]:
    """List the keys of `extra_info` under which few texts, or yes and no, stand.

    >>> rows = [{"level": "hard", "index": 1}, {"level": "easy", "index": 2}, None]
    >>> extra_names(rows)
    ['level']
    """
    values: dict[str, set[Any]] = defaultdict(set)
    for extra in extras:
        for name, value in extra.items() if isinstance(extra, Mapping) else ():
            values[str(name)].add(value if isinstance(value, str | bool) else None)
    names = []
    for name, different in values.items():
        longest = max(len(str(value)) for value in different)
        if None not in different and 1 < len(different) <= MOST_EXTRA_VALUES:
            if longest <= LONGEST_EXTRA_VALUE:
                names.append(name)
    return names


def present(value: Any) -> Any:
    """Return the value, or None where pandas says missing; arrays become lists."""
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return value


SURELY_PRESENT = frozenset({str, int, bool, type(None), list, dict})
"""Types of Python values that need no look to know what is missing."""

NUMBER_TYPES = frozenset({float, int, bool, type(None)})


def all_present(values: list[Any]) -> list[Any]:
    """Return the values as `present` does; the list itself where nothing changes."""
    kinds = set(map(type, values))
    if kinds <= SURELY_PRESENT:
        return values
    # NaN is the number that is not itself
    if kinds <= NUMBER_TYPES and not any(map(operator.ne, values, values)):
        return values
    return list(map(present, values))


class Place(NamedTuple):
    """Where a row stands: its line, or its position from 1, and why it is kept out.

    `reason` is "" where it is not kept out, `file` the file's name where there are
    several.
    """

    line: int
    reason: str = ""
    file: str = ""

    @property
    def place(self) -> str:
        """Return the place in words: ``line 3``, or ``line 3 of 10.jsonl``."""
        return f"line {self.line}" + (f" of {self.file}" if self.file else "")


@dataclass(frozen=True)
class SourceRows:
    """Rows before they are rollouts, as columns of Python values, with their places.

    A missing value is None. `form` is the name of the log's form where the reader of
    the file knows it, "" where the columns have to tell; `notes` are sentences on what
    was read of a folder, `warnings` on what was left out of the rows. `reserved` are
    columns that a person gave a meaning: they are no scores.
    """

    columns: Columns
    places: list[Place]
    form: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reserved: frozenset[str] = frozenset()

    @classmethod
    def of_columns(cls, columns: Mapping[Any, Iterable[Any]]) -> SourceRows:
        """Make source rows of columns of one length."""
        lists = {str(name): all_present(list(columns[name])) for name in columns}
        count = len(next(iter(lists.values()), ()))
        return cls(lists, [Place(line) for line in range(1, count + 1)])

    @classmethod
    def of_rows(cls, placed: Iterable[tuple[Place, Any]], form: str = "") -> SourceRows:
        """Make source rows of rows; a ValueError says why a row cannot be used."""
        rows: list[Mapping[Any, Any]] = []
        places = []
        for place, row in placed:
            if type(row) is dict or isinstance(row, Mapping):
                rows.append(row)
                places.append(place)
                continue
            reason = f"a row is an object with columns, not {type(row).__name__}"
            if isinstance(row, ValueError):
                reason = str(row)
            rows.append({})
            places.append(place._replace(reason=reason))
        cells = lists_of_columns(rows)
        columns = {str(name): all_present(cells[name]) for name in cells}
        return cls(columns, places, form)

    @classmethod
    def joined(cls, parts: Sequence[SourceRows]) -> SourceRows:
        """Join the rows of several sources, one after the other."""
        columns = stack_columns([(part.columns, len(part.places)) for part in parts])
        places: list[Place] = []
        reserved: set[str] = set()
        for part in parts:
            places += part.places
            reserved |= part.reserved
        return cls(columns, places, reserved=frozenset(reserved))

    def with_rows(self, placed: Iterable[tuple[Place, Any]]) -> SourceRows:
        """Return other rows that were made of these, see `of_rows`."""
        usable = SourceRows.of_rows(placed)
        return replace(self, columns=usable.columns, places=usable.places)

    def rows(self) -> list[Record]:
        """Return each row as a dict."""
        rows: list[Record] = [{} for _ in self.places]
        for name, cells in self.columns.items():
            for row, cell in zip(rows, cells, strict=True):
                row[name] = cell
        return rows

    def keep(self, mask: Sequence[bool]) -> SourceRows:
        """Return the rows where the mask is true."""
        if all(mask):
            return self
        columns = {
            name: list(compress(cells, mask)) for name, cells in self.columns.items()
        }
        places = list(compress(self.places, mask))
        return replace(self, columns=columns, places=places)

    @property
    def rejected(self) -> list[Place]:
        """Return the places of the rows that are kept out."""
        return [place for place in self.places if place.reason]

    @property
    def is_empty(self) -> bool:
        """Return whether there is no row but those that are kept out."""
        return all(place.reason for place in self.places)


def check_unique(names: list[str], where: str) -> None:
    """Raise a RolloutsError where two columns have one name."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise RolloutsError(
            f"{where} has two columns of one name: {twice}; rename one of each"
        )
