"""Plan: which reward judges which rows of given columns, and how their scores add up to its rewards."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.errors import CAUGHT, InputError, RewardError, describe_error
from rewardkit.primitives.weights import aggregate

if TYPE_CHECKING:
    from rewardkit.rewards.reward import Reward

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
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
        return [
            *self.rewards.values(),
            *([self.default] if self.default is not None else []),
        ]

    def parts(self, columns: Columns) -> list[Part]:
        """One part a reward that has rows; rows that no reward is for are in none."""
        rewards = {**self.rewards, UNKNOWN: self.default}
        rows: dict[Any, list[int]] = {value: [] for value in rewards}
        for row, value in enumerate(columns[self.column]):
            known = isinstance(value, Hashable) and value in self.rewards
            rows[value if known else UNKNOWN].append(row)
        return [
            Part(
                "default" if value is UNKNOWN else str(value),
                reward,
                np.array(rows[value]),
            )
            for value, reward in rewards.items()
            if reward is not None and rows[value]
        ]


@dataclass(frozen=True, eq=False)
class Plan:
    """A reward bound to columns: everything it asks for is there, and each row has its part, or none."""

    reward: Reward
    rows: int
    parts: tuple[Part, ...]

    def combine(
        self, scores: Mapping[str, Floats], gated: Mapping[str, Flags], gate: Floats
    ) -> Floats:
        """Reward of each row before the transform; NaN where it is not judged.

        `scores` by component, NaN where missing; `gated`: which of those a closed gate kept from running;
        `gate`: 1 where the gate on the whole reward is open, 0 closed, NaN unknown.
        """
        total = np.full(self.rows, np.nan)
        for part in self.parts:
            total[part.rows] = add_up(
                part.reward,
                {name: scores[name][part.rows] for name in part.reward.names},
                {name: gated[name][part.rows] for name in part.reward.names},
                gate[part.rows],
            )
        return total

    def transform(self, rewards: Floats, groups: Rows) -> Floats:
        """The rewards after each part's transform; NaN stays NaN."""
        out = rewards.copy()
        for part in self.parts:
            out[part.rows] = transformed(
                part.reward, rewards[part.rows], groups[part.rows]
            )
        return out


def add_up(
    reward: Reward,
    scores: Mapping[str, Floats],
    gated: Mapping[str, Flags],
    gate: Floats,
) -> Floats:
    """What a reward without a route makes of scores, before its transform; see `Plan.combine`."""
    total = aggregate(
        np.column_stack([scores[name] for name in reward.names]),  # (rows, components)
        np.column_stack([gated[name] for name in reward.names]),
        np.array([item.weight for item in reward.components], dtype=float),
        aggregation=reward.aggregation,
        on_missing=reward.on_missing,
    )
    total[gate == 0] = 0.0
    if reward.on_missing == "nan":
        total[np.isnan(gate)] = np.nan
    return total


def transformed(reward: Reward, rewards: Floats, groups: Rows) -> Floats:
    """The rewards after the transform of a reward without a route; NaN stays NaN."""
    if reward.transform is None:
        return rewards
    own = f"reward {reward.name!r}: its transform"
    try:
        out = np.asarray(reward.transform(rewards.copy(), groups), dtype=float)
    except InputError:
        raise
    except CAUGHT as error:
        raise RewardError(f"{own} failed with {describe_error(error)}") from error
    if out.shape != rewards.shape:
        raise RewardError(
            f"{own} returned shape {out.shape} for {len(rewards)} rewards"
        )
    return out
