"""Groups: where among them there is a signal, and in which slices of them there is none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.statistics.groups import Codes, GroupStats
from rewardkit.analysis.view import View
from rewardkit.findings import SEVERITY_MARKS, Finding, counted, percent
from rewardkit.notebook.plots.canvas import (
    BLUE,
    GREY,
    RED,
    axes_for,
    plain,
    said,
    settled,
    titled,
    too_far,
    wrapped,
)

__all__ = ["group_picture", "slices"]

DRAWN_APART = 400
"""Groups up to which each is drawn by itself; more share `COLUMNS` columns. Our choice, of the pixels."""
COLUMNS = 160
MOST_SLICES = 30


def group_picture(view: View, *, ax: Axes | None = None) -> Axes:
    """Groups sorted by mean reward: range and mean of each, and those whose siblings all earned the same.

    Where there are too many to draw, those that follow each other share a column.
    """
    ax = axes_for(ax, width=8.0, height=3.6)
    titled(ax, f"{view.part + ': groups' if view.part else 'Groups'}, sorted by mean reward")
    stats = view.stats
    judged = np.flatnonzero((stats.count > 0) & np.isfinite(stats.low) & np.isfinite(stats.high))
    if not len(judged):
        return said(ax, "no group has a completion with a finite reward")
    if too_far(stats.low[judged].min(), stats.high[judged].max()):
        return said(ax, "the rewards are too far apart for a scale")
    order = judged[np.lexsort((stats.high[judged] - stats.low[judged], stats.mean[judged]))]
    if len(order) <= DRAWN_APART:
        _each(ax, stats, order)
    else:
        _columns(ax, stats, order)
    ax.set_xlabel("group (one prompt and its sampled completions)")
    ax.set_ylabel("reward")
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.2),
        ncols=2 if len(order) <= DRAWN_APART else 1,  # the words for columns are long
        fontsize=8,
        frameon=False,
        columnspacing=1.2,
    )
    return settled(ax)


def _each(ax: Axes, stats: GroupStats, order: Codes) -> None:
    place, dead, alone = np.arange(len(order)) + 1, stats.dead[order], stats.count[order] < 2
    live, few = ~dead & ~alone, len(order) <= 40
    low, mean, high = stats.low[order], stats.mean[order], stats.high[order]
    width = 5.0 if few else 1.5
    style: dict[str, Any] = {"color": BLUE, "alpha": 0.45, "linewidth": width}
    ax.vlines(place[live], low[live], high[live], label="lowest to highest sibling", **style)
    mark: dict[str, Any] = {"markersize": 9 if few else 4}
    ax.plot(place[live], mean[live], ".", color=BLUE, label="mean of the group", **mark)
    told = f"all siblings equal, no gradient ({dead.sum()} of {len(order)})"
    ax.plot(place[dead], mean[dead], "x", color=RED, markersize=8 if few else 5, label=told)
    if alone.any():
        told = f"one completion only, no gradient ({alone.sum()} of {len(order)})"
        ax.plot(place[alone], mean[alone], "+", color=GREY, markersize=8 if few else 5, label=told)
    if few:
        ax.set_xlim(0.4, len(order) + 0.6)
        ax.set_xticks(place[:: 1 + len(order) // 11])


def _columns(ax: Axes, stats: GroupStats, order: Codes) -> None:
    """Means of columns of groups that follow each other, and the share of dead ones as a strip below."""
    starts = np.linspace(0, len(order), COLUMNS + 1).astype(int)[:-1]
    sizes = np.diff([*starts, len(order)])
    low, mean, high, dead = (
        np.add.reduceat(values[order].astype(float), starts) / sizes
        for values in (stats.low, stats.mean, stats.high, stats.dead)
    )
    place = starts + (sizes + 1) / 2
    told = f"lowest to highest sibling, means of some {sizes.max()} groups a column"
    ax.fill_between(place, low, high, color=BLUE, alpha=0.35, linewidth=0, step="mid", label=told)
    ax.plot(place, mean, color=BLUE, linewidth=1.6, label="mean of the groups")
    bottom, top = float(low.min()), float(high.max())
    room = 0.2 * ((top - bottom) or 1.0)
    told = (
        f"all siblings equal, no gradient ({stats.dead[order].sum():,} of {len(order):,}); full height: all"
    )
    base = bottom - 1.15 * room
    edges = [*starts.tolist(), len(order)]
    ax.stairs(base + room * dead, edges, baseline=base, fill=True, color=RED, hatch="xxx", label=told)
    ax.axhspan(base, base + room, facecolor="#f0f0f0", zorder=0)
    ax.set_yticks([tick for tick in ax.get_yticks() if bottom <= tick <= top])
    ax.set_ylim(base - 0.05 * room, top + 0.4 * room)
    ax.set_xlim(0, len(order))


def slices(diagnosis: Diagnosis, *, ax: Axes | None = None) -> Axes:
    """A row a slice: the share of its groups without a signal and without a right completion, what was found.

    The slices are those of `Diagnosis.group_signal` and those that findings are told of; of more than
    `MOST_SLICES` those with a finding come first, then those with most groups.
    """
    found: dict[str, list[Finding]] = {}
    for item in diagnosis.findings:
        if item.severity != "info":
            found.setdefault(item.part, []).append(item)
    rows: dict[str, dict[Any, Any]] = {
        str(row["slice"]): row for row in diagnosis.group_signal.to_dict("records")
    }
    for name, items in found.items():
        if name not in rows and name:
            rows[name] = _of_findings(items)
    names = sorted(rows, key=lambda name: (name not in found and name != "all", -_groups(rows[name])))
    names = [name for name in rows if name in set(names[:MOST_SLICES])]
    ax = axes_for(ax, width=9.0, height=1.4 + 0.42 * len(names))
    left = len(rows) - len(names)
    titled(ax, "Groups without a signal, by slice" + (f" ({left} smaller ones not shown)" if left else ""))
    place = np.arange(len(names), dtype=float)
    kinds = (
        ("zero_std", -0.18, BLUE, "//", "all siblings equal"),
        ("none_right", 0.18, GREY, "", "none right"),
    )
    for column, shift, colour, hatch, label in kinds:
        values = np.array([float(rows[name].get(column, math.nan)) for name in names])
        bars = np.nan_to_num(values)
        style: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white", "label": label}
        ax.barh(place + shift, bars, height=0.34, **style)
        for at, value, bar in zip(place, values, bars, strict=True):
            ax.annotate(
                percent(value), (bar, at + shift), (3, 0), textcoords="offset points", va="center", fontsize=8
            )
    for at, name in zip(place, names, strict=True):
        ax.text(1.14, at, plain(_told(found.get("" if name == "all" else name, []))), va="center", fontsize=8)
    ax.set_yticks(place, [_labelled(name, rows[name]) for name in names], fontsize=9)
    ax.set_xlim(0, 1.12)
    ax.set_xticks(np.linspace(0, 1, 6), [f"{100 * share:.0f} %" for share in np.linspace(0, 1, 6)])
    ax.set_ylim(len(names) - 0.4, -0.6)
    told = [row.get("zero_std", math.nan) for row in rows.values()]
    nothing = (
        ": no group has two completions with a reward" if np.isnan(np.array(told, dtype=float)).all() else ""
    )
    ax.set_xlabel(f"share of the groups{nothing}")
    ax.legend(
        loc="upper left", bbox_to_anchor=(0, -0.6 / len(names) - 0.05), ncols=2, fontsize=8, frameon=False
    )
    return settled(ax)


def _of_findings(items: list[Finding]) -> dict[Any, Any]:
    """What findings tell of a slice that the table of slices does not have."""
    dead = next((item for item in items if item.code == "zero_std_groups"), None)
    return {"groups": dead.n, "zero_std": dead.evidence["value"]} if dead else {}


def _groups(row: dict[Any, Any]) -> int:
    return int(str(row.get("groups", 0)))


def _named(item: Finding) -> str:
    return f"{item.code} of {item.component}" if item.component else item.code


def _told(items: list[Finding]) -> str:
    """What was found, in a few words; of many how many."""
    if len(items) <= 2:
        return ", ".join(f"{SEVERITY_MARKS[item.severity]}: {_named(item)}" for item in items)
    counts = {severity: sum(item.severity == severity for item in items) for severity in SEVERITY_MARKS}
    return ", ".join(
        f"{mark}: {counts[name]} findings" for name, mark in SEVERITY_MARKS.items() if counts[name]
    )


def _labelled(name: str, row: dict[Any, Any]) -> str:
    groups = _groups(row)
    return wrapped(f"{name} ({counted(groups, 'group')})" if groups else name)
