"""Plots of runs: a monitor's figures over the steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rewardkit.findings import short_number
from rewardkit.monitoring.monitor import Monitor
from rewardkit.monitoring.timeline import Timeline
from rewardkit.monitoring.windows import WindowFigure
from rewardkit.notebook.plots import canvas

BAND_ERRORS = 2
"""Half-width of a band in standard errors, about 95 %."""


def monitor(monitor: Monitor, *, axes: Any = None) -> list[Axes]:
    """Draw a small plot for each figure: its mean by window of steps, with bands.

    The figures are the reward, the task, each paid component, groups without a signal
    and the length. Bands are 2 standard errors over groups on each side. A dotted line
    marks the first step of each alarm. Windows without a value are gaps.
    """
    panels = []
    for timeline in monitor.timelines:
        for name, figure in _list_figures(timeline).items():
            panels.append((timeline, name, figure))
    steps = sorted({alarm.evidence["since"] for alarm in monitor.alarms})
    plots = canvas.grid_for(axes, len(panels), columns=3, size=(3.2, 2.6))
    for ax, (timeline, name, figure) in zip(plots, panels, strict=True):
        _draw_figure(canvas.axes_for(ax), timeline, name, figure)
        for step in steps:
            ax.axvline(step, color=canvas.RED, linestyle=":", linewidth=1.6)
    words = f"bands: {BAND_ERRORS} standard errors on each side"
    if steps:
        numbers = ", ".join(map(short_number, steps))
        words += f"; dotted: since when an alarm holds (step {numbers})"
    canvas.put_foot(plots, words)
    return plots


def _list_figures(timeline: Timeline) -> dict[str, WindowFigure]:
    """Return the figures to draw, by their names in titles."""
    figures = {"the reward": timeline.figures["reward"]}
    if timeline.task_figure is not None:
        figures[f"the task ({timeline.task_name})"] = timeline.task_figure
    for name in timeline.view.paid_names:
        figures[f"'{name}'"] = timeline.figures[name]
    figures["groups without a signal"] = timeline.dead_groups
    unit = timeline.view.context.length_unit
    figures[f"the length in {unit}"] = timeline.lengths
    return figures


def _draw_figure(ax: Axes, timeline: Timeline, name: str, figure: WindowFigure) -> None:
    subject = canvas.prefix_part(timeline.view.part, name)
    means = figure.means
    if np.isnan(means).all():
        canvas.put_words(ax, "no value at any step", subject)
        return
    steps = (timeline.windows.first + timeline.windows.last) / 2
    room = BAND_ERRORS * np.where(np.isnan(means), np.nan, figure.errors)
    canvas.curve(ax, steps, means, name, (means - room, means + room))
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    start, end = map(short_number, figure.ends)
    title = f"{subject}: {start} to {end}"
    canvas.finish_axes(ax, title, x="step", y="mean")
