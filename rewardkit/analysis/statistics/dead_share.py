"""The share of groups without a signal that another number of generations would have."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
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
MEANS = 161
SPREADS = 81
"""Points of the grid on which a beta distribution is fitted."""
MISFIT = 0.01
"""Chance of being refused though the rates are spread as the fit has it. Our choice."""
CELL = 5.0
"""Groups that are expected in a cell of the test, the usual least number."""
REFINED = 4
"""Times that the grid is drawn again, a tenth as wide, around the best point."""


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
    a larger one by a beta distribution of the rate of each of the `LEVELS` most frequent values over prompts
    (a plug-in p^G + (1-p)^G per prompt takes the luck of a few siblings for certainty, and is far too high).
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
    prompts = len(np.unique(owner[several]))
    if sampled < 2:
        why = "no prompt has two siblings with a reward"
    elif size > FARTHEST * sampled:
        why = f"{size} siblings are more than {FARTHEST} times the {sampled} that were sampled"
    elif prompts < FEWEST_PROMPTS:
        are = "is" if prompts == 1 else "are"
        why = f"{counted(prompts, 'prompt')} {are} too few to fit pass rates; {FEWEST_PROMPTS} would do"
    else:
        return _fitted(of_group, of_value, ties, counts, several, bootstrap, owner, size)
    return DeadShare(size, float("nan"), nothing, "fitted", sampled, prompts, int(several.sum()), why)


def _all_of(ties: Any, counts: Any, size: int) -> Floats:
    """Probability that `size` of `counts` siblings, drawn without replacement, are all of these `ties`."""
    product = np.ones(len(ties))
    for drawn in range(size):
        product *= np.maximum(ties - drawn, 0) / np.maximum(counts - drawn, 1)
    return product


def _fitted(
    of_group: Codes,
    of_value: Codes,
    ties: Any,
    counts: Any,
    several: Any,
    bootstrap: Bootstrap,
    owner: Codes,
    size: int,
) -> DeadShare:
    weights, unit = bootstrap.weights, bootstrap.unit[owner]
    total, drawn, misfit = 0.0, np.zeros(len(weights)), False
    frequent = np.argsort(-np.bincount(of_value, ties))[:LEVELS]
    for value in frequent:
        of_this = np.zeros(len(owner), dtype=np.intp)
        here = of_value == value
        of_this[of_group[here]] = ties[here]
        pairs, code, seen = np.unique(
            np.column_stack([of_this[several], counts[several]]),
            axis=0,
            return_inverse=True,
            return_counts=True,
        )
        by_unit = np.zeros((bootstrap.units, len(pairs)))
        np.add.at(by_unit, (unit[several], code.ravel()), 1.0)
        m, rho = _beta(pairs, seen.astype(float)[None], REFINED)
        misfit |= value == frequent[0] and not _fits(pairs, seen, m, rho)
        total += _tied(m, rho, size)[0]
        drawn += _tied(*_beta(pairs, weights @ by_unit, 0), size)
    prompts, sampled, groups = len(np.unique(owner[several])), int(counts.max()), int(several.sum())
    if misfit:
        why = (
            "the pass rates of the prompts are not spread as one beta distribution, so that what "
            f"{size} siblings would do cannot be said from {sampled}"
        )
        nothing = (float("nan"), float("nan"))
        return DeadShare(size, float("nan"), nothing, "fitted", sampled, prompts, groups, why)
    tail, total = (1 - bootstrap.level) / 2, min(total, 1.0)
    low, high = np.quantile(np.minimum(drawn, 1.0), [tail, 1 - tail])
    around = min(float(low), total), max(float(high), total)  # the draws are fitted on the rough grid
    return DeadShare(size, total, around, "fitted", sampled, prompts, groups)


def _tied(m: Floats, rho: Floats, size: int) -> Floats:
    """Probability that all of `size` siblings are successes, of a beta distribution as `_beta` has it."""
    product = np.ones(len(m))
    for drawn in range(size):
        product *= (m * (1 - rho) + rho * drawn) / (1 - rho + rho * drawn)
    return product


def _fits(pairs: Any, seen: Any, m: Floats, rho: Floats) -> bool:
    """Whether groups of the commonest size have as many successes as their beta-binomial says.

    By Pearson's chi-squared over cells of at least `CELL` expected groups, at 1 %; with too few cells nothing
    speaks against it.
    """
    trials = pairs[np.argmax(np.bincount(pairs[:, 1], seen)[pairs[:, 1]]), 1]
    of_size = pairs[:, 1] == trials
    observed = np.bincount(pairs[of_size, 0], seen[of_size], minlength=trials + 1)
    outcomes = np.column_stack([np.arange(trials + 1), np.full(trials + 1, trials)])
    ways = np.array([comb(int(trials), count) for count in range(trials + 1)], dtype=float)
    expected = observed.sum() * ways * np.exp(_log_likelihood(outcomes, m, rho))[:, 0]
    cell = np.minimum(np.cumsum(expected) // CELL, max(expected.sum() // CELL - 1, 0)).astype(np.intp)
    _, cell = np.unique(cell, return_inverse=True)
    observed, expected = np.bincount(cell, observed), np.bincount(cell, expected)
    freedom = len(expected) - 3  # the total and two parameters are fitted
    if freedom < 1:
        return True
    rough = 2 / (9 * freedom)  # Wilson and Hilferty (1931)
    limit = freedom * (1 - rough + NormalDist().inv_cdf(1 - MISFIT) * rough**0.5) ** 3
    return bool((((observed - expected) ** 2) / expected).sum() <= limit)


def _beta(pairs: Any, weights: Floats, refined: int) -> tuple[Floats, Floats]:
    """The beta distribution of the highest likelihood, for each row of weights of (successes, trials).

    Mean m and intraclass correlation rho: rates m (1 - rho) / rho and (1 - m) (1 - rho) / rho.
    """
    means, spreads = np.linspace(-9, 9, MEANS), np.linspace(-9, 6, SPREADS)  # as logits
    likelihood = weights @ _log_likelihood(pairs, *_grid(means, spreads))
    best = likelihood.argmax(axis=1)
    mean, spread = means[best // SPREADS], spreads[best % SPREADS]
    width = np.array([means[1] - means[0], spreads[1] - spreads[0]])
    for _ in range(refined):  # of one row only
        near = [at[0] + step * np.linspace(-1, 1, 21) for at, step in ((mean, width[0]), (spread, width[1]))]
        at = int((weights @ _log_likelihood(pairs, *_grid(*near)))[0].argmax())
        mean, spread, width = near[0][[at // 21]], near[1][[at % 21]], width / 10
    return _logistic(mean), _logistic(spread)


def _grid(means: Floats, spreads: Floats) -> tuple[Floats, Floats]:
    first, second = np.meshgrid(_logistic(means), _logistic(spreads), indexing="ij")
    return first.ravel(), second.ravel()


def _logistic(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)), dtype=float)


def _log_likelihood(pairs: Any, m: Floats, rho: Floats) -> Floats:
    """Of each pair of (successes, trials), up to a constant: (pairs, points)."""
    most = int(pairs[:, 1].max())
    steps = np.arange(most)[:, None]

    def sums(start: Floats) -> Floats:  # of log(start (1 - rho) + rho i), i = 0, 1 ...: (most + 1, points)
        logs = np.log(start * (1 - rho) + rho * steps)
        return np.vstack([np.zeros(len(m)), logs.cumsum(axis=0)])

    hits, misses, trials = sums(m), sums(1 - m), sums(np.ones(len(m)))
    found = hits[pairs[:, 0]] + misses[pairs[:, 1] - pairs[:, 0]] - trials[pairs[:, 1]]
    return np.asarray(found, dtype=float)
