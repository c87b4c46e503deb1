"""Pictures as SVG text: what redraws fastest while a slider moves.

They have the colours of the style sheet. Shapes are told apart by form (filled, outlined), so that they read
without colour.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 40
FLAT = 1e-9
"""Rewards that differ by less, relative to their size, are one: a difference of rounding."""
SPARKS = 20  # bins of a small picture
COLUMNS = 160
"""Groups up to which each has a column of its own; of more, those that follow each other share one."""
WIDTH, HEIGHT, LEFT, BELOW, ABOVE, STRIP = 360, 108, 52, 18, 6, 14
Floats = NDArray[np.float64]
Array = NDArray[Any]
GREY = 'stroke="var(--rk-grey)"'
KINDS = {1.0: "right", 0.0: "wrong"}
"""Of completions by whether they are right; others are "open"."""


def histogram_svg(values: Floats, before: Floats | None = None) -> str:
    """A histogram of rewards (rows,), NaN left out; `before` is drawn as an outline on the same scale."""
    known, earlier = (_finite(item) for item in (values, before))
    if not len(known):
        return "<p>No reward was judged.</p>"
    low, high = _ends(np.concatenate([known, earlier]))
    if not np.isfinite(high - low):
        return (
            f"<p>Rewards from {low:.3g} to {high:.3g}, too far apart for a picture.</p>"
        )
    counts, others = (
        np.histogram(item, bins=BINS, range=(low, high))[0] for item in (known, earlier)
    )
    top, step = max(counts.max(), others.max(), 1), (WIDTH - LEFT) / BINS
    tall = counts * (HEIGHT - ABOVE) / top
    left = LEFT + step * np.arange(BINS)
    inner = _bars("blue", left + 0.5, HEIGHT - tall, step - 1, tall)
    said = f"Reward of {len(known):,} completions"
    if len(earlier):
        ends = zip(HEIGHT - others * (HEIGHT - ABOVE) / top, left + step, strict=True)
        path = "".join(f"V{y:.1f}H{x:.1f}" for y, x in ends)
        inner += f'<path d="M{LEFT} {HEIGHT}{path}V{HEIGHT}" fill="none" {GREY} stroke-dasharray="3 2"/>'
        said += ", dashed: at the start"
    missing = len(values) - len(known)
    said += f", {missing:,} not judged" if missing else ""
    along = (f"{low:.4g}", f"{high:.4g}")
    if not len(earlier) and known.min() == known.max():
        said, along = f"{said}, all {known[0]:.3g}", ("", "")
    inner += f'<path d="M{LEFT} {HEIGHT}H{WIDTH}" {GREY} stroke-opacity="0.5"/>'
    inner += _text((LEFT + WIDTH) / 2, HEIGHT + 14, "reward", "middle")
    return _svg(inner, said, "completions", along, ("0", f"{top:,}"), HEIGHT)


def group_svg(low: Floats, mean: Floats, high: Floats, tied: NDArray[np.bool_]) -> str:
    """Groups by mean reward, all (groups,): range and mean of each, below them the share without a signal.

    `tied` says whose siblings all earn the same; groups with a NaN are left out.
    """
    judged, count = np.flatnonzero(~np.isnan(mean + low + high)), int(tied.sum())
    if not len(judged):
        return "<p>No group has a judged completion.</p>"
    order = judged[np.lexsort((high[judged], mean[judged]))]
    columns = min(COLUMNS, len(order))
    edges = np.linspace(0, len(order), columns + 1).astype(int)
    low, mean, high, silent = (
        np.add.reduceat(np.asarray(item, dtype=float)[order], edges[:-1])
        / np.diff(edges)
        for item in (low, mean, high, tied)
    )
    bottom, top = float(low.min()), float(high.max())
    step, floor = (WIDTH - LEFT) / columns, HEIGHT - STRIP
    left = LEFT + step * np.arange(columns)
    # from values to heights on the page
    low, mean, high = (
        floor - (item - bottom) / ((top - bottom) or 1.0) * (floor - ABOVE)
        for item in (low, mean, high)
    )
    points = " ".join(
        f"{x:.1f},{y:.1f}" for x, y in zip(left + step / 2, mean, strict=True)
    )
    inner = (
        _bars("blue", left, high, max(step - 0.5, 0.6), np.maximum(low - high, 1), 0.5)
        + f'<polyline points="{points}" fill="none" {GREY} stroke-width="1.4"/>'
        + _bars("red", left, HEIGHT - silent * (STRIP - 2), step, silent * (STRIP - 2))
    )
    each = (
        ""
        if columns == len(order)
        else f", some {np.diff(edges).max()} groups a column"
    )
    said = f"{len(order):,} groups by mean reward{each}; strip below: {count:,} whose "
    said += "siblings all earn the same"
    return _svg(
        inner,
        said,
        "reward",
        ("lowest mean", "highest mean"),
        (f"{bottom:.4g}", f"{top:.4g}"),
        floor,
    )


def spark_svg(values: Floats, span: tuple[float, float] | None = None) -> str:
    """How scores (rows,) lie in their declared range, small; without one, between the least and the most.

    Where a component was not scored it is left out.
    """
    known = _finite(values)
    if not len(known):
        return '<span class="rk-muted">no scores</span>'
    counts, _ = np.histogram(known, bins=SPARKS, range=span or _ends(known))
    tall = np.maximum(counts / counts.max() * 22, counts > 0)
    bars = "".join(
        f"M{at * 5} 24v-{bar:.1f}h4v{bar:.1f}z" for at, bar in enumerate(tall) if bar
    )
    said = f"{len(known):,} scores from {known.min():.3g} to {known.max():.3g}, mean {known.mean():.3g}"
    return (
        f'<svg role="img" class="rk-bench-spark" viewBox="0 0 {SPARKS * 5} 25" preserveAspectRatio="none">'
        f'<title>{said}</title><path d="M0 24.5H{SPARKS * 5}" {GREY}/>'
        f'<path d="{bars}" fill="var(--rk-blue)"/></svg>'
    )


def strip_svg(blocks: Iterable[tuple[float, float]]) -> str:
    """Siblings as small blocks: as tall as the reward, from 0 to 1; right ones filled, wrong ones not."""
    shapes, count = {"right": "", "wrong": "", "open": ""}, 0
    for count, (height, right) in enumerate(blocks, 1):
        if height == height:
            top = 2 + 14 * height
            shapes[KINDS.get(right, "open")] += (
                f"M{count * 8 - 7} {18 - top:.1f}h5v{top - 1:.1f}h-5z"
            )
    drawn = "".join(
        f'<path d="{path}" class="rk-bench-{kind}"/>' for kind, path in shapes.items()
    )
    return f'<svg aria-hidden="true" class="rk-bench-strip" width="{count * 8}" height="18">{drawn}</svg>'


def _ends(known: Floats) -> tuple[float, float]:
    """The ends of an axis for values, which has room where they are too close for bins between them."""
    low, high = float(known.min()), float(known.max())
    if high - low <= FLAT * max(1.0, abs(low), abs(high)):
        return low - 0.5 * max(1.0, abs(low)), high + 0.5 * max(1.0, abs(high))
    return low, high


def _finite(values: Floats | None) -> Floats:
    return np.zeros(0) if values is None else values[np.isfinite(values)]


def _bars(
    colour: str,
    left: Array,
    top: Array,
    width: float,
    tall: Array,
    opacity: float = 1.0,
) -> str:
    """Rectangles of one width; those of no height are left out."""
    bars = zip(left.tolist(), top.tolist(), tall.tolist(), strict=True)
    inner = "".join(
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{high:.1f}"/>'
        for x, y, high in bars
        if high
    )
    return f'<g fill="var(--rk-{colour})" fill-opacity="{opacity:g}">{inner}</g>'


def _text(x: float, y: float, words: str, anchor: str = "end", more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{more}>{words}</text>'


def _svg(
    inner: str,
    said: str,
    upright: str,
    along: tuple[str, str],
    up: tuple[str, str],
    floor: float,
) -> str:
    """The picture with the ends of its axes, below its title, which is what a screen reader says of it."""
    inner += _text(LEFT, HEIGHT + 14, along[0], "start") + _text(
        WIDTH, HEIGHT + 14, along[1]
    )
    inner += _text(LEFT - 4, floor, up[0]) + _text(LEFT - 4, ABOVE + 8, up[1])
    inner += _text(
        10, HEIGHT / 2, upright, "middle", f' transform="rotate(-90 10 {HEIGHT / 2:g})"'
    )
    return (
        f'<figure><figcaption>{said}</figcaption><svg role="img" aria-label="{said}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT + BELOW}" font-size="12" fill="currentColor">{inner}</svg></figure>'
    )
