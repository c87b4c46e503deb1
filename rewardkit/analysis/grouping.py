"""Statistics of values within groups, and a bootstrap over prompts. Arrays only; NaN values are left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.asked import check_seed

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

FEWEST_BEYOND = 5
"""Resamples beyond the end of an interval; with fewer it is that of a normal distribution. Our choice."""

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

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Groups with at least two values that differ."""
        return (self.count > 1) & (self.std > ZERO_STD)

    @cached_property
    def dead(self) -> NDArray[np.bool_]:
        """Groups with at least two values, all equal."""
        return (self.count > 1) & (self.std <= ZERO_STD)


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
    """The values as (groups, siblings), where all groups have so many, one after the other; a quicker way.

    That is how most logs are.
    """
    size = len(values) // max(total, 1)
    if size == 0 or size * total != len(values):
        return None
    alike = (groups.reshape(total, size) == np.arange(total)[:, None]).all()
    return values.reshape(total, size) if alike else None


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


def tie_rate(values: Floats, groups: Codes, total: int | None = None) -> tuple[Floats, Floats]:
    """For each of `total` groups the number of pairs of equal siblings and of all pairs, (groups,) each.

    Values that agree in 12 digits behind the point are equal.
    """
    total = int(groups.max(initial=-1)) + 1 if total is None else total
    ranked, owner = _ranked(np.round(values, 12), groups, total)
    tied = 1 + np.flatnonzero((ranked[1:] == ranked[:-1]) & (owner[1:] == owner[:-1]))  # to the one before
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
    """Share of the variance that lies between groups: ICC(1) for groups of unequal size.

    NaN where it is not defined.

    From the one-way analysis of variance, (MSB - MSW) / (MSB + (n0 - 1) MSW), cut at 0 (Donner 1986).
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
    """exp(entropy) of the distinct values: how many equally likely levels would be as varied.

    NaN without values.
    """
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return float("nan")
    values = np.sort(np.round(values, 12))
    counts = np.diff(np.flatnonzero(np.diff(values, prepend=np.nan)), append=len(values))
    shares = counts / len(values)
    return float(np.exp(-(shares * np.log(shares)).sum()))


class Bootstrap:
    """Percentile intervals of statistics of sums, resampling prompts (siblings are not independent).

    What is drawn are `units`: a prompt each, or, of more than `MOST_UNITS` prompts, groups of prompts that
    were put together at random, whose sums vary as those of prompts do (random groups: Wolter, Introduction
    to Variance Estimation, chapter 2). One set of resamples serves every statistic: `weights` is
    (resamples, units), how often each was drawn. InputError: a seed that is none.
    """

    MOST_UNITS = 4096  # with which an interval is known to 2 % of its width: our choice
    CELLS = 20_000_000  # of the weights

    def __init__(
        self,
        prompts: Codes,
        *,
        seed: int = 0,
        resamples: int = 1000,
        level: float = 0.95,
        tests: int = 1,
    ) -> None:
        self.prompts = prompts
        self.total = int(prompts.max(initial=-1)) + 1
        self.level = level
        self.tests = tests  # intervals that the level is to hold for together, whatever `interval` is told
        self.units = min(self.total, self.MOST_UNITS)
        wanted = max(resamples, round(2 * FEWEST_BEYOND * tests / (1 - level)))
        self.resamples = min(self.CELLS // max(self.units, 1), wanted)
        check_seed(seed)
        self.seed = int(seed)

    @cached_property
    def weights(self) -> Floats:
        """How often each unit is drawn in each resample."""
        return _drawn(self.units, self.resamples, self.seed)

    @cached_property
    def unit(self) -> Codes:
        """The unit of each prompt, (prompts,)."""
        if self.units == self.total:
            return np.arange(self.total)
        return np.random.default_rng([self.seed, self.total]).permutation(self.total) % self.units

    def of_groups(self, groups: Codes) -> Codes:
        """The prompt of each group, (groups,)."""
        owner = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.intp)
        owner[groups] = self.prompts
        return owner

    def by_unit(self, values: Floats, owner: Codes) -> Floats:
        """`values` (rows or groups) of the prompts `owner`, added up by unit, (units,)."""
        found = np.bincount(owner, values, minlength=self.total)
        if self.units < self.total:
            found = np.bincount(self.unit, found, minlength=self.units)
        return np.asarray(found, dtype=float)

    def interval(
        self,
        sums: list[Floats],
        owner: Codes,
        statistic: Callable[..., Floats] = lambda above, below: above / below,
        tests: int = 1,
    ) -> tuple[float, float]:
        """Interval of `statistic`, which gets each of `sums` added up over a resample, (resamples,).

        `sums` are arrays over rows or groups, whose prompt is `owner`. It is one of so many `tests`: the
        level holds for all of them together (Bonferroni). (NaN, NaN) where fewer than two prompts have
        values.
        """
        if self.total < 2:
            return float("nan"), float("nan")
        columns = np.column_stack([self.by_unit(item, owner) for item in sums])  # (units, sums)
        if (columns != 0).any(axis=1).sum() < 2:
            return float("nan"), float("nan")
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.asarray(statistic(*(self.weights @ columns).T), dtype=float)
        values = values[np.isfinite(values)]
        if len(values) == 0:
            return float("nan"), float("nan")
        tail = (1 - self.level) / 2 / (tests * self.tests)
        if tail * len(values) < FEWEST_BEYOND:
            half = NormalDist().inv_cdf(1 - tail) * float(values.std())
            return float(values.mean()) - half, float(values.mean()) + half
        low, high = np.quantile(values, [tail, 1 - tail])
        return float(low), float(high)


_DRAWN: WeakValueDictionary[tuple[int, int, int], Floats] = WeakValueDictionary()


def _drawn(units: int, resamples: int, seed: int) -> Floats:
    """How often each unit is drawn, (resamples, units).

    The same array, of up to 160 MB, for all that ask for the same, as long as one of them has it.
    """
    weights = _DRAWN.get((units, resamples, seed))
    if weights is None:
        generator = np.random.default_rng(seed)
        weights = np.empty((resamples, units))
        for row in weights:
            row[:] = np.bincount(generator.integers(0, units, units), minlength=units)
        weights.flags.writeable = False
        _DRAWN[units, resamples, seed] = weights
    return weights
