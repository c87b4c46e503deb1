"""Rightness: which completions are right, by a label, by their ground_truth, or by what the reward says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis.context import numbers, truths
from rewardkit.analysis.statistics.groups import Floats
from rewardkit.analysis.view import ROUNDING, View
from rewardkit.answers.truths import states_truth
from rewardkit.rollouts.logs.log import numeric
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

READABLE = 0.5
"""Share of the completions whose answer must be one that can be compared with the truth. Our choice."""


@dataclass(frozen=True, eq=False)
class Rightness:
    """Which completions are right: `values` (rows,) 1, 0, or NaN where that is not known; `by` says by what.

    `independent` (rows,) says where it does not come from the reward itself, so that a suspect can be right.
    """

    values: Floats
    by: str
    independent: NDArray[np.bool_]

    @property
    def by_itself(self) -> bool:
        """Whether some are right by the reward alone."""
        return bool((~self.independent & (self.values == 1)).any())


def label_of(view: View, name: str) -> tuple[Floats | None, str]:
    """The label of the rows of a view as 0 and 1, NaN where missing, and what to know of it.

    A label that a component repeats is used, too: here it says what is right, and confirms nothing. ``None``
    and why where it is no label: not of two values, or no numbers.
    """
    why = view.context.why_no_label.partition(", so ")[0]
    given = truths(column_values(view.context.table[name]))
    values = numbers(pd.Series(given)) if numeric(given) else np.full(len(view), np.nan)
    levels = np.unique(values[~np.isnan(values)])
    if len(levels) != 2:
        return None, why
    return np.where(np.isnan(values), np.nan, values == levels[1]), why


def rightness(scores: Scores, views: Sequence[View], advantages: Floats) -> Rightness:
    """Which completions are right where there is no label.

    Those whose answer is the ground_truth, where that can be read of most; else those with full marks of the
    component that is the task: the declared primary, or the heaviest where it scores in two levels; else
    those that earned more than their siblings.
    """
    values, independent = (
        np.full(len(scores), np.nan),
        np.zeros(len(scores), dtype=bool),
    )
    by: dict[str, None] = {}
    for view in views:
        own, told = _by_truth(scores, view.rows), "whose answer is the ground_truth"
        independent[view.rows] = own is not None
        if own is None:
            own, told = _full_marks(view), f"with full marks of {view.primary!r}"
        if own is None:
            own, told = (
                _or_missing(advantages[view.rows], ROUNDING),
                "that earned more than their siblings",
            )
        values[view.rows] = own
        by[told] = None
    return Rightness(values, " or ".join(by), independent)


def _or_missing(values: Floats, above: float) -> Floats:
    """1 for values above a number, else 0; NaN stays."""
    return np.where(np.isnan(values), np.nan, values > above)


def _full_marks(view: View) -> Floats | None:
    """Whether each row has the highest score of the task's component; ``None`` where that says nothing."""
    scored, task = view.scores[view.primary], view.components[view.primary]
    levels = np.unique(scored[~np.isnan(scored)])
    if len(levels) < 2 or task.weight <= 0 or not (task.primary or len(levels) == 2):
        return None
    return _or_missing(scored, levels[-1] - ROUNDING)


def _by_truth(scores: Scores, rows: NDArray[np.intp]) -> Floats | None:
    """Whether each of these rows gives its ground_truth; ``None`` where few can be read, or none is right."""
    if "ground_truth" not in scores.table:
        return None
    columns = (
        column_values(scores.table[name].iloc[rows])
        for name in ("completion", "ground_truth")
    )
    found = np.array(
        [states_truth(str(text), truth) for text, truth in zip(*columns, strict=True)],
        dtype=float,
    )
    return (
        found if np.mean(~np.isnan(found)) >= READABLE and (found == 1).any() else None
    )
