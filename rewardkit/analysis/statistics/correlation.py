"""Correlations of scores among siblings, pair by pair. Arrays only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from rewardkit.analysis.statistics.groups import ZERO_STD, Codes, Floats, within

FEWEST_ROWS = 3
"""That two must share: through two points there is always a line."""


@dataclass(frozen=True, eq=False)
class Correlations:
    """Pearson correlations among siblings, over the rows where both are scored.

    `matrix` and `rows` (on how many) are (names, names); NaN where it cannot be computed, and `why_not` says
    why by pair of names.
    """

    names: tuple[str, ...]
    matrix: Floats
    rows: Floats
    why_not: Mapping[tuple[str, str], str]
    part: str = ""

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """The correlation of two, NaN where it cannot be computed."""
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


def correlations(
    columns: Mapping[str, Floats], groups: Codes, part: str = ""
) -> Correlations:
    """The correlation of each pair of columns, (rows,) each, as differences to the mean of their group.

    What two have in common between prompts no group advantage sees. A gated component is scored where its
    gate is open, so that a pair may be of few rows.

    >>> right = np.array([1.0, 0, 1, 0])
    >>> correlations({"a": right, "b": 1 - right}, np.array([0, 0, 1, 1]))["a", "b"]
    -1.0
    """
    names = tuple(columns)
    matrix, rows = (np.full((len(names), len(names)), np.nan) for _ in range(2))
    whole = {
        name: within(values, groups)
        for name, values in columns.items()
        if not np.isnan(values).any()
    }
    why = {}
    for i, j in combinations_with_replacement(range(len(names)), 2):
        pair = names[i], names[j]
        if pair[0] in whole and pair[1] in whole:
            n, (a, b) = len(groups), [whole[name] for name in pair]
        else:
            there = ~(np.isnan(columns[pair[0]]) | np.isnan(columns[pair[1]]))
            n, (a, b) = (
                int(there.sum()),
                (within(columns[name][there], groups[there]) for name in pair),
            )
        rows[i, j] = rows[j, i] = n
        first, second, both = (
            float(np.einsum("i,i->", x, y)) for x, y in ((a, a), (b, b), (a, b))
        )
        first, second = (
            0.0 if squares <= ZERO_STD**2 * n else squares
            for squares in (first, second)
        )
        same = pair[0] if not first else pair[1] if not second else None
        if n >= FEWEST_ROWS and same is None:
            matrix[i, j] = matrix[j, i] = both / np.sqrt(first * second)
        elif i != j and n < FEWEST_ROWS:
            why[pair] = f"both are scored in {n} row{'s' * (n != 1)} only"
        elif i != j:
            why[pair] = f"{same!r} is the same among siblings in all {n} rows"
    return Correlations(names, matrix, rows, why, part)
