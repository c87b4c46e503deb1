"""Pairs of siblings that one value orders as another does; correlations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics.groups import ZERO_STD, Codes, Floats, within

Texts = Sequence[str] | NDArray[np.object_]
ALL_PAIRS = 64
"""Siblings up to which all pairs count; else so many partners each. Our choice."""
BLOCK = 1 << 17


def concordance(
    values: Floats,
    order: Floats,
    groups: Codes,
    alike: Floats | None = None,
    *,
    total: int | None = None,
) -> tuple[Floats, Floats]:
    """Count the pairs that `values` orders as `order` does, and all pairs, by group.

    Returns two arrays, (groups,) each.

    Pairs count whose `order` differs; equal `values` count half. With `alike` (rows,)
    only pairs that are equal in it. NaN in any of them leaves a row out. The ratio of
    the sums is the AUC of `values` for `order` within groups: 0.5 where they have
    nothing to do with each other. `total` groups there are.

    >>> values, order = np.array([3.0, 1, 2]), np.array([1.0, 0, 0])
    >>> agree, pairs = concordance(values, order, np.zeros(3, int))
    >>> float(agree[0] / pairs[0])
    1.0
    """
    known = ~np.isnan(values) & ~np.isnan(order)
    if alike is not None:
        known &= ~np.isnan(alike)
    kept: list[NDArray[Any]] = [
        groups,
        values,
        order,
        *([alike] if alike is not None else []),
    ]
    if not known.all():
        kept = [item[known] for item in kept]
    if (kept[0][1:] < kept[0][:-1]).any():
        sorting = np.argsort(kept[0], kind="stable")
        kept = [item[sorting] for item in kept]
    total = int(groups.max(initial=-1)) + 1 if total is None else total
    agree, pairs = np.zeros(total), np.zeros(total)
    for rows in _blocks(kept[0]):
        owner, x, y, *same = (item[rows] for item in kept)
        halves, counts = (
            np.zeros(len(owner), dtype=np.int32),
            np.zeros(len(owner), dtype=np.int32),
        )
        for step in _steps(owner):
            first, second = slice(None, -step), slice(step, None)
            counted = (owner[first] == owner[second]) & (y[first] != y[second])
            for item in same:
                counted &= item[first] == item[second]
            more, less, up = (
                x[first] > x[second],
                x[first] < x[second],
                y[first] > y[second],
            )
            counts[first] += counted
            halves[first] += counted & np.where(up, more, less)  # as the order has it
            halves[first] += counted & ~np.where(
                up, less, more
            )  # not the other way round
        begin = owner[0]
        agree[begin : owner[-1] + 1] += np.bincount(owner - begin, halves / 2)
        pairs[begin : owner[-1] + 1] += np.bincount(owner - begin, counts)
    return agree, pairs


def _blocks(owner: Codes) -> Iterator[slice]:
    """Yield rows of whole groups of sorted `owner`, few enough for the cache."""
    start = 0
    while start < len(owner):
        last = owner[min(start + BLOCK, len(owner)) - 1]
        end = start + int(np.searchsorted(owner[start:], last, side="right"))
        yield slice(start, end)
        start = end


def _steps(owner: Codes) -> list[int]:
    """How far apart the two rows of a pair of one owner may stand; `owner` is sorted.

    Of more than `ALL_PAIRS` rows of one owner each meets so many others, evenly spaced.
    """
    largest = int(np.bincount(owner - owner[0]).max(initial=1))
    if largest <= ALL_PAIRS:
        return list(range(1, largest))
    return [
        int(step)
        for step in np.unique(np.linspace(1, largest - 1, ALL_PAIRS).astype(int))
    ]


def alike(texts: Texts, groups: Codes) -> Floats:
    """Return the share of each row's siblings with the same text, (rows,), or NaN."""
    marks = marks_of(texts)
    order = np.lexsort((marks, groups))
    new = (np.diff(marks[order], prepend=np.nan) != 0) | (
        np.diff(groups[order], prepend=-1) != 0
    )
    run = np.diff(np.flatnonzero(new), append=len(order))
    same = np.empty(len(order))
    same[order] = np.repeat(run, run)
    size = np.bincount(groups)[groups]
    return np.where(size > 1, (same - 1) / np.maximum(size - 1, 1), np.nan)


def marks_of(texts: Texts) -> Floats:
    """Return a number for each text, shared by others once in 2^53 pairs."""
    hashes = np.fromiter(map(hash, texts), dtype=np.int64, count=len(texts))
    return (hashes & ((1 << 53) - 1)).astype(float)


# --- correlations

FEWEST_ROWS = 3
"""That two must share: through two points there is always a line."""


@dataclass(frozen=True, eq=False)
class Correlations:
    """Pearson correlations among siblings, over the rows where both are scored.

    `matrix` and `rows` (on how many) are (names, names); NaN where it cannot be
    computed, and `why_not` says why by pair of names.
    """

    names: tuple[str, ...]
    matrix: Floats
    rows: Floats
    why_not: Mapping[tuple[str, str], str]
    part: str = ""

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """Return the correlation of two, NaN where it cannot be computed."""
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
    """Return the correlation of each pair of columns, (rows,), within groups.

    What two have in common between prompts no group advantage sees. A gated component
    is scored where its gate is open, so that a pair may be of few rows.

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
