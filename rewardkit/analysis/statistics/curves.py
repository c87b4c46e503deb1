"""What is expected of the sibling that is picked, as curves with bands against the KL of what picks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.groups import Floats
from rewardkit.analysis.statistics.selection import Siblings, Sums, kl_at_most

__all__ = ["FEWEST", "Curve", "Place", "Selection", "band", "best_of_view", "tilted_view"]

FEWEST = 2.0
"""Mean effective sample size, of groups of several, under which the tilted view stops (DIAGNOSTICS.md)."""
NEGLIGIBLE = 1e-3
"""Nats: the tilted view ends where all smaller betas together add less. Our choice."""


class Place(NamedTuple):
    """Where a figure stands in the sums: its column, and the column of how many picks have it."""

    value: int
    known: int


@dataclass(frozen=True, eq=False)
class Curve:
    """What is expected of one figure of the completion that is picked, at each point: (points,) each.

    `value` is the mean over the picks that have the figure, which are the share `known` of all; `change` is
    its difference to siblings of the same groups picked at random. With 95 % intervals, NaN where fewer than
    two prompts have the figure. `draws` (resamples, points) is the value in each resample of the prompts.
    """

    value: Floats
    low: Floats
    high: Floats
    change: Floats
    change_low: Floats
    change_high: Floats
    known: Floats
    draws: Floats = field(repr=False)

    def record(self) -> dict[str, Any]:
        """As plain data, without the draws."""
        return {name: getattr(self, name).tolist() for name in self.__dataclass_fields__ if name != "draws"}


@dataclass(frozen=True, eq=False)
class Selection:
    """One view: `curves` by figure, over points of rising `kl` (in nats), the first without any selection.

    `how` is "best_of", where `points` are n and `kl` is at most log n - (n - 1) / n, or "tilted", where
    `points` are betas (inf: no tilt) and `kl` is the mean over groups of the divergence from all siblings
    being alike likely, with its interval. `groups` is how many have a point: those with n siblings or more.
    `sample_size` is the mean effective number of siblings, of groups of several. `ends` says why there are no
    further points.
    """

    how: Literal["best_of", "tilted"]
    points: Floats
    kl: Floats
    kl_low: Floats
    kl_high: Floats
    groups: NDArray[np.intp]
    sample_size: Floats
    curves: Mapping[str, Curve]
    ends: str
    kl_draws: Floats = field(repr=False)  # (resamples, points)

    def __len__(self) -> int:
        return len(self.points)

    def record(self) -> dict[str, Any]:
        """As plain data, without the draws."""
        arrays = ("points", "kl", "kl_low", "kl_high", "groups", "sample_size")
        return {
            "how": self.how,
            **{name: getattr(self, name).tolist() for name in arrays},
            "ends": self.ends,
            "curves": {name: curve.record() for name, curve in self.curves.items()},
        }


def best_of_view(
    drawn: NDArray[np.intp],
    sums: Sums,
    figures: Mapping[str, Place],
    siblings: Siblings,
    bootstrap: Bootstrap,
) -> Selection:
    """The first points of the sums, one for each n of `drawn`."""
    at, kl = slice(0, len(drawn)), kl_at_most(drawn)
    size = _over(sums.total[at, -1], [(siblings.size >= max(n, 2)).sum() for n in drawn])
    return Selection(
        how="best_of",
        points=drawn.astype(float),
        kl=kl,
        kl_low=kl,
        kl_high=kl,
        groups=np.rint(sums.total[at, 0]).astype(np.intp),
        sample_size=size,
        curves=_curves(sums, at, figures, bootstrap),
        ends="no group has more siblings",
        kl_draws=np.broadcast_to(kl, sums.drawn[:, at, 0].shape),
    )


def tilted_view(
    betas: Floats, sums: Sums, figures: Mapping[str, Place], siblings: Siblings, bootstrap: Bootstrap
) -> Selection:
    """The last points of the sums, one for each of `betas`, as far as the siblings carry them."""
    behind = len(sums.total) - len(betas)
    groups = sums.total[behind:, 0]
    kl = _over(sums.total[behind:, -2], groups)
    size = _over(sums.total[behind:, -1], (siblings.size > 1).sum())
    points, ends = _end(kl, size)
    at = slice(behind, behind + points)
    draws = _over(sums.drawn[:, at, -2], sums.drawn[:, at, 0])
    low, high = band(draws, sums.several[at, 0], bootstrap.level)
    return Selection(
        how="tilted",
        points=betas[:points],
        kl=kl[:points],
        kl_low=low,
        kl_high=high,
        groups=np.rint(groups[:points]).astype(np.intp),
        sample_size=size[:points],
        curves=_curves(sums, at, figures, bootstrap),
        ends=ends,
        kl_draws=draws,
    )


def _end(kl: Floats, size: Floats) -> tuple[int, str]:
    """How many points the tilted view has, and why no more."""
    if np.isnan(kl[0]):
        return 0, "no row has a reward"
    thin = np.flatnonzero(size < FEWEST * (1 - 1e-12))
    done = int(np.flatnonzero(kl >= kl[-1] - NEGLIGIBLE)[0])
    if len(thin) and thin[0] <= done:
        return int(thin[0]), f"beyond it the mean effective sample size is under {FEWEST:g}"
    if done == len(kl) - 1:
        return len(kl), "no smaller beta was tried"
    return done + 1, "beyond it only siblings that earn the same are left to choose from"


def _curves(sums: Sums, at: slice, figures: Mapping[str, Place], bootstrap: Bootstrap) -> dict[str, Curve]:
    return {name: _curve(sums, at, place, bootstrap.level) for name, place in figures.items()}


def _curve(sums: Sums, at: slice, place: Place, level: float) -> Curve:
    value, before, draws, draws_before = (
        _over(array[..., at, place.value], array[..., at, place.known])
        for array in (sums.total, sums.before, sums.drawn, sums.drawn_before)
    )
    several = sums.several[at, place.known]
    known = _over(sums.total[at, place.known], sums.total[at, 0])
    change = band(draws - draws_before, several, level)
    return Curve(value, *band(draws, several, level), value - before, *change, known, draws)


def _over(above: Any, below: Any) -> Floats:
    """The ratio, NaN where there is nothing below."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.divide(above, below), dtype=float)


def band(draws: Floats, several: NDArray[np.bool_], level: float) -> tuple[Floats, Floats]:
    """Percentile interval at each point, from draws (resamples, points); NaN where not `several` or no draw.

    >>> band(np.array([[0.0, 1.0], [2.0, 1.0]]), np.array([True, False]), 0.5)
    (array([0.5, nan]), array([1.5, nan]))
    """
    low, high = np.full(draws.shape[1], np.nan), np.full(draws.shape[1], np.nan)
    usable = several & np.isfinite(draws).any(axis=0)
    tail = (1 - level) / 2
    finite = np.where(np.isfinite(draws[:, usable]), draws[:, usable], np.nan)
    if usable.any():
        low[usable], high[usable] = np.nanquantile(finite, [tail, 1 - tail], axis=0)
    return low, high
