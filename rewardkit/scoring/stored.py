"""A scored table as Parquet: its columns, and its record in the file's metadata."""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from rewardkit.errors import preview
from rewardkit.plain import Plain, Record
from rewardkit.rewards.reward import Rows
from rewardkit.rollouts.paths import write_whole
from rewardkit.rollouts.values import as_column
from rewardkit.scoring.outcomes import STATUSES

METADATA = b"rewardkit"
"""Key of a Parquet file's metadata under which the record stands."""

OWN_COLUMNS = ("reward_raw", "reward")

ROWS_IN_FRONT = "first_rows"
"""Key beside the record, under which the rows stand that come first in the file."""

STATUS_PREFIX = "status/"
"""Beginning of the columns of statuses."""

OPEN_GATE = "gate/reward"
"""The column that a part lacks where the gate on the whole reward is always open."""


def parquet() -> Any:
    """Return `pyarrow.parquet`, which is slow to import."""
    from pyarrow import parquet

    return parquet


def to_arrow(
    table: pd.DataFrame, record: Plain, first_rows: Sequence[int] = ()
) -> pa.Table:
    """Return the scored table for Parquet, with its record in the metadata.

    Columns with lists, dicts, mixed types or lone surrogates become JSON text; some
    rows may come first, before the others.
    """
    if first_rows:
        table = table.iloc[_places_in_file(first_rows, len(table))]
    arrays: dict[Any, Any] = {}
    json_columns = []
    for name, column in table.items():
        if column.dtype != object:
            is_pandas = not isinstance(column.dtype, np.dtype)
            arrays[name] = pa.array(column, from_pandas=is_pandas)
            continue
        values = column.tolist()
        kinds = set(map(type, values))
        if type(pd.NA) in kinds:
            values = [None if value is pd.NA else value for value in values]
        try:
            if bytes in kinds:  # which Arrow would take for text
                raise TypeError
            arrays[name] = pa.array(values, type=pa.string())
        except (TypeError, UnicodeEncodeError, pa.ArrowInvalid):
            json_columns.append(str(name))
            arrays[name] = pa.array(_json_texts(values))
    stored: Record = {"record": record, "json_columns": json_columns}
    if first_rows:
        stored[ROWS_IN_FRONT] = list(first_rows)
    arrow_table = pa.table(arrays)
    metadata = dict(arrow_table.schema.metadata or {})
    metadata[METADATA] = json.dumps(stored).encode()
    return arrow_table.replace_schema_metadata(metadata)


def _places_in_file(first_rows: Sequence[int], count: int) -> Rows:
    """Return the places of so many rows in the order in which a file has them."""
    is_other = np.ones(count, dtype=bool)
    is_other[first_rows] = False
    return np.concatenate([first_rows, np.flatnonzero(is_other)])


def write_table(
    path: Path,
    table: pd.DataFrame,
    record: Plain,
    *,
    first_rows: Sequence[int] = (),
    most_bytes: float = math.inf,
    then: Callable[[], None] = lambda: None,
) -> None:
    """Write a scored table whole or not at all, and to the disk itself.

    A machine that loses power has it, too. `first_rows` stand in a row group of their
    own, so that they can be read without the others. `then` is done before it is put in
    place.

    Raises:
        OSError: it would have more bytes than it may, or the disk is full.
    """
    arrow_table = to_arrow(table, record, first_rows)

    def write(beside: Path) -> None:
        with parquet().ParquetWriter(beside, arrow_table.schema) as file:
            if first_rows:
                file.write_table(arrow_table.slice(0, len(first_rows)))
            file.write_table(arrow_table.slice(len(first_rows)))
        if beside.stat().st_size > most_bytes:
            raise OSError(errno.EFBIG, "the folder would outgrow max_bytes")
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        then()

    write_whole(path, write)


def as_json(value: Any) -> str:
    """Write a value as JSON text; what JSON cannot hold as how it prints."""
    try:
        return json.dumps(value, default=preview)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(preview(value))


@dataclass(frozen=True)
class StoredTable:
    """A file of a scored table as it was read, with all of its columns or some.

    `json_columns` are those that are JSON text.
    """

    table: pa.Table
    record: Record
    json_columns: tuple[str, ...]

    def values(self, name: str) -> Any:
        """Return the values of a column: an array of floats or statuses, or a list."""
        if name not in self.table.column_names:
            missing = 1.0 if name == OPEN_GATE else None
            return [missing] * len(self.table)
        column = self.table.column(name)
        if pa.types.is_floating(column.type) or name.startswith(STATUS_PREFIX):
            return column.to_numpy()
        if not pa.types.is_string(column.type):
            return column.to_pylist()
        values = column.to_numpy().tolist()  # a third of the time of to_pylist
        if name not in self.json_columns:
            return values
        return [None if value is None else json.loads(value) for value in values]


def read_stored(
    path: Path, names: Collection[str] | None = (), *, first_rows: bool = False
) -> StoredTable:
    """Read the record of a file, and these of its columns; None: all.

    Of all rows in their order, or of its `first_rows` alone, see `write_table`.

    Raises:
        ValueError: it is no scored table that can be read.
    """
    try:
        with parquet().ParquetFile(path) as file:
            if names is not None:
                names = [name for name in names if name in file.schema_arrow.names]
            table = file.read_row_group(0, names) if first_rows else file.read(names)
        stored = json.loads(table.schema.metadata[METADATA])
        if ROWS_IN_FRONT in stored and table.num_columns and not first_rows:
            places = _places_in_file(stored[ROWS_IN_FRONT], len(table))
            table = table.take(np.argsort(places))
        return StoredTable(table, stored["record"], tuple(stored["json_columns"]))
    except (pa.ArrowInvalid, OSError, KeyError, TypeError, ValueError):
        raise ValueError(f"{str(path)!r} is no scored table") from None


def join_tables(parts: Sequence[StoredTable]) -> pd.DataFrame:
    """Return the rows of parts of a scored table, missing columns as missing values."""
    names: dict[str, None] = {}
    for part in parts:
        names |= dict.fromkeys(part.table.column_names)
    for name in OWN_COLUMNS:  # the last ones, as in any scored table
        if name in names:
            names[name] = names.pop(name)
    columns = {}
    for name in names:
        columns[name] = _join_values(name, [part.values(name) for part in parts])
    return pd.DataFrame(columns)


def _join_values(name: str, parts: Sequence[Any]) -> Any:
    """Return the column of this name, of the values of its parts."""
    if name.startswith(STATUS_PREFIX):
        return pd.Categorical(np.concatenate(parts), categories=list(STATUSES))
    if all(isinstance(values, np.ndarray) for values in parts):
        return np.concatenate(parts)
    joined, *others = [
        values if isinstance(values, list) else values.tolist() for values in parts
    ]
    for values in others:
        joined += values
    return as_column(joined)


def _json_texts(values: Sequence[Any]) -> list[str | None]:
    texts = []
    for value in values:
        texts.append(None if value is None else as_json(value))
    return texts
