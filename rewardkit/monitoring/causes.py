"""Causes: what rises, and what completions do, where the task falls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from rewardkit.analysis.statistics import Floats
from rewardkit.monitoring.changes import LEAST_Z, Shift, difference, find_change
from rewardkit.monitoring.pressure import LEAST_FEATURE_GROWTH
from rewardkit.monitoring.run_rows import KIND_COLUMNS
from rewardkit.monitoring.timeline import Timeline
from rewardkit.monitoring.windows import WindowFigure
from rewardkit.rollouts.columns import RIGHT_NAME

EXPLAINS = 0.5
"""Share of a fall of the task that what completions do has to explain. Our choice."""
LEAST_RISE = 1.2
"""Times its mean before, to which a number beside the scores rises. Our choice."""
RISES_NAMED = 2
"""Numbers that are said to rise at the same step. Our choice."""


def other_figures(timeline: Timeline) -> Mapping[str, WindowFigure]:
    """Return the figures of numbers that are no scores: errors, lengths, cuts."""
    view = timeline.view
    columns = {**view.context.columns}
    for name in view.names:
        if name not in view.paid_names and not RIGHT_NAME.fullmatch(name):
            columns[name] = view.scores[name]
    if view.context.truncated is not None:
        cut = view.context.truncated.astype(float)
        columns["the share cut at the limit"] = cut
    figures = {}
    for name, values in columns.items():
        if name not in KIND_COLUMNS:
            figures[name] = timeline.windows.figure(values)
    return {**figures, timeline.length_name: timeline.lengths}


def rises_beside(timeline: Timeline, change: Shift) -> list[tuple[str, float, float]]:
    """Return numbers that rise at the step of a change, each from what to what.

    Those that rise most, in standard errors, lengths only where nothing else does.
    Of a dip, they fall behind it.
    """
    is_dip = change.ending[1] < len(timeline.windows)
    rises: list[tuple[float, tuple[str, float, float]]] = []
    for name, figure in other_figures(timeline).items():
        z = difference(figure, change)
        if is_dip:
            rest = (change.ending[1], len(timeline.windows))
            z = min(z, difference(figure, replace(change, reference=rest)))
        elif z > LEAST_Z:
            rise = find_change(figure, timeline.windows, 1)
            is_same = rise is not None and _overlap(rise.interval, change.interval)
            z = z if is_same else 0.0
        before, after = change.means(figure)
        if z > LEAST_Z and after >= LEAST_RISE * abs(before):
            rises.append((-z, (name, before, after)))
    if len(rises) > 1:
        rises = [item for item in rises if item[1][0] != timeline.length_name]
    return [rise for _, rise in sorted(rises)[:RISES_NAMED]]


def steps_of_dip(
    timeline: Timeline, values: Floats, fall: Shift
) -> tuple[float, float]:
    """Return the first and the last step that are nearer to a dip than before."""
    table = pd.DataFrame({"step": timeline.view.context.steps, "value": values})
    means = table.groupby("step")["value"].mean()
    is_low = (means < (fall.before + fall.after) / 2).to_numpy()
    steps = means.index.to_numpy(dtype=float)
    start, stop = fall.ending
    first, last = np.searchsorted(
        steps, (timeline.windows.first[start], timeline.windows.last[stop - 1])
    )
    while first < last and not is_low[first]:
        first += 1
    while last > first and not is_low[last]:
        last -= 1
    while first > 0 and is_low[first - 1]:
        first -= 1
    while last < len(steps) - 1 and is_low[last + 1]:
        last += 1
    return float(steps[first]), float(steps[last])


def lost_by(timeline: Timeline, change: Shift) -> str:
    """Return what completions do by which most of a fall of the task is lost.

    That grows over the fall, and is seldom right; "" where there is none.
    """
    if timeline.task is None:
        return ""
    task = timeline.task.scores[timeline.rows_read]
    at_end = timeline.windows_read.rows_in(change.ending) & ~np.isnan(task)
    most, words = EXPLAINS, ""
    for feature in timeline.features:
        sides = [(feature.does, feature.rows)]
        if feature.does_not:
            sides.append((feature.does_not, 1 - feature.rows))
        for does, rows in sides:
            has_it = at_end & (rows == 1)
            others = at_end & (rows == 0)
            if feature.is_wording or not has_it.any() or not others.any():
                continue
            before, after = change.means(timeline.windows_read.figure(rows))
            gap = float(task[others].mean() - task[has_it].mean())
            share = (after - before) * gap / -change.size
            if after - before >= LEAST_FEATURE_GROWTH and share > most:
                most, words = share, does
    return words


def _overlap(first: tuple[float, float], second: tuple[float, float]) -> bool:
    return first[0] <= second[1] and second[0] <= first[1]
