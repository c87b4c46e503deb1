"""Pictures as SVG text: what redraws fastest while a slider moves.

They have the colours of the style sheet. Shapes are told apart by form (filled, outlined), so that they read
without colour.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from rewardkit.analysis.statistics.groups import Floats
from rewardkit.notebook.workbench.figures import Figures

__all__ = ["group_svg", "histogram_svg", "spark_svg", "strip_svg"]

BINS = 40
FLAT = 1e-9
"""Rewards that differ by less, relative to their size, are one: a difference of rounding."""
SPARKS = 20  # bins of a small picture
COLUMNS = 160
"""Groups up to which each has a column of its own; of more, those that follow each other share one."""
WIDTH, HEIGHT, LEFT, BELOW, ABOVE = 360, 108, 46, 18, 6


def histogram_svg(values: Floats, before: Floats | None = None) -> str:
    """A histogram of rewards (rows,), NaN left out; `before` is drawn as an outline on the same scale."""
    known, earlier = (_finite(item) for item in (values, before))
    if not len(known):
        return "<p>No reward was judged.</p>"
    low, high = _ends(np.concatenate([known, earlier]))
    counts, _ = np.histogram(known, bins=BINS, range=(low, high))
    others, _ = np.histogram(earlier, bins=BINS, range=(low, high))
    top = max(int(counts.max()), int(others.max()), 1)
    step = (WIDTH - LEFT) / BINS
    scale = (HEIGHT - ABOVE) / top
    bars = "".join(
        f'<rect x="{LEFT + at * step + 0.5:.1f}" y="{HEIGHT - count * scale:.1f}" width="{step - 1:.1f}" '
        f'height="{count * scale:.1f}"/>'
        for at, count in enumerate(counts.tolist())
        if count
    )
    outline = ""
    if len(earlier):
        path = "".join(
            f"V{HEIGHT - count * scale:.1f}H{LEFT + (at + 1) * step:.1f}"
            for at, count in enumerate(others.tolist())
        )
        outline = (
            f'<path d="M{LEFT} {HEIGHT}{path}V{HEIGHT}" fill="none" stroke="var(--rk-grey)" '
            'stroke-dasharray="3 2"/>'
        )
    said = f"Reward of {len(known):,} completions" + (", dashed: at the start" if len(earlier) else "")
    missing = len(values) - len(known)
    said += f", {missing:,} not judged" if missing else ""
    inner = f'<g fill="var(--rk-blue)">{bars}</g>{outline}{_frame(low, high, "reward", "0", f"{top:,}")}'
    return _svg(inner, said, "completions")


def group_svg(figures: Figures) -> str:
    """Groups by mean reward: range and mean of each, below them the share without a signal."""
    judged = np.flatnonzero(~np.isnan(figures.mean) & ~np.isnan(figures.low) & ~np.isnan(figures.high))
    if not len(judged):
        return "<p>No group has a judged completion.</p>"
    order = judged[np.lexsort((figures.high[judged], figures.mean[judged]))]
    columns = min(COLUMNS, len(order))
    starts = np.linspace(0, len(order), columns + 1).astype(int)[:-1]
    sizes = np.diff([*starts, len(order)])
    low, mean, high, tied = (
        np.add.reduceat(np.asarray(item, dtype=float)[order], starts) / sizes
        for item in (figures.low, figures.mean, figures.high, figures.tied)
    )
    bottom, top = float(low.min()), float(high.max())
    span = (top - bottom) or 1.0
    step = (WIDTH - LEFT) / columns
    strip = 14
    floor = HEIGHT - strip

    def at(values: Floats) -> list[float]:
        places: list[float] = (floor - (values - bottom) / span * (floor - ABOVE)).tolist()
        return places

    ranges = "".join(
        f'<rect x="{LEFT + place * step:.1f}" y="{y:.1f}" width="{max(step - 0.5, 0.6):.1f}" '
        f'height="{max(end - y, 1):.1f}"/>'
        for place, (y, end) in enumerate(zip(at(high), at(low), strict=True))
    )
    line = " ".join(f"{LEFT + (place + 0.5) * step:.1f},{y:.1f}" for place, y in enumerate(at(mean)))
    dead = "".join(
        f'<rect x="{LEFT + place * step:.1f}" y="{HEIGHT - share * (strip - 2):.1f}" width="{step:.1f}" '
        f'height="{share * (strip - 2):.1f}"/>'
        for place, share in enumerate(tied.tolist())
        if share
    )
    each = "" if columns == len(order) else f", some {int(sizes.max())} groups a column"
    count = int(figures.tied.sum())
    said = (
        f"{len(order):,} groups by mean reward{each}; strip below: {count:,} whose siblings all earn the same"
    )
    inner = (
        f'<g fill="var(--rk-blue)" fill-opacity="0.5">{ranges}</g>'
        f'<polyline points="{line}" fill="none" stroke="var(--rk-grey)" stroke-width="1.4"/>'
        f'<g fill="var(--rk-red)">{dead}</g>'
        f'<text x="{LEFT - 4}" y="{ABOVE + 8}" text-anchor="end">{top:.3g}</text>'
        f'<text x="{LEFT - 4}" y="{floor}" text-anchor="end">{bottom:.3g}</text>'
        f'<text x="{LEFT}" y="{HEIGHT + 14}">lowest mean</text>'
        f'<text x="{WIDTH}" y="{HEIGHT + 14}" text-anchor="end">highest mean</text>'
    )
    return _svg(inner, said, "reward")


def spark_svg(values: Floats, span: tuple[float, float] | None = None) -> str:
    """How scores (rows,) lie in their declared range, small; without one, between the least and the most.

    Where a component was not scored it is left out.
    """
    known = _finite(values)
    if not len(known):
        return '<span class="rk-muted">no scores</span>'
    low, high = span or _ends(known)
    counts, _ = np.histogram(known, bins=SPARKS, range=(low, high))
    tall = (counts / counts.max() * 22).tolist()
    bars = "".join(
        f"M{at * 5} 24v{-max(bar, 1.0):.1f}h4v{max(bar, 1.0):.1f}z" for at, bar in enumerate(tall) if bar
    )
    said = f"{len(known):,} scores from {known.min():.3g} to {known.max():.3g}, mean {known.mean():.3g}"
    return (
        f'<svg role="img" class="rk-bench-spark" viewBox="0 0 {SPARKS * 5} 25" preserveAspectRatio="none">'
        f'<title>{said}</title><path d="M0 24.5H{SPARKS * 5}" stroke="var(--rk-grey)"/>'
        f'<path d="{bars}" fill="var(--rk-blue)"/></svg>'
    )


def strip_svg(blocks: Iterable[tuple[float, float]]) -> str:
    """Siblings as small blocks: as tall as the reward, from 0 to 1; right ones filled, wrong ones not."""
    shapes = {1.0: "", 0.0: "", math.nan: ""}
    count = 0
    for count, (height, right) in enumerate(blocks, 1):
        if height == height:
            top = 2 + 14 * height
            kind = right if right == right else math.nan
            shapes[kind] = shapes.get(kind, "") + f"M{count * 8 - 7} {18 - top:.1f}h5v{top - 1:.1f}h-5z"
    return (
        f'<svg aria-hidden="true" class="rk-bench-strip" width="{count * 8}" height="18">'
        f'<path d="{shapes[1.0]}" class="rk-bench-right"/><path d="{shapes[0.0]}" class="rk-bench-wrong"/>'
        f'<path d="{shapes[math.nan]}" class="rk-bench-open"/></svg>'
    )


def _ends(known: Floats) -> tuple[float, float]:
    """The ends of an axis for values, which has room where they are too close for bins between them."""
    low, high = float(known.min()), float(known.max())
    if high - low <= FLAT * max(1.0, abs(low), abs(high)):
        return low - 0.5 * max(1.0, abs(low)), high + 0.5 * max(1.0, abs(high))
    return low, high


def _finite(values: Floats | None) -> Floats:
    return np.zeros(0) if values is None else values[np.isfinite(values)]


def _frame(low: float, high: float, what: str, least: str, most: str) -> str:
    """The ends of both axes."""
    return (
        f'<path d="M{LEFT} {HEIGHT}H{WIDTH}" stroke="var(--rk-grey)" stroke-opacity="0.5"/>'
        f'<text x="{LEFT}" y="{HEIGHT + 14}">{low:.3g}</text>'
        f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT + 14}" text-anchor="middle">{what}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT + 14}" text-anchor="end">{high:.3g}</text>'
        f'<text x="{LEFT - 4}" y="{ABOVE + 8}" text-anchor="end">{most}</text>'
        f'<text x="{LEFT - 4}" y="{HEIGHT}" text-anchor="end">{least}</text>'
    )


def _svg(inner: str, said: str, upright: str) -> str:
    """The picture below its title, which is also what a screen reader says of it."""
    return (
        f'<figure><figcaption>{said}</figcaption><svg role="img" aria-label="{said}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT + BELOW}" font-size="12" fill="currentColor">'
        f'<text x="10" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 10 {HEIGHT / 2})">'
        f"{upright}</text>{inner}</svg></figure>"
    )
