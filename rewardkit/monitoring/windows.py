"""Windows of steps, and figures of them: means over groups that can be compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rewardkit.analysis.statistics import Codes, Floats, Mask, group_stats, number_of

MOST_RESTARTS = 10
"""Times that a run is taken up again, at the most. Our choice."""
MOST_WINDOWS = 25
"""Windows of a run. Our choice: a step is told to 4 % of the run."""

GOLDEN_RATIO = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, eq=False)
class Windows:
    """A run in windows of neighbouring steps, each of about as many steps.

    `first` and `last` are the steps of each window, (windows,); `of_rows` is the window
    of each row, -1 for rows without a step. `groups` are those of the rows.
    """

    first: Floats
    last: Floats
    of_rows: Codes
    groups: Codes

    @classmethod
    def of(cls, steps: Floats, groups: Codes, most: int = MOST_WINDOWS) -> Windows:
        """Cut a run into at most so many windows.

        Args:
            steps: of the rows in their order, (rows,), NaN where missing.
            groups: codes of the rows, (rows,).
            most: windows at most.
        """
        has_step = ~(np.isnan(steps) | was_done_again(steps))
        distinct, places = np.unique(steps[has_step], return_inverse=True)
        count = min(most, len(distinct))
        window_of_step = np.arange(len(distinct)) * count // max(len(distinct), 1)
        of_rows = np.full(len(steps), -1, dtype=np.intp)
        of_rows[has_step] = window_of_step[places]
        edges = np.searchsorted(window_of_step, np.arange(count + 1))
        return cls(distinct[edges[:-1]], distinct[edges[1:] - 1], of_rows, groups)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def row_count(self) -> int:
        """Return how many rows are in a window."""
        return int((self.of_rows >= 0).sum())

    @cached_property
    def of_groups(self) -> Codes:
        """Return the window of each group, (groups,)."""
        windows = np.full(number_of(self.groups), -1, dtype=np.intp)
        windows[self.groups] = self.of_rows
        return windows

    def rows_in(self, stretch: tuple[int, int]) -> Mask:
        """Return which rows are in windows from one to behind another, (rows,)."""
        first, behind = stretch
        return (self.of_rows >= first) & (self.of_rows < behind)

    def spread_rows(self, most: int) -> Codes:
        """Return rows of about so many, whole groups, as many of each window.

        A run that grows keeps some of its groups, and takes hardly any others.
        """
        rows = np.flatnonzero(self.of_rows >= 0)
        if len(rows) <= most:
            return rows
        per_window = most / max(len(self), 1)
        sizes = np.bincount(self.of_rows[rows], minlength=len(self))
        is_read = np.zeros(len(self.of_groups), dtype=bool)
        for window in range(len(self)):
            groups = np.flatnonzero(self.of_groups == window)
            share = min(1.0, per_window / max(int(sizes[window]), 1))
            count = max(1, round(share * len(groups)))
            # multiples of it are spread evenly, whichever of them are taken
            places = groups * GOLDEN_RATIO % 1.0
            is_read[groups[np.argsort(places)[:count]]] = True
        return np.flatnonzero(is_read[self.groups] & (self.of_rows >= 0))

    def figure(self, values: Floats) -> WindowFigure:
        """Return the means of values, (rows,); NaN is left out."""
        stats = group_stats(values, self.groups, len(self.of_groups))
        return self.figure_of_groups(np.where(stats.count > 0, stats.mean, np.nan))

    def figure_of_groups(self, values: Floats) -> WindowFigure:
        """Return the means of values of groups, (groups,); NaN is left out."""
        counts = ~np.isnan(values) & (self.of_groups >= 0)
        places, values_there = self.of_groups[counts], values[counts]

        def add_up(amounts: Floats) -> Floats:
            sums = np.bincount(places, amounts, minlength=len(self))
            return np.asarray(sums, dtype=float)

        return WindowFigure(
            add_up(np.ones(len(values_there))),
            add_up(values_there),
            add_up(values_there**2),
        )


def restarts(steps: Floats) -> Codes:
    """Return the rows at which steps fall to one that was there before.

    None where they fall often: then the rows are in another order than they came.
    """
    falls = np.flatnonzero(np.diff(steps) < 0) + 1
    if len(falls) > MOST_RESTARTS:
        return np.empty(0, dtype=np.intp)
    return np.array(
        [row for row in falls if (steps[:row] == steps[row]).any()], dtype=np.intp
    )


def was_done_again(steps: Floats) -> Mask:
    """Return the rows of steps that a restarted run did again, (rows,).

    Steps that fall to one that was there before show a restart; a log that is only in
    another order has no step twice.

    >>> was_done_again(np.array([1.0, 2, 3, 2, 3, 4])).tolist()
    [False, True, True, False, False, False]
    >>> was_done_again(np.array([1.0, 10, 11, 2, 3, 4])).any()
    np.False_
    """
    again = np.zeros(len(steps), dtype=bool)
    for row in restarts(steps):
        again[:row] |= steps[:row] >= steps[row]
    return again


@dataclass(frozen=True, eq=False)
class WindowFigure:
    """A mean over the groups of each window: count, sum and sum of squares, (windows,).

    Groups are what is independent: siblings answer one prompt.
    """

    counts: Floats
    sums: Floats
    squares: Floats

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def means(self) -> Floats:
        """Return the mean of each window, NaN without groups."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.sums / self.counts

    @property
    def ends(self) -> tuple[float, float]:
        """Return the first and the last mean that there is; NaN where there is none."""
        means = self.means[~np.isnan(self.means)]
        if not len(means):
            return np.nan, np.nan
        return float(means[0]), float(means[-1])

    @cached_property
    def errors(self) -> Floats:
        """Return the standard error of each mean, NaN of fewer than two groups."""
        windows = np.arange(len(self))
        return self.stretches(windows, windows + 1).errors

    def stretches(self, firsts: Codes, lasts: Codes) -> Stretches:
        """Return stretches of windows, each from a first one to behind a last."""
        totals = []
        for values in (self.counts, self.sums, self.squares):
            running = np.concatenate([[0.0], np.cumsum(values)])
            totals.append(running[lasts] - running[firsts])
        counts, sums, squares = totals
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums / counts
        spread = np.maximum(squares - counts * np.nan_to_num(means) ** 2, 0.0)
        return Stretches(counts, means, spread)

    def over(self, windows: slice) -> tuple[float, float]:
        """Return the mean of some windows and its standard error.

        NaN without groups, the error also of one.
        """
        first, last, _ = windows.indices(len(self))
        stretch = self.stretches(np.array([first]), np.array([last]))
        return float(stretch.means[0]), float(stretch.errors[0])

    def mean(self, windows: slice) -> float:
        """Return the mean of some windows, NaN without groups."""
        return self.over(windows)[0]


@dataclass(frozen=True, eq=False)
class Stretches:
    """Several stretches of windows: counts, means and squares about the mean."""

    counts: Floats
    means: Floats
    squares: Floats

    @cached_property
    def errors(self) -> Floats:
        """Return the standard error of each mean, NaN of fewer than two groups."""
        with np.errstate(invalid="ignore", divide="ignore"):
            variances = self.squares / (self.counts - 1) / self.counts
        variances[self.counts < 2] = np.nan
        return np.asarray(np.sqrt(variances), dtype=float)
