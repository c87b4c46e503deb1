"""Context: what is known of the completions beside their scores: label, length, end, step, other numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis.statistics.groups import Floats, finite
from rewardkit.errors import InputError, preview
from rewardkit.rollouts.logs.log import numeric
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

TOKENS = "completion_tokens"
ENDED, CUT = "finish_reason", "length"
FEWEST_LABELLED = 20
"""Labelled rows in which a component may say the same by luck. Our choice."""
MOST_LABELLED = 0.9
"""Share of the labelled rows that a component must be scored on to be the label itself. Our choice."""
KNOWN_OTHERWISE = (
    "rollout_id",
    "prompt_id",
    "step",
    "generation",
    "advantage",
    "advantages",
    TOKENS,
)
"""Columns of numbers that name rows, or are looked at by themselves."""


@dataclass(frozen=True, eq=False)
class Context:
    """Columns of the rows of one part of the scores, each (rows,).

    `label` is 0 or 1, NaN where it is missing; ``None`` where none was asked for or `why_no_label` says why
    it cannot be used. `columns` are the numbers that were asked for, else all that the rollouts have and the
    reward does not ask for: what it asks for it may well pay.
    """

    table: pd.DataFrame
    label: Floats | None
    label_name: str
    why_no_label: str
    named: Sequence[str] | None
    own: frozenset[str]

    @cached_property
    def lengths(self) -> Floats:
        """Length of each completion in `length_unit`."""
        return self.lengths_of(slice(None))

    def lengths_of(self, rows: slice | NDArray[np.intp]) -> Floats:
        """Length of the completions of some rows in `length_unit`."""
        if self.length_unit == "tokens":
            return numbers(self.table[TOKENS].iloc[rows])
        texts = self.table["completion"].iloc[rows]
        return np.fromiter(map(len, texts), dtype=float, count=len(texts))

    @property
    def length_unit(self) -> str:
        """What lengths are counted in: "tokens" where each completion has a count, else "characters"."""
        counted = (
            TOKENS in self.table and not np.isnan(numbers(self.table[TOKENS])).any()
        )
        return "tokens" if counted else "characters"

    @cached_property
    def truncated(self) -> NDArray[np.bool_] | None:
        """Whether the completion was cut at its greatest length; ``None`` where nothing says it."""
        if ENDED not in self.table:
            return None
        return np.asarray(self.table[ENDED] == CUT, dtype=bool)

    @cached_property
    def steps(self) -> Floats | None:
        """The step of each row; ``None`` where there are none, or they are no numbers."""
        if "step" not in self.table or not numeric(column_values(self.table["step"])):
            return None
        return numbers(self.table["step"])

    @cached_property
    def columns(self) -> Mapping[str, Floats]:
        """Further numbers of each row, by name."""
        if self.named is not None:
            return {name: numbers(self.table[name]) for name in self.named}
        others = [
            name
            for name in self.table.columns
            if name in self.own and name != self.label_name
        ]
        found = {
            str(name): self.table[name]
            for name in others
            if name not in KNOWN_OTHERWISE
        }
        return {
            name: numbers(column)
            for name, column in found.items()
            if numeric(column_values(column))
        }


def context_of(
    scores: Scores,
    table: pd.DataFrame,
    *,
    label: str | None = None,
    columns: Sequence[str] | None = None,
) -> Context:
    """The context of these rows of the scores.

    InputError: a label or column that is not there, or holds no numbers.
    """
    scores.rollouts.check_columns(
        [*([label] if label is not None else []), *(columns or ())]
    )
    for name in columns or ():
        if not numeric(column_values(scores.rollouts.table[name])):
            raise InputError(f"column {name!r} holds no numbers; give one that does")
    asked = {name for item in scores.reward.components for name in item.asks_for} | set(
        scores.reward.needs
    )
    held = {*scores.rollouts.logged.components.values(), *asked}
    own = frozenset(map(str, scores.rollouts.table.columns)) - held
    values, why = (
        _label(table, label, scores.reward.names) if label is not None else (None, "")
    )
    return Context(table, values, label or "", why, columns, own)


def _label(
    table: pd.DataFrame, name: str, components: Sequence[str]
) -> tuple[Floats | None, str]:
    """The label as 0 and 1; ``None`` and why it cannot be used."""
    given = truths(column_values(table[name]))
    if not numeric(given):
        found = next((value for value in given if value is not None), None)
        said = (
            ""
            if found is None
            else f" but {preview(found)}; make a column of true and false of it"
        )
        return None, f"{name!r} holds no numbers{said}"
    values = finite(
        np.array([np.nan if value is None else value for value in given], dtype=float)
    )
    levels = np.unique(values[~np.isnan(values)])
    if len(levels) != 2:
        found = ", ".join(f"{level:g}" for level in levels[:5]) + (
            " ..." if len(levels) > 5 else ""
        )
        return None, f"{name!r} is not one of two values: it has {found or 'none'}"
    label = np.where(np.isnan(values), np.nan, (values == levels[1]).astype(float))
    least = max(FEWEST_LABELLED, MOST_LABELLED * (~np.isnan(label)).sum())
    for component in components:
        scored = table[f"score/{component}"].to_numpy(dtype=float)
        both = ~np.isnan(scored) & ~np.isnan(label)
        if both.sum() < least or len(np.unique(scored[both])) != 2:
            continue
        as_label = (scored[both] == scored[both].max()) == (label[both] == 1)
        if as_label.all() or not as_label.any():
            what = "says what" if as_label.all() else "says the reverse of"
            why = f"{name!r} {what} the component {component!r} says, so it is no independent check"
            return None, why
    return label, ""


def truths(values: list[Any]) -> list[Any]:
    """The values, texts that say true or false as such where all texts do: so pandas writes them as CSV.

    >>> truths(["True", None, "false"]), truths(["True", "right"])
    ([True, None, False], ['True', 'right'])
    """
    texts = {value for value in values if isinstance(value, str)}
    if not texts or not {text.strip().lower() for text in texts} <= {"true", "false"}:
        return values
    return [
        value.strip().lower() == "true" if isinstance(value, str) else value
        for value in values
    ]


def numbers(column: pd.Series) -> Floats:
    """A column as numbers, NaN where it has none, or an infinite one."""
    return finite(np.asarray(pd.to_numeric(column, errors="coerce"), dtype=float))
