"""How an advantage is spread: concentration, effective sample size, what it merges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rewardkit.analysis.statistics.groups import Codes, Floats

DIGITS = 9
"""Digits of an advantage, relative to its group's largest; the rest is rounding."""


def top_decile(advantages: Floats, groups: Codes) -> float:
    """Return the share of the absolute advantage in the tenth of groups with most.

    Of at least one group; advantages are (rows,).

    0.1 where all groups hold the same. NaN without an advantage.

    >>> top_decile(np.array([3.0, -3, 1, -1]), np.array([0, 0, 1, 1]))
    0.75
    """
    held = np.sort(np.bincount(groups, np.abs(np.nan_to_num(advantages))))
    return (
        float(held[-max(1, len(held) // 10) :].sum() / held.sum())
        if held.sum()
        else float("nan")
    )


def moved(before: Floats, after: Floats) -> float:
    """Return the share of the absolute advantage that differs, both of one size.

    From 0 to 1: an optimiser's step size takes up a common factor. A row without one
    counts as 0.

    >>> moved(np.array([1.0, -1, 0, 0]), np.array([0.0, 0, 5, -5]))
    1.0
    >>> moved(np.array([1.0, -1]), np.zeros(2))
    1.0
    """
    before, after = (
        of_one_size(np.nan_to_num(before)),
        of_one_size(np.nan_to_num(after)),
    )
    whole = float((np.abs(before) + np.abs(after)).sum())
    return float(np.abs(after - before).sum()) / whole if whole else 0.0


def of_one_size(advantages: Floats) -> Floats:
    """Scaled to a root mean square of 1; all zero stays so."""
    size = np.sqrt(np.nanmean(advantages**2)) if (~np.isnan(advantages)).any() else 0.0
    return advantages / size if size > 0 else advantages


def sample_size(advantages: Floats) -> float:
    """Return the effective sample size of the absolute advantage, a share of its rows.

    Kish 1965.

    1 where all rows count the same, 1/n where one holds all. NaN without an advantage.

    >>> sample_size(np.array([1.0, -1, 0, np.nan]))
    0.6666666666666666
    """
    size = np.abs(advantages[~np.isnan(advantages)])
    return (
        float(size.sum() ** 2 / (size @ size * len(size)))
        if size.any()
        else float("nan")
    )


def merged_vectors(
    scores: Mapping[str, Floats], advantages: Floats, groups: Codes
) -> float:
    """Return the share of siblings' score vectors that the advantage loses.

    1 - distinct advantages / distinct vectors of `scores` (rows,), both counted within
    each group that has an advantage and added up: right but untidy and wrong but tidy
    are two vectors, and one advantage where both are paid the same. A missing score is
    a value of its own. NaN without an advantage (arXiv 2601.05242).

    >>> right, tidy = np.array([1.0, 0, 0]), np.array([0.0, 1, 0])
    >>> advantages, scores = np.array([0.5, 0.5, -1]), {"right": right, "tidy": tidy}
    >>> round(merged_vectors(scores, advantages, np.zeros(3, int)), 3)
    0.333
    """
    largest = np.zeros(int(groups.max(initial=-1)) + 1)
    np.maximum.at(largest, groups, np.abs(np.nan_to_num(advantages)))
    live = (largest[groups] > 0) & ~np.isnan(advantages)
    if not live.any():
        return float("nan")
    owner = groups[live]
    told = np.round(advantages[live] / largest[owner], DIGITS)
    return 1 - _distinct(owner, told) / _distinct(
        owner, _marks([values[live] for values in scores.values()])
    )


def _marks(columns: Sequence[Floats]) -> Floats:
    """Return a number for each row, the same for equal rows and hardly others."""
    weights = np.random.default_rng(0).uniform(1, 2, (len(columns), 2))
    found = np.zeros(len(columns[0]))
    for values, (weight, missing) in zip(columns, weights, strict=True):
        known = ~np.isnan(values)
        unit = np.abs(values[known]).max(initial=0.0) or 1.0
        found += np.where(
            known, weight * np.round(np.nan_to_num(values) / unit, 12), missing
        )
    return found


def _distinct(groups: Codes, values: Floats) -> int:
    """How many different values the groups have, added up."""
    order = np.lexsort((values, groups))
    changes = (np.diff(values[order]) != 0) | (np.diff(groups[order]) != 0)
    return 1 + int(changes.sum())
