"""Distributions: what lies far out, two piles, and ties in groups of another size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from rewardkit.analysis.statistics import (
    Bootstrap,
    Codes,
    Floats,
    Interval,
    Mask,
    count_equal,
)
from rewardkit.errors import check_whole_number
from rewardkit.plain import PlainRecord

FAR_FROM_MIDDLE = 3.0
"""Spreads of the middle half beyond which `outlying` looks."""
FAR_FROM_NEXT = 2.0
"""Distances of the next value from the median at which a value is apart."""


def outlying(values: Floats) -> Mask:
    """Return which values lie far out and apart from all others; NaN does not.

    They lie beyond Tukey's outer fences (1977), three interquartile ranges from the
    quartiles, and at least twice as far from the median as the next value on that side,
    so that the gap is half of the range (Dixon's ratio, 1950). A long tail has no such
    gap, however skewed it is. If the quartiles are equal, as of tasks that are mostly
    missed, the 5 % and 95 % quantiles are taken; if these are equal, none lies far out.

    >>> outlying(np.array([1.0, 2, 3, 4, 5, 6, 7, 30, 31, np.nan])).tolist()[6:]
    [False, True, True, False]
    """
    far = np.zeros(len(values), dtype=bool)
    present = values[~np.isnan(values)]
    if not len(present):
        return far
    quantiles = np.quantile(present, [0.05, 0.25, 0.5, 0.75, 0.95])
    lowest, low, middle, high, highest = quantiles
    if low == high:
        low = lowest
        high = highest
    if low == high:
        return far
    reach = FAR_FROM_MIDDLE * (high - low)
    for sign, fence in ((1, high + reach), (-1, low - reach)):
        away = sign * (values - middle)
        limit = sign * (fence - middle)
        beyond = np.sort(away[away > limit])
        next_to = np.concatenate([[away[away <= limit].max(initial=0.0)], beyond[:-1]])
        apart = beyond[beyond >= FAR_FROM_NEXT * next_to]
        if len(apart):
            far |= away >= apart[0]
    return far


def two_piles(values: Floats) -> tuple[float, float, float]:
    """Return the means of the lower and upper values and the share that is lower.

    They are cut where the variance between the two is largest (Otsu 1979).

    >>> two_piles(np.array([0.0, 1, 9, 10, 11]))
    (0.5, 10.0, 0.4)
    """
    ordered = np.sort(values)
    count = np.arange(1, len(ordered))
    sums = np.cumsum(ordered)
    low = sums[:-1] / count
    high = (sums[-1] - sums[:-1]) / (len(ordered) - count)
    best = int(np.argmax(count * (len(ordered) - count) * (high - low) ** 2))
    return float(low[best]), float(high[best]), float(count[best] / len(ordered))


def chi_squared(chance: float, freedom: Floats) -> Floats:
    """Return a quantile of chi-squared, by Wilson and Hilferty (1931).

    >>> chi_squared(0.95, np.array([4.0, 20.0])).round(1)  # exactly 9.49 and 31.41
    array([ 9.5, 31.4])
    """
    rough = 2 / (9 * freedom)
    root = np.maximum(1 - rough + NormalDist().inv_cdf(chance) * np.sqrt(rough), 0.0)
    return np.asarray(freedom * root**3)


# --- groups without a signal at another number of generations


@dataclass(frozen=True)
class DeadShare(PlainRecord):
    """The share of groups of `size` whose siblings all earn the same.

    `value` is the mean over all subsets of the sampled siblings, its `interval` over
    prompts. `sampled` is the size of the largest group, `groups` the number of groups
    of at least `size` rewards; without any, the value is NaN.
    """

    IN_RECORD = ("size", "value", "interval", "sampled", "groups", "batches")

    size: int
    value: float
    interval: Interval
    sampled: int
    groups: int

    @property
    def batches(self) -> float:
        """Return the batches per full one if dead groups are dropped (DAPO)."""
        return math.inf if self.value >= 1 else 1 / (1 - self.value)


def dead_share(
    rewards: Floats, groups: Codes, bootstrap: Bootstrap, size: int
) -> DeadShare:
    """Return the share of dead groups of `size`, from rewards and group codes, (rows,).

    By the hypergeometric distribution of the ties of each group, which needs no model.
    It is not given for more siblings than were sampled: a plug-in p^G + (1-p)^G a
    prompt takes the luck of a few siblings for certainty, and is far too high.

    Raises:
        InputError: `size` is no whole number from 2 on.
    """
    check_whole_number("size", size, 2)
    size = int(size)
    owner = bootstrap.of_groups(groups)
    of_group, alike = count_equal(rewards, groups)
    counts = np.bincount(of_group, alike, minlength=len(owner))
    used = counts >= size
    chance = _chance_of_tie(alike, counts[of_group], size)
    dead = np.bincount(of_group, chance * used[of_group], minlength=len(owner))
    value, interval = bootstrap.ratio(dead, used, owner)
    sampled = int(counts.max(initial=0))
    return DeadShare(size, value, interval, sampled, int(used.sum()))


def _chance_of_tie(alike: Any, counts: Any, size: int) -> Floats:
    """Return the chance that `size` of `counts` siblings are all among `alike` ones.

    They are drawn without replacement.
    """
    drawn = np.arange(size)[:, None]
    chances = np.maximum(alike - drawn, 0) / np.maximum(counts - drawn, 1)
    return np.asarray(chances.prod(axis=0))
