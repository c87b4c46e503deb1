"""Changes of a figure over a run: from what to what, and since which step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rewardkit.analysis.statistics import Floats
from rewardkit.monitoring.windows import Stretches, WindowFigure, Windows
from rewardkit.plain import Record

LEAST_Z = 4.5
"""Standard errors of a change that is told. Our choice.

The largest of all pairs of stretches of 25 windows stays below it in 99 of 100 runs
that do not change.
"""
FEWEST_STRETCH_GROUPS = 8
"""Groups of a stretch of which a mean says something. Our choice."""
FEWEST_TO_TELL = 4 * FEWEST_STRETCH_GROUPS
"""Groups of a run under which "nothing was found" says little. Our choice."""
HEALED = 0.5
"""Share of a change that has to be left in its last third. Our choice."""
SMALLEST_GAP = 1e-12
"""Differences of means up to this are rounding errors."""
SMALLEST_VARIANCE = 1e-24
WITHIN_TWO_ERRORS = 3.84
"""The 95 % point of chi squared with one degree of freedom."""


@dataclass(frozen=True)
class Shift:
    """A change of a figure that lasts until the end of the run, or of a dip.

    `before` and `after` are its means in two stretches of windows, each from its first
    to behind its last, of which the second ends the run or the dip; `z` is their
    difference in standard errors. `since` is the step at which it began, between the
    steps of `interval` (95 %).
    """

    before: float
    after: float
    reference: tuple[int, int]
    ending: tuple[int, int]
    z: float
    since: float
    interval: tuple[float, float]

    @property
    def size(self) -> float:
        """Return by how much it changed."""
        return self.after - self.before

    @property
    def fall(self) -> float:
        """Return the loss as a share of what was there before, 0 to 1.

        NaN where there was nothing before.
        """
        if self.before <= 0:
            return math.nan
        return min(max(-self.size / self.before, 0.0), 1.0)

    @property
    def evidence(self) -> Record:
        """Return it as the evidence of a finding."""
        return {
            "value": self.size,
            "before": self.before,
            "after": self.after,
            "since": self.since,
            "since_interval": self.interval,
        }

    def means(self, figure: WindowFigure) -> tuple[float, float]:
        """Return the means of another figure in the two stretches."""
        before, after = slice(*self.reference), slice(*self.ending)
        return figure.mean(before), figure.mean(after)


def find_change(
    figure: WindowFigure, windows: Windows, way: int, *, least: float = 0.0
) -> Shift | None:
    """Find a change that lasts to the end, or None.

    Of all pairs of a stretch and a later one that ends the run the pair is taken that
    differs most, in standard errors. A change that is gone in the last third of its
    stretch does not last.

    Args:
        figure: the means.
        windows: of the same run.
        way: 1 for a rise, -1 for a fall.
        least: the least change that counts.
    """
    total = len(figure)
    firsts, lasts = np.triu_indices(total)  # each stretch: from a window to behind one
    lasts = lasts + 1
    references = figure.stretches(firsts, lasts)
    starts = np.arange(1, total)[:, None]
    endings = figure.stretches(starts, np.full_like(starts, total))
    is_allowed = lasts <= starts  # (starts, stretches)
    sizes = way * (endings.means - references.means)
    is_allowed &= sizes >= least
    later = figure.stretches((starts + 2 * total) // 3, np.full_like(starts, total))
    is_healed = way * (later.means - references.means) < HEALED * sizes
    is_allowed &= ~is_healed
    scores = np.where(is_allowed, way * _differences(references, endings), 0.0)
    z = float(scores.max(initial=0.0))
    if z <= LEAST_Z:
        return None
    start, place = map(int, np.unravel_index(np.argmax(scores), scores.shape))
    start += 1
    reference_windows = int(firsts[place]), int(lasts[place])
    ending_windows = start, total
    since, interval = _find_onset(figure, windows, reference_windows[0])
    return Shift(
        figure.mean(slice(*reference_windows)),
        figure.mean(slice(*ending_windows)),
        reference_windows,
        ending_windows,
        z,
        since,
        interval,
    )


def find_dip(figure: WindowFigure, windows: Windows, least: float) -> Shift | None:
    """Find a fall that heals; None where there is none.

    Of all stretches inside the run that one is taken that is most below both what comes
    before it and what comes behind it, in standard errors.

    Args:
        figure: the means.
        windows: of the same run.
        least: the least fall that counts, from either side.
    """
    total = len(figure)
    firsts, lasts = np.triu_indices(total - 1, k=1)  # of windows 1 to total - 2
    if not len(firsts):
        return None
    inside = figure.stretches(firsts, lasts)
    depths = np.full(len(firsts), np.inf)
    zeros, ends = np.zeros_like(firsts), np.full_like(firsts, total)
    for outside in (figure.stretches(zeros, firsts), figure.stretches(lasts, ends)):
        is_deep = outside.means - inside.means >= least
        z = np.where(is_deep, _differences(inside, outside), 0.0)
        depths = np.minimum(depths, z)
    place = int(np.argmax(depths))
    if depths[place] <= LEAST_Z:
        return None
    first, last = int(firsts[place]), int(lasts[place])
    since = float(windows.first[first])
    return Shift(
        figure.mean(slice(first)),
        figure.mean(slice(first, last)),
        (0, first),
        (first, last),
        float(depths[place]),
        since,
        (float(windows.last[first - 1]), since),
    )


def difference(figure: WindowFigure, change: Shift) -> float:
    """Return how much another figure changes, in standard errors."""
    (first, behind), (start, stop) = change.reference, change.ending
    before = figure.stretches(np.array([first]), np.array([behind]))
    after = figure.stretches(np.array([start]), np.array([stop]))
    return float(_differences(before, after)[0])


def change_of_run(figure: WindowFigure, change: Shift) -> tuple[float, float]:
    """Return the mean of the run's first windows, and by how much its end differs.

    A figure that was odd for a while comes back to what it was at first. The first
    windows are those with groups enough, the end is the later half of the change's.
    """
    groups = np.cumsum(figure.counts)
    last = int(np.searchsorted(groups, FEWEST_STRETCH_GROUPS)) + 1
    before = figure.mean(slice(last))
    start, stop = change.ending
    return before, figure.mean(slice((start + stop) // 2, stop)) - before


def _differences(first: Stretches, second: Stretches) -> Floats:
    """Return differences of means in standard errors, 0 of too few groups.

    Each of the first ones is held against each of the second ones, if these are rows.

    The t value of few groups is brought to the normal scale (Wallace 1959).
    """
    is_enough = np.minimum(first.counts, second.counts) >= FEWEST_STRETCH_GROUPS
    gap = np.where(is_enough, second.means - first.means, 0.0)
    gap = np.where(np.abs(gap) > SMALLEST_GAP, gap, 0.0)
    freedom = np.maximum(first.counts + second.counts - 2, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = (first.squares + second.squares) / freedom
        pooled = pooled * (1 / first.counts + 1 / second.counts)
        # the larger one: a stretch of equal groups says little of another's spread
        variance = np.fmax(pooled, first.errors**2 + second.errors**2)
        # of no spread at all, the largest that so many groups can say
        odds = np.log1p(gap * gap / np.fmax(variance, SMALLEST_VARIANCE) / freedom)
    scale = 1 - 3 / (4 * freedom)
    return np.asarray(np.sign(gap) * np.sqrt(freedom * odds) * scale, dtype=float)


def _find_onset(
    figure: WindowFigure, windows: Windows, first: int
) -> tuple[float, tuple[float, float]]:
    """Return the step at which a figure leaves its level, and the steps around it.

    Least squares of a level, a straight way and another level, from window `first` on:
    the first step behind half way from the last one at the level to the next one in the
    log.
    """
    means, counts = figure.means[first:], figure.counts[first:]
    places = np.flatnonzero(counts > 0)
    means, counts = means[places], counts[places]
    misfits: dict[int, float] = {}
    for leave in range(len(places) - 1):
        fits = []
        for arrive in range(leave + 1, len(places)):
            rise = np.clip((np.arange(len(places)) - leave) / (arrive - leave), 0, 1)
            fits.append(_misfit(means, counts, rise))
        misfits[leave] = min(fits)
    best = min(misfits, key=lambda leave: misfits[leave])
    scale = misfits[best] / max(len(places) - 4, 1) + 1e-12
    near = [
        leave
        for leave in misfits
        if misfits[leave] <= misfits[best] + WITHIN_TWO_ERRORS * scale
    ]

    def last_step(leave: int) -> float:
        return float(windows.last[first + places[leave]])

    def next_step(leave: int) -> float:
        return float(windows.first[first + places[leave + 1]])

    between = math.ceil((last_step(best) + next_step(best)) / 2)
    return float(between), (last_step(min(near)), next_step(max(near)))


def _misfit(means: Floats, counts: Floats, rise: Floats) -> float:
    """Return the weighted squares of a line through `rise` that are left."""
    table = np.column_stack([1 - rise, rise]) * np.sqrt(counts)[:, None]
    target = means * np.sqrt(counts)
    solution = np.linalg.lstsq(table, target, rcond=None)[0]
    return float(((table @ solution - target) ** 2).sum())
