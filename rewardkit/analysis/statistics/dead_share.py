"""The share of groups without a signal that another number of generations would have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.groups import Codes, Floats
from rewardkit.errors import InputError, preview
from rewardkit.findings import counted

__all__ = ["DeadShare", "dead_share"]

FEWEST_PROMPTS = 30
"""From fewer no distribution of pass rates is fitted. Our choice."""
FARTHEST = 4
"""Times the size that was sampled, beyond which nothing is said. Our choice."""
LEVELS = 10
"""Values of the reward that are fitted; a group tied at a rarer one is not foreseen. Our choice."""
MISFIT = 0.01
"""Chance of being refused though the rates are spread as the fit has it. Our choice."""
CELL = 5.0
"""Groups that are expected in a cell of the test, the usual least number."""


@dataclass(frozen=True)
class DeadShare:
    """The share of groups of `size` whose siblings all earn the same, with its interval over prompts.

    `sampled` is the largest group there is. `method`: "exact", the mean over all subsets of the siblings that
    were sampled; "fitted", a beta distribution of each value's rate over `prompts`. `groups` is how many it
    is of: those with so many rewards; for a fit those with two or more. NaN where it cannot be said, as where
    the rates are spread otherwise: `why` says why.
    """

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
        """Batches to be sampled for a full one, where such groups are dropped and sampled anew (DAPO)."""
        return float("inf") if self.value >= 1 else 1 / (1 - self.value)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"batches": self.batches}


def dead_share(rewards: Floats, groups: Codes, bootstrap: Bootstrap, size: int) -> DeadShare:
    """The share of dead groups of `size` siblings, from `rewards` (rows,) and group codes (rows,).

    For sizes up to that of a group by the hypergeometric distribution of its own ties, which needs no model;
    a larger one by a beta distribution of the rate of each of the `LEVELS` most frequent values over prompts,
    by its moments (a plug-in p^G + (1-p)^G per prompt takes the luck of a few siblings for certainty, and is
    far too high).
    InputError: no whole number from 2 on.
    """
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 2:
        raise InputError(f"size={preview(size)} is not a whole number of at least 2, which a group has")
    size = int(size)
    known = ~np.isnan(rewards)
    values, atoms = np.unique(np.round(rewards[known], 12), return_inverse=True)
    owner = bootstrap.of_groups(groups)
    counts = np.bincount(groups[known], minlength=len(owner))
    sampled = int(counts.max(initial=0))
    keys, ties = np.unique(groups[known] * max(len(values), 1) + atoms, return_counts=True)
    of_group, of_value = np.divmod(keys, max(len(values), 1))
    enough = counts >= size
    nothing = (float("nan"), float("nan"))
    if enough.any():
        alike = _all_of(ties, counts[of_group], size)
        dead = np.bincount(of_group, np.where(enough[of_group], alike, 0.0), minlength=len(owner))
        value = float(dead.sum() / enough.sum())
        prompts = len(np.unique(owner[enough]))
        interval = bootstrap.interval([np.asarray(dead, dtype=float), enough.astype(float)], owner)
        return DeadShare(size, value, interval, "exact", sampled, prompts, int(enough.sum()))
    several = counts > 1
    prompts, groups_of_two = len(np.unique(owner[several])), int(several.sum())
    value, interval, why = float("nan"), nothing, ""
    if sampled < 2:
        why = "no prompt has two siblings with a reward"
    elif size > FARTHEST * sampled:
        why = f"{size} siblings are more than {FARTHEST} times the {sampled} that were sampled"
    elif prompts < FEWEST_PROMPTS:
        are = "is" if prompts == 1 else "are"
        why = f"{counted(prompts, 'prompt')} {are} too few to fit pass rates; {FEWEST_PROMPTS} would do"
    else:
        frequent = np.argsort(-np.bincount(of_value, ties))[:LEVELS]
        hits = np.zeros((len(frequent), len(owner)))
        for place, level in enumerate(frequent):
            hits[place, of_group[of_value == level]] = ties[of_value == level]
        hits, trials = hits[:, several], counts[several].astype(float)
        if _fits(hits[0], trials):
            sums = [np.ones(len(trials)), trials, trials**2, *hits, *(hits**2 / trials)]
            drawn = bootstrap.interval(sums, owner[several], partial(_tied, size=size))
            value = float(_tied(*(np.array([item.sum()]) for item in sums), size=size)[0])
            interval = min(drawn[0], value), max(drawn[1], value)
        else:
            why = (
                "the pass rates of the prompts are not spread as one beta distribution, so that what "
                f"{size} siblings would do cannot be said from {sampled}"
            )
    return DeadShare(size, value, interval, "fitted", sampled, prompts, groups_of_two, why)


def _all_of(ties: Any, counts: Any, size: int) -> Floats:
    """Probability that `size` of `counts` siblings, drawn without replacement, are all of these `ties`."""
    product = np.ones(len(ties))
    for drawn in range(size):
        product *= np.maximum(ties - drawn, 0) / np.maximum(counts - drawn, 1)
    return product


def _tied(groups: Floats, trials: Floats, squares: Floats, *sums: Floats, size: int) -> Floats:
    """Share of groups of `size` that would be tied, from sums over groups, (resamples,) each.

    Of how many there are, of their sizes and squared sizes; then for each value of its counts, and for each
    of its squared counts over the size. A group is tied at a value with the probability of `size` successes
    of a beta-binomial.
    """
    total = np.zeros(len(groups))
    for hits, over in zip(sums[: len(sums) // 2], sums[len(sums) // 2 :], strict=True):
        m, rho = _moments(groups, trials, squares, hits, over)
        product = np.ones(len(groups))
        for drawn in range(size):
            product *= (m * (1 - rho) + rho * drawn) / (1 - rho + rho * drawn)
        total += product
    return np.minimum(total, 1.0)


def _moments(
    groups: Floats, trials: Floats, squares: Floats, hits: Floats, over: Floats
) -> tuple[Floats, Floats]:
    """Mean and intraclass correlation of a rate, by the analysis of variance (Ridout et al. 1999)."""
    above = (over - hits**2 / trials) / (groups - 1)
    inside = (hits - over) / (trials - groups)
    usual = (trials - squares / trials) / (groups - 1)
    whole = above + (usual - 1) * inside
    rho = np.divide(above - inside, whole, out=np.zeros(len(groups)), where=whole > 0)
    return hits / trials, np.clip(rho, 0.0, 1 - 1e-9)


def _fits(hits: Floats, trials: Floats) -> bool:
    """Whether groups of the commonest size have as many successes as their beta-binomial says.

    By Pearson's chi-squared over cells of at least `CELL` expected groups, at 1 %; with too few cells nothing
    speaks against it.
    """
    sums = (
        np.array([item.sum()]) for item in (np.ones(len(hits)), trials, trials**2, hits, hits**2 / trials)
    )
    m, rho = (float(item[0]) for item in _moments(*sums))
    if not 0 < m < 1:
        return True
    size = int(np.argmax(np.bincount(trials.astype(np.intp))))
    observed = np.bincount(hits[trials == size].astype(np.intp), minlength=size + 1)
    expected = observed.sum() * np.array([_chance(count, size, m, rho) for count in range(size + 1)])
    cell = np.minimum(np.cumsum(expected) // CELL, max(expected.sum() // CELL - 1, 0)).astype(np.intp)
    _, cell = np.unique(cell, return_inverse=True)
    observed, expected = np.bincount(cell, observed), np.bincount(cell, expected)
    freedom = len(expected) - 3  # the total and two parameters are fitted
    if freedom < 1:
        return True
    rough = 2 / (9 * freedom)  # Wilson and Hilferty (1931)
    limit = freedom * (1 - rough + NormalDist().inv_cdf(1 - MISFIT) * rough**0.5) ** 3
    return bool((((observed - expected) ** 2) / expected).sum() <= limit)


def _chance(hits: int, trials: int, m: float, rho: float) -> float:
    """The probability of so many successes of a beta-binomial of this mean and intraclass correlation."""

    def rising(start: float, count: int) -> float:
        return math.prod(start * (1 - rho) + rho * step for step in range(count))

    return math.comb(trials, hits) * rising(m, hits) * rising(1 - m, trials - hits) / rising(1.0, trials)
