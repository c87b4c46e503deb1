"""Ties: how often two siblings earn the same, of the reward and of each component."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rewardkit.analysis.statistics.groups import Floats, group_stats, tie_rate
from rewardkit.analysis.view import View

__all__ = ["Tie", "ties"]


@dataclass(frozen=True)
class Tie:
    """Share of the sibling pairs that score the same, with its 95 % interval over prompts.

    `component` is ``None`` for the reward. `pairs` are those of which both are scored, `of_all` their share
    of all sibling pairs; `whole_groups` the share of groups in which all that are scored score the same. NaN
    where no two siblings are scored.
    """

    component: str | None
    share: float
    interval: tuple[float, float]
    pairs: int
    of_all: float
    whole_groups: float
    part: str = ""

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def ties(view: View) -> tuple[Tie, ...]:
    """The ties of the reward, then those of each component.

    >>> import rewardkit as rk
    >>> from rewardkit.analysis.diagnosis import make_views
    >>> from rewardkit.analysis.ties import ties
    >>> (view,) = make_views(rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic"))
    >>> [(tie.component, round(tie.share, 2)) for tie in ties(view)][:2]
    [(None, 0.68), ('correct', 0.79)]
    """
    size = np.bincount(view.groups)
    whole = float((size * (size - 1) / 2).sum())
    named = [(None, view.rewards), *view.scores.items()]
    return tuple(_tie(view, name, values, whole) for name, values in named)


def _tie(view: View, name: str | None, values: Floats, whole: float) -> Tie:
    equal, pairs = tie_rate(values, view.groups)
    total = float(pairs.sum())
    if not total:
        nothing = float("nan")
        return Tie(name, nothing, (nothing, nothing), 0, 0.0, nothing, view.part)
    stats = group_stats(values, view.groups)
    return Tie(
        name,
        float(equal.sum() / total),
        view.bootstrap.interval([equal, pairs], view.owner),
        int(total),
        total / whole,
        float(stats.dead.sum() / (stats.dead | stats.live).sum()),
        view.part,
    )
