"""Rows out of files: JSONL, Parquet, CSV; a row that is none is kept out with its line and the reason."""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.bundle import resolve
from rewardkit.columns import column_values
from rewardkit.errors import RolloutsError

__all__ = ["Rejected", "read_jsonl", "read_rows"]


@dataclass(frozen=True)
class Rejected:
    """A row that was kept out: its line (or its position from 1, where there are no lines) and why."""

    line: int
    reason: str


Numbered = list[tuple[int, dict[str, Any]]]


def read_rows(
    source: Any, *, texts: Collection[str], completions: Collection[str]
) -> tuple[Numbered, list[Rejected]]:
    """Rows with their line numbers, and the lines that hold none.

    In CSV, cells of the columns `texts` are never read as numbers, and an empty cell is a missing value, but
    for the columns `completions`: a model can say nothing. RolloutsError: no such file, another kind of file,
    an empty one.
    """
    if isinstance(source, pd.DataFrame):
        _unique([str(name) for name in source.columns], "the DataFrame")
        columns = {str(name): column_values(source[name]) for name in source.columns}
        return [
            (i + 1, dict(zip(columns, row, strict=True)))
            for i, row in enumerate(zip(*columns.values(), strict=True))
        ], []
    if isinstance(source, Mapping) or not isinstance(source, str | Path | Iterable):
        kind = type(source).__name__
        raise RolloutsError(f"rollouts are a file, a DataFrame or a list of dicts, not {kind}")
    if not isinstance(source, str | Path):
        return _split([(i + 1, row) for i, row in enumerate(source)])
    path = resolve(source, "rollouts.jsonl")
    if not path.is_file():
        raise RolloutsError(f"there is no file {str(path)!r}; give a JSONL, Parquet or CSV file of rollouts")
    kinds = (".jsonl", ".ndjson", ".csv", ".parquet")
    kind = path.suffix.lower()
    if kind not in kinds:
        raise RolloutsError(f"{str(path)!r} ends in {kind!r}; rollouts are read from {', '.join(kinds)}")
    if path.stat().st_size == 0:
        raise RolloutsError(f"{str(path)!r} is empty; a rollout file has one completion a row")
    if kind == ".csv":
        return _read_csv(path, texts, completions)
    return _read_parquet(path) if kind == ".parquet" else read_jsonl(path)


def _unique(names: list[str], where: str) -> None:
    """RolloutsError where two columns have one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RolloutsError(f"{where} has two columns of one name: {twice}; rename one of each")


def _split(numbered: Iterable[tuple[int, Any]]) -> tuple[Numbered, list[Rejected]]:
    rows, rejected = [], []
    for line, row in numbered:
        if isinstance(row, Mapping):
            rows.append((line, {str(name): value for name, value in row.items()}))
        else:
            rejected.append(Rejected(line, f"a row is an object with columns, not {type(row).__name__}"))
    return rows, rejected


def read_jsonl(path: Path) -> tuple[Numbered, list[Rejected]]:
    """The objects of a JSONL file with their line numbers, and the lines that hold none.

    Blank lines are passed over.
    """
    numbered: list[tuple[int, Any]] = []
    rejected = []
    with path.open("rb") as lines:
        for line, text in enumerate(lines, start=1):
            if text.strip():
                try:
                    numbered.append((line, json.loads(text.decode("utf-8-sig"))))
                except UnicodeDecodeError as error:
                    rejected.append(
                        Rejected(line, f"is not UTF-8 ({error.reason} at byte {error.start + 1})")
                    )
                except (ValueError, RecursionError) as error:
                    rejected.append(Rejected(line, f"broken JSON: {error}"))
    rows, wrong = _split(numbered)
    return rows, [*rejected, *wrong]


def _read_parquet(path: Path) -> tuple[Numbered, list[Rejected]]:
    try:
        rows = pq.read_table(path).to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise RolloutsError(f"{str(path)!r} is not a Parquet file that can be read: {error}") from None
    return [(i + 1, row) for i, row in enumerate(rows)], []


def _read_csv(
    path: Path, texts: Collection[str], completions: Collection[str]
) -> tuple[Numbered, list[Rejected]]:
    """Rows of text; columns other than `texts` become numbers where every cell is one."""
    rows: Numbered = []
    rejected = []
    limit = csv.field_size_limit(sys.maxsize)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            _unique(list(reader.fieldnames or []), repr(str(path)))
            for row in reader:
                if None in row:
                    reason = f"has more cells than the header's {len(reader.fieldnames or [])}"
                    rejected.append(Rejected(reader.line_num, reason))
                elif None in row.values():
                    reason = f"has fewer cells than the header's {len(reader.fieldnames or [])}"
                    rejected.append(Rejected(reader.line_num, reason))
                else:
                    rows.append((reader.line_num, row))
    except (csv.Error, UnicodeDecodeError) as error:
        raise RolloutsError(f"{str(path)!r} is not a CSV file that can be read: {error}") from None
    finally:
        csv.field_size_limit(limit)
    for name in reader.fieldnames or []:
        cells = [row[name] for _, row in rows]
        numbers = [None if name in texts else _cell_number(cell) for cell in cells]
        numeric = all(number is not None or not cell for number, cell in zip(numbers, cells, strict=True))
        for (_, row), number in zip(rows, numbers, strict=True):
            if numeric and name not in texts:
                row[name] = number
            elif row[name] == "" and name not in completions:
                row[name] = None
    return rows, rejected


def _cell_number(cell: str | None) -> int | float | None:
    """The number that a cell is as it is written; "007", "nan" and "1_000" are text."""
    if not re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d{1,3})?", cell or "", re.ASCII):
        return None
    number = float(str(cell))
    return int(str(cell)) if str(cell).lstrip("-").isdigit() else number if math.isfinite(number) else None
