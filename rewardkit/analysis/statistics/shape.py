"""Shape of a sample of numbers: what lies far out of it, and whether it has one peak. Arrays only."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics.groups import Floats

__all__ = ["dip", "dip_limit", "outlying", "two_piles"]

MOST_VALUES = 1_000
"""Values that are looked at; of more, so many evenly spaced ones in order of size. Our choice."""
FAR, APART = 3.0, 2.0
"""Of the middle half's spread, and of the distance of the next value: the two limits of `outlying`."""
DIP_LIMITS = ((50, 0.496), (100, 0.511), (200, 0.523), (500, 0.530), (1_000, 0.534))
"""Sample size and the 95 % point of sqrt(n) times the dip of that many uniform values.

Of 20,000 samples or more each; those of 50 to 200 agree with table 1 of Hartigan and Hartigan (1985).
"""


def outlying(values: Floats) -> NDArray[np.bool_]:
    """Which values lie far out and apart from all others; NaN does not.

    Beyond three times the spread of the middle half from its ends (Tukey's outer fences, 1977), and at least
    twice as far from the median as the next value on that side, so that the gap is as wide as all that
    reaches up to it (Dixon's ratio of gap to range, 1950, of a half). A long tail has no such gap, however
    skewed it is. Where the middle half does not vary, as of tasks that are mostly missed, that of the middle
    nine tenths is taken, and none lies far out where these do not vary either.

    >>> outlying(np.array([1.0, 2, 3, 4, 5, 6, 7, 30, 31, np.nan])).tolist()[6:]
    [False, True, True, False]
    """
    far = np.zeros(len(values), dtype=bool)
    known = values[~np.isnan(values)]
    if not len(known):
        return far
    least, low, middle, high, most = np.quantile(known, [0.05, 0.25, 0.5, 0.75, 0.95])
    if low == high:
        low, high = least, most
    reach = FAR * (high - low)
    for sign, fence in ((1, high + reach), (-1, low - reach)) if reach > 0 else ():
        away, limit = sign * (values - middle), sign * (fence - middle)
        beyond = np.sort(away[away > limit])
        next_to = np.concatenate([[away[away <= limit].max(initial=0.0)], beyond[:-1]])
        apart = beyond[beyond >= APART * next_to]
        if len(apart):
            far |= away >= apart[0]
    return far


def dip(values: Floats) -> float:
    """How far the distribution of values is from any with one peak: Hartigan's dip, 1/(2n) to 1/4.

    The largest difference of its distribution function to the nearest one with one peak (Hartigan and
    Hartigan 1985). Every value that stands several times is a peak.

    >>> dip(np.array([0.0, 0, 0, 1, 1, 1]))
    0.25
    """
    at, counts = np.unique(_spaced(np.sort(values)), return_counts=True)
    above = np.cumsum(counts) / counts.sum()
    below = above - counts / counts.sum()
    first, last, found = 0, len(at) - 1, 1 / counts.sum()
    while True:
        part = slice(first, last + 1)
        x, low, high = at[part], below[part], above[part]
        convex, concave = _hull(x, low), _hull(x, -high)
        under, over = np.interp(x, x[convex], low[convex]), np.interp(x, x[concave], high[concave])
        gap = over - under
        widest = max(gap[convex].max(), gap[concave].max())
        if widest <= found:
            return float(found / 2)
        if gap[convex].max() >= gap[concave].max():
            left = convex[np.argmax(gap[convex])]
            right = concave[np.searchsorted(concave, left)]
        else:
            right = concave[np.argmax(gap[concave])]
            left = convex[np.searchsorted(convex, right, side="right") - 1]
        found = max(found, (high - under)[: left + 1].max(), (over - low)[right:].max())
        if (left, right) == (0, len(x) - 1):
            return float(found / 2)
        first, last = first + int(left), first + int(right)


def dip_limit(size: int) -> float:
    """The dip that one in twenty uniform samples of this size passes, and fewer of others with one peak."""
    size = min(size, MOST_VALUES)
    sizes, limits = zip(*DIP_LIMITS, strict=True)
    return float(np.interp(1 / math.sqrt(size), 1 / np.sqrt(sizes[::-1]), limits[::-1]) / math.sqrt(size))


def two_piles(values: Floats) -> tuple[float, float, float]:
    """The means of the lower and the upper values and the share that is lower, cut where these differ most.

    That is where the variance between the two is largest (Otsu 1979).

    >>> two_piles(np.array([0.0, 1, 9, 10, 11]))
    (0.5, 10.0, 0.4)
    """
    ordered = np.sort(values)
    count = np.arange(1, len(ordered))
    sums = np.cumsum(ordered)
    low, high = sums[:-1] / count, (sums[-1] - sums[:-1]) / (len(ordered) - count)
    best = int(np.argmax(count * (len(ordered) - count) * (high - low) ** 2))
    return float(low[best]), float(high[best]), float(count[best] / len(ordered))


def _spaced(ordered: Floats) -> Floats:
    if len(ordered) <= MOST_VALUES:
        return ordered
    places = np.linspace(0, len(ordered) - 1, MOST_VALUES).round().astype(np.intp)
    return np.asarray(ordered[places], dtype=float)


def _hull(x: Floats, y: Floats) -> NDArray[np.intp]:
    """Places of the corners of the greatest convex line under the points, whose x ascend."""
    corners: list[int] = []
    for at in range(len(x)):
        while len(corners) > 1:
            a, b = corners[-2], corners[-1]
            if (y[b] - y[a]) * (x[at] - x[a]) < (y[at] - y[a]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(at)
    return np.array(corners, dtype=np.intp)
