"""Plan: which reward judges which rows, and how their scores add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rewardkit.errors import CAUGHT, InputError, RewardError, describe_error
from rewardkit.primitives.weights import aggregate
from rewardkit.rewards.reward import Columns, Floats, Part, Reward, Rows

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Plan:
    """A reward bound to columns that are all there, and the rows of each part."""

    reward: Reward
    rows: int
    parts: tuple[Part, ...]

    def combine(
        self, scores: Mapping[str, Floats], gated: Mapping[str, Flags], gate: Floats
    ) -> Floats:
        """Reward of each row before the transform; NaN where it is not judged.

        `scores` by component, NaN where missing; `gated`: which of those a closed gate
        kept from running; `gate`: 1 where the gate on the whole reward is open, 0
        closed, NaN unknown.
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
        """Return the rewards after each part's transform; NaN stays NaN."""
        out = rewards.copy()
        for part in self.parts:
            out[part.rows] = transformed(
                part.reward, rewards[part.rows], groups[part.rows]
            )
        return out

    @cached_property
    def part_of_row(self) -> Rows:
        """Index of the part that judges each row, (rows,); -1 where none does."""
        owners = np.full(self.rows, -1, dtype=np.intp)
        for place, part in enumerate(self.parts):
            owners[part.rows] = place
        return owners

    def take(self, rows: Rows) -> Plan:
        """Return the plan of these rows alone, in their order."""
        owners = self.part_of_row[rows]
        parts = []
        for place, part in enumerate(self.parts):
            part_rows = np.flatnonzero(owners == place)
            if len(part_rows) or not self.reward.routed_by:
                parts.append(replace(part, rows=part_rows))
        return Plan(self.reward, len(rows), tuple(parts))


def bind(reward: Reward, columns: Columns, rows: int | None = None) -> Plan:
    """Make the plan of a reward for these columns, lists of `rows` values.

    Raises:
        RewardError: a column is asked for that is not there, or has the name of a
            field or component; the reward was read from a run record, so that its
            functions are not at hand.
    """
    if not reward.can_run:
        raise RewardError(
            f"reward {reward.name!r} was read from a run record and cannot be run; "
            "load the reward itself"
        )
    reward.check_columns(list(columns))
    count = len(next(iter(columns.values()), ())) if rows is None else rows
    return Plan(reward, count, tuple(reward.parts(columns, count)))


def add_up(
    reward: Reward,
    scores: Mapping[str, Floats],
    gated: Mapping[str, Flags],
    gate: Floats,
) -> Floats:
    """Combine the scores of a reward without a route, before its transform."""
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
    """Return rewards after the transform of a reward without a route; NaN stays NaN."""
    if reward.transform is None:
        return rewards
    label = f"reward {reward.name!r}: its transform"
    try:
        out = np.asarray(reward.transform(rewards.copy(), groups), dtype=float)
    except InputError:
        raise
    except CAUGHT as error:
        raise RewardError(f"{label} failed with {describe_error(error)}") from error
    if out.shape != rewards.shape:
        raise RewardError(
            f"{label} returned shape {out.shape} for {len(rewards)} rewards"
        )
    return out
