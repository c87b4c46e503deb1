"""Write and read a scored table as Parquet, with its record in the metadata."""

from __future__ import annotations

import errno
import json
import math
import os
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from rewardkit.errors import preview
from rewardkit.plain import Plain, Record
from rewardkit.rewards.reward import Floats, Rows
from rewardkit.rollouts.paths import write_whole
from rewardkit.rollouts.values import as_column
from rewardkit.scoring.outcomes import STATUSES

METADATA = b"rewardkit"
"""Key of the record in a Parquet file's metadata."""

REWARD_COLUMNS = ("reward_raw", "reward")

ROWS_IN_FRONT = "first_rows"
"""Key of the `FirstRows` in a Parquet file's metadata."""

SHARE_DIGITS = 9
"""Stored digits of a share. Our choice: they distinguish a billion prompts."""

STATUS_PREFIX = "status/"
"""Prefix of the columns of statuses."""

OPEN_GATE = "gate/reward"
"""The column that a part lacks if the gate on the whole reward is always open."""


@dataclass(frozen=True)
class FirstRows:
    """The rows that come first in a file, so that a sample can be read alone.

    `shares` are ascending: the rows below a share are a sample of that share.
    `row_groups` are the sizes of the file's first row groups.
    """

    rows: list[int]
    shares: list[float]
    row_groups: list[int]

    @classmethod
    def of(cls, shares: Floats, bounds: Sequence[float]) -> FirstRows:
        """Return the rows whose shares, (rows,), are below the last bound.

        Rows below the first bound are one row group, those up to the second another.
        """
        order = np.argsort(shares, kind="stable")
        ends = np.searchsorted(shares[order], bounds)
        order = order[: ends[-1]]
        rounded = shares[order].round(SHARE_DIGITS)
        sizes = np.diff(ends, prepend=0)
        return cls(order.tolist(), rounded.tolist(), sizes.tolist())

    def places(self, count: int) -> Rows:
        """Return the positions of `count` rows in the order of the file."""
        places = np.arange(count)
        others = places[~np.isin(places, self.rows)]
        return np.concatenate([self.rows, others]).astype(np.intp)

    def row_groups_of(self, count: int) -> range:
        """Return the row groups that hold the first `count` rows."""
        ends = list(accumulate(self.row_groups))
        return range(bisect_left(ends, count) + 1)


def parquet() -> Any:
    """Return `pyarrow.parquet`, which is slow to import."""
    from pyarrow import parquet

    return parquet


def to_arrow(
    table: pd.DataFrame, record: Plain, first_rows: FirstRows | None = None
) -> pa.Table:
    """Return the scored table for Parquet, with its record in the metadata.

    Columns with lists, dicts, mixed types or lone surrogates become JSON text. The rows
    of `first_rows` come first.
    """
    if first_rows:
        table = table.iloc[first_rows.places(len(table))]
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
            if bytes in kinds:  # Arrow would take them for text
                raise TypeError
            arrays[name] = pa.array(values, type=pa.string())
        except (TypeError, UnicodeEncodeError, pa.ArrowInvalid):
            json_columns.append(str(name))
            arrays[name] = pa.array(_json_texts(values))
    stored: Record = {"record": record, "json_columns": json_columns}
    if first_rows:
        stored[ROWS_IN_FRONT] = asdict(first_rows)
    arrow_table = pa.table(arrays)
    metadata = dict(arrow_table.schema.metadata or {})
    metadata[METADATA] = json.dumps(stored).encode()
    return arrow_table.replace_schema_metadata(metadata)


def write_table(
    path: Path,
    table: pd.DataFrame,
    record: Plain,
    *,
    first_rows: FirstRows | None = None,
    most_bytes: float = math.inf,
    then: Callable[[], None] = lambda: None,
) -> None:
    """Write a scored table whole or not at all, safe against a loss of power.

    Args:
        path: The file.
        table: The scored table.
        record: The record for the metadata.
        first_rows: Rows in row groups of their own, which can be read alone.
        most_bytes: Largest size of the file.
        then: Called before the file is renamed into place.

    Raises:
        OSError: The file would be too large, or the disk is full.
    """
    arrow_table = to_arrow(table, record, first_rows)

    def write(temporary: Path) -> None:
        with parquet().ParquetWriter(temporary, arrow_table.schema) as file:
            start = 0
            for count in first_rows.row_groups if first_rows else ():
                file.write_table(arrow_table.slice(start, count))
                start += count
            file.write_table(arrow_table.slice(start))
        if temporary.stat().st_size > most_bytes:
            raise OSError(errno.EFBIG, "the folder would outgrow max_bytes")
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        then()

    write_whole(path, write)


def as_json(value: Any) -> str:
    """Return a value as JSON; objects that JSON lacks become their preview."""
    try:
        return json.dumps(value, default=preview)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(preview(value))


@dataclass(frozen=True)
class StoredTable:
    """A scored table as read from a file, with all or some of its columns.

    `json_columns` are the columns stored as JSON text.
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
    path: Path, names: Collection[str] | None = (), *, share: float = 1.0
) -> StoredTable:
    """Read the record of a file and some of its columns.

    Args:
        path: The file.
        names: Columns to read; None reads all.
        share: Share of the prompts to read, from the `FirstRows` if below 1.

    Raises:
        ValueError: The file is not a readable scored table.
    """
    try:
        with parquet().ParquetFile(path, pre_buffer=share == 1) as file:
            schema = file.schema_arrow
            stored = json.loads(schema.metadata[METADATA])
            if names is not None:
                names = [name for name in names if name in schema.names]
            if ROWS_IN_FRONT in stored:
                first_rows = FirstRows(**stored[ROWS_IN_FRONT])
                table = _read_in_order(file, names, first_rows, share)
            else:
                table = file.read(names)
        return StoredTable(table, stored["record"], tuple(stored["json_columns"]))
    except (pa.ArrowInvalid, OSError, KeyError, TypeError, ValueError):
        raise ValueError(f"{str(path)!r} is no scored table") from None


def _read_in_order(
    file: Any, names: Sequence[str] | None, first_rows: FirstRows, share: float
) -> pa.Table:
    """Read a file with `FirstRows`; return its rows in the order of the table."""
    if share == 1:
        table = file.read(names)
        places = first_rows.places(len(table))
    else:
        count = bisect_left(first_rows.shares, share)
        places = np.array(first_rows.rows[:count])
        row_groups = first_rows.row_groups_of(count)
        # row groups are too small for threads
        table = file.read_row_groups(row_groups, names, use_threads=False)
    return table.take(np.argsort(places)) if table.num_columns else table


def join_tables(parts: Sequence[StoredTable]) -> pd.DataFrame:
    """Join parts of a scored table; a column that a part lacks has missing values."""
    names: dict[str, None] = {}
    for part in parts:
        names |= dict.fromkeys(part.table.column_names)
    for name in REWARD_COLUMNS:  # the last columns of a scored table
        if name in names:
            names[name] = names.pop(name)
    columns = {}
    for name in names:
        columns[name] = _join_values(name, [part.values(name) for part in parts])
    return pd.DataFrame(columns)


def _join_values(name: str, parts: Sequence[Any]) -> Any:
    """Join the values of the parts of a column."""
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
