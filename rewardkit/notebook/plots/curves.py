"""Curves: a forecast against its KL, rewards over steps, a judge's calibration."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.forecast import Forecast
from rewardkit.errors import InputError, did_you_mean
from rewardkit.findings import number_range, short_number
from rewardkit.judges.records import JudgeReport
from rewardkit.notebook.plots import canvas

SAID_BY_OTHERS = ("characters",)
"""Figures that say what another one says already."""
FLAT = 1e-9
TITLES = {
    "reward": "the reward",
    "words": "the length in words",
    "characters": "the length in characters",
}


def forecast_curves(
    forecast: Forecast, *, figures: Sequence[str] | None = None, axes: Any = None
) -> list[Axes]:
    """Draw a small plot a figure: both views with 95 % bands, from a random sibling on.

    The reward, the label, each component, the length in words and the columns that were
    asked for, but not what stays the same, which is told below; or the `figures` that
    are named. InputError: no such figure.
    """
    names = list(forecast.best_of.curves)
    for name in figures or ():
        if name not in names:
            near = did_you_mean(name, names)
            raise InputError(
                f"this forecast has no figure {name!r}; it has {names}{near}"
            )
    flat: list[str] = []
    if figures is None:
        flat = [name for name in names if _is_flat(forecast, name)]
    if not figures:
        left_out = {*flat, *SAID_BY_OTHERS}
        figures = [name for name in names if name not in left_out]
    if len(forecast.best_of) < 2 or not figures:
        (ax,) = canvas.grid_for(axes, 1, columns=1, size=(7.0, 2.0))
        reason = [*forecast.notes, "there is nothing to forecast"][0]
        return [canvas.put_words(canvas.axes_for(ax), reason)]
    plots = canvas.grid_for(axes, len(figures), columns=3, size=(4.0, 2.9))
    for ax, name in zip(plots, figures, strict=True):
        _draw_figure(canvas.axes_for(ax), forecast, name)
    figure = plots[0].figure
    width = int(16 * figure.bbox.width / figure.dpi)
    lines = []
    for sentence in _describe_curves(forecast, flat):
        plain = canvas.plain(sentence)
        lines += textwrap.wrap(plain, width, subsequent_indent="    ")
    if axes is None and isinstance(figure, Figure):
        figure.set_figheight(figure.get_figheight() + 0.15 * (len(lines) - 1))
    style: dict[str, Any] = {"fontsize": canvas.SMALL, "color": canvas.MUTED}
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", parse_math=False, **style)
    return plots


def _describe_curves(forecast: Forecast, flat: Sequence[str]) -> list[str]:
    """Say how far both views go, and which figures are `flat` and not drawn."""
    reach = f"best of n, to n = {forecast.best_of.points[-1]:g} (KL at most)"
    if len(forecast.tilted) > 1:
        reach += f"; tilted, to beta = {forecast.tilted.points[-1]:.2g}"
    sentences = [f"{reach}; dotted: a sibling at random; bands: 95 %"]
    values = []
    for name in flat:
        value = forecast.best_of.curves[name].value[0]
        values.append(f"{forecast.called(name)} {short_number(value)}")
    if values:
        same = ", ".join(values)
        sentences.append(f"the same at every KL, and not drawn: {same}")
    return sentences


def _draw_figure(ax: Axes, forecast: Forecast, name: str) -> Axes:
    low, high = _span(forecast, name)
    label = forecast.called(name)
    subject = TITLES.get(name, f"'{label}'")
    if name == "label":
        subject = f"the {label}"
    if np.isfinite(low) and canvas.too_far(low, high):
        words = f"from {number_range(low, high)}: too far apart for a scale"
        return canvas.put_words(ax, words, subject)
    lines = []
    views = ((forecast.best_of, "best of n"), (forecast.tilted, "tilted"))
    for nth, (view, kind) in enumerate(views):
        if len(view) > 1:
            curve = view.curves[name]
            band = (curve.low, curve.high)
            lines.append(canvas.curve(ax, view.kl, curve.value, kind, band, nth=nth))
    best = forecast.best_of.curves[name]
    start = float(best.value[0])
    end = float(best.value[-1])
    change = float(best.change[-1])
    ax.axhline(start, color=canvas.GREY, linewidth=1, linestyle=":")
    if _is_flat(forecast, name):
        reach = max(0.05, 0.05 * abs(start))
        ax.set_ylim(start - reach, start + reach)
    canvas.label_ends(ax, lines)
    if not np.isfinite(change):
        title = f"{subject} is not known"
    elif change and best.change_low[-1] <= 0 <= best.change_high[-1]:
        title = f"{subject} does not clearly move from {short_number(end - change, 2)}"
    else:
        moves = canvas.from_to(end - change, end)
        title = f"{subject} {moves} in the best of {forecast.best_of.points[-1]:g}"
    axis = "KL in nats"
    share = best.known[-1]
    if share < 1 - FLAT:
        axis += f", of the {canvas.share_text(share)} that have it at the end"
    return canvas.finished(ax, title, x=axis, y="mean")


def _is_flat(forecast: Forecast, name: str) -> bool:
    """Return whether a figure and its bands stay as they are."""
    low, high = _span(forecast, name)
    return not high / 2 - low / 2 >= FLAT / 2


def _span(forecast: Forecast, name: str) -> tuple[float, float]:
    """Return the lowest and highest finite number of a figure's curves and bands."""
    edges: list[float] = []
    for view in (forecast.best_of, forecast.tilted):
        if name in view.curves:
            curve = view.curves[name]
            edges += [*curve.value, *curve.low, *curve.high]
    finite = np.array(edges)[np.isfinite(edges)]
    if not len(finite):
        return np.nan, np.nan
    return float(finite.min()), float(finite.max())


# --- over steps


def over_steps(
    diagnosis: Diagnosis,
    figure: str = "reward",
    *,
    window: int = 1,
    ax: Axes | None = None,
) -> Axes:
    """Draw mean, median and quantile bands at each step; of parts the means.

    Each point is of the last `window` steps together.
    """
    ax = canvas.axes_for(ax)
    table = diagnosis.over_steps(window)
    subject = "the reward" if figure == "reward" else f"'{figure}'"
    if table.empty or table["step"].nunique() < 2:
        return canvas.put_words(ax, "fewer than two steps", subject)
    table = table[table["figure"] == figure]
    parts = {"": table}
    if "part" in table:
        parts = {f" of {part}": rows for part, rows in table.groupby("part")}
    # one part has two bands, two have one each, and more have none
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
    return canvas.finished(ax, title, x=axis, y=canvas.wrapped(figure))


def all_over_steps(diagnosis: Diagnosis, *, window: int = 1) -> list[Axes]:
    """Draw `over_steps` of the reward and of each component; without steps nothing."""
    table = diagnosis.over_steps(window)
    if table.empty:
        return []
    figures = table["figure"].unique().tolist()
    return [over_steps(diagnosis, figure, window=window) for figure in figures]


def _describe_move(subject: str, parts: dict[str, pd.DataFrame]) -> str:
    """Say how the mean of the part that moves most goes from first to last step."""
    ends = {}
    for part, rows in parts.items():
        scored = rows.dropna(subset="mean")
        if len(scored):
            ends[part] = scored[["step", "mean"]].iloc[[0, -1]].to_numpy()
    if not ends:
        return f"{subject} is not scored at any step"
    part = max(ends, key=lambda name: abs(ends[name][1, 1] - ends[name][0, 1]))
    (first, before), (last, after) = ends[part]
    moves = canvas.from_to(before, after)
    return f"{subject}{part} {moves} over steps {first:g} to {last:g}"


# --- judges


def judge_calibration(report: JudgeReport, *, ax: Axes | None = None) -> Axes:
    """Draw the mean label of each level with its interval; the line is its score."""
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
    names = [f"{canvas.wrapped(row['level'], 14)}\nn = {row['n']}" for row in levels]
    ax.set_xticks(scores, names)
    ax.set_xlim(-0.12, 1.12)
    ax.set_ylim(-0.05, 1.05)
    off = np.where((scores < low) | (scores > high), np.abs(means - scores), 0)
    title = "no level is clearly off its labels"
    if off.any():
        worst = levels[int(off.argmax())]
        label = f"{worst['value']:.2g}, not {worst['score']:.2g}"
        title = f"cases called '{worst['level']}' have label {label}"
    title = canvas.of_part(report.judge, title)
    x, y = "level, at its score", "mean label (95 % interval)"
    return canvas.finished(ax, title, x=x, y=y)
