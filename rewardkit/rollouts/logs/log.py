"""A form of log: how it is recognised, and what is read from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.rollouts.source import Columns, Source

LOGGED = "logged/"
"""Columns with scores of a log are called so.

No reward can have a component of such a name, and a scored table has no such column of
its own.
"""


@dataclass(frozen=True)
class Logged:
    """The scores that stand in a log.

    `components` gives the column of each score by name, `weights` what it counts in the
    trainer's reward as far as the log tells (0: recorded only), `total` the column of
    that reward, ``None`` where it is not in the log. `on_missing` is what the trainer
    does where a score is missing, as in `Reward`.
    """

    components: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    total: str | None = None
    on_missing: str = "nan"

    def __bool__(self) -> bool:
        return bool(self.components)


@dataclass(frozen=True)
class Log:
    """What was read from a log.

    `source` are its rows as rollouts, `weights` the columns with scores and what each
    counts, `beside` what else is no column of a rollout; `total` and `on_missing` as in
    `Logged`. `usual` says which columns are canonical ones under names of their own;
    `notes` are sentences on what was taken for what, `warnings` on what to be careful
    with.
    """

    source: Source
    weights: Mapping[str, float] = field(default_factory=dict)
    beside: Collection[str] = ()
    total: str | None = None
    on_missing: str = "nan"
    usual: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form:
    """A form of log, made in a module of its own and listed in `forms.FORMS`.

    `fits` says whether the columns of a file are those of this form; `read` makes
    rollouts of the rows. It also gets the columns that a person gave a meaning: they
    are no scores.
    """

    name: str
    fits: Callable[[Columns], bool]
    read: Callable[[Source, Collection[str]], Log]


def take_scores(log: Log) -> tuple[Log, Logged]:
    """Add the scores of a log as ``logged/`` columns, and say what they are.

    What is no number among them is missing, and a warning counts it; a note says what
    was taken.
    """
    new = {
        name: LOGGED + name.removeprefix(LOGGED) for name in (*log.weights, *log.beside)
    }
    columns = {new.get(name, name): cells for name, cells in log.source.columns.items()}
    components: dict[str, str] = {}
    warnings = list(log.warnings)
    for name in log.weights:
        cells = columns[new[name]]
        columns[new[name]] = [
            cell if isinstance(cell, int | float) else None for cell in cells
        ]
        if wrong := columns[new[name]].count(None) - cells.count(None):
            warnings.append(
                f"{wrong} values of {new[name]} are no numbers: taken as missing"
            )
        base = identifier(name.removeprefix(LOGGED))
        component, number = base, 2
        while component in components:
            component, number = f"{base}_{number}", number + 1
        components[component] = new[name]
    weights = dict(zip(components, log.weights.values(), strict=True))
    total = new[log.total] if log.total else None
    paid = listed(
        name.removeprefix(LOGGED) for name, weight in log.weights.items() if weight
    )
    recorded = listed(
        name.removeprefix(LOGGED) for name, weight in log.weights.items() if not weight
    )
    note = f"took {paid} for the reward" + (
        f", recorded beside it {recorded}" if recorded else ""
    )
    return replace(
        log,
        source=replace(log.source, columns=columns),
        notes=(*([note] if paid else []), *log.notes),
        warnings=tuple(warnings),
    ), Logged(components, weights, total, log.on_missing)


def numeric(values: Iterable[Any]) -> bool:
    """Return whether a column holds numbers, and nothing else but missing values."""
    kinds = {type(value) for value in values} - {type(None)}
    return bool(kinds) and kinds <= {int, float, bool}


def first(cells: Iterable[Any]) -> Any:
    """Return the first value of a column that is not missing, or None."""
    return next((cell for cell in cells if cell is not None), None)


def listed(names: Iterable[str]) -> str:
    """Names as a sentence has them."""
    return ", ".join(map(repr, names))


def identifier(name: str) -> str:
    """Return a name that a component can have, made of a column's."""
    made = re.sub(r"\W+", "_", name).strip("_") or "score"
    return made if made.isidentifier() else f"score_{made}"
