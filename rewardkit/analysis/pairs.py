"""Pairs of siblings: how often one value orders them as another does. Arrays only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.grouping import Codes, Floats

__all__ = ["alike", "concordance", "offsets"]

ALL_PAIRS = 64
"""Siblings up to which all pairs are looked at; of larger groups so many partners of each. Our choice."""


def concordance(
    values: Floats, order: Floats, groups: Codes, alike: Floats | None = None
) -> tuple[Floats, Floats]:
    """For each group the sibling pairs that `values` orders as `order` does, and all it can, (groups,) each.

    Pairs count whose `order` differs; equal `values` count half. With `alike` (rows,) only pairs that are
    equal in it. NaN in any of them leaves a row out. The ratio of the sums is the AUC of `values` for `order`
    within groups: 0.5 where they have nothing to do with each other.

    >>> agree, pairs = concordance(np.array([3.0, 1, 2]), np.array([1.0, 0, 0]), np.zeros(3, int))
    >>> float(agree[0] / pairs[0])
    1.0
    """
    known = ~np.isnan(values) & ~np.isnan(order)
    if alike is not None:
        known &= ~np.isnan(alike)
    rows = np.flatnonzero(known)
    rows = rows[np.argsort(groups[rows], kind="stable")]
    total = int(groups.max(initial=-1)) + 1
    agree, pairs = np.zeros(total), np.zeros(total)
    owner, x, y = groups[rows], values[rows], order[rows]
    same = alike[rows] if alike is not None else None
    for first, second in offsets(owner):
        differ = y[first] != y[second]
        if same is not None:
            differ &= same[first] == same[second]
        first, second = first[differ], second[differ]
        sign = np.sign(x[first] - x[second]) * np.sign(y[first] - y[second])
        agree += np.bincount(owner[first], (sign + 1) / 2, minlength=total)
        pairs += np.bincount(owner[first], minlength=total)
    return agree, pairs


def offsets(owner: Codes) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Places of the first and the second of all pairs of rows of one owner, in a few large pieces.

    `owner` is sorted. Of more than `ALL_PAIRS` rows of one owner each meets so many others, evenly spaced.
    """
    if not len(owner):
        return
    largest = int(np.bincount(owner).max())
    steps = np.arange(1, largest)
    if largest > ALL_PAIRS:
        steps = np.unique(np.linspace(1, largest - 1, ALL_PAIRS).astype(int))
    for step in steps.tolist():
        first = np.flatnonzero(owner[:-step] == owner[step:])
        yield first, first + step


def alike(texts: Sequence[str], groups: Codes) -> Floats:
    """For each row the share of its siblings with the same text, (rows,); NaN without siblings."""
    codes = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    each = np.fromiter((codes[text] for text in texts), dtype=np.intp, count=len(texts))
    _, place, counts = np.unique(groups * max(len(codes), 1) + each, return_inverse=True, return_counts=True)
    size = np.bincount(groups)[groups]
    return np.where(size > 1, (counts[place.ravel()] - 1) / np.maximum(size - 1, 1), np.nan)
