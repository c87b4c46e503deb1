"""Figures: what a change of weights moves, from arrays, quick enough to follow a slider."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics.groups import Floats
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.view import ROUNDING, View


@dataclass(frozen=True, eq=False)
class Figures:
    """Of rewards (rows,) and their groups: what a person looks at while a weight moves.

    `low`, `mean`, `high`, `tied` and `alone` are (groups,), the last two say which have
    siblings who all earn the same, or one completion only. `effective` is the share of
    the squared advantage by component, and `auc` the share of sibling pairs that the
    reward orders as the label does: NaN without a label.
    """

    rewards: Floats
    advantages: Floats
    low: Floats
    mean: Floats
    high: Floats
    tied: NDArray[np.bool_]
    alone: NDArray[np.bool_]
    effective: Mapping[str, float]
    auc: float

    @property
    def several(self) -> int:
        """Number of groups of two or more judged completions."""
        return int((~self.alone & ~np.isnan(self.mean)).sum())

    @property
    def tied_share(self) -> float:
        """Share of the groups of two or more whose siblings all earn the same; NaN without such groups."""
        return float(self.tied.sum()) / self.several if self.several else math.nan

    @property
    def missing(self) -> int:
        """Rows whose reward is missing."""
        return int(np.isnan(self.rewards).sum())


def figures_of(views: Sequence[View], rows: int) -> Figures:
    """The figures of the parts of a reward together; rows of no part count as missing."""
    rewards, advantages = np.full(rows, np.nan), np.full(rows, np.nan)
    for view in views:
        rewards[view.rows], advantages[view.rows] = view.rewards, view.advantages
    stats = [view.stats for view in views]
    counts = np.concatenate([item.count for item in stats])
    judged = counts > 0

    def joined(name: str) -> Floats:
        found = np.concatenate(
            [np.asarray(getattr(item, name), dtype=float) for item in stats]
        )
        return np.where(judged & np.isfinite(found), found, np.nan)

    shares = {
        told: view.effective_weights.get(name)
        for told, (view, name) in called(views).items()
    }
    return Figures(
        rewards,
        advantages,
        joined("low"),
        joined("mean"),
        joined("high"),
        np.concatenate([view.dead for view in views]) & (counts > 1),
        counts == 1,
        {told: share for told, share in shares.items() if share is not None},
        _auc(views),
    )


def called(views: Sequence[View]) -> dict[str, tuple[View, str]]:
    """Each component by what it is called: with the part of the reward before it, where there are several."""
    several = len(views) > 1
    return {
        f"{view.part}: {name}" if several else name: (view, name)
        for view in views
        for name in view.names
    }


def _auc(views: Sequence[View]) -> float:
    agree = pairs = 0.0
    for view in views:
        if view.context.label is not None:
            good, all_ = concordance(view.paid_by, view.context.label, view.groups)
            agree, pairs = agree + float(good.sum()), pairs + float(all_.sum())
    return agree / pairs if pairs else math.nan


def turned(before: Figures, now: Figures) -> float:
    """Share of the advantages of `before` whose sign is another now, or gone; NaN where none are known."""
    if np.isnan(now.advantages).all():
        return math.nan
    one, other = (
        np.sign(
            np.where(
                np.abs(np.nan_to_num(item.advantages)) < ROUNDING,
                0.0,
                np.nan_to_num(item.advantages),
            )
        )
        for item in (before, now)
    )
    return float((one != other)[one != 0].mean()) if one.any() else math.nan
