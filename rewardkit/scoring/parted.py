"""Scores that stay on disk in parts, and figures that add up over parts.

A part holds whole groups, so counts of groups add up, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.findings import percent, short_number
from rewardkit.plain import Plain, Record
from rewardkit.rewards.reward import Floats, Reward, Rows
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.scores import RUN_RECORD, Scores, rollouts_of
from rewardkit.scoring.stored import join_tables, read_stored

FIGURES = "figures"
"""Key of the figures in the records of runs and parts."""

SAMPLED_SHARES = (0.001, 0.01, 0.1)
"""Shares of a part's prompts whose rows come first in its file, for samples.

Our choice: the last suffices for a sample of 2.5 million rows, the second of 25.
"""

RUN_KEYS = ("versions", "ignore_gates", "timeout", "printed", FIGURES, "parts")
"""Keys of a run record that describe the run, not its scores."""


class PartedScores(Scores):
    """Scores of a folder of parts that are not held in memory.

    `rewards`, `score` and `status` read one column on each access. `table` and
    `rollouts` read and keep everything; `reweigh` and `at` return scores in memory.
    """

    folder: Path
    memory: int
    """Peak memory in bytes of the processes that scored them, 0 if not known."""

    def __new__(cls, *args: Any, **fields: Any) -> Any:
        """Create `Scores` in memory if a table is given, as by `replace`."""
        if "table" in fields:
            return Scores(**fields)
        return super().__new__(cls)

    def __init__(self, folder: Path, reward: Reward, memory: int = 0) -> None:
        record = json.loads((folder / RUN_RECORD).read_text(encoding="utf-8"))
        run = {name: record[name] for name in RUN_KEYS if name in record}
        # `Scores` would compute the last two from its rows
        vars(self).update(
            folder=folder,
            reward=reward,
            memory=memory,
            run=run,
            record=record,
            counts=record["counts"],
        )

    def __len__(self) -> int:
        return int(self.record["rollouts"]["rows"])

    @property
    def paths(self) -> list[Path]:
        """Return the paths of the parts, in order."""
        return [self.folder / name for name in self.run["parts"]]

    @cached_property
    def table(self) -> pd.DataFrame:
        """Read all rows and keep them; see `Scores`."""
        return self._read(None)

    @cached_property
    def rollouts(self) -> Rollouts:
        """Read the rollouts of all rows and keep them."""
        return rollouts_of(self.table, self.record["rollouts"])

    def column(self, name: str) -> pd.Series[Any] | None:
        """Read a column of all parts, None if no part has it."""
        if "table" in self.__dict__:
            return super().column(name)
        return self._read([name]).get(name)

    def _read(self, names: Sequence[str] | None) -> pd.DataFrame:
        """Read these columns of all parts, or all columns."""
        return join_tables([read_stored(path, names) for path in self.paths])


@dataclass(frozen=True)
class PartFigures:
    """Counts and sums of the scores of some rows.

    `total` is the sum of the rewards. `siblings` counts the groups with two judged
    completions or more, `signals` those of them whose rewards differ.
    """

    rows: int = 0
    judged: int = 0
    total: float = 0.0
    siblings: int = 0
    signals: int = 0

    @classmethod
    def of(cls, scores: Scores) -> PartFigures:
        """Return the figures of scores in memory."""
        rewards = scores.rewards
        is_judged = ~np.isnan(rewards)
        judged = rewards[is_judged]
        siblings, signals = _count_signals(judged, scores.groups[is_judged])
        return cls(len(rewards), len(judged), float(judged.sum()), siblings, signals)

    @classmethod
    def join(cls, parts: Iterable[Plain]) -> PartFigures:
        """Add up the figures in the records of parts."""
        sums: Record = dict.fromkeys(cls.__dataclass_fields__, 0)
        for part in parts:
            for name in sums:
                sums[name] += part[name]
        return cls(**sums)

    def __str__(self) -> str:
        if not self.judged:
            return f"none of {self.rows:,} rows has a reward"
        mean = short_number(self.total / self.judged)
        sentence = f"of all {self.rows:,} rows the mean reward is {mean}"
        if self.siblings:
            share = percent(self.signals / self.siblings)
            sentence += f", and {share} of {self.siblings:,} groups have a signal"
        if self.judged < self.rows:
            sentence += f"; {self.rows - self.judged:,} rows are not judged"
        return sentence


def _count_signals(rewards: Floats, groups: Rows) -> tuple[int, int]:
    """Return the numbers of groups with two rewards, and with different rewards."""
    if not len(rewards):
        return 0, 0
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    ranges = np.maximum.reduceat(rewards[order], starts)
    ranges = ranges - np.minimum.reduceat(rewards[order], starts)
    return int((sizes > 1).sum()), int((ranges > 0).sum())
