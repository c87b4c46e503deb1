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

from rewardkit.analysis.matching import match_rows
from rewardkit.analysis.statistics.groups import Floats
from rewardkit.analysis.view import ROUNDING
from rewardkit.findings import counted, percent
from rewardkit.html.markup import number
from rewardkit.rollouts.values import as_column, column_values
from rewardkit.scoring.scores import Scores
from rewardkit.suspects.rightness import Rightness

FALL = 0.1
"""A completion loses where it beats a share of the wrong ones that is smaller by more than this. Our choice.

Ranks do not change with the scale of a reward, nor with a bonus for others that are right.
"""
REASON = 120
"""Characters of a reason in a sentence."""
KEPT = 2_000
"""Characters of a completion in the record."""


@dataclass(frozen=True, eq=False)
class Patched:
    """What another reward gives the same completions.

    `rows` are those that both have, `judged` those that it has a reward for, with `why_not` the commonest
    reason against one; `not_tried` those that it was not given, `why_not_tried`. Of the rows so many are
    `suspects`; `lower` of them lose, `earned` had a positive advantage and `earn` have one still, of which
    `earn_right` are right; `rewards` are their mean rewards before and after. So many of the others are
    `right`, as `right_by` says; in `lost` are those of these that lose, with both rewards and advantages,
    first the `pushed_down`, whose advantage is positive no more. The same of the suspects are
    `right_suspects` and `lost_suspects`: none where what is right is known by the reward alone. One loses
    that is not judged any more, is pushed down, or beats fewer of the wrong completions (by `FALL` of
    them).
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
    earn_right: int = 0
    rewards: tuple[float, float] = (math.nan, math.nan)
    right: int = 0
    right_by: str = ""
    pushed_down: int = 0
    lost: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    right_suspects: int = 0
    lost_suspects: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    @property
    def sentences(self) -> list[str]:
        """What it was not tried on and does not judge; what it does to suspects and right completions."""
        told, left = [], self.rows - self.judged
        if self.not_tried:
            told.append(
                f"{self.reward!r} was not tried on {self.not_tried:,} of {self.rows + self.not_tried:,} "
                f"completions: {self.why_not_tried}. Raise the limit, or make it quicker."
            )
        if left:
            why = f" (most often: {self.why_not})" if self.why_not else ""
            told.append(
                f"{self.reward!r} does not judge {left:,} of {counted(self.rows, 'completion')}{why}. Fix "
                "that first: no reward is not a low one."
            )
        if not self.judged:
            return told
        if self.suspects:
            before, after = map(number, self.rewards)
            right = f", {self.earn_right:,} of them right" if self.earn_right else ""
            told.append(
                f"Under {self.reward!r} {self.earn:,} of {counted(self.suspects, 'suspect')} earn more than "
                f"their siblings{right} ({self.earned:,} before); mean reward {after} ({before} before)."
            )
        told.append(self._losing("other completions", self.right, self.lost))
        if self.right_suspects:
            told.append(
                self._losing("suspects", self.right_suspects, self.lost_suspects)
            )
        return told

    def _losing(self, who: str, right: int, lost: pd.DataFrame) -> str:
        if not right:
            return f"There are no {who} {self.right_by}."
        if lost.empty:
            return (
                f"None of {right:,} {who} {self.right_by} loses under {self.reward!r}."
            )
        return (
            f"{len(lost):,} of {right:,} {who} {self.right_by} ({percent(len(lost) / right)}) lose under "
            f"{self.reward!r}; {int(lost['pushed down'].sum()):,} no longer earn more than their siblings."
        )

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {
            **vars(self),
            "lost": rows_of(self.lost),
            "lost_suspects": rows_of(self.lost_suspects),
        }


def held_against(
    scores: Scores,
    other: Scores,
    advantages: tuple[Floats, Floats],
    found: NDArray[np.bool_],
    right: Rightness,
    why_not_tried: str = "",
) -> Patched:
    """What `other` gives the rows of `scores` that both have; `advantages` are those of either."""
    rows, there, _ = match_rows(scores, other)
    rewards = scores.rewards[rows], other.rewards[there]
    gains = advantages[0][rows], advantages[1][there]
    earned, earns = (np.nan_to_num(values) > ROUNDING for values in gains)
    pushed_down, judged = earned & ~earns, ~np.isnan(rewards[1])
    wrong = (right.values[rows] == 0) & judged
    places = [_beaten(values, wrong) for values in rewards]
    less = ~np.isnan(rewards[0]) & (
        ~judged | pushed_down | (places[0] - places[1] > FALL)
    )
    mine, is_right = found[rows], right.values[rows] == 1
    mine_right = mine & is_right & right.independent[rows]

    def losing(among: NDArray[np.bool_]) -> pd.DataFrame:
        lost = np.flatnonzero(among & less)
        fall = np.nan_to_num(rewards[0] - rewards[1], nan=np.inf)[lost]
        lost = lost[np.lexsort((-fall, ~pushed_down[lost]))]
        values: dict[str, NDArray[Any]] = {
            "reward": rewards[0],
            "patched": rewards[1],
            "advantage": gains[0],
        }
        values |= {"patched advantage": gains[1], "pushed down": pushed_down}
        return rows_to_read(
            scores, rows[lost], {name: column[lost] for name, column in values.items()}
        )

    lost = losing(~mine & is_right)
    before, after = (float(pd.Series(values[mine]).mean()) for values in rewards)
    return Patched(
        reward=other.reward.name,
        rows=len(rows),
        judged=int(judged.sum()),
        why_not=_why_not(other, there[~judged]),
        not_tried=len(scores) - len(rows) if why_not_tried else 0,
        why_not_tried=why_not_tried,
        suspects=int(mine.sum()),
        lower=int((mine & less).sum()),
        earned=int((mine & earned).sum()),
        earn=int((mine & earns).sum()),
        earn_right=int((mine_right & earns).sum()),
        rewards=(before, after),
        right=int((~mine & is_right).sum()),
        right_by=right.by,
        pushed_down=int(lost["pushed down"].sum()),
        lost=lost,
        right_suspects=int(mine_right.sum()),
        lost_suspects=losing(mine_right),
    )


def _beaten(rewards: Floats, wrong: NDArray[np.bool_]) -> Floats:
    """The share of the wrong completions that each beats, ties half; 0 where none is known.

    >>> _beaten(np.array([0.0, 0.0, 1.0]), np.array([True, True, False])).tolist()
    [0.5, 0.5, 1.0]
    """
    known = np.sort(rewards[wrong & ~np.isnan(rewards)])
    below, up_to = (
        known.searchsorted(rewards + step) for step in (-ROUNDING, ROUNDING)
    )
    return (below + up_to) / 2 / max(len(known), 1)


def _why_not(scores: Scores, rows: NDArray[np.intp]) -> str:
    """The commonest reason of these rows for having no reward."""
    reasons: Counter[str] = Counter()
    for name in scores.reward.names:
        some = scores.table[[f"status/{name}", f"error/{name}"]].iloc[rows].dropna()
        for status, reason in some.itertuples(index=False):
            reasons[
                f"component {name!r}, {status}: {' '.join(str(reason).split())[:REASON]}"
            ] += 1
    return reasons.most_common(1)[0][0] if reasons else ""


def rows_to_read(
    scores: Scores, rows: NDArray[np.intp], values: Mapping[str, NDArray[Any]]
) -> pd.DataFrame:
    """Rows of the scores: rollout_id, step where there is one, values, completion."""
    names = [
        name for name in ("rollout_id", "step", "completion") if name in scores.table
    ]
    own = {
        name: as_column(column_values(scores.table[name].iloc[rows])) for name in names
    }
    completion = own.pop("completion")
    return pd.DataFrame({**own, **values, "completion": completion})


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A table as plain data, long texts cut."""
    return [
        {
            str(name): value[:KEPT] if isinstance(value, str) else value
            for name, value in row.items()
        }
        for row in frame.to_dict("records")
    ]
