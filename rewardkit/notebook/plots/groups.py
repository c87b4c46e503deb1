"""Groups: where among them there is a signal."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from rewardkit.analysis.statistics.groups import Codes
from rewardkit.analysis.view import View
from rewardkit.notebook.plots import canvas

DRAWN_APART = 400
"""Groups up to which each is drawn by itself; more share `COLUMNS` columns. Our choice, of the pixels."""
COLUMNS = 160
NO_PAIR = "no group has two completions with a reward"


def group_picture(view: View, *, ax: Axes | None = None) -> Axes:
    """Groups sorted by mean reward: range and mean of each, and those without a signal.

    Where there are too many to draw, those that follow each other share a column.
    """
    ax, stats = canvas.axes_for(ax), view.stats
    judged = np.flatnonzero((stats.count > 0) & np.isfinite(stats.low) & np.isfinite(stats.high))
    if not len(judged):
        return canvas.said(ax, canvas.of_part(view.part, "no group has a completion with a finite reward"))
    if canvas.too_far(stats.low[judged].min(), stats.high[judged].max()):
        return canvas.said(ax, canvas.of_part(view.part, "the rewards are too far apart for a scale"))
    order = judged[np.lexsort((stats.high[judged] - stats.low[judged], stats.mean[judged]))]
    (_each if len(order) <= DRAWN_APART else _columns)(ax, view, order)
    title = canvas.of_part(view.part, _signal(int(view.dead.sum()), view.several))
    return canvas.finished(ax, title, x="groups, sorted by their mean reward", y="reward", key=True)


def _signal(dead: int, several: int) -> str:
    """How many groups have no signal, of those that could have one."""
    if several < 2:
        how = "no" if dead else "a"
        return f"the only group of two or more rewards has {how} signal" if several else NO_PAIR
    if dead in (0, several):
        return f"none of {several:,} groups has a signal" if dead else f"all {several:,} groups have a signal"
    return f"{canvas.share_text(dead / several)} of {several:,} groups have no signal"


def _each(ax: Axes, view: View, order: Codes) -> None:
    stats, place, few = view.stats, np.arange(len(order)) + 1, len(order) <= 40
    low, mean, high = stats.low[order], stats.mean[order], stats.high[order]
    dead, alone = view.dead[order], stats.count[order] < 2
    live = ~dead & ~alone
    style: dict[str, Any] = {"color": canvas.BLUE, "alpha": 0.4, "linewidth": 5.0 if few else 1.5}
    ax.vlines(place[live], low[live], high[live], label="lowest to highest sibling", **style)
    kinds = (
        ("mean", live, ".", canvas.BLUE, 9 if few else 4),
        ("no signal", dead, "x", canvas.RED, 8 if few else 5),
        ("one completion", alone, "+", canvas.GREY, 8 if few else 5),
    )
    for label, which, marker, colour, size in kinds:
        if which.any():
            ax.plot(place[which], mean[which], marker, color=colour, markersize=size, label=label)
    if few:
        ax.set_xlim(0.4, len(order) + 0.6)
        ax.set_xticks(place[:: 1 + len(order) // 11])


def _columns(ax: Axes, view: View, order: Codes) -> None:
    """Means of columns of groups that follow each other, and the share of dead ones as a strip below."""
    edges = np.linspace(0, len(order), COLUMNS + 1).astype(int)
    sizes, stats = np.diff(edges), view.stats
    low, mean, high, dead = (
        np.add.reduceat(values[order].astype(float), edges[:-1]) / sizes
        for values in (stats.low, stats.mean, stats.high, view.dead)
    )
    place = edges[:-1] + (sizes + 1) / 2
    told = f"lowest to highest, means of {sizes.max()} groups"
    ax.fill_between(place, low, high, color=canvas.BLUE, alpha=0.3, linewidth=0, step="mid", label=told)
    ax.plot(place, mean, color=canvas.BLUE, linewidth=1.6, label="mean")
    ax.set_xlim(0, len(order))
    if dead.any():
        bottom, top = float(low.min()), float(high.max())
        room = 0.2 * ((top - bottom) or 1.0)
        base = bottom - 1.2 * room
        ax.axhspan(base, base + room, facecolor=canvas.SOFT, zorder=0)
        style: dict[str, Any] = {"fill": True, "color": canvas.RED, "label": "share without a signal"}
        ax.stairs(base + room * dead, edges, baseline=base, **style)
        ax.set_yticks([tick for tick in ax.get_yticks() if bottom <= tick <= top])
        ax.set_ylim(base, top + 0.1 * room)
