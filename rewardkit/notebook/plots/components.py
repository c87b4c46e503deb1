"""Components: their scores, and what each holds of the advantage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.statistics.groups import Floats
from rewardkit.analysis.view import View
from rewardkit.judges.records import JudgeReport
from rewardkit.notebook.plots import canvas
from rewardkit.notebook.plots.distributions import distribution

SAME_SHARE = 0.05
"""Difference up to which a component holds what its weight says. Our choice."""


def component_histograms(diagnosis: Diagnosis, *, axes: Any = None) -> list[Axes]:
    """Draw a small histogram for each component (and part), in rows of three."""
    shown = [(view, name) for view in diagnosis.views for name in view.names]
    drawn = canvas.grid_for(axes, len(shown), columns=3, size=(3.6, 2.6))
    for ax, (view, name) in zip(drawn, shown, strict=True):
        item, told = (
            view.components[name],
            f"'{name}' of {view.part}" if view.part else f"'{name}'",
        )
        label = f"score, weight {item.weight:.3g}"
        distribution(view.scores[name], name=told, label=label, span=item.range, ax=ax)
    return drawn


def effective_weights(view: View, *, ax: Axes | None = None) -> Axes:
    """Draw each component's share of the weight above that of the squared advantage.

    Components of weight 0 are left out beside others: they are recorded, not paid.
    """
    names = [name for name in view.names if view.components[name].weight] or list(
        view.names
    )
    ax = canvas.axes_for(ax, width=8.4, height=1.0 + 0.55 * len(names), grid=False)
    weights = np.array([view.declared_weights[name] for name in names], dtype=float)
    held = np.array(
        [view.effective_weights.get(name, np.nan) for name in names], dtype=float
    )
    _share_bars(ax, names, weights, held)
    gaps = np.abs(held - weights)
    at = int(np.nan_to_num(gaps).argmax())
    if np.isnan(gaps).all():
        why = (
            "too many components" if view.group_mass.sum() else "no group has a signal"
        )
        title = f"{why}: who holds the advantage is not known"
    elif len(names) == 1:
        title = f"'{names[0]}' alone is paid"
    elif gaps[at] < SAME_SHARE:
        title = "each component holds about what its weight says"
    else:
        shares = [canvas.share_text(share[at]) for share in (held, weights)]
        holds = f"'{names[at]}' holds {shares[0]} of the advantage"
        title = f"{holds} with {shares[1]} of the weight"
    left_out = len(view.names) - len(names)
    more = f" ({left_out} of weight 0 not shown)" if left_out else ""
    told = f"share of the weight, and of the squared advantage{more}"
    return canvas.finished(ax, canvas.of_part(view.part, title), x=told)


def _share_bars(ax: Axes, names: Sequence[str], weights: Floats, held: Floats) -> None:
    """Draw two bars a name with their shares at the tip, the first in words."""
    bars = (
        (weights, "of the weight", canvas.GREY, -0.19),
        (held, "of the advantage", canvas.BLUE, 0.19),
    )
    for shares, words, colour, shift in bars:
        places, widths = np.arange(len(names)) + shift, np.nan_to_num(shares)
        ax.barh(places, 1.0, height=0.35, color=canvas.SOFT)
        ax.barh(places, widths, height=0.35, color=colour)
        first = int(np.argmax(np.isfinite(shares)))
        for at, (y, share) in enumerate(zip(places, shares, strict=True)):
            told = (
                f"{canvas.share_text(share)} {words}"
                if at == first
                else canvas.share_text(share)
            )
            canvas.label(ax, told, max(widths[at], 0.0), y)
    ax.set_yticks(np.arange(len(names)), [canvas.wrapped(name, 36) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xticks([])
    ax.set_xlim(min(0.0, float(np.nanmin([*weights, *held], initial=0.0))), 1.0)


def judge_calibration(report: JudgeReport, *, ax: Axes | None = None) -> Axes:
    """Draw the mean label of each level with its interval; the line is its score."""
    ax, levels = canvas.axes_for(ax, width=6.4, height=3.6), report.calibration
    if not levels:
        return canvas.put_words(
            ax, "no case is judged and labelled", f"'{report.judge}'"
        )
    scores, means = (
        np.array([row[key] for row in levels], dtype=float)
        for key in ("score", "value")
    )
    low, high = np.array([row["interval"] for row in levels], dtype=float).T
    ax.plot([0, 1], [0, 1], ":", color=canvas.GREY)
    canvas.label(ax, "label = score", 1, 1, (6, 0), color=canvas.MUTED)
    ax.vlines(scores, low, high, color=canvas.BLUE, linewidth=2)
    ax.plot(scores, means, "o", color=canvas.BLUE, markersize=7)
    ax.set_xticks(
        scores,
        [f"{canvas.wrapped(row['level'], 14)}\nn = {row['n']}" for row in levels],
    )
    ax.set_xlim(-0.12, 1.12)
    ax.set_ylim(-0.05, 1.05)
    off = np.where((scores < low) | (scores > high), np.abs(means - scores), 0)
    worst, title = levels[int(off.argmax())], "no level is clearly off its labels"
    if off.any():
        value, score = worst["value"], worst["score"]
        title = (
            f"cases called '{worst['level']}' have label {value:.2g}, not {score:.2g}"
        )
    title = canvas.of_part(report.judge, title)
    return canvas.finished(
        ax, title, x="level, at its score", y="mean label (95 % interval)"
    )
