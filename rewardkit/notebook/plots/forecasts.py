"""Forecasts: what is expected of the completion that is picked, against the KL that picking it costs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from rewardkit.analysis.forecast import Forecast
from rewardkit.analysis.statistics.groups import Floats
from rewardkit.analysis.statistics.selection import Selection
from rewardkit.errors import InputError, did_you_mean
from rewardkit.findings import percent
from rewardkit.notebook.plots.canvas import (
    BLUE,
    GREY,
    NAME_WIDTH,
    ORANGE,
    axes_for,
    grid_for,
    plain,
    said,
    settled,
    titled,
    too_far,
    width_of,
)

__all__ = ["forecast_curves"]

NOT_UNASKED = ("characters",)
"""Figures that say what another one says already."""
FLAT = 1e-9


def forecast_curves(
    forecast: Forecast, *, figures: Sequence[str] | None = None, axes: Any = None
) -> list[Axes]:
    """A small plot a figure: both views with their 95 % bands, from a sibling picked at random on.

    The reward, the label, each component, the length in words and the columns that were asked for, but not
    what stays the same, which is told below; or the `figures` that are named. The limits of a forecast are
    printed under them. InputError: no such figure.
    """
    known = list(dict.fromkeys([*forecast.best_of.curves, *forecast.tilted.curves]))
    for name in figures or ():
        if name not in known:
            raise InputError(
                f"this forecast has no figure {name!r}; it has {known}{did_you_mean(name, known)}"
            )
    flat = [name for name in known if _is_flat(forecast, name)] if figures is None else []
    shown = [name for name in figures or known if figures or name not in (*flat, *NOT_UNASKED)]
    if len(forecast.best_of) < 2 or not shown:
        (ax,) = grid_for(axes, 1, columns=1, size=(7.0, 2.0))
        titled(ax, "What it selects for")
        return [said(axes_for(ax), next(iter(forecast.notes), "there is nothing to forecast"))]
    drawn = grid_for(axes, len(shown), columns=3, size=(3.8, 2.7))
    for ax, name in zip(drawn, shown, strict=True):
        _curve(axes_for(ax), forecast, name)
    if first := next((ax for ax in drawn if ax.lines), None):
        first.legend(loc="best", fontsize=7.5, frameon=False)
        settled(first)
    same = ", ".join(f"{forecast.called(name)} {_at_random(forecast, name):.3g}" for name in flat)
    said_below = [f"the same at every KL, and not drawn: {same}"] if same else []
    said_below += [f"limit: {limit}" for limit in forecast.limits]
    figure = drawn[0].figure
    width = int(15.5 * width_of(drawn[0]))
    below = "\n".join(textwrap.fill(plain(line), width, subsequent_indent="    ") for line in said_below)
    figure.supxlabel(below, x=0.01, ha="left", fontsize=8, color="#444444", parse_math=False)
    return drawn


def _curve(ax: Axes, forecast: Forecast, name: str) -> None:
    titled(ax, forecast.called(name), NAME_WIDTH)
    edges = _edges(forecast, name)
    if len(edges) and too_far(edges.min(), edges.max()):
        said(ax, f"from {edges.min():.3g} to {edges.max():.3g}: too far apart for a scale")
        return
    views = ((forecast.best_of, BLUE, "-", "o"), (forecast.tilted, ORANGE, "--", "s"))
    for view, colour, line, marker in views:
        curve = view.curves.get(name)
        if curve is None or len(view) < 2:
            continue
        ax.fill_between(view.kl, curve.low, curve.high, color=colour, alpha=0.22, linewidth=0)
        style: dict[str, Any] = {"color": colour, "linestyle": line, "marker": marker, "markersize": 3.5}
        ax.plot(view.kl, curve.value, label=_called(view), **style)
    first = forecast.best_of.curves.get(name) or forecast.tilted.curves[name]
    ax.axhline(first.value[0], color=GREY, linewidth=1, linestyle=":", label="a sibling at random")
    if _is_flat(forecast, name):
        middle = float(first.value[0])
        reach = max(0.05, 0.05 * abs(middle))
        ax.set_ylim(middle - reach, middle + reach)
    few = first.known[-1] < 1 - FLAT
    known = f", of the {percent(first.known[-1])} that have it at the end" if few else ""
    ax.set_ylabel(_unit(name), fontsize=9)
    ax.set_xlabel(f"KL in nats{known}", fontsize=9)
    settled(ax)


def _is_flat(forecast: Forecast, name: str) -> bool:
    """Whether a figure stays as it is, and its bands with it."""
    edges = _edges(forecast, name)
    return not len(edges) or float(edges.max() / 2 - edges.min() / 2) < FLAT / 2


def _edges(forecast: Forecast, name: str) -> Floats:
    """All the finite numbers of the curves of a figure and their bands."""
    curves = [view.curves[name] for view in (forecast.best_of, forecast.tilted) if name in view.curves]
    edges = np.concatenate([[*curve.value, *curve.low, *curve.high] for curve in curves])
    return np.asarray(edges[np.isfinite(edges)], dtype=float)


def _at_random(forecast: Forecast, name: str) -> float:
    return float(forecast.best_of.curves[name].value[0])


def _called(view: Selection) -> str:
    if view.how == "best_of":
        return f"best of n, to n = {view.points[-1]:g} (KL at most)"
    return f"tilted, to beta = {view.points[-1]:.2g}"


def _unit(name: str) -> str:
    if name.startswith("score/"):
        return "mean score"
    return {"reward": "mean reward", "label": "mean label", "words": "mean words"}.get(name, "mean")
