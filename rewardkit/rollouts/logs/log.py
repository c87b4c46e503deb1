"""What a log says of itself: its form, which scores stand in it, and what its columns are taken for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rewardkit.rollouts.files import Row
from rewardkit.rollouts.logs.verifiers import LOGGED

__all__ = ["LOGGED", "Log", "Logged", "clear_texts", "identifier", "listed", "numeric", "rename", "values_of"]


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
        return asdict(self)


@dataclass(frozen=True)
class Log:
    """What a form makes of the rows of a source.

    `scores` are columns under ``logged/`` names with their weights; `usual` says which columns are the
    canonical ones; `notes` are sentences on what was taken for what, `warnings` on what to be careful with.
    """

    kind: str
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


def values_of(rows: Sequence[Row], name: str) -> list[Any]:
    """The values of a column, ``None`` where a row has none."""
    return [row.values.get(name) for row in rows]


def rename(rows: Sequence[Row], names: Collection[str]) -> None:
    """Give these columns their ``logged/`` names."""
    new = {name: LOGGED + name for name in names if not name.startswith(LOGGED)}
    for row in rows:
        row.values = {new.get(name, name): value for name, value in row.values.items()}


def clear_texts(rows: Sequence[Row], scores: Collection[str]) -> tuple[str, ...]:
    """Make missing what is no number among the scores; a sentence a score on how many that were."""
    wrong: Counter[str] = Counter()
    for row in rows:
        for name in scores:
            if not isinstance(row.values.get(name), int | float | None):
                row.values[name] = None
                wrong[name] += 1
    return tuple(
        f"{count} values of {name} are no numbers: taken as missing" for name, count in wrong.items()
    )


def listed(names: Iterable[str]) -> str:
    """Names as a sentence has them."""
    return ", ".join(repr(name) for name in names)


def identifier(name: str) -> str:
    """A name that a component can have, made of a column's."""
    made = re.sub(r"\W+", "_", name).strip("_") or "score"
    return made if made.isidentifier() else f"score_{made}"
