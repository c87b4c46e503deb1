"""Plots of a forecast, of rewards over steps, and of a judge's calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.forecast import Forecast, called, rounded
from rewardkit.analysis.rehearsal.curves import WINDOW
from rewardkit.analysis.rehearsal.rehearsal import PACES
from rewardkit.errors import InputError, did_you_mean
from rewardkit.judges.records import JudgeReport
from rewardkit.notebook.plots import canvas

TITLES = {"task": "the task", "reward": "the reward", "characters": "the length"}
POINTS_APART = 5
"""Steps between the drawn points of a forecast."""
MOST_STEPS_DRAWN = 300
"""Most points drawn over steps. Our choice: about three pixels each."""


def forecast_curves(
    forecast: Forecast,
    *,
    figures: Sequence[str] | None = None,
    actual: pd.DataFrame | None = None,
    axes: Any = None,
) -> list[Axes]:
    """Draw a small plot for each figure of a forecast: both paces, with bands.

    By default these are the task, the reward, each component, the length and the shares
    of growing kinds; `figures` names others. `actual` is the log of a real training,
    drawn over the forecast: a column "step", and columns named as the figures.
    InputError: no such figure.
    """
    names = list(dict.fromkeys(figure for _, figure in forecast.curves))
    for name in figures or ():
        if name not in names:
            near = did_you_mean(name, names)
            raise InputError(
                f"this forecast has no figure {name!r}; it has {names}{near}"
            )
    figures = figures or names
    if not figures:
        (ax,) = canvas.grid_for(axes, 1, columns=1, size=(7.0, 2.0))
        return [canvas.put_words(canvas.axes_for(ax), forecast.verdict)]
    plots = canvas.grid_for(axes, len(figures), columns=3, size=(3.4, 2.9))
    for ax, name in zip(plots, figures, strict=True):
        _draw_figure(canvas.axes_for(ax), forecast, name, actual)
    words = "medians of the learners of a pace; bands: 80 % of them"
    if actual is not None:
        words += f"; training: means of {WINDOW} steps"
    canvas.put_foot(plots, words)
    return plots


def _draw_figure(
    ax: Axes, forecast: Forecast, name: str, actual: pd.DataFrame | None
) -> Axes:
    ends: list[float] = []
    lines = []
    for nth, pace in enumerate(PACES):
        curve = forecast.curves[pace, name]
        steps = np.arange(len(curve.middle))[::POINTS_APART]
        band = (curve.low[steps], curve.high[steps])
        lines.append(canvas.curve(ax, steps, curve.middle[steps], pace, band, nth=nth))
        ends.append(curve.end)
    if actual is not None and name in actual:
        means = actual[name].astype(float).rolling(WINDOW, min_periods=1).mean()
        (line,) = ax.plot(actual["step"], means, color="black", linewidth=2)
        lines.append((line, "training"))
    canvas.label_ends(ax, lines)
    subject = TITLES.get(name, called(name))
    start = rounded(forecast.curves["gentle", name].start)
    distinct_ends = dict.fromkeys(map(rounded, ends))
    title = f"{subject}: {start} to {' or '.join(distinct_ends)}"
    return canvas.finish_axes(ax, title, x="step", y="mean")


# --- over steps


def over_steps(
    diagnosis: Diagnosis,
    figure: str = "reward",
    *,
    window: int = 1,
    ax: Axes | None = None,
) -> Axes:
    """Draw mean, median and quantile bands over steps; with several parts, only means.

    A point pools the last `window` steps. A long run is pooled further, to at most
    `MOST_STEPS_DRAWN` points.
    """
    return _draw_steps(*_points_over_steps(diagnosis, window), figure, ax)


def all_over_steps(diagnosis: Diagnosis, *, window: int = 1) -> list[Axes]:
    """Draw `over_steps` of the reward and each component; nothing without steps."""
    table, window = _points_over_steps(diagnosis, window)
    if table.empty:
        return []
    figures = table["figure"].unique().tolist()
    return [_draw_steps(table, window, figure) for figure in figures]


def _points_over_steps(diagnosis: Diagnosis, window: int) -> tuple[pd.DataFrame, int]:
    """Return the points that `over_steps` draws, and the number of steps in each."""
    count = 0
    if diagnosis.scores.has_steps:
        count = diagnosis.scores.table["step"].nunique()
    apart = max(1, math.ceil(count / MOST_STEPS_DRAWN))
    window = max(window, apart)
    return diagnosis.over_steps(window, apart=apart), window


def _draw_steps(
    table: pd.DataFrame, window: int, figure: str, ax: Axes | None = None
) -> Axes:
    ax = canvas.axes_for(ax)
    subject = "the reward" if figure == "reward" else f"'{figure}'"
    if table.empty or table["step"].nunique() < 2:
        return canvas.put_words(ax, "fewer than two steps", subject)
    table = table[table["figure"] == figure]
    parts = {"": table}
    if "part" in table:
        parts = {f" of {part}": rows for part, rows in table.groupby("part")}
    # two bands for one part, one band each for two parts, none for more
    quantiles = (("p25", "p75"), ("p5", "p95"))[: max(0, 3 - len(parts))]
    lines = []
    for nth, (part, rows) in enumerate(parts.items()):
        bands = [(rows[low], rows[high]) for low, high in quantiles]
        steps = rows["step"]
        mean = rows["mean"]
        lines.append(canvas.curve(ax, steps, mean, f"mean{part}", *bands, nth=nth))
        if len(parts) == 1:
            lines.append(canvas.curve(ax, steps, rows["median"], "median", nth=1))
    canvas.label_ends(ax, lines)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis = f"step, the last {window} together" if window > 1 else "step"
    wide = "5 to 95 %, " if len(parts) == 1 else ""
    axis += f" (bands: {wide}25 to 75 % of completions)"
    title = _describe_move(subject, parts)
    return canvas.finish_axes(ax, title, x=axis, y=canvas.wrap_text(figure))


def _describe_move(subject: str, parts: dict[str, pd.DataFrame]) -> str:
    """Describe the change of the mean over all steps, of the part that moves most."""
    sentences = {}
    for part, rows in parts.items():
        scored = rows.dropna(subset="mean")
        if not len(scored):
            continue
        first, last = scored["step"].iloc[[0, -1]]
        before, after = scored["mean"].iloc[[0, -1]]
        moves = canvas.from_to(before, after)
        steps = f"steps {first:g} to {last:g}"
        sentences[f"{subject}{part} {moves} over {steps}"] = abs(after - before)
    if not sentences:
        return f"{subject} is not scored at any step"
    return max(sentences, key=lambda sentence: sentences[sentence])


# --- judges


def judge_calibration(report: JudgeReport, *, ax: Axes | None = None) -> Axes:
    """Draw the mean label of each level with its interval, and the line label = score.

    The x axis is the score of the level.
    """
    ax = canvas.axes_for(ax, width=6.4, height=3.6)
    levels = report.calibration
    if not levels:
        nothing = "no case is judged and labelled"
        return canvas.put_words(ax, nothing, f"'{report.judge}'")
    scores = np.array([row["score"] for row in levels], dtype=float)
    means = np.array([row["value"] for row in levels], dtype=float)
    low, high = np.array([row["interval"] for row in levels], dtype=float).T
    ax.plot([0, 1], [0, 1], ":", color=canvas.GREY)
    canvas.label(ax, "label = score", 1, 1, (6, 0), color=canvas.MUTED)
    ax.vlines(scores, low, high, color=canvas.BLUE, linewidth=2)
    ax.plot(scores, means, "o", color=canvas.BLUE, markersize=7)
    names = [f"{canvas.wrap_text(row['level'], 14)}\nn = {row['n']}" for row in levels]
    ax.set_xticks(scores, names)
    ax.set_xlim(-0.12, 1.12)
    ax.set_ylim(-0.05, 1.05)
    is_off = (scores < low) | (scores > high)
    errors = np.where(is_off, np.abs(means - scores), 0)
    title = "no level is clearly off its labels"
    if errors.any():
        worst = levels[int(errors.argmax())]
        label = f"{worst['value']:.2g}, not {worst['score']:.2g}"
        title = f"cases called '{worst['level']}' have label {label}"
    title = canvas.prefix_part(report.judge, title)
    x = "level, at its score"
    y = "mean label (95 % interval)"
    return canvas.finish_axes(ax, title, x=x, y=y)
