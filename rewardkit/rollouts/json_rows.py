"""Read JSON files: arrays of rows, read incrementally, and tables of trackers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from rewardkit.rollouts.lines import json_lines
from rewardkit.rollouts.values import Place, check_unique


def has_rows(path: Path) -> bool:
    """Return whether a file is an array, or its first line is a row."""
    if _is_array(path):
        return True
    with path.open("rb") as file:
        try:
            row = json.loads(file.readline(JSON_BLOCK))
        except (ValueError, RecursionError):
            return False
    return isinstance(row, dict) and not is_table(row)


def json_rows(path: Path) -> Iterator[tuple[Place, Any]]:
    """Yield the rows of a file that `has_rows`, incrementally."""
    return numbered(_array_values(path)) if _is_array(path) else json_lines(path)


def _is_array(path: Path) -> bool:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return file.read(JSON_BLOCK).lstrip().startswith("[")


def _array_values(path: Path) -> Iterator[Any]:
    """Yield the values of a JSON array incrementally.

    ValueError: a value is broken, or the file ends within the array.
    """
    decode = json.JSONDecoder().raw_decode
    with path.open(encoding="utf-8-sig") as file:
        text = file.read(JSON_BLOCK)
        stop = text.index("[") + 1
        number = 1
        while True:
            start = stop
            while start < len(text) and text[start] in BETWEEN_VALUES:
                start += 1
            if text.startswith("]", start):
                return
            problem = "the file ends within it"
            try:
                value, stop = decode(text, start)
            except json.JSONDecodeError as error:
                problem, stop = error.msg, len(text)
                is_cut = error.pos + LONGEST_JSON_WORD > len(text)
                if not is_cut and not problem.startswith("Unterminated string"):
                    raise ValueError(f"row {number} of the array: {problem}") from None
            if stop < len(text):
                yield value
                number += 1
                continue
            block = file.read(max(JSON_BLOCK, len(text)))
            if not block:
                raise ValueError(f"row {number} of the array: {problem}")
            text = text[start:] + block
            stop = 0


BETWEEN_VALUES = ", \t\r\n"

LONGEST_JSON_WORD = 16
"""Characters after an error that show that JSON is broken, not cut off; texts aside."""

JSON_BLOCK = 1_000_000
"""Characters per block of a JSON array. Our choice."""


def is_table(row: Any) -> bool:
    """Return whether a JSON value is a table of W&B, MLflow or SwanLab."""
    if not isinstance(row, Mapping):
        return False
    return all(isinstance(row.get(name), list) for name in ("columns", "data"))


def numbered(rows: Iterable[Any]) -> Iterator[tuple[Place, Any]]:
    """Return rows, and the rows of tables among them, with their numbers from 1."""
    placed = enumerate(chain.from_iterable(map(_rows_of, rows)), start=1)
    return ((Place(line), row) for line, row in placed)


def _rows_of(row: Any) -> Iterator[Any]:
    """Yield the rows of a table, or the row itself."""
    if not is_table(row):
        yield row
        return
    names = list(map(str, row["columns"]))
    check_unique(names, "the table")
    for cells in row["data"]:
        if isinstance(cells, list) and len(cells) == len(names):
            yield dict(zip(names, cells, strict=True))
        else:
            yield ValueError(f"is no list of {len(names)} cells, one a column")
