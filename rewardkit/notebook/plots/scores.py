"""Plots of the distribution of scores and rewards, and of effective weights.

A few distinct values are drawn as bars (atoms), many as a histogram with separate bars
for values that recur.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.statistics import Codes, Floats
from rewardkit.analysis.view import View
from rewardkit.findings import number_range, short_number
from rewardkit.notebook.plots import canvas
from rewardkit.rewards.recorded import is_recorded
from rewardkit.scoring.scores import Scores

FEW_ATOMS = 12  # distinct values up to which each has its own bar
MOST_ATOMS = 150  # the same, if all gaps are at least FINEST_GAP
FINEST_GAP = 1 / 200  # least gap between visible bars, as a share of the axis
RECURS = 0.05  # share of rows from which a value has its own bar: our choice
TITLE_SHARE = 0.2  # share of rows from which the mode is the title: our choice
NARROW = 0.05  # share of the declared range below which the axis zooms in: our choice


def distribution(
    values: Floats,
    *,
    label: str,
    name: str = "",
    verb: str = "score",
    span: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a histogram of values over `span`; NaN and infinity are counted in words.

    If the values cover a small part of the span, only that part is shown, and the axis
    label names the span. A few distinct values are drawn as bars; among many, values
    that recur have their own bars, so that no bin hides them. The title is `name`, then
    a sentence with `verb`.
    """
    ax = canvas.axes_for(ax)
    finite = values[np.isfinite(values)]
    others = _count_others(values)
    if not len(finite):
        words = "nothing scored"
        if np.isinf(values).any():
            words = others
        elif not len(values):
            words = "no completions"
        return canvas.put_words(ax, words, name)
    low = float(finite.min())
    high = float(finite.max())
    if canvas.is_too_wide(low, high):
        words = f"from {number_range(low, high)}: too far apart for a scale"
        return canvas.put_words(ax, words, name)
    start = low
    end = high
    if span is not None:
        is_narrow = 0 < high - low < NARROW * (span[1] - span[0])
        if is_narrow:
            label = f"{label} (range {number_range(*span)})"
        else:
            start = min(span[0], low)
            end = max(span[1], high)
    if start == end:
        start -= 0.5
        end += 0.5
    atoms, counts = np.unique(np.round(finite, 9), return_counts=True)
    width = end - start
    _draw_bars(ax, finite, atoms, counts, width)
    margin = 0.08 * width
    ax.set_xlim(start - margin, end + margin)
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    is_frequent = counts >= RECURS * len(finite)
    _write_shares(ax, atoms[is_frequent], counts[is_frequent], len(finite))
    of_total = f" of {len(finite):,}" if others else ""
    mode = atoms[counts.argmax()]
    most = int(counts.max())
    title = _describe_values(finite, mode, most, verb, of_total)
    if name:
        title = f"{name}: {title}"
    if others:
        title = f"{title} ({others})"
    return canvas.finish_axes(ax, title, x=label, y="completions")


def _count_others(values: Floats) -> str:
    """Count missing and infinite values, in words; "" without any."""
    counts = []
    if missing := np.isnan(values).sum():
        counts.append(f"{missing:,} not scored")
    if infinite := np.isinf(values).sum():
        counts.append(f"{infinite:,} infinite")
    return ", ".join(counts)


def _draw_bars(
    ax: Axes, values: Floats, atoms: Floats, counts: Codes, reach: float
) -> None:
    """Draw a bar for each value that is separate or recurs, bins for the others.

    `atoms` are the distinct values, rounded, `counts` their frequencies, and `reach` is
    the width of the axis.
    """
    gap = float(np.diff(atoms, append=np.inf).min())
    are_apart = gap >= FINEST_GAP * (values.max() - values.min())
    if len(atoms) <= FEW_ATOMS or (len(atoms) <= MOST_ATOMS and are_apart):
        width = max(min(0.8 * gap, reach / 12), reach / 120)
        ax.bar(atoms, counts, width=width, color=canvas.BLUE)
        if len(atoms) <= 6 and gap >= reach / 12:
            ax.set_xticks(atoms, [f"{short_number(atom)}" for atom in atoms])
        return
    is_frequent = counts >= RECURS * len(values)
    others = values[~np.isin(np.round(values, 9), atoms[is_frequent])]
    bins = min(60, max(20, int(np.sqrt(len(values)))))
    span = (float(values.min()), float(values.max()))
    ax.hist(others, bins=bins, range=span, color=canvas.BLUE, alpha=0.5)
    ax.bar(
        atoms[is_frequent], counts[is_frequent], width=reach / 120, color=canvas.BLUE
    )


def _write_shares(ax: Axes, atoms: Floats, counts: Codes, total: int) -> None:
    """Write shares above bars, except too close to that of a more frequent value."""
    ax.set_ylim(0, 1.15 * float(ax.dataLim.y1))
    least_gap = 0.45 * np.ptp(ax.get_xlim()) / canvas.size_of(ax)[0]
    order = np.argsort(-counts, kind="stable")
    atoms = atoms[order]
    style = {"ha": "center", "va": "bottom"}
    for nth, count in enumerate(counts[order]):
        gaps = np.abs(atoms[:nth] - atoms[nth])
        if not (gaps < least_gap).any():
            share = canvas.share_text(count / total)
            canvas.label(ax, share, atoms[nth], count, (0, 2), **style)


def _describe_values(
    values: Floats, mode: float, most: int, verb: str, of_total: str
) -> str:
    """Say how many values are the `mode`, or the range of the middle half.

    `most` is the frequency of the mode.
    """
    if len(values) == 1:
        return f"one completion {verb}s {short_number(mode)}"
    share = most / len(values)
    if share >= TITLE_SHARE:
        subject = "all" if share == 1 else canvas.share_text(share)
        return f"{subject}{of_total} {verb} {short_number(mode)}"
    low, high = np.quantile(values, [0.25, 0.75])
    return f"half{of_total} {verb} {number_range(low, high)}"


def reward_histogram(scores: Scores, *, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the reward over all completions."""
    label = "reward"
    if is_recorded(scores.reward):
        label = "reward in the log"
    elif scores.reward.name != "reward":
        label = f"reward of {scores.reward.name}"
    label = canvas.wrap_text(label, 60)
    return distribution(scores.rewards, label=label, verb="earn", ax=ax)


# --- components

SAME_SHARE = 0.05
"""Largest difference between equal shares of weight and advantage. Our choice."""


def component_histograms(diagnosis: Diagnosis, *, axes: Any = None) -> list[Axes]:
    """Draw a small histogram for each component (and part), in rows of three."""
    count = sum(len(view.names) for view in diagnosis.views)
    plots = canvas.grid_for(axes, count, columns=3, size=(3.6, 2.6))
    remaining = iter(plots)
    for view in diagnosis.views:
        for name in view.names:
            item = view.components[name]
            title = f"'{name}' of {view.part}" if view.part else f"'{name}'"
            distribution(
                view.scores[name],
                label=f"score, weight {short_number(item.weight)}",
                name=title,
                span=item.range,
                ax=next(remaining),
            )
    return plots


def effective_weights(view: View, *, ax: Axes | None = None) -> Axes:
    """Draw each component's share of the weight and of the squared advantage.

    Components of weight 0, which are only recorded, are left out if there are others.
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
    return canvas.finish_axes(ax, canvas.prefix_part(view.part, title), x=axis)


def all_effective_weights(diagnosis: Diagnosis) -> list[Axes]:
    """Draw `effective_weights` of each part of the reward."""
    return [effective_weights(view) for view in diagnosis.views]


def _draw_share_bars(
    ax: Axes, names: Sequence[str], weights: Floats, effective: Floats
) -> None:
    """Draw two bars per component with their shares, and label the first in words."""
    bars = (
        (weights, "of the weight", canvas.GREY, -0.19),
        (effective, "of the advantage", canvas.BLUE, 0.19),
    )
    for shares, words, colour, shift in bars:
        places = np.arange(len(names)) + shift
        widths = np.nan_to_num(shares)
        ax.barh(places, 1.0, height=0.35, color=canvas.SOFT)
        ax.barh(places, widths, height=0.35, color=colour)
        first = int(np.argmax(np.isfinite(shares)))
        for at, (y, share) in enumerate(zip(places, shares, strict=True)):
            text = canvas.share_text(share)
            if at == first:
                text = f"{text} {words}"
            canvas.label(ax, text, max(widths[at], 0.0), y)
    ax.set_yticks(np.arange(len(names)), [canvas.wrap_text(name, 36) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xticks([])
    ax.set_xlim(float(np.nanmin([*weights, *effective], initial=0.0)), 1.0)
