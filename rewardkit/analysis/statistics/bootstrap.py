"""A bootstrap over prompts: intervals of statistics of sums."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from statistics import NormalDist
from weakref import WeakValueDictionary

import numpy as np

from rewardkit.analysis.statistics.groups import Codes, Floats
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
    often each was drawn. InputError: a seed that is none.
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
        # the level holds for so many intervals together, beside those of `interval`
        self.tests = tests
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
        return (
            np.random.default_rng([self.seed, self.total]).permutation(self.total)
            % self.units
        )

    def of_groups(self, groups: Codes) -> Codes:
        """Return the prompt of each group, (groups,)."""
        owner = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.intp)
        owner[groups] = self.prompts
        return owner

    def by_unit(self, values: Floats, owner: Codes) -> Floats:
        """Add up values (rows or groups) of the prompts `owner` by unit, (units,)."""
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
        """Return the interval of a statistic of sums.

        `statistic` gets each of `sums` added up over a resample, (resamples,).

        `sums` are arrays over rows or groups, whose prompt is `owner`. It is one of so
        many `tests`: the level holds for all of them together (Bonferroni). (NaN, NaN)
        where fewer than two prompts have values.
        """
        unknown = float("nan"), float("nan")
        columns = np.column_stack(
            [self.by_unit(item, owner) for item in sums]
        )  # (units, sums)
        if (columns != 0).any(axis=1).sum() < 2:
            return unknown
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.asarray(statistic(*(self.weights @ columns).T), dtype=float)
        values = values[np.isfinite(values)]
        if len(values) == 0:
            return unknown
        tail = (1 - self.level) / 2 / (tests * self.tests)
        if tail * len(values) < FEWEST_BEYOND:
            half = NormalDist().inv_cdf(1 - tail) * float(values.std())
            return float(values.mean()) - half, float(values.mean()) + half
        low, high = np.quantile(values, [tail, 1 - tail])
        return float(low), float(high)

    def ratio(
        self, above: Floats, below: Floats, owner: Codes
    ) -> tuple[float, tuple[float, float]]:
        """Return the ratio of two sums with its interval; NaN over nothing."""
        total = float(below.sum())
        value = float(above.sum()) / total if total else float("nan")
        return value, self.interval([above, below], owner)


_DRAWN: WeakValueDictionary[tuple[int, int, int], Floats] = WeakValueDictionary()


def _drawn(units: int, resamples: int, seed: int) -> Floats:
    """How often each unit is drawn, (resamples, units).

    The same array, of up to 160 MB, for all that ask for the same, as long as one of
    them has it.
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


def deciding_end(value: float, end: float, tests: int = 1) -> float:
    """Return the end of a one-sided interval from that of the shown two-sided one.

    Both are of one of so many `tests`. The shown end leaves 2.5 % beyond it, this one 5
    %: nearer to the value by the ratio of the two normal quantiles, which keeps the
    interval's own skew.

    >>> round(deciding_end(0.5, 0.5 - 1.96), 3)
    -1.145
    """
    quantile = NormalDist().inv_cdf
    both, one = (quantile(1 - (1 - LEVEL) / sides / tests) for sides in (2, 1))
    return value + (end - value) * one / both
