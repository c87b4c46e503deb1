"""Changes of a figure over a run: the means before and after, and the onset."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardkit.analysis.statistics import Floats
from rewardkit.monitoring.windows import Stretches, WindowFigure, Windows
from rewardkit.plain import Record

LEAST_Z = 4.5
"""Least standard errors of a reported change. Our choice.

In 99 of 100 runs of 25 windows without a change, no pair of stretches reaches it.
"""
LEAST_TREND_Z = 3.3
"""Least standard errors of a straight line over a run: one in 2,000 by chance."""
FEWEST_STRETCH_GROUPS = 8
"""Fewest groups of a stretch whose mean is compared. Our choice."""
FEWEST_TO_TELL = 4 * FEWEST_STRETCH_GROUPS
"""Fewest groups of a run whose verdict can be "healthy". Our choice."""
MOST_OF_SHORT_RUN = 2 * FEWEST_TO_TELL
"""Most groups of a run that a straight line may say the trend of. Our choice."""
HEALED = 0.5
"""Share of a change that must remain in the last third of its stretch. Our choice."""
SMALLEST_GAP = 1e-12
"""Smaller differences of means are rounding errors."""
SMALLEST_VARIANCE = 1e-24
WITHIN_TWO_ERRORS = 3.84
"""The 95 % point of chi squared with one degree of freedom."""


@dataclass(frozen=True)
class Shift:
    """A change of a figure that lasts until the end of the run, or a dip.

    `before` and `after` are the means of two stretches of windows, `reference` and
    `ending`, each a half-open range. `ending` ends with the run or the dip. `z` is the
    difference in standard errors. The change began at step `since`; `interval` is the
    95 % interval of that step.
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
        """Return the difference of the means."""
        return self.after - self.before

    @property
    def fall(self) -> float:
        """Return the loss as a share of the mean before, 0 to 1.

        NaN if the mean before is not positive.
        """
        if self.before <= 0:
            return math.nan
        return min(max(-self.size / self.before, 0.0), 1.0)

    @property
    def evidence(self) -> Record:
        """Return the change as the evidence of a finding."""
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
    """Find the change that lasts to the end of the run, or return None.

    Compare each stretch with each later stretch that ends the run, and take the pair
    with the largest difference in standard errors. A change that has healed in the last
    third of its stretch does not count.

    Args:
        figure: Means by window.
        windows: Windows of the same run.
        way: 1 for a rise, -1 for a fall.
        least: Least difference of the means.
    """
    total = len(figure)
    firsts, lasts = np.triu_indices(total)
    lasts = lasts + 1  # stretches are half-open ranges of windows
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


def rises_steadily(figure: WindowFigure, least: float) -> bool:
    """Return whether a figure rises over the whole run, window by window.

    A short run has too few groups for stretches that differ by `LEAST_Z`. A straight
    line over its groups is one test, not one of each pair of stretches. Longer runs
    have no trend here: a slight rise would excuse what is paid beside the task.

    Args:
        figure: Means by window.
        least: Least difference of the line's ends.
    """
    total = figure.counts.sum()
    if not 2 * FEWEST_STRETCH_GROUPS <= total <= MOST_OF_SHORT_RUN:
        return False
    places = np.arange(len(figure))
    places = places - places @ figure.counts / total
    spread = float(places**2 @ figure.counts)
    mean = figure.sums.sum() / total
    squares = float(figure.squares.sum() - total * mean**2)
    if spread <= 0 or squares <= SMALLEST_VARIANCE:
        return False
    slope = float(places @ figure.sums) / spread
    freedom = total - 2
    rest = max(squares - slope**2 * spread, SMALLEST_VARIANCE)
    z = _to_normal(slope**2 * spread / rest, freedom)
    return slope * (len(figure) - 1) >= least and bool(z >= LEAST_TREND_Z)


def find_dip(figure: WindowFigure, windows: Windows, least: float) -> Shift | None:
    """Find a fall that heals, or return None.

    Take the stretch inside the run that is furthest below both the windows before it
    and those after it, in standard errors.

    Args:
        figure: Means by window.
        windows: Windows of the same run.
        least: Least depth below either side.
    """
    total = len(figure)
    firsts, lasts = np.triu_indices(total - 1, k=1)  # half-open ranges
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
    """Return how much a figure differs between two stretches, in standard errors."""
    (first, behind), (start, stop) = change.reference, change.ending
    before = figure.stretches(np.array([first]), np.array([behind]))
    after = figure.stretches(np.array([start]), np.array([stop]))
    return float(_differences(before, after)[0])


def change_of_run(figure: WindowFigure, change: Shift) -> tuple[float, float]:
    """Return the mean of the run's first windows, and the difference at the end.

    A figure that was odd for a while returns to its first mean. The first windows are
    the fewest with `FEWEST_STRETCH_GROUPS` groups; the end is the later half of the
    change's ending.
    """
    groups = np.cumsum(figure.counts)
    last = int(np.searchsorted(groups, FEWEST_STRETCH_GROUPS)) + 1
    before = figure.mean(slice(last))
    start, stop = change.ending
    return before, figure.mean(slice((start + stop) // 2, stop)) - before


def _differences(first: Stretches, second: Stretches) -> Floats:
    """Return the differences of means in standard errors, 0 if groups are too few.

    The arrays of both stretches broadcast.
    """
    is_enough = np.minimum(first.counts, second.counts) >= FEWEST_STRETCH_GROUPS
    gap = np.where(is_enough, second.means - first.means, 0.0)
    gap = np.where(np.abs(gap) > SMALLEST_GAP, gap, 0.0)
    freedom = np.maximum(first.counts + second.counts - 2, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = (first.squares + second.squares) / freedom
        pooled = pooled * (1 / first.counts + 1 / second.counts)
        # the larger estimate: a stretch without spread says little of the other's
        variance = np.fmax(pooled, first.errors**2 + second.errors**2)
        variance = np.fmax(variance, SMALLEST_VARIANCE)
        ratios = gap * gap / variance / freedom
    return np.sign(gap) * _to_normal(ratios, freedom)


def _to_normal(ratios: Any, freedom: Any) -> Floats:
    """Return t values on the normal scale (Wallace 1959).

    Args:
        ratios: Each t squared, divided by its degrees of freedom.
        freedom: The degrees of freedom.
    """
    scale = 1 - 3 / (4 * freedom)
    return np.asarray(np.sqrt(freedom * np.log1p(ratios)) * scale, dtype=float)


def _find_onset(
    figure: WindowFigure, windows: Windows, first: int
) -> tuple[float, tuple[float, float]]:
    """Return the step at which a figure leaves its level, and its 95 % interval.

    Fit a level, a straight line and another level by least squares, from window
    `first` on. The onset is half way between the last step at the first level and the
    next step of the log, rounded up.
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
    """Return the weighted sum of squared residuals of a regression on `rise`."""
    table = np.column_stack([1 - rise, rise]) * np.sqrt(counts)[:, None]
    target = means * np.sqrt(counts)
    solution = np.linalg.lstsq(table, target, rcond=None)[0]
    return float(((table @ solution - target) ** 2).sum())
