"""Statistics of values within groups, and their intervals over prompts.

Arrays in, arrays out; NaN is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.errors import check_whole_number

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]
Columns = Mapping[str, Floats]
"""Values of the same rows, (rows,) each, by name."""
Interval = tuple[float, float]
"""Its ends; `NO_INTERVAL` where there is none."""
NO_INTERVAL = (math.nan, math.nan)
Ratio = tuple[NDArray[Any], NDArray[Any]]
"""Numerators and denominators, (groups,) or (rows,) each, of a ratio of their sums."""

LARGEST = float(np.finfo(np.float32).max)
"""Trainers hold rewards as float32, in which a larger number is infinite."""
ZERO_STD = 1e-8
"""A group whose standard deviation is at most this has no signal.

TRL's frac_reward_zero_std counts std close to 0.
"""
LEVEL = 0.95
"""Of the intervals that are shown, and of the verdict on one side."""
FEWEST_BEYOND = 5
"""Resamples beyond the end of an interval; with fewer it is normal. Our choice."""


@dataclass(frozen=True, eq=False)
class GroupStats:
    """Count, mean and standard deviation (ddof 1; 0 for a single value) of each group.

    Mean and deviation are NaN for a group without values.
    """

    count: Floats  # (groups,)
    mean: Floats
    std: Floats
    values: Floats = field(repr=False)  # (rows,), without NaN
    groups: Codes = field(repr=False)

    @cached_property
    def low(self) -> Floats:
        """Return the lowest value of each group."""
        low = np.full(len(self.count), np.nan)
        np.fmin.at(low, self.groups, self.values)
        return low

    @cached_property
    def high(self) -> Floats:
        """Return the highest value of each group."""
        high = np.full(len(self.count), np.nan)
        np.fmax.at(high, self.groups, self.values)
        return high

    @property
    def has_pairs(self) -> Mask:
        """Return the groups with two values or more."""
        return self.count > 1

    @property
    def squares(self) -> Floats:
        """Return the sum of squares around each group's mean; 0 for a single value."""
        squares = np.nan_to_num(self.std) ** 2 * (self.count - 1)
        return np.where(self.has_pairs, squares, 0.0)

    @cached_property
    def live(self) -> Mask:
        """Return the groups with two values that differ."""
        return self.has_pairs & (self.std > ZERO_STD)

    @cached_property
    def dead(self) -> Mask:
        """Return the groups with at least two values, all equal."""
        return self.has_pairs & (self.std <= ZERO_STD)

    @property
    def dead_share(self) -> float:
        """Return the share of `dead` groups among those with two values, or NaN."""
        return ratio(self.dead, self.has_pairs)


def spread_out(rows: Codes, most: int) -> Codes:
    """Return at most `most` of these rows, evenly spaced."""
    if len(rows) <= most:
        return rows
    return np.asarray(rows[np.linspace(0, len(rows) - 1, most).astype(int)])


def rows_by_code(codes: Codes) -> list[Codes]:
    """Return the rows of each code, in the order of the codes.

    >>> [rows.tolist() for rows in rows_by_code(np.array([1, 0, 1]))]
    [[1], [0, 2]]
    """
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def number_of(codes: Codes) -> int:
    """Return how many codes from 0 there are, up to the largest."""
    return int(codes.max(initial=-1)) + 1


def group_stats(values: Floats, groups: Codes, total: int | None = None) -> GroupStats:
    """Return the statistics of `values` (rows,) by group code, for `total` groups."""
    total = number_of(groups) if total is None else total
    missing = np.isnan(values)
    if missing.any():
        values = values[~missing]
        groups = groups[~missing]
    # as differences to one value of the group, which are exact where all are equal
    one_of_group = np.full(total, np.nan)
    one_of_group[groups] = values
    count = np.bincount(groups, minlength=total).astype(float)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        away = values - one_of_group[groups]
        mean = np.bincount(groups, away, minlength=total) / count
        away -= mean[groups]
        squares = np.bincount(groups, away * away, minlength=total)
        std = np.where(count > 1, np.sqrt(squares / (count - 1)), 0.0)
    std[count == 0] = np.nan
    return GroupStats(count, one_of_group + mean, std, values, groups)


def overflows(values: Floats) -> Mask:
    """Return which values are infinite in float32; NaN is not.

    >>> overflows(np.array([1.0, -np.inf, 1e200, np.nan])).tolist()
    [False, True, True, False]
    """
    return np.abs(values) > LARGEST


def in_both(first: Floats, second: Floats) -> Mask:
    """Return the rows in which neither of two columns is NaN, (rows,)."""
    return ~(np.isnan(first) | np.isnan(second))


def finite(values: Floats) -> Floats:
    """Return the values with NaN for what float32 cannot hold; else the same array."""
    is_infinite = overflows(values)
    return np.where(is_infinite, np.nan, values) if is_infinite.any() else values


def ratio(above: Any, below: Any) -> float:
    """Return the sum of one array as a share of that of another; NaN over nothing."""
    total = np.sum(below)
    return float(np.sum(above) / total) if total else math.nan


def within(values: Floats, groups: Codes) -> Floats:
    """Return the values minus their group's mean, (rows,)."""
    return values - group_stats(values, groups).mean[groups]


def numbered(codes: Codes) -> Codes:
    """Return the codes numbered from 0 without a gap, in their order.

    >>> numbered(np.array([7, 3, 7]))
    array([1, 0, 1])
    """
    return pd.factorize(codes, sort=True)[0]


def count_ties(values: Floats, groups: Codes, total: int | None = None) -> Ratio:
    """Count the pairs of equal siblings, and all pairs, by group, (groups,) each."""
    total = number_of(groups) if total is None else total
    owner, alike = count_equal(values, groups)
    equal = np.bincount(owner, alike * (alike - 1) / 2, minlength=total)
    size = np.bincount(owner, alike, minlength=total)
    return equal, size * (size - 1) / 2


def count_equal(values: Floats, groups: Codes) -> tuple[Codes, Codes]:
    """Count the rows of each distinct value of each group.

    Values that agree in 12 digits behind the point are equal.

    Returns:
        The group and the count of each, (distinct values of all groups,).
    """
    is_known = ~np.isnan(values)
    distinct, level = np.unique(np.round(values[is_known], 12), return_inverse=True)
    levels = max(len(distinct), 1)
    keys, counts = np.unique(groups[is_known] * levels + level, return_counts=True)
    return keys // levels, counts


def between_share(values: Floats, groups: Codes) -> float:
    """Return the share of the variance that lies between groups, or NaN.

    ICC(1) for groups of unequal sizes, from the one-way analysis of variance: (MSB -
    MSW) / (MSB + (n0 - 1) MSW), cut at 0 (Donner 1986).
    """
    stats = group_stats(values, groups)
    count = stats.count
    n = count.sum()
    k = np.count_nonzero(count)
    if k < 2 or n <= k:
        return math.nan
    grand_mean = np.nansum(count * stats.mean) / n
    between = np.nansum(count * (stats.mean - grand_mean) ** 2) / (k - 1)
    inside = stats.squares.sum() / (n - k)
    n0 = (n - (count**2).sum() / n) / (k - 1)
    total = between + (n0 - 1) * inside
    return float(max(0.0, (between - inside) / total)) if total > 0 else math.nan


def effective_levels(values: Floats) -> float:
    """Return exp(entropy) of the values, NaN without any.

    It is the number of equally frequent levels of the same entropy.
    """
    shares = pd.Series(values).round(12).value_counts(normalize=True)
    return float(np.exp(-(shares * np.log(shares)).sum())) if len(shares) else math.nan


class Bootstrap:
    """Percentile intervals of statistics of sums, from resampled prompts.

    Siblings are not independent, so they are drawn together.

    What is drawn are `units`: a prompt each, or, of more than `MOST_UNITS` prompts,
    groups of prompts that were put together at random, whose sums vary as those of
    prompts do (random groups: Wolter, Introduction to Variance Estimation, chapter 2).
    One set of resamples serves every statistic: `weights` is (resamples, units), how
    often each was drawn. The level holds for `tests` intervals together.

    Raises:
        InputError: a seed that numpy does not take.
    """

    MOST_UNITS = 4096  # with which an interval is known to 2 % of its width: our choice
    CELLS = 20_000_000  # of the weights
    RESAMPLES = 1000

    def __init__(self, prompts: Codes, *, seed: int = 0, tests: int = 1) -> None:
        check_whole_number("seed", seed, 0)
        self.prompts = prompts
        self.seed = int(seed)
        self.tests = tests
        self.total = number_of(prompts)
        self.units = min(self.total, self.MOST_UNITS)
        wanted = max(self.RESAMPLES, round(2 * FEWEST_BEYOND * tests / (1 - LEVEL)))
        self.resamples = min(self.CELLS // max(self.units, 1), wanted)

    def firsts(self, rows: Codes) -> Codes:
        """Return the places of those of these rows that are the first of a prompt."""
        return np.sort(np.unique(self.prompts[rows], return_index=True)[1])

    @cached_property
    def weights(self) -> Floats:
        """Return how often each unit is drawn in each resample."""
        return _draw(self.units, self.resamples, self.seed)

    @cached_property
    def unit(self) -> Codes:
        """Return the unit of each prompt, (prompts,), where several share one."""
        generator = np.random.default_rng([self.seed, self.total])
        return generator.permutation(self.total) % self.units

    def of_groups(self, groups: Codes) -> Codes:
        """Return the prompt of each group, (groups,)."""
        owner = np.zeros(number_of(groups), dtype=np.intp)
        owner[groups] = self.prompts
        return owner

    def by_unit(self, values: NDArray[Any], owner: Codes) -> Floats:
        """Add up values (rows or groups) of the prompts `owner` by unit, (units,)."""
        sums = np.bincount(owner, values, minlength=self.total)
        if self.units < self.total:
            sums = np.bincount(self.unit, sums, minlength=self.units)
        return sums.astype(float)

    def interval(
        self,
        sums: Sequence[NDArray[Any]],
        owner: Codes,
        statistic: Callable[..., Floats] = np.divide,
        tests: int = 1,
    ) -> Interval:
        """Return the interval of a statistic of sums, by default their ratio.

        Args:
            sums: arrays over rows or groups.
            owner: the prompt of each row or group.
            statistic: gets each of `sums` added up over resamples, (resamples,).
            tests: the level holds for so many intervals together (Bonferroni).

        Returns:
            (NaN, NaN) where fewer than two prompts have values.
        """
        columns = np.column_stack([self.by_unit(values, owner) for values in sums])
        if (columns != 0).any(axis=1).sum() < 2:
            return NO_INTERVAL
        with np.errstate(invalid="ignore", divide="ignore"):
            values = statistic(*(self.weights @ columns).T)
        values = values[np.isfinite(values)]
        if not len(values):
            return NO_INTERVAL
        tail = (1 - LEVEL) / 2 / (tests * self.tests)
        if tail * len(values) < FEWEST_BEYOND:
            mean = float(values.mean())
            half = NormalDist().inv_cdf(1 - tail) * float(values.std())
            return mean - half, mean + half
        low, high = np.quantile(values, [tail, 1 - tail])
        return float(low), float(high)

    def ratio(
        self, above: NDArray[Any], below: NDArray[Any], owner: Codes
    ) -> tuple[float, Interval]:
        """Return the ratio of two sums with its interval; NaN over nothing."""
        return ratio(above, below), self.interval([above, below], owner)


_DRAWN: WeakValueDictionary[tuple[int, int, int], Floats] = WeakValueDictionary()
"""Weights of up to 160 MB are shared by all who ask for the same, while one lives."""


def _draw(units: int, resamples: int, seed: int) -> Floats:
    """Return how often each unit is drawn, (resamples, units)."""
    weights = _DRAWN.get((units, resamples, seed))
    if weights is None:
        generator = np.random.default_rng(seed)
        weights = np.empty((resamples, units))
        for row in weights:
            row[:] = np.bincount(generator.integers(0, units, units), minlength=units)
        weights.flags.writeable = False
        _DRAWN[units, resamples, seed] = weights
    return weights


def deciding_end(value: float, end: float, tests: int = 1) -> float:
    """Return the end of a one-sided interval from the end of the two-sided one.

    The two-sided end leaves 2.5 % beyond it, this one 5 %, each divided by the number
    of `tests`. It is nearer to the value by the ratio of the normal quantiles of both,
    which keeps the skew of the interval.

    >>> round(deciding_end(0.5, 0.5 - 1.96), 3)
    -1.145
    """
    normal = NormalDist()
    one_sided = normal.inv_cdf(1 - (1 - LEVEL) / tests)
    two_sided = normal.inv_cdf(1 - (1 - LEVEL) / 2 / tests)
    return value + (end - value) * one_sided / two_sided
