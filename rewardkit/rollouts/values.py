"""Columns: Python values into a table and back, unchanged."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd


def as_column(values: list[Any]) -> pd.Series[Any]:
    """Return a column that gives its values back as they were.

    Numbers as such (whole ones stay whole), all else as objects.
    """
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {bool} and None not in values:
        return pd.Series(values, dtype=bool)
    if kinds == {int} and all(value is None or abs(value) < 2**63 for value in values):
        return pd.Series(values, dtype="Int64" if None in values else "int64")
    if kinds == {float} or (
        kinds == {int, float}
        and all(value is None or abs(value) < 2**53 for value in values)
    ):
        return pd.Series(values, dtype="float64")
    if kinds and all(issubclass(kind, datetime) for kind in kinds):
        return pd.Series(pd.to_datetime(values))
    return pd.Series(values, dtype=object)


def column_values(column: pd.Series[Any]) -> list[Any]:
    """Return the values of a column as Python objects, missing ones as None."""
    values = column.tolist()
    if column.dtype == object and set(map(type, values)) <= {str, int, bool}:
        return values
    return (
        [present(value) for value in values]
        if column.dtype == object or column.hasnans
        else values
    )


def present(value: Any) -> Any:
    """Return the value, or None where pandas says missing; arrays become lists."""
    if (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or (isinstance(value, float) and math.isnan(value))
    ):
        return None
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
