"""Rightness: which completions are right, by a label, their truth, or the reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis.context import numbers, truths
from rewardkit.analysis.statistics import Floats
from rewardkit.analysis.view import ROUNDING, View
from rewardkit.answers import states_truth
from rewardkit.rollouts.logs.log import numeric
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

LEAST_READ_SHARE = 0.5
"""Share of the completions with an answer to compare with the truth. Our choice."""


@dataclass(frozen=True, eq=False)
class Rightness:
    """Which completions are right: `values` (rows,) 1, 0, or NaN where not known.

    `by` says by what. `independent` (rows,) says where it does not come from the reward
    itself, so that a suspect can be right.
    """

    values: Floats
    by: str
    independent: NDArray[np.bool_]

    @property
    def by_itself(self) -> bool:
        """Return whether some are right by the reward alone."""
        return bool((~self.independent & (self.values == 1)).any())


def label_of(view: View, name: str) -> tuple[Floats | None, str]:
    """Read the label of the rows of a view as 0 and 1, NaN where missing.

    A label that a component repeats is used, too: here it says what is right and
    confirms nothing.

    Returns:
        The values, None where the column is no label (not of two values, or no
        numbers); and what is wrong with it, "" where nothing is.
    """
    reason = view.context.why_no_label.partition(", so ")[0]
    column = truths(column_values(view.context.table[name]))
    if not numeric(column):
        return None, reason
    values = numbers(pd.Series(column))
    levels = np.unique(values[~np.isnan(values)])
    if len(levels) != 2:
        return None, reason
    return np.where(np.isnan(values), np.nan, values == levels[1]), reason


def rightness(scores: Scores, views: Sequence[View], advantages: Floats) -> Rightness:
    """Say which completions are right where there is no label.

    Those whose answer is the ground_truth, where that can be read of most; else those
    with full marks of the component that is the task: the declared primary, or the
    heaviest where it scores in two levels; else those that earned more than their
    siblings.
    """
    values = np.full(len(scores), np.nan)
    independent = np.zeros(len(scores), dtype=bool)
    reasons: list[str] = []
    for view in views:
        right = _by_truth(scores, view.rows)
        reason = "whose answer is the ground_truth"
        independent[view.rows] = right is not None
        if right is None:
            right = _by_full_marks(view)
            reason = f"with full marks of {view.primary!r}"
        if right is None:
            right = _is_above(advantages[view.rows], ROUNDING)
            reason = "that earned more than their siblings"
        values[view.rows] = right
        reasons.append(reason)
    return Rightness(values, " or ".join(dict.fromkeys(reasons)), independent)


def _is_above(values: Floats, limit: float) -> Floats:
    """Return 1 for values above a limit, else 0; NaN stays."""
    return np.where(np.isnan(values), np.nan, values > limit)


def _by_full_marks(view: View) -> Floats | None:
    """Return who has the highest score of the task; None where that says nothing."""
    scores, task = view.scores[view.primary], view.components[view.primary]
    levels = np.unique(scores[~np.isnan(scores)])
    is_task = task.primary or len(levels) == 2
    if len(levels) < 2 or task.weight <= 0 or not is_task:
        return None
    return _is_above(scores, levels[-1] - ROUNDING)


def _by_truth(scores: Scores, rows: NDArray[np.intp]) -> Floats | None:
    """Return who states the ground_truth; None if few can be read or none is right."""
    if "ground_truth" not in scores.table:
        return None
    completions = column_values(scores.table["completion"].iloc[rows])
    ground_truths = column_values(scores.table["ground_truth"].iloc[rows])
    pairs = zip(map(str, completions), ground_truths, strict=True)
    right = np.array([states_truth(*pair) for pair in pairs], dtype=float)
    is_read = np.mean(~np.isnan(right)) >= LEAST_READ_SHARE
    return right if is_read and (right == 1).any() else None
