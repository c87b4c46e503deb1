"""Distributions: what lies far out, two piles, and rates of groups fitted to a size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from rewardkit.analysis.statistics import (
    Bootstrap,
    Codes,
    Floats,
    Interval,
    Mask,
)
from rewardkit.errors import InputError, preview
from rewardkit.findings import counted
from rewardkit.plain import PlainRecord

FAR_FROM_MIDDLE = 3.0
"""Spreads of the middle half beyond which `outlying` looks."""
FAR_FROM_NEXT = 2.0
"""Distances of the next value from the median at which a value is apart."""
FEWEST_PROMPTS = 30
"""From fewer no distribution of pass rates is fitted. Our choice."""
FARTHEST = 4
"""Times the size that was sampled, beyond which nothing is said. Our choice."""
FITTED_LEVELS = 10
"""Values of the reward that are fitted, the most frequent ones. Our choice."""
MISFIT = 0.01
"""Chance of being refused though the rates are spread as the fit has it. Our choice."""
CELL = 5.0
"""Groups that are expected in a cell of the test, the usual least number."""


def outlying(values: Floats) -> Mask:
    """Return which values lie far out and apart from all others; NaN does not.

    Beyond three times the spread of the middle half from its ends (Tukey's outer
    fences, 1977), and at least twice as far from the median as the next value on that
    side, so that the gap is as wide as all that reaches up to it (Dixon's ratio of gap
    to range, 1950, of a half). A long tail has no such gap, however skewed it is. Where
    the middle half does not vary, as of tasks that are mostly missed, that of the
    middle nine tenths is taken, and none lies far out where these do not vary either.

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
    """Return the value that chi-squared of some freedom stays under with this chance.

    By Wilson and Hilferty (1931).

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

    Its `interval` is over prompts. `sampled` is the largest group there is. `method`:
    "exact", the mean over all subsets of the siblings that were sampled; "fitted", a
    beta distribution of each value's rate over `prompts`. `groups` is how many it is
    of: those with so many rewards; for a fit those with two or more. NaN where it
    cannot be said, as where the rates are spread otherwise: `why` says why.
    """

    IN_RECORD = (
        "size",
        "value",
        "interval",
        "method",
        "sampled",
        "prompts",
        "groups",
        "why",
        "batches",
    )

    size: int
    value: float
    interval: Interval
    method: str
    sampled: int
    prompts: int
    groups: int
    why: str = ""

    @property
    def batches(self) -> float:
        """Return the batches per full one if dead groups are dropped (DAPO)."""
        return math.inf if self.value >= 1 else 1 / (1 - self.value)


def dead_share(
    rewards: Floats, groups: Codes, bootstrap: Bootstrap, size: int
) -> DeadShare:
    """Return the share of dead groups of `size`, from rewards and group codes, (rows,).

    For sizes up to that of a group by the hypergeometric distribution of its own ties,
    which needs no model; a larger one by a beta distribution of the rate of each of the
    `FITTED_LEVELS` most frequent values over prompts, by its moments (a plug-in p^G +
    (1-p)^G per prompt takes the luck of a few siblings for certainty, and is far too
    high).

    Raises:
        InputError: `size` is no whole number from 2 on.
    """
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 2:
        raise InputError(
            f"size={preview(size)} is not a whole number of at least 2, which a group "
            "has"
        )
    size = int(size)
    owner = bootstrap.of_groups(groups)
    is_judged = ~np.isnan(rewards)
    values, level = np.unique(np.round(rewards[is_judged], 12), return_inverse=True)
    kinds = max(len(values), 1)
    # each reward of each group, and how many siblings have it
    pairs, alike = np.unique(groups[is_judged] * kinds + level, return_counts=True)
    of_group, of_level = np.divmod(pairs, kinds)
    counts = np.bincount(groups[is_judged], minlength=len(owner)).astype(float)
    sampled = int(counts.max(initial=0))
    is_exact = size <= sampled
    used = counts >= (size if is_exact else 2)
    prompts = len(np.unique(owner[used]))
    about = sampled, prompts, int(used.sum())
    if is_exact:
        chance = _chance_of_tie(alike, counts[of_group], size)
        chance = np.where(used[of_group], chance, 0.0)
        dead = np.bincount(of_group, chance, minlength=len(owner))
        value, interval = bootstrap.ratio(dead, used, owner)
        return DeadShare(size, value, interval, "exact", *about)
    why = _why_not_fitted(size, sampled, prompts)
    if not why:
        hits = []
        for frequent in np.argsort(-np.bincount(level))[:FITTED_LEVELS]:
            siblings = np.where(of_level == frequent, alike, 0)
            hits.append(np.bincount(of_group, siblings, minlength=len(owner))[used])
        if _fits(hits[0], counts[used]):
            sums = _sums(np.array(hits), counts[used])
            tied = partial(_tied, size=size)
            value = float(tied(*_added(sums))[0])
            low, high = bootstrap.interval(sums, owner[used], tied)
            interval = min(low, value), max(high, value)
            return DeadShare(size, value, interval, "fitted", *about)
        why = (
            "the pass rates of the prompts are not spread as one beta distribution, so "
            f"that what {size} siblings would do cannot be said from {sampled}"
        )
    return DeadShare(size, math.nan, (math.nan, math.nan), "fitted", *about, why)


def _why_not_fitted(size: int, sampled: int, prompts: int) -> str:
    """Say why no distribution is fitted; "" where one may be."""
    if sampled < 2:
        return "no prompt has two siblings with a reward"
    if size > FARTHEST * sampled:
        return (
            f"{size} siblings are more than {FARTHEST} times the {sampled} that were "
            "sampled"
        )
    if prompts < FEWEST_PROMPTS:
        verb = "is" if prompts == 1 else "are"
        return (
            f"{counted(prompts, 'prompt')} {verb} too few to fit pass rates; "
            f"{FEWEST_PROMPTS} would do"
        )
    return ""


def _chance_of_tie(alike: Any, counts: Any, size: int) -> Floats:
    """Return the chance that `size` of `counts` siblings are all `alike` ones.

    Drawn without replacement.
    """
    drawn = np.arange(size)[:, None]
    chances = np.maximum(alike - drawn, 0) / np.maximum(counts - drawn, 1)
    return np.asarray(chances.prod(axis=0))


def _sums(hits: Any, trials: Floats) -> list[Floats]:
    """Return what `_tied` needs of each group: `hits` (values, groups) of `trials`."""
    return [np.ones(len(trials)), trials, trials**2, *hits, *(hits**2 / trials)]


def _added(sums: list[Floats]) -> list[Floats]:
    return [np.array([column.sum()]) for column in sums]


def _tied(
    groups: Floats, trials: Floats, squares: Floats, *sums: Floats, size: int
) -> Floats:
    """Return the share of tied groups of `size` from sums over groups, (resamples,).

    Of how many there are, of their sizes and squared sizes; then for each value of its
    counts, and for each of its squared counts over the size. A group is tied at a value
    with the probability of `size` successes of a beta-binomial.
    """
    levels = len(sums) // 2
    tied = np.zeros(len(groups))
    for hits, squared_hits in zip(sums[:levels], sums[levels:], strict=True):
        rate, rho = _moments(groups, trials, squares, hits, squared_hits)
        tied = tied + _chance(size, size, rate, rho)
    return np.minimum(tied, 1.0)


def _moments(
    groups: Floats, trials: Floats, squares: Floats, hits: Floats, squared_hits: Floats
) -> tuple[Floats, Floats]:
    """Return mean and intraclass correlation of a rate (ANOVA, Ridout et al. 1999)."""
    between = (squared_hits - hits**2 / trials) / (groups - 1)
    inside = (hits - squared_hits) / (trials - groups)
    usual = (trials - squares / trials) / (groups - 1)
    total = between + (usual - 1) * inside
    zeros = np.zeros(len(groups))
    rho = np.divide(between - inside, total, out=zeros, where=total > 0)
    return hits / trials, np.clip(rho, 0.0, 1 - 1e-9)


def _fits(hits: Any, trials: Floats) -> bool:
    """Return whether groups of the commonest size fit their beta-binomial.

    By Pearson's chi-squared over cells of at least `CELL` expected groups, at 1 %; with
    too few cells nothing speaks against it.
    """
    (rate,), (rho,) = _moments(*_added(_sums(hits[None], trials)))
    if not 0 < rate < 1:
        return True
    size = int(np.argmax(np.bincount(trials.astype(np.intp))))
    observed = np.bincount(hits[trials == size].astype(np.intp), minlength=size + 1)
    chances = [_chance(count, size, rate, rho) for count in range(size + 1)]
    expected = observed.sum() * np.array(chances)
    last = max(expected.sum() // CELL - 1, 0)
    cell = np.minimum(np.cumsum(expected) // CELL, last).astype(np.intp)
    _, cell = np.unique(cell, return_inverse=True)
    observed = np.bincount(cell, observed)
    expected = np.bincount(cell, expected)
    freedom = len(expected) - 3  # the total and two parameters are fitted
    if freedom < 1:
        return True
    misfit = (((observed - expected) ** 2) / expected).sum()
    return bool(misfit <= chi_squared(1 - MISFIT, np.array([freedom]))[0])


def _chance(hits: int, trials: int, rate: Any, rho: Any) -> Any:
    """Return the chance of so many successes of a beta-binomial."""
    above = [rate * (1 - rho) + rho * step for step in range(hits)]
    above += [(1 - rate) * (1 - rho) + rho * step for step in range(trials - hits)]
    chance: Any = 1
    for step, factor in enumerate(above):
        chance = chance * (factor / (1 - rho + rho * step))
    return math.comb(trials, hits) * chance
