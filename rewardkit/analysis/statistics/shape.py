"""Shape of a sample of numbers: what lies far out, and where it has two piles."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics.groups import Floats

FAR, APART = 3.0, 2.0
"""Limits of `outlying`: of the middle half's spread, of the next value's distance."""


def outlying(values: Floats) -> NDArray[np.bool_]:
    """Which values lie far out and apart from all others; NaN does not.

    Beyond three times the spread of the middle half from its ends (Tukey's outer
    fences, 1977), and at least twice as far from the median as the next value on that
    side, so that the gap is as wide as all that reaches up to it (Dixon's ratio of gap
    to range, 1950, of a half). A long tail has no such gap, however skewed it is. Where
    the middle half does not vary, as of tasks that are mostly missed, that of the
    middle nine tenths is taken, and none lies far out where these do not vary either.

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


def two_piles(values: Floats) -> tuple[float, float, float]:
    """Return the means of the lower and upper values and the share that is lower.

    They are cut where the two differ most.

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


def chi_squared(chance: float, freedom: Floats) -> Floats:
    """Return the value that chi-squared of some freedom stays under with this chance.

    By Wilson and Hilferty (1931).

    >>> chi_squared(0.95, np.array([4.0, 20.0])).round(1)  # exactly 9.49 and 31.41
    array([ 9.5, 31.4])
    """
    rough = 2 / (9 * freedom)
    root = np.maximum(1 - rough + NormalDist().inv_cdf(chance) * np.sqrt(rough), 0.0)
    return np.asarray(freedom * root**3, dtype=float)
