"""Logs as records: what was read, which scores stand in it, and what the forms of logs do with columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.rollouts.files import Piece
from rewardkit.rollouts.logs.verifiers import LOGGED

__all__ = [
    "LOGGED",
    "Log",
    "Logged",
    "Row",
    "identifier",
    "listed",
    "names_of",
    "numbers_only",
    "numeric",
    "values_of",
    "with_scores",
]

Row = dict[str, Any]


@dataclass(frozen=True)
class Logged:
    """The scores that stand in a log.

    `components` gives the column of each score by name, `weights` what it counts in the trainer's reward as
    far as the log tells (0: recorded only), `total` the column of that reward, ``None`` where it is not in
    the log. `on_missing` is what the trainer does where a score is missing, as in `Reward`.
    """

    components: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    total: str | None = None
    on_missing: str = "nan"

    def __bool__(self) -> bool:
        return bool(self.components)

    def among(self, columns: Collection[str]) -> Logged:
        """Those of these columns."""
        there = {name: column for name, column in self.components.items() if column in columns}
        weights = {name: self.weights[name] for name in there}
        return replace(
            self, components=there, weights=weights, total=self.total if self.total in columns else None
        )

    def record(self) -> dict[str, Any]:
        """The same as plain data, of which ``Logged(**record)`` makes it again."""
        return {
            "components": dict(self.components),
            "weights": dict(self.weights),
            "total": self.total,
            "on_missing": self.on_missing,
        }


@dataclass(frozen=True)
class Log:
    """What was read, as one of the forms below.

    `pieces` are its files with scores under ``logged/`` names; `usual` says which of its columns are the
    canonical ones; `notes` are sentences on what was taken for what, `warnings` on what to be careful with.
    """

    kind: str
    pieces: Sequence[Piece]
    usual: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)  # column -> weight
    total: str | None = None
    on_missing: str = "nan"
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def logged(self) -> Logged:
        """Its scores by names that components can have."""
        components: dict[str, str] = {}
        for column in self.scores:
            base = identifier(column.removeprefix(LOGGED))
            name, number = base, 2
            while name in components:
                name, number = f"{base}_{number}", number + 1
            components[name] = column
        weights = {name: self.scores[column] for name, column in components.items()}
        return Logged(components, weights, self.total, self.on_missing)


def numeric(values: Iterable[Any]) -> bool:
    """Whether a column holds numbers, bools and missing values only, and at least one number."""
    kinds = {type(value) for value in values} - {type(None)}
    return bool(kinds) and kinds <= {int, float, bool}


def names_of(pieces: Sequence[Piece]) -> list[str]:
    """The columns in order of first appearance."""
    return list(dict.fromkeys(name for piece in pieces for _, row in piece.rows for name in row))


def values_of(pieces: Sequence[Piece], name: str) -> list[Any]:
    """The values of a column, ``None`` where a row has none."""
    return [row.get(name) for piece in pieces for _, row in piece.rows]


def with_scores(pieces: Sequence[Piece], names: Collection[str]) -> list[Piece]:
    """The pieces with these columns under ``logged/`` names."""
    new = {name: name if name.startswith(LOGGED) else f"{LOGGED}{name}" for name in names}
    return [
        replace(
            piece,
            rows=[
                (line, {new.get(name, name): value for name, value in row.items()})
                for line, row in piece.rows
            ],
        )
        for piece in pieces
    ]


def numbers_only(log: Log) -> Log:
    """The log with what is no number among its scores missing, and a warning on how many that were."""
    wrong: Counter[str] = Counter()
    for piece in log.pieces:
        for _, row in piece.rows:
            for name in log.scores:
                if not isinstance(row.get(name), int | float | None):
                    wrong[name] += 1
    if not wrong:
        return log

    def cleaned(row: Row) -> Row:
        return {
            name: None if name in wrong and not isinstance(value, int | float) else value
            for name, value in row.items()
        }

    pieces = [replace(piece, rows=[(line, cleaned(row)) for line, row in piece.rows]) for piece in log.pieces]
    told = tuple(
        f"{count} values of {name} are no numbers: taken as missing" for name, count in wrong.items()
    )
    return replace(log, pieces=pieces, warnings=(*log.warnings, *told))


def listed(names: Iterable[str]) -> str:
    """Names as a sentence has them."""
    return ", ".join(repr(name) for name in names)


def identifier(name: str) -> str:
    """A name that a component can have, made of a column's."""
    made = re.sub(r"\W+", "_", name).strip("_") or "score"
    return made if made.isidentifier() else f"score_{made}"
