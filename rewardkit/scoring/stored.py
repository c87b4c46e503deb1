"""A scored table as Parquet: its columns, and its record in the file's metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from rewardkit.errors import preview
from rewardkit.rollouts.values import as_column
from rewardkit.scoring.outcomes import STATUSES

METADATA = b"rewardkit"
"""Key of a Parquet file's metadata under which the record stands."""


def parquet() -> Any:
    """Return `pyarrow.parquet`, which is slow to import."""
    from pyarrow import parquet

    return parquet


def to_arrow(table: pd.DataFrame, record: Mapping[str, Any]) -> pa.Table:
    """Return the scored table for Parquet, with its record in the metadata.

    Columns with lists, dicts, mixed types or lone surrogates become JSON text.
    """
    arrays: dict[Any, Any] = {}
    json_columns = []
    for name, column in table.items():
        if column.dtype != object:
            arrays[name] = pa.array(
                column, from_pandas=not isinstance(column.dtype, np.dtype)
            )
            continue
        values = [None if value is pd.NA else value for value in column.tolist()]
        try:
            if bytes in map(type, values):  # which Arrow would take for text
                raise TypeError
            arrays[name] = pa.array(values, type=pa.string())
        except (TypeError, UnicodeEncodeError, pa.ArrowInvalid):
            json_columns.append(str(name))
            texts = [None if value is None else as_json(value) for value in values]
            arrays[name] = pa.array(texts)
    stored = {"record": record, "json_columns": json_columns}
    arrow_table = pa.table(arrays)
    metadata = dict(arrow_table.schema.metadata or {})
    metadata[METADATA] = json.dumps(stored).encode()
    return arrow_table.replace_schema_metadata(metadata)


def as_json(value: Any) -> str:
    """Write a value as JSON text; what JSON cannot hold as how it prints."""
    try:
        return json.dumps(value, default=preview)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(preview(value))


def from_arrow(table: pa.Table, json_columns: Sequence[str]) -> pd.DataFrame:
    """Return the table that `to_arrow` was given."""
    columns = {}
    for name in table.column_names:
        columns[name] = _column(name, table.column(name), name in json_columns)
    return pd.DataFrame(columns)


def _column(name: str, column: pa.ChunkedArray, is_json: bool) -> Any:
    if name.startswith("status/"):
        return pd.Categorical(column.to_pylist(), categories=list(STATUSES))
    if pa.types.is_floating(column.type):
        return column.to_numpy()
    values = column.to_pylist()
    if is_json:
        values = [None if value is None else json.loads(value) for value in values]
    return as_column(values)
