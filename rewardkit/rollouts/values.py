"""Convert Python values to columns and back; hold rows before they are rollouts."""

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
"""Return a value as JSON text that is the same for equal values."""


def as_column(values: list[Any]) -> pd.Series[Any]:
    """Return a column that preserves the values.

    Numbers get a numeric type (integers an integer type), other values are objects.
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
"""Most different values of a key of `extra_info` that names slices. Our choice."""
LONGEST_EXTRA_VALUE = 40  # characters of such a text: our choice


def extra_names(extras: Iterable[Any]) -> list[str]:
    """List the keys of `extra_info` whose values are booleans or a few short texts.

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
    """Return the value, or None for a missing value of pandas; arrays become lists."""
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return value


SURELY_PRESENT = frozenset({str, int, bool, type(None), list, dict})
"""Types without missing values other than None."""

NUMBER_TYPES = frozenset({float, int, bool, type(None)})


def all_present(values: list[Any]) -> list[Any]:
    """Apply `present` to values; return the list itself if nothing changes."""
    kinds = set(map(type, values))
    if kinds <= SURELY_PRESENT:
        return values
    # only NaN differs from itself
    if kinds <= NUMBER_TYPES and not any(map(operator.ne, values, values)):
        return values
    return list(map(present, values))


class Place(NamedTuple):
    """The place of a row: its line, or its position from 1.

    `reason` says why the row is rejected, "" if it is not. `file` is the file's name if
    there are several files.
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
    """Rows before they are rollouts: columns of Python values, and places.

    A missing value is None. `form` is the name of the log's form if the file's reader
    knows it, else "". `notes` are sentences on the files of a folder, `warnings` on
    values that were left out. `reserved` are columns that the user mapped, which are
    therefore not scores.
    """

    columns: Columns
    places: list[Place]
    form: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reserved: frozenset[str] = frozenset()

    @classmethod
    def of_columns(cls, columns: Mapping[Any, Iterable[Any]]) -> SourceRows:
        """Return source rows of columns of equal length."""
        lists = {str(name): all_present(list(columns[name])) for name in columns}
        count = len(next(iter(lists.values()), ()))
        return cls(lists, [Place(line) for line in range(1, count + 1)])

    @classmethod
    def of_rows(cls, placed: Iterable[tuple[Place, Any]], form: str = "") -> SourceRows:
        """Return source rows of rows; a ValueError in place of a row rejects it."""
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
        """Concatenate the rows of several sources."""
        columns = stack_columns([(part.columns, len(part.places)) for part in parts])
        places: list[Place] = []
        reserved: set[str] = set()
        for part in parts:
            places += part.places
            reserved |= part.reserved
        return cls(columns, places, reserved=frozenset(reserved))

    def with_rows(self, placed: Iterable[tuple[Place, Any]]) -> SourceRows:
        """Return a copy with other rows, see `of_rows`."""
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
        """Return the places of the rejected rows."""
        return [place for place in self.places if place.reason]

    @property
    def is_empty(self) -> bool:
        """Return whether all rows are rejected."""
        return all(place.reason for place in self.places)


def check_unique(names: list[str], where: str) -> None:
    """Raise a RolloutsError if two columns have the same name."""
    duplicates = sorted(name for name, count in Counter(names).items() if count > 1)
    if duplicates:
        raise RolloutsError(
            f"{where} has two columns of one name: {duplicates}; rename one of each"
        )
