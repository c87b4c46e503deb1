"""Correlations: which components say the same, pair by pair, as `redundant` has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from rewardkit.analysis.statistics.groups import ZERO_STD, Codes, Floats, within
from rewardkit.analysis.view import View

__all__ = ["Correlations", "correlations"]

FEWEST_ROWS = 3
"""That two components must share: through two points there is always a line."""


@dataclass(frozen=True, eq=False)
class Correlations:
    """Pearson correlations of the scores of components among siblings, over the rows where both are scored.

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
    """The correlation of each pair of components among siblings, of those that are recorded only too.

    Of differences to the mean of the group, over the rows where both are scored: what two components have in
    common between prompts no group advantage sees. A gated component is scored where its gate is open, so
    that a pair may be of few rows; of very many rows they are of some groups (`View.few`).

    >>> import rewardkit as rk
    >>> from rewardkit.analysis.diagnosis import make_views
    >>> from rewardkit.analysis.correlation import correlations
    >>> (view,) = make_views(rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic"))
    >>> correlations(view).why_not["correct", "concise"]  # it counts only where the other is 1
    "'correct' is the same among siblings in all 270 rows"
    """
    names, groups = tuple(view.names), view.groups[view.few]
    columns = [view.scores[name][view.few] for name in names]
    matrix, rows = (np.full((len(names), len(names)), np.nan) for _ in range(2))
    why = {}
    for i, j in combinations_with_replacement(range(len(names)), 2):
        n, first, second, both = _spreads(columns[i], columns[j], groups)
        rows[i, j] = rows[j, i] = n
        same = names[i] if not first else names[j] if not second else None
        if n >= FEWEST_ROWS and same is None:
            matrix[i, j] = matrix[j, i] = both / np.sqrt(first * second)
        elif i != j and n < FEWEST_ROWS:
            why[names[i], names[j]] = f"both are scored in {n} row{'s' * (n != 1)} only"
        elif i != j:
            why[names[i], names[j]] = f"{same!r} is the same among siblings in all {n} rows"
    return Correlations(names, matrix, rows, why, view.part)


def _spreads(first: Floats, second: Floats, groups: Codes) -> tuple[int, float, float, float]:
    """Over the rows that both have: how many, the squares of each within groups, and their products."""
    there = ~(np.isnan(first) | np.isnan(second))
    if not there.all():
        first, second, groups = first[there], second[there], groups[there]
    if not len(groups):
        return 0, 0.0, 0.0, 0.0
    a, b = (within(values, groups) for values in (first, second))
    least = ZERO_STD**2 * len(groups)
    squares = [0.0 if values @ values <= least else float(values @ values) for values in (a, b)]
    return len(groups), *squares, float(a @ b)  # type: ignore[return-value]
