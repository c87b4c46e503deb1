"""Changes: what a suggestion measures before and after, with intervals."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from rewardkit.analysis.suggestions.measure import SHOWN, Effect
from rewardkit.analysis.suggestions.proposal import in_words
from rewardkit.analysis.suggestions.suggestion import Suggestion, Suggestions
from rewardkit.notebook.plots import canvas

LINE = 80  # characters of the code that are shown


def before_and_after(suggestion: Suggestion, *, ax: Axes | None = None) -> Axes:
    """A row an effect of the suggestion: before (square) and after (dot) with intervals, and the difference.

    Effective weights that hardly move are left out, as in the words of `Suggestions`.
    """
    told = [item for item in suggestion.effects if item.told]
    known = [item for item in told if np.isfinite([item.before, item.after]).all()]
    ax = canvas.axes_for(ax, width=9.8, height=1.6 + 0.52 * max(len(known), 1), grid=False)
    if not known:
        return canvas.said(ax, "nothing that it changes can be measured here", _head(suggestion))
    place = np.arange(len(known))
    sides = (("before", -0.14, canvas.GREY, "s", 9), ("after", 0.14, canvas.BLUE, "o", -9))
    for side, shift, colour, marker, above in sides:
        values = np.array([getattr(item, side) for item in known])
        around = np.array([getattr(item, f"{side}_interval") for item in known], dtype=float)
        ax.plot(values, place + shift, marker, color=colour, markersize=6)
        ax.hlines(place + shift, around[:, 0], around[:, 1], color=colour, linewidth=2)
        canvas.label(ax, side, values[0], shift, (0, above), ha="center")
    beside = ax.get_yaxis_transform()
    canvas.label(ax, "points (95 % interval)", 1, -0.6, (10, 0), xycoords=beside)
    for at, item in enumerate(known):
        ax.plot([item.before, item.after], [at - 0.14, at + 0.14], ":", color=canvas.GREY, linewidth=1)
        canvas.label(ax, item.moved.replace(" points", ""), 1, at, (10, 0), xycoords=beside)
    ax.set_yticks(place, [canvas.wrapped(item.what, 46) for item in known])
    ax.set_ylim(len(known) - 0.4, -0.8)
    low, high = ax.get_xlim()
    ax.xaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    ax.set_xlim(min(low, -0.03), max(high, 1.03))
    ax.grid(axis="x", **canvas.GRID)
    most = max(known, key=lambda item: (item.component is None and _moves(item), abs(item.difference)))
    held = " held out from the fit" if any(item.held_out for item in known) else ""
    code = canvas.plain(suggestion.line)
    code = code if len(code) <= LINE else f"{code[:LINE]} ..."
    below = f"share, on {known[0].prompts:,} prompts{held}\n{code}"
    moved = f"{most.what} {canvas.share_text(most.before)} to {canvas.share_text(most.after)}"
    return canvas.finished(ax, f"{_head(suggestion)}: {moved}", x=below)


def top_changes(advice: Suggestions, *, most: int = 3) -> list[Axes]:
    """Before and after of the first changes, a figure each, in their order: those that a label ranks first.

    Changes that make it worse are not drawn, nor those that hardly move anything.
    """
    usable = [item for item in advice.changes if item.rank or item.verdict != "harms"]
    moving = [item for item in usable if item.rank or any(map(_moves, item.effects))]
    return [before_and_after(item) for item in moving[:most]]


def _moves(effect: Effect) -> bool:
    return abs(effect.difference) >= SHOWN


def _head(item: Suggestion) -> str:
    """What is changed, and whether the label says that it is better."""
    rank = f"{item.rank}. " if item.rank else ""
    verdict = f" ({item.verdict})" if item.verdict else ""
    return canvas.of_part(item.part, f"{rank}{in_words(item.code, item.component)}{verdict}")
