"""Which sibling is picked once a reward has selected, and what is expected of it. Arrays only.

Two policies over the siblings of a group, neither of which has been trained: the best of n, and the tilt by
exp(reward / beta). Siblings whose reward is NaN are never picked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.groups import ZERO_STD, Codes, Floats

__all__ = ["Siblings", "Sums", "add_up", "best_of", "kl_at_most", "numbers_drawn", "siblings_of", "tilted"]

CELLS = 400_000  # of a block of picks, so that it stays in the processor's cache
EVERY_NUMBER = 64
"""Up to here every n is shown, beyond it `FURTHER` more, evenly apart in log n. Our choice."""
FURTHER = 16
TIES = 12  # digits behind the point in which equal rewards agree, as in `tie_rate`


def kl_at_most(drawn: NDArray[np.intp]) -> Floats:
    """The most nats that the best of n samples of a policy lies from that policy: log n - (n - 1) / n.

    Beirami et al., Theoretical guarantees on the best-of-n alignment policy (arXiv 2401.01879): an upper
    bound, not the divergence itself. Ties, here broken at random, make it smaller: a group that is tied as a
    whole moves by nothing.

    >>> kl_at_most(np.array([1, 2, 8])).round(3)
    array([0.   , 0.193, 1.204])
    """
    return np.asarray(np.log(drawn) - (drawn - 1) / drawn, dtype=float)


def numbers_drawn(largest: int) -> NDArray[np.intp]:
    """The n of best of n for groups of up to `largest`: 1, 2 ... up to 64, then fewer, and `largest`."""
    further = np.geomspace(EVERY_NUMBER, max(largest, EVERY_NUMBER), FURTHER + 1).round().astype(np.intp)
    return np.union1d(np.arange(1, min(largest, EVERY_NUMBER) + 1), further[further <= largest])


def best_of(ranked: Floats, drawn: NDArray[np.intp]) -> Floats:
    """Probability that each sibling is the best of n drawn without replacement: (groups, n, siblings).

    `ranked` are rewards (groups, siblings), ascending in each row. Of equals that are best each is picked
    alike often. All 0 where n is more than there are siblings. Averaged over groups it is an unbiased
    estimate of what the best of n fresh samples would be.

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
    table = _all_among(size, drawn)  # (n, siblings + 1)
    chance = (table[:, upto] - table[:, worse]) / (upto - worse)  # (n, groups, siblings)
    return np.ascontiguousarray(np.moveaxis(chance, 0, 1))


def _all_among(size: int, drawn: NDArray[np.intp]) -> Floats:
    """Probability that n of `size`, drawn without replacement, are all among the b lowest: (n, b = 0..size).

    C(b, n) / C(size, n), from logarithms of factorials.
    """
    log_factorial = np.concatenate([[0.0], np.log(np.arange(1, size + 1)).cumsum()])
    lowest, n = np.arange(size + 1)[None, :], np.minimum(drawn, size)[:, None]
    left = log_factorial[np.maximum(lowest - n, 0)]
    logs = log_factorial[lowest] - left - log_factorial[size] + log_factorial[size - n]
    return np.where((lowest >= n) & (drawn[:, None] <= size), np.exp(logs), 0.0)


def tilted(ranked: Floats, betas: Floats, *, scaled: bool) -> Floats:
    """Probability of each sibling where E[reward] - beta KL is at its maximum: (groups, betas, siblings).

    It is proportional to exp(reward / beta), of siblings that were alike likely before (Rafailov et al.,
    arXiv 2305.18290); `scaled` has beta times the standard deviation (ddof 1) of the group
    instead, without the small number that trainers add to it. `ranked` as in `best_of`. A beta of inf leaves
    all alike likely, as does `scaled` where the group has no signal.

    >>> tilted(np.array([[0.0, np.log(3)]]), np.array([np.inf, 1.0]), scaled=False)
    array([[[0.5 , 0.5 ],
            [0.25, 0.75]]])
    """
    if scaled and ranked.shape[1] > 1:
        spread = ranked.std(axis=1, ddof=1, keepdims=True)
        unit = np.where(spread > ZERO_STD, spread, np.inf)
    else:
        unit = np.ones((len(ranked), 1))
    with np.errstate(over="ignore", under="ignore"):
        behind = (ranked - ranked[:, -1:]) / unit
        picks = np.exp(behind[:, None, :] / betas[None, :, None])
    return np.asarray(picks / np.einsum("gpi->gp", picks)[..., None], dtype=float)


@dataclass(frozen=True, eq=False)
class Siblings:
    """The rows that can be picked, group by group: group i is `rows[start[i]:start[i] + size[i]]`.

    `prompt` is the prompt of each group. Groups without such a row are left out.
    """

    rows: NDArray[np.intp]
    start: NDArray[np.intp]  # (groups,)
    size: NDArray[np.intp]
    prompt: Codes

    def blocks(self, points: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Some groups of one size (groups,) and their rows (groups, siblings), block after block."""
        order = np.argsort(self.size, kind="stable")
        bounds = np.flatnonzero(np.diff(self.size[order])) + 1
        for alike in np.split(order, bounds) if len(order) else []:
            size = int(self.size[alike[0]])
            many = max(1, CELLS // (size * points))
            for some in np.split(alike, range(many, len(alike), many)):
                yield some, self.rows[self.start[some][:, None] + np.arange(size)]


def siblings_of(rewards: Floats, groups: Codes, prompts: Codes) -> Siblings:
    """The siblings whose reward is not NaN, from rewards, group codes and prompt codes, (rows,) each."""
    known = np.flatnonzero(~np.isnan(rewards))
    rows = known[np.argsort(groups[known], kind="stable")]
    start = np.flatnonzero(np.diff(groups[rows], prepend=-1))
    size = np.diff(start, append=len(rows))
    return Siblings(rows, start, size, prompts[rows[start]])


@dataclass(frozen=True, eq=False)
class Sums:
    """What is expected of the pick, added up over groups, at each point (an n or a beta).

    `total` is (points, columns), `drawn` the same in each resample of the prompts, (resamples, points,
    columns); `before` and `drawn_before` are of a sibling picked at random in the groups that the point has.
    The last two columns are the KL divergence to all siblings being alike likely, and the effective sample
    size, of groups of at least two. `several` (points, counts) says where more than one prompt has something
    in a column of counts.
    """

    total: Floats
    before: Floats
    drawn: Floats
    drawn_before: Floats
    several: NDArray[np.bool_]


def add_up(
    siblings: Siblings,
    rewards: Floats,
    columns: Floats,
    drawn: NDArray[np.intp],
    betas: Floats,
    bootstrap: Bootstrap,
    *,
    counts: int,
    scaled: bool,
) -> Sums:
    """The sums over all groups: points are the best of n for each of `drawn` (first 1), then each of `betas`.

    `columns` (rows, columns) has a value for every row that can be picked; its first `counts` columns are 1
    where a row is counted, else 0. Rewards that differ only by rounding are equal.
    """
    rewards = np.where(np.abs(rewards) < 1e15, np.round(rewards, TIES), rewards)
    points, width = len(drawn) + len(betas), columns.shape[1] + 2
    policies = _policies(drawn, betas, int(siblings.size.max(initial=1)), scaled)
    total, before = np.zeros((points, width)), np.zeros((points, width))
    by_unit, before_by_unit = (np.zeros((bootstrap.units, points, width)) for _ in range(2))
    first, last = np.full((points, counts), bootstrap.total), np.full((points, counts), -1)
    for some, at in siblings.blocks(points):
        at = np.take_along_axis(at, np.argsort(rewards[at], axis=1), axis=1)
        ranked, values, owner = rewards[at], columns[at], siblings.prompt[some]
        sums = np.empty((len(some), points, width))
        for points_of, policy in policies:
            _expect(policy(ranked), values, out=sums[:, points_of])
        there = np.concatenate([drawn <= at.shape[1], np.ones(len(betas), dtype=bool)])
        total += sums.sum(axis=0)
        before[there] += sums[:, 0].sum(axis=0)
        unit = bootstrap.unit[owner]
        order = np.argsort(unit, kind="stable")
        start = np.flatnonzero(np.diff(unit[order], prepend=-1))
        more, at_units = np.add.reduceat(sums[order], start, axis=0), unit[order][start]
        by_unit[at_units] += more
        before_by_unit[np.ix_(at_units, there)] += more[:, :1]
        owners, present = owner[:, None, None], sums[..., :counts] > 0
        first = np.minimum(first, np.where(present, owners, bootstrap.total).min(axis=0))
        last = np.maximum(last, np.where(present, owners, -1).max(axis=0))
    resampled, resampled_before = (
        (bootstrap.weights @ each.reshape(bootstrap.units, -1)).reshape(-1, points, width)
        for each in (by_unit, before_by_unit)
    )
    return Sums(total, before, resampled, resampled_before, first < last)


def _policies(
    drawn: NDArray[np.intp], betas: Floats, largest: int, scaled: bool
) -> list[tuple[slice, Callable[[Floats], Floats]]]:
    """Points, and the function from ranked rewards to the picks there; few each where groups are large."""
    step, n = max(1, CELLS // largest), len(drawn)
    best = [
        (slice(at, min(at + step, n)), partial(best_of, drawn=drawn[at : at + step]))
        for at in range(0, n, step)
    ]
    tilt = [
        (slice(n + at, n + at + step), partial(tilted, betas=betas[at : at + step], scaled=scaled))
        for at in range(0, len(betas), step)
    ]
    return [*best, *tilt]


def _expect(picks: Floats, values: Floats, *, out: Floats) -> None:
    """Fill `out` (groups, points, columns + 2): the expected columns, KL and effective sample size.

    The KL is that of picks which add up to 1.
    """
    size = picks.shape[2]
    logs = np.log(np.maximum(picks, np.finfo(float).tiny))  # what is never picked counts 0 log 0 = 0
    squares = np.einsum("gpi,gpi->gp", picks, picks)
    out[..., :-2] = picks @ values
    out[..., -2] = np.einsum("gpi,gpi->gp", picks, logs) + np.log(size)
    out[..., -1] = np.where(squares > 0, 1 / np.where(squares > 0, squares, 1), 0.0) if size > 1 else 0.0
