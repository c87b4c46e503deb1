"""A bootstrap over prompts: intervals of statistics of sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from statistics import NormalDist
from weakref import WeakValueDictionary

import numpy as np

from rewardkit.analysis.statistics import Codes, Floats, number_of
from rewardkit.errors import check_seed

LEVEL = 0.95
"""Of the intervals that are shown, and of the verdict on one side."""
FEWEST_BEYOND = 5
"""Resamples beyond the end of an interval; with fewer it is normal. Our choice."""


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

    def __init__(
        self, prompts: Codes, *, seed: int = 0, resamples: int = 1000, tests: int = 1
    ) -> None:
        check_seed(seed)
        self.prompts, self.seed, self.tests = prompts, int(seed), tests
        self.total = number_of(prompts)
        self.units = min(self.total, self.MOST_UNITS)
        wanted = max(resamples, round(2 * FEWEST_BEYOND * tests / (1 - LEVEL)))
        self.resamples = min(self.CELLS // max(self.units, 1), wanted)

    @cached_property
    def weights(self) -> Floats:
        """Return how often each unit is drawn in each resample."""
        return _draw(self.units, self.resamples, self.seed)

    @cached_property
    def unit(self) -> Codes:
        """Return the unit of each prompt, (prompts,)."""
        if self.units == self.total:
            return np.arange(self.total)
        generator = np.random.default_rng([self.seed, self.total])
        return generator.permutation(self.total) % self.units

    def of_groups(self, groups: Codes) -> Codes:
        """Return the prompt of each group, (groups,)."""
        owner = np.zeros(number_of(groups), dtype=np.intp)
        owner[groups] = self.prompts
        return owner

    def by_unit(self, values: Floats, owner: Codes) -> Floats:
        """Add up values (rows or groups) of the prompts `owner` by unit, (units,)."""
        sums = np.bincount(owner, values, minlength=self.total)
        if self.units < self.total:
            sums = np.bincount(self.unit, sums, minlength=self.units)
        return np.asarray(sums, dtype=float)

    def interval(
        self,
        sums: list[Floats],
        owner: Codes,
        statistic: Callable[..., Floats] = np.divide,
        tests: int = 1,
    ) -> tuple[float, float]:
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
        unknown = math.nan, math.nan
        if (columns != 0).any(axis=1).sum() < 2:
            return unknown
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.asarray(statistic(*(self.weights @ columns).T), dtype=float)
        values = values[np.isfinite(values)]
        if not len(values):
            return unknown
        tail = (1 - LEVEL) / 2 / (tests * self.tests)
        if tail * len(values) < FEWEST_BEYOND:
            mean = float(values.mean())
            half = NormalDist().inv_cdf(1 - tail) * float(values.std())
            return mean - half, mean + half
        low, high = np.quantile(values, [tail, 1 - tail])
        return float(low), float(high)

    def ratio(
        self, above: Floats, below: Floats, owner: Codes
    ) -> tuple[float, tuple[float, float]]:
        """Return the ratio of two sums with its interval; NaN over nothing."""
        total = float(below.sum())
        value = float(above.sum()) / total if total else math.nan
        return value, self.interval([above, below], owner)


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
    """Return the end of a one-sided interval from that of the shown two-sided one.

    Both are of one of so many `tests`. The shown end leaves 2.5 % beyond it, this one 5
    %: nearer to the value by the ratio of the two normal quantiles, which keeps the
    interval's own skew.

    >>> round(deciding_end(0.5, 0.5 - 1.96), 3)
    -1.145
    """
    normal = NormalDist()
    one_sided = normal.inv_cdf(1 - (1 - LEVEL) / tests)
    two_sided = normal.inv_cdf(1 - (1 - LEVEL) / 2 / tests)
    return value + (end - value) * one_sided / two_sided
