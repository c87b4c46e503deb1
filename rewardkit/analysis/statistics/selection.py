"""What is expected of the sibling that is picked, against the KL of the picking.

Two policies over the siblings of a group, neither of which has been trained: the best
of n, and the tilt by exp(reward / beta). Siblings whose reward is NaN are never picked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics import ZERO_STD, Codes, Floats, Mask
from rewardkit.analysis.statistics.bootstrap import LEVEL, Bootstrap

FEWEST_LEFT = 2.0
"""Mean effective sample size, of groups of several, under which the tilted view stops.

Our choice: with fewer than two siblings left to choose from, a group says nothing about
more selection. The size is 1 / sum of p^2 (Kish 1965).
"""
NEGLIGIBLE = 1e-3
"""Nats: the tilted view ends where all smaller betas together add less. Our choice."""
CELLS_AT_ONCE = 400_000
"""Of a block of picks, so that it stays in the processor's cache."""
EVERY_NUMBER = 64
"""Up to here every n is shown, beyond it `FURTHER` more, even in log n. Our choice."""
FURTHER = 16
KL_STEPS = 9
"""Values of KL at which two views are compared."""
TIES = 12
"""Digits behind the point in which equal rewards agree, as in `count_ties`."""


@dataclass(frozen=True, eq=False)
class Curve:
    """What is expected of one figure of the picked completion, (points,) each.

    `value` is the mean over the picks that have the figure, which are the share `known`
    of all; `change` is its difference to siblings of the same groups picked at random.
    With 95 % intervals, NaN where fewer than two prompts have the figure. `draws`
    (resamples, points) is the value in each resample of the prompts.
    """

    value: Floats
    low: Floats
    high: Floats
    change: Floats
    change_low: Floats
    change_high: Floats
    known: Floats
    draws: Floats = field(repr=False)

    @property
    def random(self) -> Floats:
        """Return the value of a random sibling, of the groups that have a point."""
        return self.value - self.change


@dataclass(frozen=True, eq=False)
class Selection:
    """Curves of figures over points of rising `kl` (in nats), the first unselected.

    `how` is "best_of", where `points` are n and `kl` is at most log n - (n - 1) / n, or
    "tilted", where `points` are betas (inf: no tilt) and `kl` is the mean over groups
    of the divergence from all siblings being alike likely, with its interval. `groups`
    is how many have a point: those with n siblings or more. `sample_size` is the mean
    effective number of siblings, of groups of several. `ends` says why there are no
    further points. `kl_draws` (resamples, points) is the KL in each resample of the
    prompts.
    """

    how: Literal["best_of", "tilted"]
    points: Floats
    kl: Floats
    kl_low: Floats
    kl_high: Floats
    groups: NDArray[np.intp]
    sample_size: Floats
    curves: Mapping[str, Curve]
    ends: str
    kl_draws: Floats = field(repr=False)

    def __len__(self) -> int:
        return len(self.points)


# --- who is picked


def kl_at_most(drawn: NDArray[np.intp]) -> Floats:
    """Bound the KL of the best of n samples of a policy: log n - (n - 1) / n nats.

    Beirami et al., Theoretical guarantees on the best-of-n alignment policy (arXiv
    2401.01879): an upper bound, not the divergence itself. Ties, here broken at random,
    make it smaller: a group that is tied as a whole moves by nothing.

    >>> kl_at_most(np.array([1, 2, 8])).round(3)
    array([0.   , 0.193, 1.204])
    """
    return np.asarray(np.log(drawn) - (drawn - 1) / drawn, dtype=float)


def numbers_drawn(largest: int) -> NDArray[np.intp]:
    """Return the n of best of n: 1, 2 ... up to 64, then fewer, and `largest`."""
    every = np.arange(1, min(largest, EVERY_NUMBER) + 1)
    further = np.geomspace(EVERY_NUMBER, max(largest, EVERY_NUMBER), FURTHER + 1)
    further = further.round().astype(np.intp)
    return np.union1d(every, further[further <= largest])


def best_of(ranked: Floats, drawn: NDArray[np.intp]) -> Floats:
    """Return the chance that each sibling is the best of n: (groups, n, siblings).

    The n are drawn without replacement.

    `ranked` are rewards (groups, siblings), ascending in each row. Of equals that are
    best each is picked alike often. All 0 where n is more than there are siblings.
    Averaged over groups it is an unbiased estimate of what the best of n fresh samples
    would be.

    >>> best_of(np.array([[0.0, 1.0, 1.0]]), np.array([2]))  # the pairs 01, 01, 11
    array([[[0. , 0.5, 0.5]]])
    """
    size = ranked.shape[1]
    step = ranked[:, 1:] > ranked[:, :-1]
    edge = np.ones((len(ranked), 1), dtype=bool)
    place = np.arange(size)
    worse = np.maximum.accumulate(np.where(np.hstack([edge, step]), place, 0), axis=1)
    last = np.where(np.hstack([step, edge]), place, size)
    upto = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1] + 1
    # the chance that all n are among the b lowest is C(b, n) / C(size, n), here from
    # log factorials
    factorial = np.concatenate([[0.0], np.log(np.arange(1, size + 1)).cumsum()])
    b, n = np.arange(size + 1), drawn[:, None]
    logs = factorial - factorial[np.maximum(b - n, 0)]
    logs = logs - factorial[size] + factorial[np.maximum(size - n, 0)]
    among = np.where(b >= n, np.exp(logs), 0.0)  # (n, b)
    equals = upto - worse
    chance = (among[:, upto] - among[:, worse]) / equals  # (n, groups, siblings)
    return np.moveaxis(chance, 0, 1)


def tilted(ranked: Floats, betas: Floats, *, scaled: bool) -> Floats:
    """Return the chance of each sibling at the maximum of E[reward] - beta KL.

    Returns (groups, betas, siblings).

    It is proportional to exp(reward / beta), of siblings that were alike likely before
    (Rafailov et al., arXiv 2305.18290); `scaled` has beta times the standard deviation
    (ddof 1) of the group instead, without the small number that trainers add to it.
    `ranked` as in `best_of`. A beta of inf leaves all alike likely, as does `scaled`
    where the group has no signal.

    >>> tilted(np.array([[0.0, np.log(3)]]), np.array([np.inf, 1.0]), scaled=False)
    array([[[0.5 , 0.5 ],
            [0.25, 0.75]]])
    """
    unit = np.ones((len(ranked), 1))
    if scaled and ranked.shape[1] > 1:
        spread = ranked.std(axis=1, ddof=1, keepdims=True)
        unit = np.where(spread > ZERO_STD, spread, np.inf)
    behind = (ranked - ranked[:, -1:]) / unit
    with np.errstate(over="ignore", under="ignore"):
        picks = np.exp(behind[:, None, :] / betas[None, :, None])
    return np.asarray(picks / np.einsum("gpi->gp", picks)[..., None], dtype=float)


# --- what is expected of the picks


def select(
    rewards: Floats,
    figures: Mapping[str, Floats],
    groups: Codes,
    betas: Floats,
    bootstrap: Bootstrap,
    *,
    scaled: bool,
) -> tuple[Selection, Selection]:
    """Select the best of n siblings, and tilt them by each of `betas`, the first inf.

    `rewards`, the `figures` that are followed and `groups` are (rows,) each; figures
    are NaN where missing. Rewards that differ only by rounding are equal. `scaled` as
    in `tilted`.
    """
    rewards = np.where(np.abs(rewards) < 1e15, np.round(rewards, TIES), rewards)
    judged = np.flatnonzero(~np.isnan(rewards))
    # group after group, the best one last
    rows = judged[np.lexsort((rewards[judged], groups[judged]))]
    start = np.flatnonzero(np.diff(groups[rows], prepend=-1))
    size = np.diff(start, append=len(rows))
    unit = bootstrap.unit[bootstrap.prompts[rows[start]]]
    drawn = numbers_drawn(int(size.max(initial=0)))
    n, points = len(drawn), len(drawn) + len(betas)

    values = np.column_stack([values[rows] for values in figures.values()])
    columns, counted_in, value_in = _columns(values)
    # of each unit: of the pick and of a sibling at random
    sums = np.zeros((bootstrap.units, 2, points, columns.shape[1] + 2))
    for members, siblings in _blocks(start, size, unit, points):
        ranked = rewards[rows[siblings]]
        policies = best_of(ranked, drawn), tilted(ranked, betas, scaled=scaled)
        expected = _expected(np.hstack(policies), columns[siblings])
        at_random = expected[:, :1] * (expected[..., :1] > 0)
        new = np.flatnonzero(np.diff(unit[members], prepend=-1))
        both = np.stack([expected, at_random], axis=1)
        sums[unit[members[new]]] += np.add.reduceat(both, new, axis=0)
    total, draws = sums.sum(axis=0), np.tensordot(bootstrap.weights, sums, 1)
    # points and columns of which two prompts have something
    has_several = (sums[:, 0] > 0).sum(axis=0) > 1

    kl = _ratio(total[0, :, -2], total[0, :, 0])
    kl_draws = _ratio(draws[:, 0, :, -2], draws[:, 0, :, 0])
    kl_low, kl_high = band(kl_draws, has_several[:, 0])
    for kl_values in (kl, kl_draws, kl_low, kl_high):
        kl_values[..., :n] = kl_at_most(drawn)
    fewest = np.maximum([*drawn, *np.ones(len(betas))], 2)
    sample_size = _ratio(total[0, :, -1], (size >= fewest[:, None]).sum(axis=1))
    picked, random = _ratio(total[..., value_in], total[..., counted_in])
    resampled = _ratio(draws[..., value_in], draws[..., counted_in])
    several = has_several[:, counted_in]
    arrays = [
        picked,
        *band(resampled[:, 0], several),
        picked - random,
        *band(resampled[:, 0] - resampled[:, 1], several),
        _ratio(total[0][:, counted_in], total[0][:, :1]),
        resampled[:, 0],
    ]

    def view(
        how: Literal["best_of", "tilted"], at: slice, points: Floats, ends: str
    ) -> Selection:
        curves = {}
        for place, name in enumerate(figures):
            curves[name] = Curve(*(array[..., at, place] for array in arrays))
        return Selection(
            how,
            points,
            kl[at],
            kl_low[at],
            kl_high[at],
            np.rint(total[0, at, 0]).astype(np.intp),
            sample_size[at],
            curves,
            ends,
            kl_draws[:, at],
        )

    reached, ends = _end(kl[n:], sample_size[n:])
    no_more = "no group has more siblings"
    best = view("best_of", slice(0, n), drawn.astype(float), no_more)
    return best, view("tilted", slice(n, n + reached), betas[:reached], ends)


def _columns(values: Floats) -> tuple[Floats, Codes, Codes]:
    """Return what is added up over picks for figures, (rows, figures), and where.

    The columns are 1 for each pick, then 1 where it has the figures that are missing in
    the same rows, then the figures. Of each figure the second array says which column
    counts its picks, the third which one has its values.
    """
    rows, figures = values.shape
    has_all = np.ones((1, figures), dtype=bool)
    has_figures = np.vstack([has_all, ~np.isnan(values)])
    kinds, kind = np.unique(has_figures, axis=1, return_inverse=True)
    columns = np.column_stack([np.ones(rows), kinds[1:], np.nan_to_num(values)])
    return columns, 1 + kind.reshape(-1), 1 + kinds.shape[1] + np.arange(figures)


def _blocks(
    start: Codes, size: Codes, unit: Codes, points: int
) -> Iterator[tuple[Codes, Codes]]:
    """Yield groups of one size (groups,), and their siblings (groups, siblings)."""
    if not len(start):
        return
    order = np.lexsort((unit, size))
    for alike in np.split(order, np.flatnonzero(np.diff(size[order])) + 1):
        siblings = np.arange(size[alike[0]])
        many = max(1, CELLS_AT_ONCE // (len(siblings) * points))
        for members in np.split(alike, range(many, len(alike), many)):
            yield members, start[members][:, None] + siblings


def _expected(picks: Floats, values: Floats) -> Floats:
    """Return expected columns, KL, sample size: (groups, points, columns + 2)."""
    size = picks.shape[2]
    # what is never picked counts 0 log 0 = 0
    logs = np.log(np.maximum(picks, np.finfo(float).tiny))
    squares = np.einsum("gpi,gpi->gp", picks, picks)
    kl = np.einsum("gpi,gpi->gp", picks, logs) + np.log(size)
    zeros, counts = np.zeros_like(squares), (squares > 0) & (size > 1)
    effective = np.divide(1, squares, out=zeros, where=counts)
    return np.concatenate([picks @ values, kl[..., None], effective[..., None]], axis=2)


def _end(kl: Floats, size: Floats) -> tuple[int, str]:
    """Return how many points the tilted view has, and why no more."""
    if np.isnan(kl[0]):
        return 0, "no row has a reward"
    thin = np.flatnonzero(size < FEWEST_LEFT * (1 - 1e-12))
    last = int(np.flatnonzero(kl >= kl[-1] - NEGLIGIBLE)[0])
    if len(thin) and thin[0] <= last:
        why = f"beyond it the mean effective sample size is under {FEWEST_LEFT:g}"
        return int(thin[0]), why
    if last == len(kl) - 1:
        return len(kl), "no smaller beta was tried"
    why = "beyond it only siblings that earn the same are left to choose from"
    return last + 1, why


def _ratio(above: Any, below: Any) -> Floats:
    """Return the ratio, NaN where there is nothing below."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.divide(above, below), dtype=float)


def band(draws: Floats, several: Mask, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return the percentile interval at each point, from draws (resamples, ...).

    NaN where not `several`, or without a draw.

    >>> band(np.array([[0.0, 1.0], [2.0, 1.0]]), np.array([True, False]), 0.5)
    (array([0.5, nan]), array([1.5, nan]))
    """
    low, high = np.full((2, *several.shape), np.nan)
    finite = np.where(np.isfinite(draws), draws, np.nan)
    usable = several & ~np.isnan(finite).all(axis=0)
    if usable.any():
        tail = (1 - level) / 2
        quantiles = np.nanquantile(finite[:, usable], [tail, 1 - tail], axis=0)
        low[usable], high[usable] = quantiles
    return low, high


# --- two views


@dataclass(frozen=True, eq=False)
class Pair:
    """One figure under both rewards, and b minus a with its interval: (kl,) each."""

    a: Floats
    b: Floats
    difference: Floats
    low: Floats
    high: Floats


def at_equal_kl(a: Selection, b: Selection) -> tuple[Floats, dict[str, Pair]]:
    """Compare the figures of two tilted views at values of KL that both reach.

    Curves are straight between their points as functions of the square root of KL, in
    which a little selection is linear (Gao et al., arXiv 2210.10760, use it too), and
    in which the values are evenly apart. Intervals are of the differences in the same
    resamples of the prompts; a resample whose curve ends earlier stays at its last
    point.
    """
    if not (len(a) and len(b)):
        return np.array([]), {}
    reach = max(0.0, min(a.kl[-1], b.kl[-1]))
    roots = np.linspace(0, np.sqrt(reach), KL_STEPS if reach else 1)
    pairs = {}
    for name, curve in a.curves.items():
        if name in b.curves:
            of_a = _at_roots(a, curve, roots)
            of_b = _at_roots(b, b.curves[name], roots)
            difference = of_b - of_a
            interval = band(difference[1:], ~np.isnan(difference[0]))
            pairs[name] = Pair(of_a[0], of_b[0], difference[0], *interval)
    return roots**2, pairs


def _at_roots(view: Selection, curve: Curve, roots: Floats) -> Floats:
    """Return the values of a curve, then of each resample, (1 + resamples, roots)."""
    draws = np.where(np.isnan(curve.low), np.nan, curve.draws)
    known_roots = np.sqrt(np.maximum([view.kl, *view.kl_draws], 0))
    values = []
    for xs, row in zip(known_roots, [curve.value, *draws], strict=True):
        values.append(np.interp(roots, xs, row))
    return np.array(values)
