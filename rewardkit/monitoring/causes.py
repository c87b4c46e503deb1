"""Causes of a fall of the task: figures that rise with it, and completions."""

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
"""Share of a fall of the task that a feature has to explain. Our choice."""
LEAST_FIGURE_RISE = 1.2
"""Least mean after a rise, as a multiple of the mean before. Our choice."""
RISES_NAMED = 2
"""Figures that a finding names as rising at the same step. Our choice."""


def _other_figures(timeline: Timeline) -> Mapping[str, WindowFigure]:
    """Return the figures of numbers that are not scores: errors, lengths, cuts."""
    view = timeline.view
    columns = dict(view.context.columns)
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


def find_rises(timeline: Timeline, change: Shift) -> list[tuple[str, float, float]]:
    """Find figures that rise at the step of a change, as (name, before, after).

    The largest rise in standard errors comes first. The length is left out if another
    figure rises too. If the change is a dip, a figure has to fall again after it.
    """
    total = len(timeline.windows)
    is_dip = change.ending[1] < total
    recovery = replace(change, reference=(change.ending[1], total))
    rises: list[tuple[float, str, float, float]] = []
    for name, figure in _other_figures(timeline).items():
        z = difference(figure, change)
        if is_dip:
            z = min(z, difference(figure, recovery))
        before, after = change.means(figure)
        if z <= LEAST_Z or after < LEAST_FIGURE_RISE * abs(before):
            continue
        rise = None if is_dip else find_change(figure, timeline.windows, 1)
        if is_dip or (rise and _overlap(rise.interval, change.interval)):
            rises.append((-z, name, before, after))
    if len(rises) > 1:
        rises = [rise for rise in rises if rise[1] != timeline.length_name]
    return [rise[1:] for rise in sorted(rises)[:RISES_NAMED]]


def find_dip_steps(
    timeline: Timeline, values: Floats, fall: Shift
) -> tuple[float, float]:
    """Return the first and last step of a dip.

    They are the steps whose mean is nearer to the dip's than to the mean before.
    """
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


def explain_loss(timeline: Timeline, change: Shift) -> str:
    """Describe the completions that explain most of a fall of the task, or return "".

    Their share grows over the fall, and fewer of them than of the others are right.
    """
    if timeline.task is None:
        return ""
    task = timeline.task.scores[timeline.rows_read]
    at_end = timeline.windows_read.rows_in(change.ending) & ~np.isnan(task)
    largest, words = EXPLAINS, ""
    for feature in timeline.features:
        if feature.is_wording:
            continue
        descriptions = [(feature.does, feature.rows)]
        if feature.does_not:
            descriptions.append((feature.does_not, 1 - feature.rows))
        for description, rows in descriptions:
            has_feature = at_end & (rows == 1)
            others = at_end & (rows == 0)
            if not has_feature.any() or not others.any():
                continue
            before, after = change.means(timeline.windows_read.figure(rows))
            growth = after - before
            gap = float(task[others].mean() - task[has_feature].mean())
            share = growth * gap / -change.size
            if growth >= LEAST_FEATURE_GROWTH and share > largest:
                largest, words = share, description
    return words


def _overlap(first: tuple[float, float], second: tuple[float, float]) -> bool:
    return first[0] <= second[1] and second[0] <= first[1]
