"""Patched: what another reward gives the same completions: to the suspects, and to those that are right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis.grouping import Floats
from rewardkit.analysis.matched import match_rows
from rewardkit.analysis.view import TINY
from rewardkit.findings import counted, percent
from rewardkit.probes.suspects.page import number, rows_of
from rewardkit.probes.suspects.rightness import Rightness
from rewardkit.rollouts.values import as_column, column_values
from rewardkit.scoring.outcomes import STATUSES
from rewardkit.scoring.scores import Scores

__all__ = ["Patched", "held_against", "told", "untried"]

Mask = NDArray[np.bool_]

HALF = 0.5
"""Of what lies between a reward's lowest and highest: its loss is one on any scale. Our choice."""
REASON = 120
"""Characters of a reason in a sentence."""


@dataclass(frozen=True, eq=False)
class Patched:
    """What another reward gives the same completions.

    `rows` are those that both have, `judged` those that it has a reward for, with `why_not` the commonest
    reason against one; `not_tried` those that it was not given, `why_not_tried`. Of the rows so many are
    `suspects`; `lower` of them get less or are not judged any more, `earned` of them had a positive advantage
    and `earn` have one still; `rewards` are their mean rewards before and after. So many of the others are
    `right`, as `right_by` says; in `lost` are those of these that get less, with both rewards and advantages,
    first the `pushed_down`, whose advantage is positive no more. The same of the suspects are
    `right_suspects` and `lost_suspects`: none where what is right is known by the reward alone. Less is what
    lies lower between the lowest and the highest reward: another scale takes nothing from anybody.
    """

    reward: str
    rows: int
    judged: int = 0
    why_not: str = ""
    not_tried: int = 0
    why_not_tried: str = ""
    suspects: int = 0
    lower: int = 0
    earned: int = 0
    earn: int = 0
    rewards: tuple[float, float] = (math.nan, math.nan)
    right: int = 0
    right_by: str = ""
    pushed_down: int = 0
    lost: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    right_suspects: int = 0
    lost_suspects: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    @property
    def sentences(self) -> list[str]:
        """What it does not judge, what it does to the suspects, and to right completions."""
        told = [*self._not_tried(), *self._unjudged()]
        if not self.judged:
            return told
        before, after = self.rewards
        if self.suspects:
            told.append(
                f"under {self.reward!r} {self.earn:,} of {counted(self.suspects, 'suspect')} still "
                f"{'earns' if self.earn == 1 else 'earn'} more than their siblings ({self.earned:,} before); "
                f"{self._get_less(self.lower)}, and their mean reward goes from {number(before)} to "
                f"{number(after)}"
            )
        told.append(self._losing(counted(self.right, "other completion"), self.right, self.lost))
        if self.right_suspects:
            told.append(self._losing(counted(self.right_suspects, "suspect"), self.right_suspects,
                                     self.lost_suspects))  # fmt: skip
        return told

    def _not_tried(self) -> list[str]:
        if not self.not_tried:
            return []
        return [
            f"{self.reward!r} was not tried on {self.not_tried:,} of {self.rows + self.not_tried:,} "
            f"completions: {self.why_not_tried}; what follows is of the others. Give it a larger budget, or "
            "make it quicker"
            if self.rows
            else f"{self.reward!r} was tried on none of the completions: {self.why_not_tried}; give it more "
            "time, or make it quicker"
        ]

    def _unjudged(self) -> list[str]:
        left = self.rows - self.judged
        if not left:
            return []
        why = f" (most often: {self.why_not})" if self.why_not else ""
        if not self.judged:
            return [
                f"{self.reward!r} judges none of {counted(self.rows, 'completion')}{why}, so that it cannot "
                "be said what it would change; mend it, `rewardkit score` gives the reason of each row"
            ]
        return [
            f"{self.reward!r} does not judge {left:,} of {counted(self.rows, 'completion')}{why}; mend that "
            "first, as these have no reward, which is not a low one"
        ]

    def _get_less(self, count: int) -> str:
        verb = "gets" if count == 1 else "get"
        also = " or no reward" if self.judged < self.rows else ""
        return f"{count:,} {verb} less{also}"

    def _losing(self, those: str, right: int, lost: pd.DataFrame) -> str:
        if not right:
            return f"there are no {those.partition(' ')[2]} {self.right_by}"
        if not len(lost):
            return f"of {those} {self.right_by} none gets less"
        down = int(lost["pushed down"].sum())
        share = percent(len(lost) / right)
        less = self._get_less(len(lost)).replace(" ", f" ({share}) ", 1)
        return (
            f"of {those} {self.right_by} {less}{_typical(lost)}; of these "
            f"{down:,} no longer {'earns' if down == 1 else 'earn'} more than their siblings"
        )

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "reward": self.reward,
            "rows": self.rows,
            "judged": self.judged,
            "why_not": self.why_not,
            "not_tried": self.not_tried,
            "why_not_tried": self.why_not_tried,
            "suspects": self.suspects,
            "lower": self.lower,
            "earned": self.earned,
            "earn": self.earn,
            "rewards": list(self.rewards),
            "right": self.right,
            "right_by": self.right_by,
            "pushed_down": self.pushed_down,
            "lost": rows_of(self.lost),
            "right_suspects": self.right_suspects,
            "lost_suspects": rows_of(self.lost_suspects),
        }


def _typical(lost: pd.DataFrame) -> str:
    """How much less, so that it is seen where all of the rewards are lower."""
    fall = float((lost["reward"] - lost["patched"]).median())
    return "" if math.isnan(fall) else f", the middle one by {number(fall)}"


def untried(reward: str, rows: int, why: str) -> Patched:
    """A reward that was tried on none of so many rows, and why."""
    return Patched(reward, 0, not_tried=rows, why_not_tried=why)


def held_against(
    scores: Scores,
    other: Scores,
    advantages: tuple[Floats, Floats],
    found: Mask,
    right: Rightness,
    why_not_tried: str = "",
) -> Patched:
    """What `other` gives the rows of `scores` that both have; `advantages` are those of either."""
    (rows, there), _ = match_rows(scores, other)
    before, after = scores.rewards[rows], other.rewards[there]
    earned, earns = (np.nan_to_num(values) > TINY for values in (advantages[0][rows], advantages[1][there]))
    fallen = earned & ~earns
    less = _less(before, after, fallen)
    mine, is_right = found[rows], right.values[rows] == 1
    fall = np.nan_to_num(before - after, nan=np.inf)

    def losing(among: Mask) -> pd.DataFrame:
        lost = np.flatnonzero(among & less)
        lost = lost[np.lexsort((-fall[lost], ~fallen[lost]))]
        values = {
            "reward": before[lost],
            "patched": after[lost],
            "advantage": advantages[0][rows][lost],
            "patched advantage": advantages[1][there][lost],
            "pushed down": fallen[lost],
        }
        return told(scores, rows[lost], values)

    among = mine & is_right & right.independent[rows]
    lost = losing(~mine & is_right)
    means = [float(np.nanmean(side[mine])) if (~np.isnan(side[mine])).any() else np.nan
             for side in (before, after)]  # fmt: skip
    return Patched(
        reward=other.reward.name,
        rows=len(rows),
        judged=int((~np.isnan(after)).sum()),
        why_not=_why_not(other, there[np.isnan(after)]),
        not_tried=len(scores) - len(rows) if why_not_tried else 0,
        why_not_tried=why_not_tried,
        suspects=int(mine.sum()),
        lower=int((mine & less).sum()),
        earned=int((mine & earned).sum()),
        earn=int((mine & earns).sum()),
        rewards=(means[0], means[1]),
        right=int((~mine & is_right).sum()),
        right_by=right.by,
        pushed_down=int(lost["pushed down"].sum()),
        lost=lost,
        right_suspects=int(among.sum()),
        lost_suspects=losing(among),
    )


def _less(before: Floats, after: Floats, fallen: Mask) -> Mask:
    """Which rows get less of what there is to earn, or were judged and are not any more.

    A row lies somewhere between the lowest and the highest reward. Less is a lower place, where the reward is
    lower too, its advantage is `fallen`, or half of the way is lost; so neither another scale nor a bonus for
    others is a loss. Where all rewards are the same there is no place, and the reward counts.
    """
    judged = ~np.isnan(before)
    both = judged & ~np.isnan(after)
    lower = judged & ~(after >= before - TINY)
    places = []
    for side in (before, after):
        low, high = (side[both].min(), side[both].max()) if both.any() else (0.0, 0.0)
        if high - low <= TINY:
            return lower | (both & fallen)
        places.append((side - low) / (high - low))
    fall = places[0] - places[1]
    return (judged & np.isnan(after)) | (both & (fall > TINY) & (lower | fallen | (fall >= HALF)))


def _why_not(scores: Scores, rows: NDArray[np.intp]) -> str:
    """The commonest reason of these rows for having no reward."""
    reasons: Counter[str] = Counter()
    for name in scores.reward.names:
        statuses = scores.status(name)[rows]
        told = column_values(scores.table[f"error/{name}"].iloc[rows])
        for status, reason in zip(statuses.tolist(), told, strict=True):
            if STATUSES[status] in ("error", "abstained") and reason:
                reasons[
                    f"component {name!r}, {STATUSES[status]}: {' '.join(str(reason).split())[:REASON]}"
                ] += 1
    return reasons.most_common(1)[0][0] if reasons else ""


def told(scores: Scores, rows: NDArray[np.intp], values: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """Rows to read: rollout_id, step where there is one, values, completion."""
    names = [name for name in ("rollout_id", "step") if name in scores.table]
    columns = {name: as_column(column_values(scores.table[name].iloc[rows])) for name in names}
    text = as_column(column_values(scores.table["completion"].iloc[rows]))
    return pd.DataFrame({**columns, **values, "completion": text})
