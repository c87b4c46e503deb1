"""Correlations: which components say the same, pair by pair, as `redundant` has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rewardkit.analysis.grouping import Floats
from rewardkit.analysis.view import View

__all__ = ["Correlations", "correlations"]

ROUNDING = 1e-12
"""A spread under this part of the squares that it is the difference of is only their last digits."""
BLOCK = 1 << 16
FEWEST_ROWS = 3
"""That two components must share: through two points there is always a line."""


@dataclass(frozen=True, eq=False)
class Correlations:
    """Pearson correlations of the scores of components over the rows where both are scored.

    `matrix` and `rows` (on how many) are (components, components); NaN where it cannot be computed, and
    `why_not` says why by pair of names.
    """

    names: tuple[str, ...]
    matrix: Floats
    rows: Floats
    why_not: Mapping[tuple[str, str], str]
    part: str = ""

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """The correlation of two components, NaN where it cannot be computed."""
        first, second = map(self.names.index, pair)
        return float(self.matrix[first, second])

    def record(self) -> list[dict[str, Any]]:
        """As plain data, one entry a pair."""
        return [
            {
                "first": first,
                "second": second,
                "value": float(self.matrix[i, j]),
                "rows": int(self.rows[i, j]),
                "why_not": self.why_not.get((first, second), ""),
            }
            for (i, first), (j, second) in combinations(enumerate(self.names), 2)
        ]


def correlations(view: View) -> Correlations:
    """The correlation of each pair of components, of those that are recorded only too.

    Of the scores, between prompts and within: a weight is paid twice wherever they agree. A gated component
    is scored where its gate is open, so that a pair may be of few rows.

    >>> import rewardkit as rk
    >>> from rewardkit.analysis.diagnosis import make_views
    >>> from rewardkit.analysis.correlation import correlations
    >>> (view,) = make_views(rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic"))
    >>> correlations(view).why_not["correct", "concise"]  # it counts only where the other is 1
    "'correct' is the same in all 270 rows"
    """
    names = tuple(view.names)
    count, sums, squares, products = _moments([view.scores[name] for name in names])
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = squares - sums * sums / count  # of the one of the row, where the one of the column is there
        spread[spread <= ROUNDING * squares] = 0.0
        matrix = (products - sums * sums.T / count) / np.sqrt(spread * spread.T)
    matrix[(count < FEWEST_ROWS) | (spread == 0) | (spread.T == 0)] = np.nan
    np.fill_diagonal(matrix, np.where(np.diag(spread) > 0, 1.0, np.nan))
    why = {}
    for (i, first), (j, second) in combinations(enumerate(names), 2):
        n = int(count[i, j])
        same = first if spread[i, j] == 0 else second if spread[j, i] == 0 else None
        if n < FEWEST_ROWS:
            why[first, second] = f"both are scored in {n} row{'s' * (n != 1)} only"
        elif same is not None:
            why[first, second] = f"{same!r} is the same in all {n} rows"
    return Correlations(names, matrix, count, why, view.part)


def _moments(columns: Sequence[Floats]) -> tuple[Floats, Floats, Floats, Floats]:
    """Of each column (i) over the rows where another (j) is there as well, (columns, columns) each.

    How many they are, the sum of column i, that of its squares, and that of its products with column j; all
    of differences to one value of the column, which are exact where it never varies.
    """
    one = np.nan_to_num([column[np.argmin(np.isnan(column))] for column in columns])[:, None]
    found = np.zeros((4, len(columns), len(columns)))
    for start in range(0, len(columns[0]), BLOCK):
        block = np.stack([column[start : start + BLOCK] for column in columns]) - one  # (columns, rows)
        missing = np.isnan(block)
        block[missing] = 0.0
        there = (~missing).astype(float)
        found += [there @ there.T, block @ there.T, (block * block) @ there.T, block @ block.T]
    count, sums, squares, products = found
    return count, sums, squares, products
