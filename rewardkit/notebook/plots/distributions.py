"""Distributions of scores and rewards, and of groups.

Few values are atoms, many are a histogram beside the values that recur.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from rewardkit.analysis.statistics.groups import Codes, Floats
from rewardkit.analysis.view import View
from rewardkit.notebook.plots import canvas
from rewardkit.rewards.recorded import is_recorded
from rewardkit.scoring.scores import Scores

FEW_ATOMS = 12  # up to here every value gets a bar of its own,
MOST_ATOMS, FINEST = (
    150,
    1 / 200,
)  # up to here where bars of the smallest gap, a share of the axis, are seen
RECURS = 0.05  # share from which a value has a bar of its own: our choice
TITLE_SHARE = 0.2  # share from which the most frequent value is the title: our choice
NARROW = 0.05  # share of the declared range that is shown by itself: our choice


def distribution(
    values: Floats,
    *,
    label: str,
    name: str = "",
    verb: str = "score",
    span: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a histogram of values over `span`; NaN and infinity are counted.

    Where they take a small part of the span, only that is shown, and the span is told
    below. Distinct ones that can be told apart are shown as the atoms they are, and
    among more those that recur have bars of their own: no bin smears them. The title is
    `name` and what they `verb`.
    """
    ax, known = canvas.axes_for(ax), values[np.isfinite(values)]
    left = {"not scored": np.isnan(values).sum(), "infinite": np.isinf(values).sum()}
    told = ", ".join(f"{count:,} {what}" for what, count in left.items() if count)
    if not len(known):
        nothing = "nothing scored" if len(values) else "no completions"
        return canvas.put_words(ax, told if left["infinite"] else nothing, name)
    low, high = float(known.min()), float(known.max())
    if canvas.too_far(low, high):
        return canvas.put_words(
            ax, f"from {low:.3g} to {high:.3g}: too far apart for a scale", name
        )
    if span and 0 < high - low < NARROW * (span[1] - span[0]):
        label, span = f"{label} (range {span[0]:.3g} to {span[1]:.3g})", None
    start, end = (min(span[0], low), max(span[1], high)) if span else (low, high)
    start, end = (start, end) if start < end else (start - 0.5, end + 0.5)
    reach = end - start
    atoms, counts = np.unique(np.round(known, 9), return_counts=True)
    often, gap = (
        counts >= RECURS * len(known),
        float(np.diff(atoms, append=np.inf).min()),
    )
    if len(atoms) <= FEW_ATOMS or (
        len(atoms) <= MOST_ATOMS and gap >= FINEST * (high - low)
    ):
        ax.bar(
            atoms,
            counts,
            width=max(min(0.8 * gap, reach / 12), reach / 120),
            color=canvas.BLUE,
        )
        if len(atoms) <= 6 and gap >= reach / 12:
            ax.set_xticks(atoms, [f"{atom:.3g}" for atom in atoms])
    else:
        others = known[~np.isin(np.round(known, 9), atoms[often])]
        bins = min(60, max(20, int(np.sqrt(len(known)))))
        ax.hist(others, bins=bins, range=(low, high), color=canvas.BLUE, alpha=0.5)
        ax.bar(atoms[often], counts[often], width=reach / 120, color=canvas.BLUE)
    ax.set_xlim(start - 0.08 * reach, end + 0.08 * reach)
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    _shares(ax, atoms[often], counts[often], len(known))
    result = _result(atoms, counts, known, verb, f" of {len(known):,}" if told else "")
    result = f"{name}: {result}" if name else result
    return canvas.finished(
        ax, result + (f" ({told})" if told else ""), x=label, y="completions"
    )


def _shares(ax: Axes, atoms: Floats, counts: NDArray[np.intp], total: int) -> None:
    """Write shares at the top of bars, but not beside that of a more frequent value."""
    ax.set_ylim(0, 1.15 * float(ax.dataLim.y1))
    apart = 0.45 * np.ptp(ax.get_xlim()) / canvas.size_of(ax)[0]
    order = np.argsort(-counts, kind="stable")
    for nth, (at, count) in enumerate(zip(atoms[order], counts[order], strict=True)):
        if not (np.abs(atoms[order][:nth] - at) < apart).any():
            canvas.label(
                ax,
                canvas.share_text(count / total),
                at,
                count,
                (0, 2),
                ha="center",
                va="bottom",
            )


def _result(
    atoms: Floats, counts: NDArray[np.intp], known: Floats, verb: str, of: str
) -> str:
    """Say which value most have, or where half of them lie."""
    most, share = atoms[counts.argmax()], float(counts.max() / len(known))
    if len(known) == 1:
        return f"one completion {verb}s {most:.3g}"
    if share >= TITLE_SHARE:
        return (
            f"{'all' if share == 1 else canvas.share_text(share)}{of} {verb} {most:.3g}"
        )
    low, high = np.quantile(known, [0.25, 0.75])
    return f"half{of} {verb} {low:.3g} to {high:.3g}"


def reward_histogram(scores: Scores, *, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the reward over all completions."""
    name = scores.reward.name
    of = (
        " in the log"
        if is_recorded(scores.reward)
        else f" of {name}"
        if name != "reward"
        else ""
    )
    return distribution(
        scores.rewards, label=canvas.wrapped(f"reward{of}", 60), verb="earn", ax=ax
    )


# --- groups

MOST_COLUMNS = 160
"""Groups up to which each has a column; of more, neighbours share one."""
MOST_DOTS = 40  # columns up to which the mean of each has a dot
NO_PAIR = "no group has two completions with a reward"


def group_picture(view: View, *, ax: Axes | None = None) -> Axes:
    """Draw groups by mean reward: range and mean, below them those without a signal."""
    ax, stats = canvas.axes_for(ax), view.stats
    judged = np.flatnonzero(
        (stats.count > 0) & np.isfinite(stats.low) & np.isfinite(stats.high)
    )
    if not len(judged):
        return canvas.put_words(
            ax,
            canvas.of_part(view.part, "no group has a completion with a finite reward"),
        )
    if canvas.too_far(stats.low[judged].min(), stats.high[judged].max()):
        return canvas.put_words(
            ax, canvas.of_part(view.part, "the rewards are too far apart for a scale")
        )
    order = judged[
        np.lexsort((stats.high[judged] - stats.low[judged], stats.mean[judged]))
    ]
    _columns(ax, view, order)
    title = canvas.of_part(view.part, _signal(int(view.dead.sum()), view.several))
    return canvas.finished(
        ax, title, x="groups, sorted by their mean reward", y="reward", key=True
    )


def _signal(dead: int, several: int) -> str:
    """Say how many groups have no signal, of those that could have one."""
    if several < 2:
        how = "no" if dead else "a"
        return (
            f"the only group of two or more rewards has {how} signal"
            if several
            else NO_PAIR
        )
    if dead in (0, several):
        return (
            f"none of {several:,} groups has a signal"
            if dead
            else f"all {several:,} groups have a signal"
        )
    return f"{canvas.share_text(dead / several)} of {several:,} groups have no signal"


def _columns(ax: Axes, view: View, order: Codes) -> None:
    """Draw columns of neighbouring groups, and the share of dead ones in a strip."""
    columns = min(MOST_COLUMNS, len(order))
    edges = np.linspace(0, len(order), columns + 1).astype(int)
    sizes, stats = np.diff(edges), view.stats
    low, mean, high, dead = (
        np.add.reduceat(values[order].astype(float), edges[:-1]) / sizes
        for values in (stats.low, stats.mean, stats.high, view.dead)
    )
    place = edges[:-1] + (sizes + 1) / 2
    told = "lowest to highest" + (
        f", means of {sizes.max()} groups" if sizes.max() > 1 else " sibling"
    )
    ax.bar(place, high - low, sizes, low, color=canvas.BLUE, alpha=0.3, label=told)
    marker = "." if columns <= MOST_DOTS else ""
    ax.plot(place, mean, color=canvas.BLUE, linewidth=1.6, marker=marker, label="mean")
    ax.set_xlim(0.5, len(order) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if dead.any():
        bottom, top = float(low.min()), float(high.max())
        room = 0.2 * ((top - bottom) or 1.0)
        base = bottom - 1.2 * room
        ax.axhspan(base, base + room, facecolor=canvas.SOFT, zorder=0)
        style: dict[str, Any] = {
            "fill": True,
            "color": canvas.RED,
            "label": "share without a signal",
        }
        ax.stairs(base + room * dead, edges + 0.5, baseline=base, **style)
        ax.set_yticks([tick for tick in ax.get_yticks() if bottom <= tick <= top])
        ax.set_ylim(base, top + 0.1 * room)
