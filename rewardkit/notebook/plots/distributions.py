"""Distributions: few values as the atoms they are, many as a histogram with the values that recur marked."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from rewardkit.analysis.statistics.groups import Floats
from rewardkit.notebook.plots.canvas import BLUE, ORANGE, axes_for, said, settled, titled, too_far, width_of
from rewardkit.rewards.recorded import is_recorded
from rewardkit.scoring.scores import Scores

__all__ = ["distribution", "reward_histogram"]

FEW_ATOMS = 12  # up to here every value gets a bar of its own,
MOST_ATOMS, FINEST = (
    150,
    1 / 200,
)  # up to here where bars of the smallest gap, a share of the axis, can be seen
RECURS = 0.05  # share of the completions from which one value is marked among many: our choice
NARROW = 0.05  # share of the declared range within which scores are shown by themselves: our choice
SMALL = 4.0  # inches of width in which a legend takes two lines


def distribution(
    values: Floats,
    *,
    title: str,
    label: str,
    span: tuple[float, float] | None = None,
    ax: Axes | None = None,
    title_width: int = 70,
) -> Axes:
    """Histogram of values over `span`; NaN and infinite ones are left out and counted in the title.

    Where they take a small part of the span, only that is shown, and the span is told below.
    Distinct ones that can be told apart are shown as the atoms they are, and among more those that recur as
    lines with a mark: no bar smears them.
    """
    ax = axes_for(ax)
    known = values[np.isfinite(values)]
    missing, endless = int(np.isnan(values).sum()), int(np.isinf(values).sum())
    left = [f"{missing} not scored"] * (missing > 0) + [f"{endless} infinite"] * (endless > 0)
    titled(ax, title + (f" ({', '.join(left)})" if left else ""), title_width)
    if not len(known):
        return said(ax, "nothing scored" if len(values) else "no completions")
    low, high = float(known.min()), float(known.max())
    if too_far(low, high):
        return said(ax, f"from {low:.3g} to {high:.3g}: too far apart for a scale")
    if span and 0 < high - low < NARROW * (span[1] - span[0]):
        label, span = f"{label} (range {span[0]:.3g} to {span[1]:.3g})", None
    atoms, counts = np.unique(np.round(known, 9), return_counts=True)
    gap = float(np.diff(atoms).min()) if len(atoms) > 1 else np.inf
    if len(atoms) <= FEW_ATOMS or (len(atoms) <= MOST_ATOMS and gap >= FINEST * (high - low)):
        _atoms(ax, atoms, counts, span)
    else:
        _many(ax, known, atoms[counts >= RECURS * len(known)])
    if span:
        margin = 0.08 * (span[1] - span[0])
        ax.set_xlim(min(span[0], low) - margin, max(span[1], high) + margin)
    ax.set_xlabel(label)
    ax.set_ylabel("completions")
    return settled(ax)


def _atoms(ax: Axes, atoms: Floats, counts: NDArray[np.intp], span: tuple[float, float] | None) -> None:
    """A bar a value."""
    reach = span[1] - span[0] if span else float(np.ptp(atoms)) or 1.0
    gap = float(np.diff(atoms).min()) if len(atoms) > 1 else reach
    ax.bar(atoms, counts, width=max(min(0.8 * gap, reach / 12), reach / 120), color=BLUE)
    if len(atoms) <= 6 and gap >= reach / 12:
        ax.set_xticks(atoms, [f"{atom:.3g}" for atom in atoms])
    if len(atoms) == 1 and not span:
        ax.set_xlim(atoms[0] - 0.5, atoms[0] + 0.5)


def _many(ax: Axes, known: Floats, recurring: Floats) -> None:
    """A histogram of what does not recur, and a line with a mark for each value that does."""
    again = np.isin(np.round(known, 9), recurring)
    bins = min(60, max(20, int(np.sqrt(len(known)))))
    reach = (float(known.min()), float(known.max()))
    ax.hist(known[~again], bins=bins, range=reach, color=BLUE, label="all others, in bins")
    if not len(recurring):
        return
    _, counts = np.unique(np.round(known[again], 9), return_counts=True)
    ax.vlines(recurring, 0, counts, color=ORANGE, linewidth=2)
    told = f"one value that {100 * RECURS:.0f} % or more have"
    ax.plot(recurring, counts, "D", color=ORANGE, markeredgecolor="#1a1a1a", markersize=5, label=told)
    small = width_of(ax) * ax.get_position().width < SMALL
    ax.set_ylim(0, (1.5 if small else 1.22) * max(ax.get_ylim()[1], counts.max()))  # room for the legend
    style: dict[str, Any] = {"fontsize": 7, "ncols": 1} if small else {"fontsize": 8, "ncols": 2}
    ax.legend(loc="upper right", frameon=False, borderaxespad=0, **style)


def reward_histogram(scores: Scores, *, ax: Axes | None = None) -> Axes:
    """Distribution of the reward over all completions."""
    title = "Reward in the log" if is_recorded(scores.reward) else f"Reward of {scores.reward.name}"
    return distribution(scores.rewards, title=title, label="reward (weighted scores)", ax=ax)
