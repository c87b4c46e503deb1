"""Rows before they are rollouts: columns, places, and why one is kept out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

from rewardkit.rollouts.values import present

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Place:
    """Where a row stands: its line, or its position from 1, and why it is kept out.

    `reason` is "" where it is not kept out, `file` the file's name where there are
    several.
    """

    line: int
    reason: str = ""
    file: str = ""

    @property
    def place(self) -> str:
        """The same in words: ``line 3``, or ``line 3 of 10.jsonl``."""
        return f"line {self.line}" + (f" of {self.file}" if self.file else "")


@dataclass(frozen=True)
class Source:
    """Rows as columns of Python values, None where missing, with their places.

    `form` is what the reader of a file knows of its form, "" where the columns have to
    say.
    """

    columns: Columns
    places: list[Place]
    form: str = ""

    @classmethod
    def of_columns(cls, columns: Mapping[Any, Iterable[Any]]) -> Source:
        """Rows that stand in columns of one length already."""
        own = {
            str(name): list(map(present, values)) for name, values in columns.items()
        }
        return cls(
            own,
            [
                Place(line)
                for line, _ in enumerate(next(iter(own.values()), ()), start=1)
            ],
        )

    @classmethod
    def of_rows(cls, placed: Iterable[tuple[Place, Any]], form: str = "") -> Source:
        """Rows by their places; a ValueError in place of a row says why it is none."""
        rows: list[Mapping[Any, Any]] = []
        places = []
        for place, row in placed:
            if not isinstance(row, Mapping):
                no_row = f"a row is an object with columns, not {type(row).__name__}"
                place = replace(
                    place, reason=str(row) if isinstance(row, ValueError) else no_row
                )
                row = {}
            rows.append(row)
            places.append(place)
        names = dict.fromkeys(name for row in rows for name in row)
        return cls(
            {str(name): [present(row.get(name)) for row in rows] for name in names},
            places,
            form,
        )

    @classmethod
    def joined(cls, parts: Sequence[Source]) -> Source:
        """Join the rows of several sources, one after the other."""
        names = dict.fromkeys(name for part in parts for name in part.columns)
        columns = {
            name: [
                cell
                for part in parts
                for cell in part.columns.get(name, [None] * len(part.places))
            ]
            for name in names
        }
        return cls(columns, [place for part in parts for place in part.places])

    def rows(self) -> list[dict[str, Any]]:
        """Each row as a dict."""
        return [
            {name: cells[row] for name, cells in self.columns.items()}
            for row in range(len(self.places))
        ]

    def keep(self, wanted: Sequence[bool]) -> Source:
        """Return the rows where `wanted` is true."""
        columns = {
            name: list(compress(cells, wanted)) for name, cells in self.columns.items()
        }
        return replace(
            self, columns=columns, places=list(compress(self.places, wanted))
        )

    @property
    def rejected(self) -> list[Place]:
        """The places of the rows that are kept out."""
        return [place for place in self.places if place.reason]
