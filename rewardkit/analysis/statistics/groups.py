"""Statistics of values within groups. Arrays only; NaN values are left out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Key = TypeVar("Key")
Value = TypeVar("Value")

LARGEST = float(np.finfo(np.float32).max)
"""Trainers hold rewards as float32, in which a larger number is infinite."""
ZERO_STD = 1e-8
"""A group whose standard deviation is at most this has no signal.

TRL's frac_reward_zero_std counts std close to 0.
"""


@dataclass(frozen=True, eq=False)
class GroupStats:
    """Count, mean and standard deviation (ddof 1; 0 for a single value) of each group.

    NaN for a group without values.
    """

    count: Floats  # (groups,)
    mean: Floats
    std: Floats
    values: Floats = field(repr=False)  # (rows,), those that are there
    groups: Codes = field(repr=False)

    @cached_property
    def low(self) -> Floats:
        """The lowest value of each group."""
        return self._extreme(np.minimum, np.inf)

    @cached_property
    def high(self) -> Floats:
        """The highest value of each group."""
        return self._extreme(np.maximum, -np.inf)

    def _extreme(self, of: np.ufunc, none: float) -> Floats:
        found = np.full(len(self.count), none)
        of.at(found, self.groups, self.values)
        return np.where(self.count > 0, found, np.nan)

    @property
    def squares(self) -> Floats:
        """Return the sum of squares around each group's mean; 0 for a single value."""
        return np.where(
            self.count > 1, np.nan_to_num(self.std) ** 2 * (self.count - 1), 0.0
        )

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Groups with at least two values that differ."""
        return (self.count > 1) & (self.std > ZERO_STD)

    @cached_property
    def dead(self) -> NDArray[np.bool_]:
        """Groups with at least two values, all equal."""
        return (self.count > 1) & (self.std <= ZERO_STD)

    @property
    def dead_share(self) -> float:
        """Return the share of `dead` groups among those with two values, or NaN."""
        several = self.count > 1
        return float(self.dead[several].mean()) if several.any() else float("nan")


def group_stats(values: Floats, groups: Codes, total: int | None = None) -> GroupStats:
    """Statistics of `values` (rows,) by group code (rows,), for `total` groups."""
    total = int(groups.max(initial=-1)) + 1 if total is None else total
    known = ~np.isnan(values)
    if not known.all():
        values, groups = values[known], groups[known]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        # as differences to one value of the group, which are exact where all are equal
        if (table := _as_table(values, groups, total)) is not None:
            count = np.full(total, float(table.shape[1]))
            one = table[:, 0]
            away = table - one[:, None]
            mean = np.einsum("gi->g", away) / count
            away -= mean[:, None]
            squares = np.einsum("gi,gi->g", away, away)
        else:
            count = np.bincount(groups, minlength=total).astype(float)
            one = np.full(total, np.nan)
            one[groups] = values
            away = values - one[groups]
            mean = np.bincount(groups, away, minlength=total) / count
            away -= mean[groups]
            squares = np.bincount(groups, away * away, minlength=total).astype(float)
        std = np.where(count > 1, np.sqrt(squares / (count - 1)), 0.0)
    std[count == 0] = np.nan
    return GroupStats(count, one + mean, std, values, groups)


def _as_table(values: Floats, groups: Codes, total: int) -> Floats | None:
    """Return the values as (groups, siblings) where all groups have one size, or None.

    That is quicker, and needs the groups one after the other.

    That is how most logs are.
    """
    size = len(values) // max(total, 1)
    if size == 0 or size * total != len(values):
        return None
    alike = (groups.reshape(total, size) == np.arange(total)[:, None]).all()
    return values.reshape(total, size) if alike else None


def overflows(values: Floats) -> NDArray[np.bool_]:
    """Which values are infinite in float32; NaN is not.

    >>> overflows(np.array([1.0, -np.inf, 1e200, np.nan])).tolist()
    [False, True, True, False]
    """
    return np.abs(values) > LARGEST


def finite(values: Floats) -> Floats:
    """Return the values with NaN for what float32 cannot hold; else the same array."""
    return values if all_finite(values) else np.where(overflows(values), np.nan, values)


def all_finite(values: Floats) -> bool:
    """Whether float32 holds all of the values that are not NaN."""
    ends = np.fmin.reduce(values, initial=0.0), np.fmax.reduce(values, initial=0.0)
    return not overflows(np.array(ends)).any()


def within(values: Floats, groups: Codes) -> Floats:
    """Values minus their group's mean, (rows,)."""
    return values - group_stats(values, groups).mean[groups]


def numbered(codes: Codes) -> Codes:
    """Codes of the same kinds, numbered from 0 in their order without a gap.

    >>> numbered(np.array([7, 3, 7]))
    array([1, 0, 1])
    """
    there = np.bincount(codes) > 0
    return codes if there.all() else (np.cumsum(there) - 1)[codes]


def tie_rate(
    values: Floats, groups: Codes, total: int | None = None
) -> tuple[Floats, Floats]:
    """Count the pairs of equal siblings, and all pairs, of each group, (groups,) each.

    Values that agree in 12 digits behind the point are equal.
    """
    total = int(groups.max(initial=-1)) + 1 if total is None else total
    ranked, owner = _ranked(np.round(values, 12), groups, total)
    tied = 1 + np.flatnonzero(
        (ranked[1:] == ranked[:-1]) & (owner[1:] == owner[:-1])
    )  # to the one before
    place = np.arange(len(tied))
    begins = np.maximum.accumulate(np.where(np.diff(tied, prepend=-1) > 1, place, 0))
    before = (place - begins + 1).astype(float)  # so many of its run
    equal = np.bincount(owner[tied], before, minlength=total).astype(float)
    size = np.bincount(groups, ~np.isnan(values), minlength=total)
    return equal, size * (size - 1) / 2


def _ranked(values: Floats, groups: Codes, total: int) -> tuple[Floats, Codes]:
    """Values sorted within each group, group after group, and the group of each."""
    if (table := _as_table(values, groups, total)) is not None:
        return np.sort(table, axis=1).ravel(), groups
    order = np.lexsort((values, groups))
    return values[order], groups[order]


def between_share(values: Floats, groups: Codes) -> float:
    """Return the share of the variance between groups: ICC(1) for unequal sizes.

    NaN where it is not defined.

    From the one-way analysis of variance, (MSB - MSW) / (MSB + (n0 - 1) MSW), cut at 0
    (Donner 1986).
    """
    stats = group_stats(values, groups)
    used = stats.count > 0
    count, mean, std = stats.count[used], stats.mean[used], stats.std[used]
    n, k = count.sum(), len(count)
    if k < 2 or n <= k:
        return float("nan")
    grand = (count * mean).sum() / n
    above = (count * (mean - grand) ** 2).sum() / (k - 1)
    inside = ((count - 1) * std**2).sum() / (n - k)
    n0 = (n - (count**2).sum() / n) / (k - 1)
    whole = above + (n0 - 1) * inside
    return float(max(0.0, (above - inside) / whole)) if whole > 0 else float("nan")


def effective_levels(values: Floats) -> float:
    """Return exp(entropy) of the values: as many equally likely levels vary as much.

    NaN without values.
    """
    _, counts = np.unique(np.round(values[~np.isnan(values)], 12), return_counts=True)
    shares = counts / counts.sum()
    return (
        float(np.exp(-(shares * np.log(shares)).sum())) if len(counts) else float("nan")
    )


def each(compute: Callable[[Key], Value], keys: Iterable[Key]) -> dict[Key, Value]:
    """Compute a value for each key on all cores: numpy works on arrays side by side.

    >>> each(abs, [-1, 2])
    {-1: 1, 2: 2}
    """
    keys = list(keys)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(keys, pool.map(compute, keys), strict=True))
