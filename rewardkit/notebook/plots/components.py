"""Components: their scores, what each holds of the advantage, which say the same, how often siblings tie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.statistics.correlation import Correlations
from rewardkit.analysis.tables import Tie
from rewardkit.analysis.view import View
from rewardkit.findings import percent
from rewardkit.notebook.plots.canvas import (
    BLUE,
    GREY,
    NAME_WIDTH,
    RED,
    axes_for,
    grid_for,
    said,
    settled,
    titled,
    wrapped,
)
from rewardkit.notebook.plots.distributions import distribution

__all__ = ["component_histograms", "correlation", "effective_weights", "tied_pairs"]

ORANGE_TO_BLUE = LinearSegmentedColormap.from_list("orange to blue", [RED, "#ffffff", BLUE])


def component_histograms(diagnosis: Diagnosis, *, axes: Any = None) -> list[Axes]:
    """One small histogram a component (and part), in rows of three."""
    shown = [(view, name) for view in diagnosis.views for name in view.names]
    drawn = grid_for(axes, len(shown), columns=3, size=(3.6, 2.6))
    for ax, (view, name) in zip(drawn, shown, strict=True):
        title = f"{view.part}: {name}" if view.part else name
        item = view.components[name]
        distribution(
            view.scores[name],
            title=f"{title}, weight {item.weight:.3g}",
            label="score",
            span=item.range,
            ax=ax,
            title_width=NAME_WIDTH,
        )
    return drawn


def effective_weights(view: View, *, ax: Axes | None = None) -> Axes:
    """Declared share of the weight beside the share of the squared advantage that each component holds.

    Components of weight 0 are left out beside others: they are recorded, not paid.
    """
    paid = [name for name in view.names if view.components[name].weight]
    names = paid or list(view.names)
    ax = axes_for(ax, height=1.3 + 0.55 * len(names))
    place = np.arange(len(names))
    held = [view.effective_weights.get(name, np.nan) for name in names]
    bars = (
        ("declared", [view.declared_weights[name] for name in names], -0.2, GREY, ""),
        ("effective", held, 0.2, BLUE, "//"),
    )
    for label, values, shift, colour, hatch in bars:
        style: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white", "label": label}
        ax.barh(place + shift, np.nan_to_num(values), height=0.36, **style)
        for at, value in zip(place, values, strict=True):
            _beside(ax, max(float(np.nan_to_num(value)), 0), at + shift, percent(value))
    ax.axvline(0, color="#1a1a1a", linewidth=0.8)
    ax.set_yticks(place, [wrapped(name) for name in names])
    ax.invert_yaxis()
    ax.set_xlim(min(0.0, *np.nan_to_num(held)) * 1.1, 1.12 * max(1.0, *np.nan_to_num(held)))
    left_out = len(view.names) - len(names)
    told = ["share"] + [f"({left_out} of weight 0 not shown)"] * (left_out > 0)
    if np.isnan(held).all():
        reason = (
            "no group has a signal"
            if not view.group_mass.sum()
            else "too many components for this aggregation"
        )
        told.append(f"(nothing is said of the advantage: {reason})")
    ax.set_xlabel(" ".join(told))
    titled(
        ax,
        f"{view.part + ': declared' if view.part else 'Declared'} weight, and share of the squared advantage",
    )
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
    return settled(ax)


def correlation(found: Correlations, *, ax: Axes | None = None) -> Axes:
    """The correlations of all pairs of components as numbers on colours, and in words why some have none."""
    rows, columns = found.names[1:], found.names[:-1]
    size = 1.2 + 0.52 * len(columns)
    reasons = list(found.why_not.items())
    ax = axes_for(ax, width=3.0 + 1.25 * size, height=1.6 + size)
    titled(ax, f"{found.part + ': correlation' if found.part else 'Correlation'} of the components' scores")
    if not rows:
        return said(ax, "one component: there is nothing that it could agree with")
    lower = np.tril(np.ones((len(rows), len(columns)), dtype=bool))
    values = np.where(lower, found.matrix[1:, :-1], np.nan)
    ax.imshow(values, cmap=ORANGE_TO_BLUE, vmin=-1, vmax=1, aspect="auto")
    for i, j in zip(*np.nonzero(lower), strict=True):
        value = values[i, j]
        if np.isnan(value):
            box: dict[str, Any] = {
                "facecolor": "#eeeeee",
                "edgecolor": "#bbbbbb",
                "hatch": "///",
                "linewidth": 0,
            }
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, **box))
        colour = "white" if abs(value) > 0.6 else "#1a1a1a"
        text = "none" if np.isnan(value) else f"{value:.2f}"
        ax.text(j, i, text, ha="center", va="center", color=colour, fontsize=9 if len(rows) < 9 else 8)
    ax.set_yticks(np.arange(len(rows)), [wrapped(name, 34) for name in rows], fontsize=9)
    turned = max(map(len, columns)) > 6
    style: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    ax.set_xticks(np.arange(len(columns)), [wrapped(name, 24) for name in columns], fontsize=9, **style)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    told = [f"none for {first} and {second}: {why}" for (first, second), why in reasons[:4]]
    told += [f"and {len(reasons) - 4} further pairs"] if len(reasons) > 4 else []
    if told:
        ax.set_xlabel("\n".join(wrapped(line, 90) for line in told), fontsize=8, loc="left")
    return settled(ax)


def tied_pairs(found: Sequence[Tie], *, ax: Axes | None = None) -> Axes:
    """Share of the sibling pairs that earn the same, of the reward and by component, with intervals."""
    ax = axes_for(ax, height=1.3 + 0.42 * max(len(found), 1))
    part = found[0].part if found else ""
    titled(ax, f"{part + ': siblings' if part else 'Siblings'} that score the same")
    if not any(tie.pairs for tie in found):
        return said(ax, "no group has two completions with a score, so there is no pair to compare")
    place = np.arange(len(found))
    for at, tie in enumerate(found):
        own: dict[str, Any] = {"color": BLUE, "hatch": "//"} if tie.component is None else {"color": GREY}
        share = float(np.nan_to_num(tie.share))
        ax.barh(at, share, height=0.62, edgecolor="white", **own)
        low, high = tie.interval
        if np.isfinite(low):
            ax.hlines(at, low, high, color="#1a1a1a", linewidth=1.4)
        few = f" ({percent(tie.of_all)} of the pairs are scored)" if tie.of_all < 1 - 1e-9 else ""
        told = percent(tie.share) + few if tie.pairs else "no pair is scored"
        _beside(ax, max(share, high if np.isfinite(high) else 0.0), at, told)
    names = ["the reward" if tie.component is None else tie.component for tie in found]
    ax.set_yticks(place, [wrapped(name) for name in names])
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xticks(np.linspace(0, 1, 6), [f"{100 * share:.0f} %" for share in np.linspace(0, 1, 6)])
    ax.set_xlabel("share of the pairs of siblings (line: 95 % interval)")
    return settled(ax)


def _beside(ax: Axes, x: float, y: float, text: str) -> None:
    ax.annotate(
        text, (x, y), (4, 0), textcoords="offset points", va="center", fontsize=8, annotation_clip=False
    )
