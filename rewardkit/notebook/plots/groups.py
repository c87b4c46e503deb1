"""Groups: where among them there is a signal."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rewardkit.analysis.statistics.groups import Codes
from rewardkit.analysis.view import View
from rewardkit.notebook.plots import canvas

COLUMNS = 160
"""Groups up to which each has a column of its own; of more those that follow each other share one."""
FEW = 40  # columns up to which the mean of each has a dot
NO_PAIR = "no group has two completions with a reward"


def group_picture(view: View, *, ax: Axes | None = None) -> Axes:
    """Groups sorted by mean reward: range and mean of each, below them the share without a signal."""
    ax, stats = canvas.axes_for(ax), view.stats
    judged = np.flatnonzero(
        (stats.count > 0) & np.isfinite(stats.low) & np.isfinite(stats.high)
    )
    if not len(judged):
        return canvas.said(
            ax,
            canvas.of_part(view.part, "no group has a completion with a finite reward"),
        )
    if canvas.too_far(stats.low[judged].min(), stats.high[judged].max()):
        return canvas.said(
            ax, canvas.of_part(view.part, "the rewards are too far apart for a scale")
        )
    order = judged[
        np.lexsort((stats.high[judged] - stats.low[judged], stats.mean[judged]))
    ]
    _columns(ax, view, order)
    title = canvas.of_part(view.part, _signal(int(view.dead.sum()), view.several))
    return canvas.finished(
        ax, title, x="groups, sorted by their mean reward", y="reward", key=True
    )


def _signal(dead: int, several: int) -> str:
    """How many groups have no signal, of those that could have one."""
    if several < 2:
        how = "no" if dead else "a"
        return (
            f"the only group of two or more rewards has {how} signal"
            if several
            else NO_PAIR
        )
    if dead in (0, several):
        return (
            f"none of {several:,} groups has a signal"
            if dead
            else f"all {several:,} groups have a signal"
        )
    return f"{canvas.share_text(dead / several)} of {several:,} groups have no signal"


def _columns(ax: Axes, view: View, order: Codes) -> None:
    """Columns of groups that follow each other, and the share of dead ones as a strip below."""
    columns = min(COLUMNS, len(order))
    edges = np.linspace(0, len(order), columns + 1).astype(int)
    sizes, stats = np.diff(edges), view.stats
    low, mean, high, dead = (
        np.add.reduceat(values[order].astype(float), edges[:-1]) / sizes
        for values in (stats.low, stats.mean, stats.high, view.dead)
    )
    place = edges[:-1] + (sizes + 1) / 2
    told = "lowest to highest" + (
        f", means of {sizes.max()} groups" if sizes.max() > 1 else " sibling"
    )
    ax.bar(place, high - low, sizes, low, color=canvas.BLUE, alpha=0.3, label=told)
    marker = "." if columns <= FEW else ""
    ax.plot(place, mean, color=canvas.BLUE, linewidth=1.6, marker=marker, label="mean")
    ax.set_xlim(0.5, len(order) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if dead.any():
        bottom, top = float(low.min()), float(high.max())
        room = 0.2 * ((top - bottom) or 1.0)
        base = bottom - 1.2 * room
        ax.axhspan(base, base + room, facecolor=canvas.SOFT, zorder=0)
        style: dict[str, Any] = {
            "fill": True,
            "color": canvas.RED,
            "label": "share without a signal",
        }
        ax.stairs(base + room * dead, edges + 0.5, baseline=base, **style)
        ax.set_yticks([tick for tick in ax.get_yticks() if bottom <= tick <= top])
        ax.set_ylim(base, top + 0.1 * room)
