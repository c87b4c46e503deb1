"""Plan: which reward judges which rows of given columns, and how its scores add up there."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rewardkit.rewards.reward import Reward

__all__ = ["ROLLOUT", "Columns", "Floats", "Part", "Plan", "Routing", "Rows"]

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]
Columns = Mapping[str, Sequence[Any]]

ROLLOUT = "rollout"
"""Who asks for this column, where there is none of the name, gets the whole row as a dict of columns."""

UNKNOWN: Any = object()  # a value of the routing column that no reward is for


@dataclass(frozen=True)
class Part:
    """A reward and the rows it is for; `label` is its value of the routing column, "" without routing."""

    label: str
    reward: Reward
    rows: Rows


@dataclass(frozen=True)
class Routing:
    """A reward for each value of a column; other rows go to `default`, or are not judged."""

    column: str
    rewards: Mapping[str, Reward]
    default: Reward | None = None

    @property
    def inner(self) -> list[Reward]:
        """Its rewards, the default one last."""
        return [*self.rewards.values(), *([self.default] if self.default is not None else [])]

    def parts(self, columns: Columns) -> list[Part]:
        """One part a reward that has rows; rows that no reward is for are in none."""
        rows_of: dict[Any, list[int]] = {}
        for row, value in enumerate(columns[self.column]):
            known = isinstance(value, Hashable) and value in self.rewards
            rows_of.setdefault(value if known else UNKNOWN, []).append(row)
        parts = [
            Part(str(value), reward, np.array(rows_of[value]))
            for value, reward in self.rewards.items()
            if value in rows_of
        ]
        if self.default is not None and UNKNOWN in rows_of:
            parts.append(Part("default", self.default, np.array(rows_of[UNKNOWN])))
        return parts


@dataclass(frozen=True, eq=False)
class Plan:
    """A reward bound to columns: everything it asks for is there, and each row has its part, or none."""

    reward: Reward
    rows: int
    parts: tuple[Part, ...]

    def combine(
        self, scores: Mapping[str, Floats], gated: Mapping[str, NDArray[np.bool_]], gate: Floats
    ) -> Floats:
        """Reward of each row before the transform; NaN where it is not judged.

        `scores` by component, NaN where missing; `gated`: which of those a closed gate kept from running;
        `gate`: 1 where the gate on the whole reward is open, 0 closed, NaN unknown.
        """
        if not self.reward.routing:
            return self.reward.add_up(scores, gated, gate)
        total = np.full(self.rows, np.nan)
        for part in self.parts:
            total[part.rows] = part.reward.add_up(
                {name: values[part.rows] for name, values in scores.items()},
                {name: values[part.rows] for name, values in gated.items()},
                gate[part.rows],
            )
        return total

    def transform(self, rewards: Floats, groups: Rows) -> Floats:
        """The rewards after each part's transform; NaN stays NaN."""
        if not self.reward.routing:
            return self.reward.transformed(rewards, groups)
        out = rewards.copy()
        for part in self.parts:
            out[part.rows] = part.reward.transformed(rewards[part.rows], groups[part.rows])
        return out
