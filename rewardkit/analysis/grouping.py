"""Statistics of values within groups, and a bootstrap over prompts. Arrays only; NaN values are left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

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
    low: Floats
    high: Floats

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
    values, groups = values[known], groups[known]
    count = np.bincount(groups, minlength=total).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(groups, values, minlength=total) / count
        squares = np.bincount(groups, (values - mean[groups]) ** 2, minlength=total)
        std = np.where(count > 1, np.sqrt(squares / (count - 1)), 0.0)
    std[count == 0] = np.nan
    low, high = np.full(total, np.inf), np.full(total, -np.inf)
    np.minimum.at(low, groups, values)
    np.maximum.at(high, groups, values)
    std[low == high] = 0.0  # equal values whose mean is not exact in floating point
    return GroupStats(count, mean, std, low, high)


def within(values: Floats, groups: Codes) -> Floats:
    """Values minus their group's mean, (rows,)."""
    return values - group_stats(values, groups).mean[groups]


def tie_rate(values: Floats, groups: Codes) -> tuple[Floats, Floats]:
    """For each group the number of pairs of equal siblings and of all pairs, (groups,) each."""
    total = int(groups.max(initial=-1)) + 1
    known = ~np.isnan(values)
    _, atoms = np.unique(np.round(values[known], 12), return_inverse=True)
    keys, counts = np.unique(groups[known] * (atoms.max(initial=0) + 1) + atoms, return_counts=True)
    owner = keys // (atoms.max(initial=0) + 1)
    equal = np.bincount(owner, counts * (counts - 1) / 2, minlength=total).astype(float)
    size = np.bincount(groups[known], minlength=total)
    return equal, size * (size - 1) / 2


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
    _, counts = np.unique(np.round(values, 12), return_counts=True)
    shares = counts / counts.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


class Bootstrap:
    """Percentile intervals of statistics of sums, resampling prompts (siblings are not independent).

    One set of resamples serves every statistic: `weights` is (resamples, prompts), how often each prompt was
    drawn.
    """

    CELLS = 50_000_000  # of the weights; more prompts get fewer resamples, at least 100

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
        wanted = max(resamples, int(2 * FEWEST_BEYOND * tests / (1 - level)))
        self.resamples = int(np.clip(self.CELLS // max(self.total, 1), 100, wanted))
        self.seed = seed

    @cached_property
    def weights(self) -> NDArray[np.float32]:
        """How often each prompt is drawn in each resample."""
        generator = np.random.default_rng(self.seed)
        weights = np.empty((self.resamples, self.total), dtype=np.float32)
        for row in weights:
            row[:] = np.bincount(generator.integers(0, self.total, self.total), minlength=self.total)
        return weights

    def of_groups(self, groups: Codes) -> Codes:
        """The prompt of each group, (groups,)."""
        owner = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.intp)
        owner[groups] = self.prompts
        return owner

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
        columns = np.column_stack(
            [np.bincount(owner, item, minlength=self.total) for item in sums]
        )  # (prompts, sums)
        drawn = (
            self.weights.astype(np.float64) @ columns
            if self.total < 20_000
            else self.weights @ columns.astype(np.float32)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.asarray(statistic(*drawn.T.astype(np.float64)), dtype=float)
        values = values[np.isfinite(values)]
        if len(values) == 0:
            return float("nan"), float("nan")
        tail = (1 - self.level) / 2 / (tests * self.tests)
        if tail * len(values) < FEWEST_BEYOND:
            half = NormalDist().inv_cdf(1 - tail) * float(values.std())
            return float(values.mean()) - half, float(values.mean()) + half
        low, high = np.quantile(values, [tail, 1 - tail])
        return float(low), float(high)
