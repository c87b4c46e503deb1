"""Components: their scores, and what each holds of the advantage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.statistics import Floats
from rewardkit.analysis.view import View
from rewardkit.judges.records import JudgeReport
from rewardkit.notebook.plots import canvas
from rewardkit.notebook.plots.distributions import distribution

SAME_SHARE = 0.05
"""Difference up to which a component holds what its weight says. Our choice."""


def component_histograms(diagnosis: Diagnosis, *, axes: Any = None) -> list[Axes]:
    """Draw a small histogram for each component (and part), in rows of three."""
    count = sum(len(view.names) for view in diagnosis.views)
    plots = canvas.grid_for(axes, count, columns=3, size=(3.6, 2.6))
    free = iter(plots)
    for view in diagnosis.views:
        for name in view.names:
            item, title = view.components[name], f"'{name}'"
            if view.part:
                title += f" of {view.part}"
            options: dict[str, Any] = {"span": item.range, "ax": next(free)}
            label = f"score, weight {item.weight:.3g}"
            distribution(view.scores[name], label=label, name=title, **options)
    return plots


def effective_weights(view: View, *, ax: Axes | None = None) -> Axes:
    """Draw each component's share of the weight above that of the squared advantage.

    Components of weight 0 are left out beside others: they are recorded, not paid.
    """
    names = [name for name in view.names if view.components[name].weight]
    names = names or list(view.names)
    ax = canvas.axes_for(ax, width=8.4, height=1.0 + 0.55 * len(names), grid=False)
    weights = np.array([view.declared_weights[name] for name in names], dtype=float)
    effective = [view.effective_weights.get(name, np.nan) for name in names]
    shares = np.array(effective, dtype=float)
    _draw_share_bars(ax, names, weights, shares)
    gaps = np.abs(shares - weights)
    at = int(np.nan_to_num(gaps).argmax())
    if np.isnan(gaps).all():
        reason = "no group has a signal"
        if view.group_mass.sum():
            reason = "too many components"
        title = f"{reason}: who holds the advantage is not known"
    elif len(names) == 1:
        title = f"'{names[0]}' alone is paid"
    elif gaps[at] < SAME_SHARE:
        title = "each component holds about what its weight says"
    else:
        holds = f"'{names[at]}' holds {canvas.share_text(shares[at])} of the advantage"
        title = f"{holds} with {canvas.share_text(weights[at])} of the weight"
    axis = "share of the weight, and of the squared advantage"
    if len(names) < len(view.names):
        axis += f" ({len(view.names) - len(names)} of weight 0 not shown)"
    return canvas.finished(ax, canvas.of_part(view.part, title), x=axis)


def _draw_share_bars(
    ax: Axes, names: Sequence[str], weights: Floats, effective: Floats
) -> None:
    """Draw two bars a name with their shares at the tip, the first in words."""
    bars = (
        (weights, "of the weight", canvas.GREY, -0.19),
        (effective, "of the advantage", canvas.BLUE, 0.19),
    )
    for shares, words, colour, shift in bars:
        places, widths = np.arange(len(names)) + shift, np.nan_to_num(shares)
        ax.barh(places, 1.0, height=0.35, color=canvas.SOFT)
        ax.barh(places, widths, height=0.35, color=colour)
        first = int(np.argmax(np.isfinite(shares)))
        for at, (y, share) in enumerate(zip(places, shares, strict=True)):
            text = canvas.share_text(share)
            if at == first:
                text = f"{text} {words}"
            canvas.label(ax, text, max(widths[at], 0.0), y)
    ax.set_yticks(np.arange(len(names)), [canvas.wrapped(name, 36) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xticks([])
    ax.set_xlim(float(np.nanmin([*weights, *effective], initial=0.0)), 1.0)


def judge_calibration(report: JudgeReport, *, ax: Axes | None = None) -> Axes:
    """Draw the mean label of each level with its interval; the line is its score."""
    ax, levels = canvas.axes_for(ax, width=6.4, height=3.6), report.calibration
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
    worst, title = levels[int(off.argmax())], "no level is clearly off its labels"
    if off.any():
        value, score = f"{worst['value']:.2g}", f"{worst['score']:.2g}"
        title = f"cases called '{worst['level']}' have label {value}, not {score}"
    title, axis = canvas.of_part(report.judge, title), "level, at its score"
    return canvas.finished(ax, title, x=axis, y="mean label (95 % interval)")
