"""Pairs of siblings: how often one value orders them as another does. Arrays only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics.groups import Codes, Floats

Texts = Sequence[str] | NDArray[np.object_]
ALL_PAIRS = 64
"""Siblings up to which all pairs are looked at; of larger groups so many partners of each. Our choice."""
BLOCK = 1 << 17


def concordance(
    values: Floats,
    order: Floats,
    groups: Codes,
    alike: Floats | None = None,
    *,
    total: int | None = None,
) -> tuple[Floats, Floats]:
    """For each group the sibling pairs that `values` orders as `order` does, and all it can, (groups,) each.

    Pairs count whose `order` differs; equal `values` count half. With `alike` (rows,) only pairs that are
    equal in it. NaN in any of them leaves a row out. The ratio of the sums is the AUC of `values` for `order`
    within groups: 0.5 where they have nothing to do with each other. `total` groups there are.

    >>> agree, pairs = concordance(np.array([3.0, 1, 2]), np.array([1.0, 0, 0]), np.zeros(3, int))
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
    """Whole groups of `owner`, which is sorted, so many rows at once that they stay in the cache."""
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
    """For each row the share of its siblings with the same text, (rows,); NaN without siblings."""
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
    """A number for each text, the same for equal ones; two others have the same once in 2^53 pairs."""
    hashes = np.fromiter(map(hash, texts), dtype=np.int64, count=len(texts))
    return (hashes & ((1 << 53) - 1)).astype(float)
