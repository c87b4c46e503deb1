"""Curves: what a forecast expects against its KL, and rewards over steps."""

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
from rewardkit.notebook.plots import canvas

NOT_UNASKED = ("characters",)
"""Figures that say what another one says already."""
FLAT = 1e-9
CALLED = {
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
    known = list(forecast.best_of.curves)
    for name in [name for name in figures or () if name not in known]:
        near = did_you_mean(name, known)
        raise InputError(f"this forecast has no figure {name!r}; it has {known}{near}")
    flat = (
        [name for name in known if _is_flat(forecast, name)] if figures is None else []
    )
    shown = [
        name
        for name in figures or known
        if figures or name not in (*flat, *NOT_UNASKED)
    ]
    if len(forecast.best_of) < 2 or not shown:
        (ax,) = canvas.grid_for(axes, 1, columns=1, size=(7.0, 2.0))
        return [
            canvas.put_words(
                canvas.axes_for(ax),
                next(iter(forecast.notes), "there is nothing to forecast"),
            )
        ]
    drawn = canvas.grid_for(axes, len(shown), columns=3, size=(4.0, 2.9))
    for ax, name in zip(drawn, shown, strict=True):
        _curve(canvas.axes_for(ax), forecast, name)
    values = {name: forecast.best_of.curves[name].value[0] for name in flat}
    same = ", ".join(
        f"{forecast.called(name)} {value:.3g}" for name, value in values.items()
    )
    best = forecast.best_of.points[-1]
    tilt = (
        f"; tilted, to beta = {forecast.tilted.points[-1]:.2g}"
        if len(forecast.tilted) > 1
        else ""
    )
    below = [
        f"best of n, to n = {best:g} (KL at most){tilt}; dotted: a sibling at random; "
        "bands: 95 %",
        *([f"the same at every KL, and not drawn: {same}"] if same else []),
    ]
    figure = drawn[0].figure
    width = int(16 * figure.bbox.width / figure.dpi)
    lines = "\n".join(
        textwrap.fill(canvas.plain(line), width, subsequent_indent="    ")
        for line in below
    )
    if axes is None and isinstance(figure, Figure):
        figure.set_figheight(figure.get_figheight() + 0.15 * lines.count("\n"))
    figure.supxlabel(
        lines,
        x=0.01,
        ha="left",
        fontsize=canvas.SMALL,
        color=canvas.MUTED,
        parse_math=False,
    )
    return drawn


def _curve(ax: Axes, forecast: Forecast, name: str) -> Axes:
    (low, high), best, label = (
        _span(forecast, name),
        forecast.best_of.curves[name],
        forecast.called(name),
    )
    called = CALLED.get(name) or (f"the {label}" if name == "label" else f"'{label}'")
    if np.isfinite(low) and canvas.too_far(low, high):
        return canvas.put_words(
            ax, f"from {low:.3g} to {high:.3g}: too far apart for a scale", called
        )
    drawn = []
    for nth, (view, told) in enumerate(
        ((forecast.best_of, "best of n"), (forecast.tilted, "tilted"))
    ):
        if len(view) > 1:
            of = view.curves[name]
            drawn.append(
                canvas.curve(ax, view.kl, of.value, told, (of.low, of.high), nth=nth)
            )
    start, end, change = (
        float(value) for value in (best.value[0], best.value[-1], best.change[-1])
    )
    ax.axhline(start, color=canvas.GREY, linewidth=1, linestyle=":")
    if _is_flat(forecast, name):
        reach = max(0.05, 0.05 * abs(start))
        ax.set_ylim(start - reach, start + reach)
    canvas.label_ends(ax, drawn)
    moves = canvas.from_to(end - change, end)
    how = f"{moves} in the best of {forecast.best_of.points[-1]:g}"
    if best.change_low[-1] <= 0 <= best.change_high[-1] and change:
        how = f"does not clearly move from {end - change:.2g}"
    few = best.known[-1]
    of_all = (
        f", of the {canvas.share_text(few)} that have it at the end"
        if few < 1 - FLAT
        else ""
    )
    title = f"{called} {how}" if np.isfinite(change) else f"{called} is not known"
    return canvas.finished(ax, title, x=f"KL in nats{of_all}", y="mean")


def _is_flat(forecast: Forecast, name: str) -> bool:
    """Return whether a figure and its bands stay as they are."""
    low, high = _span(forecast, name)
    return not high / 2 - low / 2 >= FLAT / 2


def _span(forecast: Forecast, name: str) -> tuple[float, float]:
    """Return the lowest and highest finite number of a figure's curves and bands."""
    curves = [
        view.curves[name]
        for view in (forecast.best_of, forecast.tilted)
        if name in view.curves
    ]
    edges = np.concatenate(
        [[*curve.value, *curve.low, *curve.high] for curve in curves]
    )
    edges = edges[np.isfinite(edges)]
    return (float(edges.min()), float(edges.max())) if len(edges) else (np.nan, np.nan)


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
    ax, table = canvas.axes_for(ax), diagnosis.over_steps(window)
    what = "the reward" if figure == "reward" else f"'{figure}'"
    if table.empty or table["step"].nunique() < 2:
        return canvas.put_words(ax, "fewer than two steps", what)
    table = table[table["figure"] == figure]
    parts = (
        {f" of {part}": rows for part, rows in table.groupby("part")}
        if "part" in table
        else {"": table}
    )
    drawn = []
    for nth, (part, rows) in enumerate(parts.items()):
        bands = [
            (rows[low], rows[high])
            for low, high in (("p25", "p75"), ("p5", "p95"))[: 3 - len(parts)]
        ]
        drawn.append(
            canvas.curve(ax, rows["step"], rows["mean"], f"mean{part}", *bands, nth=nth)
        )
        if len(parts) == 1:
            drawn.append(
                canvas.curve(ax, rows["step"], rows["median"], "median", nth=1)
            )
    canvas.label_ends(ax, drawn)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    told = f", the last {window} together" if window > 1 else ""
    told += (
        f" (bands: {'5 to 95 %, ' if len(parts) == 1 else ''}25 to 75 % of completions)"
    )
    return canvas.finished(
        ax, _moved(what, parts), x=f"step{told}", y=canvas.wrapped(figure)
    )


def all_over_steps(diagnosis: Diagnosis, *, window: int = 1) -> list[Axes]:
    """Draw `over_steps` of the reward and of each component; without steps nothing."""
    table = diagnosis.over_steps(window)
    if table.empty:
        return []
    figures = table["figure"].unique().tolist()
    return [over_steps(diagnosis, figure, window=window) for figure in figures]


def _moved(what: str, parts: dict[str, pd.DataFrame]) -> str:
    """Say how the mean of the part that moves most goes from first to last step."""
    known = {
        part: rows.dropna(subset="mean")
        for part, rows in parts.items()
        if rows["mean"].notna().any()
    }
    ends = {
        part: rows[["step", "mean"]].iloc[[0, -1]].to_numpy()
        for part, rows in known.items()
    }
    if not ends:
        return f"{what} is not scored at any step"
    part = max(ends, key=lambda name: abs(ends[name][1, 1] - ends[name][0, 1]))
    (first, before), (last, after) = ends[part]
    return (
        f"{what}{part} {canvas.from_to(before, after)} over steps {first:g} to {last:g}"
    )
