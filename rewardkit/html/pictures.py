"""Draw pictures as SVG text, which redraws fast enough to follow a slider.

They use the colours of the style sheet. Shapes also differ by form (filled, outlined),
for reading without colour.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.findings import number_range, short_number

HISTOGRAM_BINS = 40
REWARD_ROUNDING = 1e-9
"""Relative difference of rewards below which it is rounding error."""
SPARK_BINS = 20
MOST_GROUP_COLUMNS = 160
"""Most columns of groups; with more groups, neighbours share a column."""
WIDTH = 360
HEIGHT = 108
LEFT, BELOW, ABOVE, STRIP = 52, 18, 6, 14  # margins, and the height of the strip
Floats = NDArray[np.float64]
Array = NDArray[Any]
GREY_STROKE = 'stroke="var(--rk-grey)"'


def histogram_svg(values: Floats, before: Floats | None = None) -> str:
    """Draw a histogram of rewards (rows,), without NaN; `before` is an outline."""
    rewards = _finite(values)
    earlier = _finite(before)
    if not len(rewards):
        return "<p>No reward was judged.</p>"
    together = np.concatenate([rewards, earlier]) if len(earlier) else rewards
    low, high = _axis_ends(together)
    if not np.isfinite(high - low):
        reach = number_range(low, high)
        return f"<p>Rewards from {reach}, too far apart for a picture.</p>"
    span = (low, high)
    counts, _ = np.histogram(rewards, bins=HISTOGRAM_BINS, range=span)
    counts_before, _ = np.histogram(earlier, bins=HISTOGRAM_BINS, range=span)
    highest = max(counts.max(), counts_before.max(), 1)
    step = (WIDTH - LEFT) / HISTOGRAM_BINS
    starts = LEFT + step * np.arange(HISTOGRAM_BINS)
    heights = counts * (HEIGHT - ABOVE) / highest
    inner = _bars("blue", starts + 0.5, HEIGHT - heights, step - 1, heights)
    title = f"Reward of {len(rewards):,} completions"
    if len(earlier):
        tops = HEIGHT - counts_before * (HEIGHT - ABOVE) / highest
        corners = zip(tops, starts + step, strict=True)
        path = "".join(f"V{y:.1f}H{x:.1f}" for y, x in corners)
        inner += (
            f'<path d="M{LEFT} {HEIGHT}{path}V{HEIGHT}" fill="none" {GREY_STROKE} '
            'stroke-dasharray="3 2"/>'
        )
        title += ", dashed: at the start"
    if missing := len(values) - len(rewards):
        title += f", {missing:,} not judged"
    ends = (short_number(low), short_number(high))
    if not len(earlier) and rewards.min() == rewards.max():
        title = f"{title}, all {short_number(rewards[0])}"
        ends = ("", "")
    inner += f'<path d="M{LEFT} {HEIGHT}H{WIDTH}" {GREY_STROKE} stroke-opacity="0.5"/>'
    inner += _text((LEFT + WIDTH) / 2, HEIGHT + 14, "reward", "middle")
    return _svg(inner, title, "completions", ends, ("0", f"{highest:,}"), HEIGHT)


def group_svg(low: Floats, mean: Floats, high: Floats, tied: NDArray[np.bool_]) -> str:
    """Draw groups by mean reward: range, mean, and a strip of those without a signal.

    Args:
        low: Lowest reward of each group, (groups,); a group with a NaN is left out.
        mean: Mean reward of each group, (groups,).
        high: Highest reward of each group, (groups,).
        tied: Whether a group has no signal, (groups,).

    Returns:
        A figure as HTML.
    """
    judged = np.flatnonzero(~np.isnan(mean + low + high))
    silent_groups = int(tied.sum())
    if not len(judged):
        return "<p>No group has a judged completion.</p>"
    order = judged[np.lexsort((high[judged], mean[judged]))]
    edges, (low, mean, high, silent) = _average_columns(order, low, mean, high, tied)
    columns = len(low)
    bottom = float(low.min())
    top = float(high.max())
    step = (WIDTH - LEFT) / columns
    floor = HEIGHT - STRIP
    starts = LEFT + step * np.arange(columns)

    def height(values: Floats) -> Floats:
        return floor - (values - bottom) / ((top - bottom) or 1.0) * (floor - ABOVE)

    low = height(low)
    mean = height(mean)
    high = height(high)
    places = zip(starts + step / 2, mean, strict=True)
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    width = max(step - 0.5, 0.6)
    inner = _bars("blue", starts, high, width, np.maximum(low - high, 1), 0.5)
    inner += (
        f'<polyline points="{points}" fill="none" {GREY_STROKE} stroke-width="1.4"/>'
    )
    silent_heights = silent * (STRIP - 2)
    inner += _bars("red", starts, HEIGHT - silent_heights, step, silent_heights)
    title = f"{len(order):,} groups by mean reward"
    if columns < len(order):
        title += f", some {np.diff(edges).max()} groups a column"
    title += f"; strip below: {silent_groups:,} without a signal"
    ends = ("lowest mean", "highest mean")
    return _svg(
        inner, title, "reward", ends, (short_number(bottom), short_number(top)), floor
    )


def _average_columns(order: Array, *values: Array) -> tuple[Array, list[Floats]]:
    """Put groups, in this order, into at most `MOST_GROUP_COLUMNS` columns.

    Returns:
        The edges of the columns, (columns + 1,), and for each of `values` its means
        over the groups in a column, (columns,).
    """
    columns = min(MOST_GROUP_COLUMNS, len(order))
    edges = np.linspace(0, len(order), columns + 1).astype(int)
    means = []
    for column in values:
        sums = np.add.reduceat(column[order].astype(float), edges[:-1])
        means.append(sums / np.diff(edges))
    return edges, means


def spark_svg(values: Floats, span: tuple[float, float] | None) -> str:
    """Draw a sparkline histogram of scores (rows,) over their range, without NaN.

    Without a declared range, it spans the scores.
    """
    scores = _finite(values)
    if not len(scores):
        return '<span class="rk-muted">no scores</span>'
    counts, _ = np.histogram(scores, bins=SPARK_BINS, range=span or _axis_ends(scores))
    heights = np.maximum(counts / counts.max() * 22, counts > 0)
    bars = ""
    for at, height in enumerate(heights):
        if height:
            bars += f"M{at * 5} 24v-{height:.1f}h4v{height:.1f}z"
    title = (
        f"{len(scores):,} scores from {number_range(scores.min(), scores.max())}, "
        f"mean {short_number(scores.mean())}"
    )
    return (
        '<svg role="img" class="rk-bench-spark" '
        f'viewBox="0 0 {SPARK_BINS * 5} 25" preserveAspectRatio="none">'
        f'<title>{title}</title><path d="M0 24.5H{SPARK_BINS * 5}" {GREY_STROKE}/>'
        f'<path d="{bars}" fill="var(--rk-blue)"/></svg>'
    )


def _axis_ends(values: Floats) -> tuple[float, float]:
    """Return the ends of an axis, wider than the values if these are nearly equal."""
    low = float(values.min())
    high = float(values.max())
    if high - low <= REWARD_ROUNDING * max(1.0, abs(low), abs(high)):
        return low - 0.5 * max(1.0, abs(low)), high + 0.5 * max(1.0, abs(high))
    return low, high


def _finite(values: Floats | None) -> Floats:
    """Return the finite values; the array itself if all are, as it may be large."""
    if values is None:
        return np.zeros(0)
    is_finite = np.isfinite(values)
    return values if is_finite.all() else values[is_finite]


def _bars(
    colour: str,
    start: Array,
    top: Array,
    width: float,
    heights: Array,
    opacity: float = 1.0,
) -> str:
    """Draw rectangles of equal width, without those of height 0."""
    inner = ""
    for x, y, height in zip(
        start.tolist(), top.tolist(), heights.tolist(), strict=True
    ):
        if height:
            inner += (
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}"/>'
            )
    return f'<g fill="var(--rk-{colour})" fill-opacity="{opacity:g}">{inner}</g>'


def _text(x: float, y: float, words: str, anchor: str, options: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{options}>{words}</text>'


def _svg(
    inner: str,
    title: str,
    upright: str,
    x_ends: tuple[str, str],
    y_ends: tuple[str, str],
    floor: float,
) -> str:
    """Return a figure with the ends of its axes; screen readers read its title."""
    middle = HEIGHT / 2
    inner += _text(LEFT, HEIGHT + 14, x_ends[0], "start")
    inner += _text(WIDTH, HEIGHT + 14, x_ends[1], "end")
    inner += _text(LEFT - 4, floor, y_ends[0], "end")
    inner += _text(LEFT - 4, ABOVE + 8, y_ends[1], "end")
    turned = f' transform="rotate(-90 10 {middle:g})"'
    inner += _text(10, middle, upright, "middle", turned)
    size = f'viewBox="0 0 {WIDTH} {HEIGHT + BELOW}"'
    return (
        f'<figure><figcaption>{title}</figcaption><svg role="img" aria-label="{title}" '
        f'{size} font-size="12" fill="currentColor">{inner}</svg></figure>'
    )
