"""Windows of steps, and figures: means over the groups of each window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rewardkit.analysis.statistics import Codes, Floats, Mask, group_stats, number_of

MOST_RESTARTS = 10
"""Most restarts of a run. Our choice."""
MOST_WINDOWS = 25
"""Windows of a run. Our choice: it dates a change to 4 % of the run."""

GOLDEN_RATIO = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, eq=False)
class Windows:
    """A run, divided into windows of consecutive steps of about equal number.

    `first` and `last` are the first and last step of each window, (windows,).
    `row_windows` is the window of each row, -1 without a step, and `groups` the group
    of each row, both (rows,).
    """

    first: Floats
    last: Floats
    row_windows: Codes
    groups: Codes

    @classmethod
    def of(cls, steps: Floats, groups: Codes, most: int = MOST_WINDOWS) -> Windows:
        """Divide a run into at most `most` windows.

        Args:
            steps: The step of each row in the log's order, (rows,), NaN if missing.
            groups: The group of each row as a code, (rows,).
            most: Most windows.
        """
        has_step = ~(np.isnan(steps) | is_repeated_step(steps))
        distinct, places = np.unique(steps[has_step], return_inverse=True)
        count = min(most, len(distinct))
        window_of_step = np.arange(len(distinct)) * count // max(len(distinct), 1)
        row_windows = np.full(len(steps), -1, dtype=np.intp)
        row_windows[has_step] = window_of_step[places]
        edges = np.searchsorted(window_of_step, np.arange(count + 1))
        return cls(distinct[edges[:-1]], distinct[edges[1:] - 1], row_windows, groups)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def row_count(self) -> int:
        """Return the number of rows in windows."""
        return int((self.row_windows >= 0).sum())

    @cached_property
    def group_windows(self) -> Codes:
        """Return the window of each group, (groups,)."""
        windows = np.full(number_of(self.groups), -1, dtype=np.intp)
        windows[self.groups] = self.row_windows
        return windows

    def rows_in(self, stretch: tuple[int, int]) -> Mask:
        """Return the rows in a half-open range of windows, (rows,)."""
        first, end = stretch
        return (self.row_windows >= first) & (self.row_windows < end)

    def spread_rows(self, most: int) -> Codes:
        """Return about `most` rows in whole groups, about as many from each window.

        When the run grows, mostly groups are dropped and few are added.
        """
        rows = np.flatnonzero(self.row_windows >= 0)
        if len(rows) <= most:
            return rows
        per_window = most / max(len(self), 1)
        sizes = np.bincount(self.row_windows[rows], minlength=len(self))
        is_read = np.zeros(len(self.group_windows), dtype=bool)
        for window in range(len(self)):
            groups = np.flatnonzero(self.group_windows == window)
            share = min(1.0, per_window / max(int(sizes[window]), 1))
            count = max(1, round(share * len(groups)))
            # multiples of the golden ratio spread evenly, also a subset of them
            places = groups * GOLDEN_RATIO % 1.0
            is_read[groups[np.argsort(places)[:count]]] = True
        return np.flatnonzero(is_read[self.groups] & (self.row_windows >= 0))

    def figure(self, values: Floats) -> WindowFigure:
        """Return the means of values by window, (rows,); NaN is ignored."""
        stats = group_stats(values, self.groups, len(self.group_windows))
        return self.figure_of_groups(np.where(stats.count > 0, stats.mean, np.nan))

    def figure_of_groups(self, values: Floats) -> WindowFigure:
        """Return the means of group values by window, (groups,); NaN is ignored."""
        is_counted = ~np.isnan(values) & (self.group_windows >= 0)
        places, values = self.group_windows[is_counted], values[is_counted]

        def add_up(amounts: Floats) -> Floats:
            sums = np.bincount(places, amounts, minlength=len(self))
            return np.asarray(sums, dtype=float)

        return WindowFigure(
            add_up(np.ones(len(values))),
            add_up(values),
            add_up(values**2),
        )


def restarts(steps: Floats) -> Codes:
    """Return the rows at which the step falls back to an earlier one.

    If steps fall often, the rows are not in the order of the run: no row is returned.
    """
    falls = np.flatnonzero(np.diff(steps) < 0) + 1
    if len(falls) > MOST_RESTARTS:
        return np.empty(0, dtype=np.intp)
    return np.array(
        [row for row in falls if (steps[:row] == steps[row]).any()], dtype=np.intp
    )


def is_repeated_step(steps: Floats) -> Mask:
    """Return for each row whether a restarted run repeated its step, (rows,).

    A step that falls back to an earlier one shows a restart. A log that is only
    reordered has no step twice.

    >>> is_repeated_step(np.array([1.0, 2, 3, 2, 3, 4])).tolist()
    [False, True, True, False, False, False]
    >>> is_repeated_step(np.array([1.0, 10, 11, 2, 3, 4])).any()
    np.False_
    """
    is_repeated = np.zeros(len(steps), dtype=bool)
    for row in restarts(steps):
        is_repeated[:row] |= steps[:row] >= steps[row]
    return is_repeated


@dataclass(frozen=True, eq=False)
class WindowFigure:
    """A figure by window, as count, sum and sum of squares over groups, (windows,).

    Groups are the independent units, as siblings share a prompt.
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
        """Return the first and the last mean that is not NaN, or NaN."""
        means = self.means[~np.isnan(self.means)]
        if not len(means):
            return np.nan, np.nan
        return float(means[0]), float(means[-1])

    @cached_property
    def errors(self) -> Floats:
        """Return the standard error of each mean, NaN below two groups."""
        windows = np.arange(len(self))
        return self.stretches(windows, windows + 1).errors

    def stretches(self, firsts: Codes, lasts: Codes) -> Stretches:
        """Return the stretches from `firsts` to `lasts`, as half-open ranges."""
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
        """Return the mean over some windows and its standard error.

        The mean is NaN without groups, the error below two groups.
        """
        first, last, _ = windows.indices(len(self))
        stretch = self.stretches(np.array([first]), np.array([last]))
        return float(stretch.means[0]), float(stretch.errors[0])

    def mean(self, windows: slice) -> float:
        """Return the mean over some windows, NaN without groups."""
        return self.over(windows)[0]


@dataclass(frozen=True, eq=False)
class Stretches:
    """Stretches of windows: group counts, means and sums of squared deviations."""

    counts: Floats
    means: Floats
    squares: Floats

    @cached_property
    def errors(self) -> Floats:
        """Return the standard error of each mean, NaN below two groups."""
        with np.errstate(invalid="ignore", divide="ignore"):
            variances = self.squares / (self.counts - 1) / self.counts
        variances[self.counts < 2] = np.nan
        return np.asarray(np.sqrt(variances), dtype=float)
