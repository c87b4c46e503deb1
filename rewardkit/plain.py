"""Records as plain data: what JSON, run records and tables are made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

Plain = Mapping[str, Any]
"""Read-only plain data by name: a rollout, a case, a record of a run."""
Record = dict[str, Any]
"""Mutable plain data by name: a record for JSON, options, evidence."""


class PlainRecord:
    """A dataclass that can return itself as plain data.

    `IN_RECORD` names the fields and properties to include, in order. By default these
    are the fields that its repr shows.
    """

    IN_RECORD: ClassVar[tuple[str, ...]] = ()

    def record(self) -> Record:
        """Return the dataclass as plain data."""
        names = self.IN_RECORD or _field_names(self)
        return {name: to_plain(getattr(self, name)) for name in names}


def to_plain(value: Any) -> Any:
    """Convert a value to nested dicts, lists, texts and numbers.

    A dataclass becomes a dict of the fields that its repr shows. An object with a
    method `record` becomes the result of that method. NaN stays NaN, see `to_json`.

    >>> to_plain({"values": (np.arange(2), np.float64(0.5)), "path": Path("a.py")})
    {'values': [[0, 1], 0.5], 'path': 'a.py'}
    """
    record = getattr(value, "record", None)
    if callable(record):
        return record()
    if is_dataclass(value):
        return {name: to_plain(getattr(value, name)) for name in _field_names(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return str(value) if isinstance(value, Path) else value


def write_order(above: Plain, below: Plain) -> Record:
    """Return a case for a case file: `above` must earn more than `below`.

    Columns with equal values are shared; each side keeps its own completion.

    >>> right, wrong = ({"completion": text, "prompt": "?"} for text in "45")
    >>> write_order(right, wrong)
    {'prompt': '?', 'above': {'completion': '4'}, 'below': {'completion': '5'}}
    """
    shared = write_pair(above, below)
    first, second = shared.pop("pair")
    return {**shared, "above": first, "below": second}


def write_pair(first: Plain, second: Plain) -> Record:
    """Return a case for a case file that pairs two completions without an order.

    >>> write_pair({"completion": "4"}, {"completion": "5"})
    {'pair': [{'completion': '4'}, {'completion': '5'}]}
    """
    shared: Record = {}
    sides: tuple[Record, Record] = ({}, {})
    for name in {**first, **second}:
        is_answer = name in ("completion", "messages")
        is_shared = name in first and name in second and first[name] == second[name]
        if is_shared and not is_answer:
            shared[name] = first[name]
            continue
        for side, columns in zip(sides, (first, second), strict=True):
            if name in columns:
                side[name] = columns[name]
    return {**shared, "pair": [*sides]}


def to_json(value: Any) -> Any:
    """Convert a value to strict JSON types; a number that is not finite becomes None.

    A value that JSON cannot hold, such as a date, becomes its text.

    >>> to_json({1: math.nan, "a": (1, {2})})
    {'1': None, 'a': [1, '{2}']}
    """
    value = to_plain(value)
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def is_number(value: Any) -> bool:
    """Return whether a value is an int or a float, but not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite_number(value: Any) -> bool:
    """Return whether a value is a finite int or float, but not a bool."""
    return is_number(value) and math.isfinite(value)


def values_by_field(record: Any) -> Record:
    """Return the fields of a dataclass: name -> value, not converted."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _field_names(record: Any) -> list[str]:
    return [field.name for field in fields(record) if field.repr]
