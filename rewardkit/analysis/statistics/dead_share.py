"""The share of groups without a signal at another number of generations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.groups import Codes, Floats
from rewardkit.analysis.statistics.shape import chi_squared
from rewardkit.errors import InputError, preview
from rewardkit.findings import counted
from rewardkit.plain import PlainRecord

FEWEST_PROMPTS = 30
"""From fewer no distribution of pass rates is fitted. Our choice."""
FARTHEST = 4
"""Times the size that was sampled, beyond which nothing is said. Our choice."""
LEVELS = 10
"""Values of the reward that are fitted, the most frequent ones. Our choice."""
MISFIT = 0.01
"""Chance of being refused though the rates are spread as the fit has it. Our choice."""
CELL = 5.0
"""Groups that are expected in a cell of the test, the usual least number."""


@dataclass(frozen=True)
class DeadShare(PlainRecord):
    """The share of groups of `size` whose siblings all earn the same.

    Its `interval` is over prompts.

    `sampled` is the largest group there is. `method`: "exact", the mean over all
    subsets of the siblings that were sampled; "fitted", a beta distribution of each
    value's rate over `prompts`. `groups` is how many it is of: those with so many
    rewards; for a fit those with two or more. NaN where it cannot be said, as where the
    rates are spread otherwise: `why` says why.
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
    interval: tuple[float, float]
    method: str
    sampled: int
    prompts: int
    groups: int
    why: str = ""

    @property
    def batches(self) -> float:
        """Return the batches per full one if dead groups are dropped (DAPO)."""
        return float("inf") if self.value >= 1 else 1 / (1 - self.value)


def dead_share(
    rewards: Floats, groups: Codes, bootstrap: Bootstrap, size: int
) -> DeadShare:
    """Return the share of dead groups of `size`, from rewards and group codes, (rows,).

    For sizes up to that of a group by the hypergeometric distribution of its own ties,
    which needs no model; a larger one by a beta distribution of the rate of each of the
    `LEVELS` most frequent values over prompts, by its moments (a plug-in p^G + (1-p)^G
    per prompt takes the luck of a few siblings for certainty, and is far too high).
    InputError: no whole number from 2 on.
    """
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 2:
        raise InputError(
            f"size={preview(size)} is not a whole number of at least 2, which a group "
            "has"
        )
    size = int(size)
    owner = bootstrap.of_groups(groups)
    known = ~np.isnan(rewards)
    levels, level = np.unique(np.round(rewards[known], 12), return_inverse=True)
    kinds = max(len(levels), 1)
    pairs, alike = np.unique(groups[known] * kinds + level, return_counts=True)
    of_group, of_level = np.divmod(
        pairs, kinds
    )  # each reward of each group, and how many siblings have it
    counts = np.bincount(groups[known], minlength=len(owner)).astype(float)
    sampled = int(counts.max(initial=0))
    exact = size <= sampled
    used = counts >= (size if exact else 2)
    about = (sampled, len(np.unique(owner[used])), int(used.sum()))
    if exact:
        chance = np.where(used[of_group], _all_of(alike, counts[of_group], size), 0.0)
        dead = np.bincount(of_group, chance, minlength=len(owner)).astype(float)
        return DeadShare(
            size, *bootstrap.ratio(dead, used.astype(float), owner), "exact", *about
        )
    why = _why_not_fitted(size, *about[:2])
    if not why:
        frequent = np.argsort(-np.bincount(level))[:LEVELS]
        each = [np.where(of_level == at, alike, 0) for at in frequent]
        hits = np.array(
            [np.bincount(of_group, those, minlength=len(owner)) for those in each]
        )
        hits, trials = hits[:, used], counts[used]
        if _fits(hits[0], trials):
            sums = [np.ones(len(trials)), trials, trials**2, *hits, *(hits**2 / trials)]
            drawn = bootstrap.interval(sums, owner[used], partial(_tied, size=size))
            value = float(
                _tied(*(np.array([item.sum()]) for item in sums), size=size)[0]
            )
            return DeadShare(
                size,
                value,
                (min(drawn[0], value), max(drawn[1], value)),
                "fitted",
                *about,
            )
        why = (
            "the pass rates of the prompts are not spread as one beta distribution, so "
            f"that what {size} siblings would do cannot be said from {sampled}"
        )
    return DeadShare(size, math.nan, (math.nan, math.nan), "fitted", *about, why)


def _why_not_fitted(size: int, sampled: int, prompts: int) -> str:
    """Why no distribution is fitted; empty where one may be."""
    if sampled < 2:
        return "no prompt has two siblings with a reward"
    if size > FARTHEST * sampled:
        return (
            f"{size} siblings are more than {FARTHEST} times the {sampled} that were "
            "sampled"
        )
    if prompts < FEWEST_PROMPTS:
        are = "is" if prompts == 1 else "are"
        return (
            f"{counted(prompts, 'prompt')} {are} too few to fit pass rates; "
            f"{FEWEST_PROMPTS} would do"
        )
    return ""


def _all_of(alike: Any, counts: Any, size: int) -> Floats:
    """Return the chance that `size` of `counts` siblings are all `alike` ones.

    Drawn without replacement.
    """
    drawn = np.arange(size)[:, None]
    chances = np.maximum(alike - drawn, 0) / np.maximum(counts - drawn, 1)
    return np.asarray(chances.prod(axis=0), dtype=float)


def _tied(
    groups: Floats, trials: Floats, squares: Floats, *sums: Floats, size: int
) -> Floats:
    """Return the share of tied groups of `size` from sums over groups, (resamples,).

    Of how many there are, of their sizes and squared sizes; then for each value of its
    counts, and for each of its squared counts over the size. A group is tied at a value
    with the probability of `size` successes of a beta-binomial.
    """
    each = zip(sums[: len(sums) // 2], sums[len(sums) // 2 :], strict=True)
    moments = [_moments(groups, trials, squares, hits, over) for hits, over in each]
    tied = sum(_chance(size, size, m, rho) for m, rho in moments)
    return np.asarray(np.minimum(tied, 1.0), dtype=float)


def _moments(
    groups: Floats, trials: Floats, squares: Floats, hits: Floats, over: Floats
) -> tuple[Floats, Floats]:
    """Return mean and intraclass correlation of a rate (ANOVA, Ridout et al. 1999)."""
    above = (over - hits**2 / trials) / (groups - 1)
    inside = (hits - over) / (trials - groups)
    usual = (trials - squares / trials) / (groups - 1)
    whole = above + (usual - 1) * inside
    rho = np.divide(above - inside, whole, out=np.zeros(len(groups)), where=whole > 0)
    return hits / trials, np.clip(rho, 0.0, 1 - 1e-9)


def _fits(hits: Floats, trials: Floats) -> bool:
    """Return whether groups of the commonest size fit their beta-binomial.

    By Pearson's chi-squared over cells of at least `CELL` expected groups, at 1 %; with
    too few cells nothing speaks against it.
    """
    sums = (np.ones(len(hits)), trials, trials**2, hits, hits**2 / trials)
    (m,), (rho,) = _moments(*(np.array([item.sum()]) for item in sums))
    if not 0 < m < 1:
        return True
    size = int(np.argmax(np.bincount(trials.astype(np.intp))))
    observed = np.bincount(hits[trials == size].astype(np.intp), minlength=size + 1)
    expected = observed.sum() * np.array(
        [_chance(count, size, m, rho) for count in range(size + 1)]
    )
    cell = np.minimum(
        np.cumsum(expected) // CELL, max(expected.sum() // CELL - 1, 0)
    ).astype(np.intp)
    _, cell = np.unique(cell, return_inverse=True)
    observed, expected = np.bincount(cell, observed), np.bincount(cell, expected)
    freedom = len(expected) - 3  # the total and two parameters are fitted
    misfit = (((observed - expected) ** 2) / expected).sum()
    return freedom < 1 or bool(
        misfit <= chi_squared(1 - MISFIT, np.array([freedom]))[0]
    )


def _chance(hits: int, trials: int, m: Any, rho: Any) -> Any:
    """Return the chance of so many successes of a beta-binomial."""
    sides = ((m, hits), (1 - m, trials - hits))
    above = [
        start * (1 - rho) + rho * step
        for start, count in sides
        for step in range(count)
    ]
    return math.comb(trials, hits) * math.prod(
        over / (1 - rho + rho * step) for step, over in enumerate(above)
    )
