"""Figures of the scores of a log, exact for all its parts: sums that add up.

A part holds whole groups, so that what is said of groups adds up, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rewardkit.plain import Plain, Record
from rewardkit.rewards.reward import Floats, Rows
from rewardkit.scoring.scores import Scores

FIGURES = "figures"
"""Key of a run record, and of that of a part, under which they stand."""


@dataclass(frozen=True)
class PartFigures:
    """Counts and sums of the scores of some rows.

    `siblings` are the groups with two judged completions or more, `signals` those of
    them whose rewards differ.
    """

    rows: int = 0
    judged: int = 0
    total: float = 0.0
    siblings: int = 0
    signals: int = 0

    @classmethod
    def of(cls, scores: Scores) -> PartFigures:
        """Return those of scores in memory."""
        rewards = scores.rewards
        is_judged = ~np.isnan(rewards)
        judged = rewards[is_judged]
        siblings, signals = _count_signals(judged, scores.groups[is_judged])
        return cls(len(rewards), len(judged), float(judged.sum()), siblings, signals)

    @classmethod
    def join(cls, parts: Iterable[Plain]) -> PartFigures:
        """Add up the figures of parts, as their records have them."""
        sums: Record = dict.fromkeys(cls.__dataclass_fields__, 0)
        for part in parts:
            for name in sums:
                sums[name] += part[name]
        return cls(**sums)

    def __str__(self) -> str:
        if not self.judged:
            return f"none of {self.rows:,} rows has a reward"
        sentence = f"of all {self.rows:,} rows the mean reward is "
        sentence += f"{self.total / self.judged:.3g}"
        if self.siblings:
            share = self.signals / self.siblings
            sentence += f", and {share:.1%} of {self.siblings:,} groups have a signal"
        if self.judged < self.rows:
            sentence += f"; {self.rows - self.judged:,} rows are not judged"
        return sentence


def _count_signals(rewards: Floats, groups: Rows) -> tuple[int, int]:
    """Count the groups with two rewards or more, and those whose rewards differ."""
    if not len(rewards):
        return 0, 0
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    ranges = np.maximum.reduceat(rewards[order], starts)
    ranges = ranges - np.minimum.reduceat(rewards[order], starts)
    return int((sizes > 1).sum()), int((ranges > 0).sum())
