"""Changes: what a suggestion measures before and after, with intervals."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from rewardkit.analysis.suggestions.measure import FIGURES, SHOWN, Effect
from rewardkit.analysis.suggestions.suggestion import Suggestion, Suggestions
from rewardkit.notebook.plots.canvas import BLUE, GREY, axes_for, plain, said, settled, wrapped

__all__ = ["before_and_after", "top_changes"]

LINE = 80  # characters of the code that a title shows


def before_and_after(suggestion: Suggestion, *, ax: Axes | None = None) -> Axes:
    """A row an effect of the suggestion: before (square) and after (dot) with intervals, and the difference.

    Effective weights that hardly move are left out, as in the words of `Suggestions`.
    """
    known = [
        item for item in suggestion.effects if item.told and np.isfinite([item.before, item.after]).all()
    ]
    ax = axes_for(ax, width=9.8, height=1.75 + 0.46 * max(len(known), 1))
    _title(ax, suggestion)
    if not known:
        return said(ax, "nothing that it changes can be measured here")
    place = np.arange(len(known))
    sides = (("before", -0.14, GREY, "s"), ("after", 0.14, BLUE, "o"))
    for label, shift, colour, marker in sides:
        values = np.array([getattr(item, label) for item in known])
        around = np.array([getattr(item, f"{label}_interval") for item in known], dtype=float)
        ax.plot(values, place + shift, marker, color=colour, markersize=6, label=label)
        ax.hlines(place + shift, around[:, 0], around[:, 1], color=colour, linewidth=2)
    for at, item in enumerate(known):
        ax.annotate(
            "",
            (item.after, at + 0.14),
            (item.before, at - 0.14),
            arrowprops={"arrowstyle": "-", "color": "#bbbbbb", "linestyle": ":"},
        )
        ax.text(1.02, at, _difference(item), transform=ax.get_yaxis_transform(), va="center", fontsize=8)
    ax.text(
        1.02, -0.72, "points (95 % interval)", transform=ax.get_yaxis_transform(), va="center", fontsize=8
    )
    ax.set_yticks(place, [wrapped(_named(item), 46) for item in known], fontsize=9)
    ax.set_ylim(len(known) - 0.5, -0.5)
    low, high = ax.get_xlim()
    ticks = np.linspace(0, 1, 6)
    ax.set_xticks(ticks, [f"{100 * tick:.0f} %" for tick in ticks])
    ax.set_xlim(min(low, -0.03), max(high, 1.03))
    ax.grid(axis="x", color="#e5e5e5", linewidth=0.8)
    ax.set_axisbelow(True)
    held = sum(item.held_out for item in known)
    prompts = known[0].prompts
    ax.set_xlabel(f"share, on {prompts:,} prompts{' held out from the fit' if held else ''}")
    ax.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False, ncols=2, borderaxespad=0.1
    )
    return settled(ax)


def top_changes(advice: Suggestions, *, most: int = 3) -> list[Axes]:
    """Before and after of the first changes, a figure each, in their order: those that a label ranks first.

    Changes that make it worse are not drawn, nor those that hardly move anything.
    """
    moving = [
        item
        for item in advice.changes
        if item.rank or (item.verdict != "harms" and any(map(_moves, item.effects)))
    ]
    return [before_and_after(item) for item in moving[:most]]


def _moves(effect: Effect) -> bool:
    return abs(effect.difference) >= SHOWN


def _title(ax: Axes, item: Suggestion) -> None:
    """What is changed, then the line of code, shortened."""
    rank = f"{item.rank}. " if item.rank else ""
    verdict = f", {item.verdict}" if item.verdict else ""
    where = f"{item.part}: " if item.part else ""
    what = f" of {item.component}" if item.component else ""
    head = f"{rank}{where}{item.code.replace('_', ' ')}{what}{verdict}"
    line = plain(item.line)
    line = line if len(line) <= LINE else f"{line[:LINE]} ..."
    ax.set_title(f"{wrapped(head, 70)}\n{line}", loc="left", fontsize=9, parse_math=False, pad=16)


def _named(item: Effect) -> str:
    what = FIGURES[item.figure]
    return f"{what} of {item.component}" if item.component else what


def _difference(item: Effect) -> str:
    """In percentage points."""
    low, high = item.interval
    around = f" ({100 * low:.1f} to {100 * high:.1f})" if np.isfinite(low) else ""
    return f"{100 * item.difference:+.1f}{around}"
