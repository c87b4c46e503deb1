"""Read CSV: rows of text, and columns of numbers or truth values."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from rewardkit.rollouts.columns import TEXTS, Columns, aliases_of
from rewardkit.rollouts.values import Place, SourceRows, check_unique

LONGEST_CSV_CELL = 2**31 - 1
"""Most characters of a CSV cell: the largest limit on every system."""

CSV_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d{1,3})?", re.ASCII)
CSV_TRUTHS = {"True": True, "False": False, "true": True, "false": False}
CellReaders = dict[str, tuple[Callable[[str | None], Any], ...]]


def csv_rows(path: Path) -> Iterator[tuple[Place, Any]]:
    """Yield the place of each row with its texts, or a ValueError."""
    # the limit is global: it is not lowered again, as other threads may be reading
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CSV_CELL))
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        names = next(reader, [])
        check_unique(names, repr(str(path)))
        for cells in reader:
            row: Any = dict(zip(names, cells, strict=False))
            if len(cells) != len(names):
                counts = f"{len(cells)} cells, and the header {len(names)}"
                row = ValueError(f"has {counts}")
            if cells:
                yield Place(reader.line_num), row


def cell_readers(
    rows: SourceRows, wanted: Mapping[str, str], before: CellReaders | None = None
) -> CellReaders:
    """Return for each column the readers that can read all of its filled cells.

    Args:
        rows: Rows of a CSV file.
        wanted: The user's mapping of canonical columns.
        before: The result for earlier rows of the file.

    Returns:
        Column -> readers, () for columns of texts.
    """
    texts = set(chain.from_iterable(aliases_of(name, wanted) for name in TEXTS))
    readers = dict(before or {})
    for name, cells in rows.columns.items():
        usable = readers.get(name, () if name in texts else CELL_READERS)
        readers[name] = tuple(
            reader
            for reader in usable
            if all(reader(cell) is not None for cell in cells if cell)
        )
    return readers


def read_cells(
    rows: SourceRows, wanted: Mapping[str, str], readers: CellReaders
) -> SourceRows:
    """Convert the cells of CSV; an empty cell is missing, except in completions."""
    completions = aliases_of("completion", wanted)
    columns: Columns = {}
    for name, cells in rows.columns.items():
        if readers[name]:
            columns[name] = list(map(readers[name][0], cells))
        elif name in completions:
            columns[name] = cells
        else:
            columns[name] = [cell or None for cell in cells]
    return replace(rows, columns=columns)


def cell_number(cell: str | None) -> int | float | None:
    """Return the number in a cell, or None; "007", "nan" and "1_000" are texts."""
    if cell is None or not CSV_NUMBER.fullmatch(cell):
        return None
    if cell.lstrip("-").isdigit():
        return int(cell)
    number = float(cell)
    return number if math.isfinite(number) else None


def cell_truth(cell: str | None) -> bool | None:
    """Return the truth value in a cell, or None."""
    return CSV_TRUTHS.get(cell or "")


CELL_READERS = (cell_number, cell_truth)
"""Readers of cells; the first that reads all cells of a column is used."""
