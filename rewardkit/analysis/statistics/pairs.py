"""Pairs of siblings that one value orders as another does; correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics import (
    ZERO_STD,
    Codes,
    Columns,
    Floats,
    Ratio,
    group_stats,
    in_both,
    number_of,
    within,
)
from rewardkit.findings import counted
from rewardkit.plain import PlainRecord

Texts = Sequence[str] | NDArray[np.object_]
ALL_PAIRS = 64
"""Siblings up to which all pairs count; else so many partners each. Our choice."""
SAME_REWARD = 1e-9
"""Difference up to which two rewards are equal."""


def concordance(
    values: Floats,
    order: Floats,
    groups: Codes,
    alike: Floats | None = None,
    *,
    total: int | None = None,
) -> Ratio:
    """Count the pairs of siblings that `values` orders as `order` does, and all pairs.

    Only pairs that differ in `order` count; ties in `values` count half. Rows with NaN
    in any of the arrays are left out. The ratio of the two sums is the AUC of `values`
    for `order` within groups, 0.5 by chance.

    Args:
        values: (rows,), as are `order` and `groups`.
        order: the values that give the order, such as a label.
        groups: codes of the groups.
        alike: if given, only pairs with equal values of it count, (rows,).
        total: the number of groups.

    Returns:
        Two arrays, (groups,) each.

    >>> values, order = np.array([3.0, 1, 2]), np.array([1.0, 0, 0])
    >>> agree, pairs = concordance(values, order, np.zeros(3, int))
    >>> float(agree[0] / pairs[0])
    1.0
    """
    total = number_of(groups) if total is None else total
    columns: list[NDArray[Any]] = [groups, values, order]
    missing = np.isnan(values) | np.isnan(order)
    if alike is not None:
        columns.append(alike)
        missing |= np.isnan(alike)
    if missing.any():
        columns = [column[~missing] for column in columns]
    if (columns[0][1:] < columns[0][:-1]).any():
        sorting = np.argsort(columns[0], kind="stable")
        columns = [column[sorting] for column in columns]
    owner, x, y, *controls = columns
    halves = np.zeros(len(owner), dtype=np.int32)
    counts = np.zeros(len(owner), dtype=np.int32)
    for step in _steps(owner):
        first = slice(None, -step)
        second = slice(step, None)
        is_pair = (owner[first] == owner[second]) & (y[first] != y[second])
        for control in controls:
            is_pair &= control[first] == control[second]
        is_up = y[first] > y[second]
        above = x[first] > x[second]
        below = x[first] < x[second]
        counts[first] += is_pair
        # one half for the same order, one for not being the opposite one
        halves[first] += is_pair & np.where(is_up, above, below)
        halves[first] += is_pair & ~np.where(is_up, below, above)
    agree = np.bincount(owner, halves / 2, minlength=total)
    return agree, np.bincount(owner, counts, minlength=total)


def first_siblings(values: Floats, task: Floats, groups: Codes, total: int) -> Ratio:
    """Return the mean of `task` over the siblings of highest value, by group.

    Args:
        values: (rows,), NaN for a row that is never first.
        task: (rows,), NaN where unknown.
        groups: codes of the groups, (rows,).
        total: how many groups there are.

    Returns:
        The mean, and 1 where it is known, (groups,) each; 0 and 0 where it is not, or
        where the group has a single value.

    >>> values, task = np.array([1.0, 3, 3]), np.array([0.0, 1, 0])
    >>> first_siblings(values, task, np.zeros(3, int), 1)
    (array([0.5]), array([1.]))
    """
    stats = group_stats(values, groups, total)
    is_several = stats.has_pairs[groups]
    is_first = is_several & (values >= stats.high[groups] - SAME_REWARD)
    firsts = group_stats(np.where(is_first, task, np.nan), groups, total)
    return np.nan_to_num(firsts.mean), (firsts.count > 0).astype(float)


def _steps(owner: Codes) -> list[int]:
    """Return the distances at which rows of sorted `owner` are paired.

    All below `ALL_PAIRS`; of larger ones, if an owner has as many rows, `ALL_PAIRS`
    evenly spaced ones.
    """
    largest = int(np.bincount(owner).max(initial=1))
    steps = np.arange(1, min(largest, ALL_PAIRS))
    if largest > ALL_PAIRS:
        far = np.linspace(ALL_PAIRS, largest - 1, min(largest - ALL_PAIRS, ALL_PAIRS))
        steps = np.concatenate([steps, far.astype(int)])
    return list(np.unique(steps).tolist())


def marks_of(texts: Texts) -> Floats:
    """Return the hash of each text: two texts collide once in 2^53 pairs."""
    hashes = np.fromiter(map(hash, texts), dtype=np.int64, count=len(texts))
    return (hashes & ((1 << 53) - 1)).astype(float)


# --- correlations

FEWEST_SHARED_ROWS = 3
"""That two must share: through two points there is always a line."""


@dataclass(frozen=True)
class Correlation(PlainRecord):
    """The Pearson correlation of two components among siblings.

    It is over the `rows` in which both are scored. NaN where it cannot be computed, and
    `why_not` says why.
    """

    first: str
    second: str
    value: float
    rows: int
    why_not: str


def correlations(columns: Columns, groups: Codes) -> dict[tuple[str, str], Correlation]:
    """Return the correlation of each pair of columns, (rows,), within groups.

    Group advantages do not depend on what two have in common between prompts. A gated
    component is scored only where its gate is open, so a pair may have few rows.

    >>> right = np.array([1.0, 0, 1, 0])
    >>> pairs = correlations({"a": right, "b": 1 - right}, np.array([0, 0, 1, 1]))
    >>> pairs["a", "b"].value
    -1.0
    """
    pairs = {}
    for first, second in combinations(columns, 2):
        both = in_both(columns[first], columns[second])
        n = int(both.sum())
        a, b = (within(columns[x][both], groups[both]) for x in (first, second))
        squares = {first: float(a @ a), second: float(b @ b)}
        constant = [name for name in squares if squares[name] <= ZERO_STD**2 * n]
        value = float("nan")
        why_not = ""
        if n < FEWEST_SHARED_ROWS:
            why_not = f"both are scored in {counted(n, 'row')} only"
        elif constant:
            why_not = f"{constant[0]!r} is the same among siblings in all {n} rows"
        else:
            value = float(a @ b / np.sqrt(squares[first] * squares[second]))
        pairs[first, second] = Correlation(first, second, value, n, why_not)
    return pairs
