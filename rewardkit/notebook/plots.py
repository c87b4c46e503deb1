"""Plots: each is a function of a record, takes `ax` and gives it back.

Colours are Okabe and Ito's, shapes say the same without colour.
"""

from __future__ import annotations

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.findings import percent
from rewardkit.analysis.grouping import Floats, group_stats
from rewardkit.analysis.suggestions import Suggestion
from rewardkit.analysis.view import View
from rewardkit.recording import is_recorded
from rewardkit.scoring import Scores

__all__ = [
    "before_and_after",
    "component_histograms",
    "distribution",
    "effective_weights",
    "group_picture",
    "reward_histogram",
]

BLUE, GREY, RED = "#0072b2", "#8c8c8c", "#d55e00"
FEW_ATOMS = 12  # up to here every value gets a bar of its own
NAME_WIDTH = 32  # characters of a component's name in a line


def _axes(ax: Axes | None, *, width: float = 7.0, height: float = 3.2) -> Axes:
    if ax is None:
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _wrapped(text: str) -> str:
    """A text that holds a name, in lines that fit, broken behind underscores where it can be."""
    return "\n".join(textwrap.wrap(text.replace("_", "_ "), NAME_WIDTH)).replace("_ ", "_")


def distribution(
    values: Floats, *, title: str, label: str, span: tuple[float, float] | None = None, ax: Axes | None = None
) -> Axes:
    """Histogram of values over `span`, NaN left out.

    Few distinct ones are shown as the atoms they are, not smeared.
    """
    ax = _axes(ax)
    known = values[~np.isnan(values)]
    atoms, counts = np.unique(np.round(known, 9), return_counts=True)
    if 0 < len(atoms) <= FEW_ATOMS:
        reach = span[1] - span[0] if span else atoms.max() - atoms.min() or 1.0
        gap = np.diff(atoms).min() if len(atoms) > 1 else reach
        ax.bar(atoms, counts, width=min(0.8 * gap, reach / 12), color=BLUE)
        if len(atoms) <= 6 and gap >= reach / 12:
            ax.set_xticks(atoms, [f"{atom:.3g}" for atom in atoms])
    elif len(atoms):
        ax.hist(known, bins=min(60, max(20, int(np.sqrt(len(known))))), color=BLUE)
    else:
        ax.text(0.5, 0.5, "nothing scored", ha="center", va="center", transform=ax.transAxes)
    if span:
        ax.set_xlim(span[0] - 0.08 * (span[1] - span[0]), span[1] + 0.08 * (span[1] - span[0]))
    missing = len(values) - len(known)
    ax.set_title(title + (f" ({missing} not scored)" if missing else ""), loc="left", fontsize=11)
    ax.set_xlabel(label)
    ax.set_ylabel("completions")
    return ax


def reward_histogram(scores: Scores, *, ax: Axes | None = None) -> Axes:
    """Distribution of the reward over all completions."""
    title = "Reward in the log" if is_recorded(scores.reward) else f"Reward of {scores.reward.name}"
    return distribution(scores.rewards, title=title, label="reward (weighted scores)", ax=ax)


def component_histograms(diagnosis: Diagnosis) -> list[Axes]:
    """One small histogram a component (and part), in rows of three."""
    shown = [(view, name) for view in diagnosis.views for name in view.names]
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    _, grid = plt.subplots(
        rows, columns, figsize=(3.6 * columns, 2.6 * rows), layout="constrained", squeeze=False
    )
    flat = list(grid.flat)
    for ax, (view, name) in zip(flat, shown, strict=False):
        title = f"{view.part}: {name}" if view.part else name
        item = view.components[name]
        distribution(
            view.scores[name],
            title=_wrapped(f"{title}, weight {item.weight:g}"),
            label="score",
            span=item.range,
            ax=_axes(ax),
        )
    for ax in flat[len(shown) :]:
        ax.set_visible(False)
    return flat[: len(shown)]


def group_picture(view: View, *, ax: Axes | None = None) -> Axes:
    """Groups sorted by mean reward.

    The range of each, its mean, and those whose siblings all earned the same.
    """
    ax = _axes(ax, width=8.0, height=3.6)
    stats = view.stats
    judged = np.flatnonzero(stats.count > 0)
    order = judged[np.lexsort((stats.high[judged] - stats.low[judged], stats.mean[judged]))]
    place = np.arange(len(order))
    dead = stats.dead[order]
    ax.vlines(
        place[~dead],
        stats.low[order][~dead],
        stats.high[order][~dead],
        color=BLUE,
        alpha=0.45,
        linewidth=1.5,
        label="lowest to highest sibling",
    )
    ax.plot(place[~dead], stats.mean[order][~dead], ".", color=BLUE, markersize=4, label="mean of the group")
    ax.plot(
        place[dead],
        stats.mean[order][dead],
        "x",
        color=RED,
        markersize=5,
        label=f"all siblings equal, no gradient ({dead.sum()} of {len(order)})",
    )
    title = f"{view.part}: groups" if view.part else "Groups"
    ax.set_title(f"{title}, sorted by mean reward", loc="left", fontsize=11)
    ax.set_xlabel("group (one prompt and its sampled completions)")
    ax.set_ylabel("reward")
    ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize=8, frameon=False, columnspacing=1.2
    )
    return ax


def effective_weights(view: View, *, ax: Axes | None = None) -> Axes:
    """Declared share of the weight beside the share of the squared advantage that each component holds.

    Components of weight 0 are left out beside others: they are recorded, not paid.
    """
    paid = [name for name in view.names if view.components[name].weight]
    names = paid or list(view.names)
    ax = _axes(ax, height=1.3 + 0.55 * len(names))
    place = np.arange(len(names))
    held = [view.effective_weights.get(name, np.nan) for name in names]
    bars = (
        ("declared", [view.declared_weights[name] for name in names], -0.2, GREY, ""),
        ("effective", held, 0.2, BLUE, "//"),
    )
    for label, values, shift, colour, hatch in bars:
        ax.barh(
            place + shift,
            np.nan_to_num(values),
            height=0.36,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            label=label,
        )
        for at, value in zip(place, values, strict=True):
            ax.annotate(
                percent(value),
                (max(np.nan_to_num(value), 0), at + shift),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
    ax.set_yticks(place, [_wrapped(name) for name in names])
    ax.invert_yaxis()
    ax.set_xlim(min(0.0, *np.nan_to_num(held)) * 1.1, 1.12 * max(1.0, *np.nan_to_num(held)))
    left_out = len(view.names) - len(names)
    ax.set_xlabel("share" + (f" ({left_out} of weight 0 not shown)" if left_out else ""))
    title = f"{view.part}: declared" if view.part else "Declared"
    ax.set_title(f"{title} weight, and share of the squared advantage", loc="left", fontsize=11)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
    return ax


def before_and_after(scores: Scores, suggestion: Suggestion, *, axes: Any = None) -> list[Axes]:
    """Spread of the reward within each group, sorted, before and after a suggestion."""
    assert suggestion.scores is not None
    if axes is None:
        _, axes = plt.subplots(1, 2, figsize=(9.0, 2.8), layout="constrained", sharey=True)
    drawn = []
    for ax, label, which in zip(axes, ("before", "after"), (scores, suggestion.scores), strict=True):
        stats = group_stats(which.rewards, which.groups)
        spread = np.sort(stats.std[stats.count > 1])
        ax = _axes(ax)
        tied = int((spread <= 1e-8).sum())
        ax.fill_between(
            np.arange(len(spread)), spread, step="mid", color=BLUE if label == "after" else GREY, alpha=0.8
        )
        ax.set_title(f"{label}: {tied} of {len(spread)} groups tied", loc="left", fontsize=11)
        ax.set_xlabel("group, sorted by spread")
        ax.set_ylabel("standard deviation of the reward")
        drawn.append(ax)
    return drawn
