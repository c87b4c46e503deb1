"""Routes and plans: which reward judges which rows, and how scores add up."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.errors import (
    CAUGHT,
    InputError,
    RewardError,
    describe_error,
    preview,
)
from rewardkit.primitives.weights import aggregate
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import fingerprint
from rewardkit.rewards.reward import Columns, Floats, Part, Reward, Rows


@dataclass(frozen=True, eq=False)
class RoutedReward(Reward):
    """A reward that judges each row by the reward for its value of `column`.

    Rows with another value go to `default`, or are not judged. `fields` and
    `components` are those of all branches, each name once. Made by `Route`.
    """

    _: KW_ONLY
    column: str
    rewards: Mapping[str, Reward]
    default: Reward | None = None

    def _problems(self) -> Iterator[str]:
        """Yield contradictions; branches check their own order and weights."""
        yield from self._type_problems()
        yield from self._name_problems()

    @property
    def routed_by(self) -> str:
        """The column whose value decides which reward a row gets."""
        return self.column

    @property
    def branches(self) -> list[Reward]:
        """The rewards of the route, the default last."""
        return _branches(self.rewards, self.default)

    def parts(self, columns: Columns, rows: int) -> list[Part]:
        """Split the rows by their value of the routing column, see `Reward.parts`."""
        rows_of: dict[Any, list[int]] = {value: [] for value in self.rewards}
        others = []
        for row, value in enumerate(columns[self.column]):
            if isinstance(value, Hashable) and value in self.rewards:
                rows_of[value].append(row)
            else:
                others.append(row)
        parts = []
        for value, reward in self.rewards.items():
            if rows_of[value]:
                parts.append(Part(str(value), reward, np.array(rows_of[value])))
        if others and self.default is not None:
            parts.append(Part("default", self.default, np.array(others)))
        return parts

    def map(self, change: Callable[[Reward], Reward]) -> Reward:
        """Return a copy of the route with `change` applied to each branch."""
        rewards = {value: change(reward) for value, reward in self.rewards.items()}
        default = self.default
        if default is not None:
            default = change(default)
        return Route(self.column, rewards, default, name=self.name)

    def map_part(self, label: str, change: Callable[[Reward], Reward]) -> Reward:
        """Return a copy of the route with `change` applied to the branch of one part.

        Raises:
            KeyError: no part has this label, see `Part`.
        """
        rewards = dict(self.rewards)
        for value, reward in rewards.items():
            if str(value) == label:
                rewards[value] = change(reward)
                return Route(self.column, rewards, self.default, name=self.name)
        if label != "default" or self.default is None:
            raise KeyError(label)
        return Route(self.column, rewards, change(self.default), name=self.name)

    def record(self) -> dict[str, Any]:
        """Return the definition as plain data, with its two fingerprints."""
        records = {value: reward.record() for value, reward in self.rewards.items()}
        default = self.default.record() if self.default else None
        rewards = []
        for value, record in records.items():
            rewards.append({"value": value, "reward": record})
        fingerprints = {}
        for kind in ("scoring", "reward"):
            hashes = [[at, item["fingerprints"][kind]] for at, item in records.items()]
            other = default and default["fingerprints"][kind]
            fingerprints[kind] = fingerprint([self.column, hashes, other])
        return {
            "name": self.name,
            "route": {"column": self.column, "rewards": rewards, "default": default},
            "fingerprints": fingerprints,
        }


def Route(
    column: str,
    rewards: Mapping[str, Reward],
    default: Reward | None = None,
    *,
    name: str | None = None,
) -> Reward:
    """Make a reward that judges each row by the reward for its value of a column.

    Rows whose value has no reward go to `default`, or are not judged (``abstained``,
    reward NaN). Components of the same name share a score column; on rows of another
    reward they are ``gated``.

    Raises:
        RewardError: no rewards, or a route in a route.
    """
    branches = _branches(rewards, default)
    call = f"Route({column!r}, ...)"
    if not branches:
        raise RewardError(f"{call} has no rewards; give {{value: reward}}")
    for branch in branches:
        if not isinstance(branch, Reward) or branch.routed_by:
            raise RewardError(f"{call} takes rewards; got {branch!r}")
    for value in rewards:
        if not isinstance(value, str | int | float | None):
            raise RewardError(f"{call} has the value {value!r}; give texts or numbers")
    fields: dict[str, Callable[..., Any]] = {}
    components: dict[str, Component] = {}
    for branch in branches:
        fields |= branch.fields
        components |= {item.name: item for item in branch.components}
    return RoutedReward(
        name or "+".join(dict.fromkeys(branch.name for branch in branches)),
        fields,
        tuple(components.values()),
        column=column,
        rewards=dict(rewards),
        default=default,
    )


def _branches(rewards: Mapping[str, Reward], default: Reward | None) -> list[Reward]:
    branches = list(rewards.values())
    if default is not None:
        branches.append(default)
    return branches


Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Plan:
    """A reward bound to the columns of a table, and the rows of each part."""

    reward: Reward
    rows: int
    parts: tuple[Part, ...]
    steps: Floats | None = None

    def combine(
        self, scores: Mapping[str, Floats], gated: Mapping[str, Flags], gate: Floats
    ) -> Floats:
        """Return the reward of each row before the transform; NaN if not judged.

        Arrays have shape (rows,). `scores`: by component, NaN where missing. `gated`:
        True where a closed gate kept that component from running. `gate`: the gate on
        the whole reward, 1 open, 0 closed, NaN unknown.
        """
        total = np.full(self.rows, np.nan)
        for reward, rows in self._rewards_at_steps():
            total[rows] = add_up(
                reward,
                {name: scores[name][rows] for name in reward.names},
                {name: gated[name][rows] for name in reward.names},
                gate[rows],
            )
        return total

    def _rewards_at_steps(self) -> Iterator[tuple[Reward, Rows]]:
        """Yield each reward, weighted as at a step, with the rows of that step."""
        for part in self.parts:
            if self.steps is None or not part.reward.is_scheduled:
                yield part.reward, part.rows
                continue
            steps = self.steps[part.rows]
            distinct, places = np.unique(steps, return_inverse=True)
            for place, step in enumerate(distinct):
                yield part.reward.at(step), part.rows[places == place]

    def transform(self, rewards: Floats, groups: Rows) -> Floats:
        """Return the rewards after each part's transform; NaN stays NaN."""
        out = rewards.copy()
        for part in self.parts:
            out[part.rows] = apply_transform(
                part.reward, rewards[part.rows], groups[part.rows]
            )
        return out

    @cached_property
    def part_of_row(self) -> Rows:
        """Index of the part that judges each row, (rows,); -1 for an unjudged row."""
        owners = np.full(self.rows, -1, dtype=np.intp)
        for place, part in enumerate(self.parts):
            owners[part.rows] = place
        return owners

    def take(self, rows: Rows) -> Plan:
        """Return the plan of only these rows, in their order."""
        owners = self.part_of_row[rows]
        parts = []
        for place, part in enumerate(self.parts):
            part_rows = np.flatnonzero(owners == place)
            if len(part_rows) or not self.reward.routed_by:
                parts.append(replace(part, rows=part_rows))
        steps = None if self.steps is None else self.steps[rows]
        return Plan(self.reward, len(rows), tuple(parts), steps)


def bind(reward: Reward, columns: Columns, rows: int | None = None) -> Plan:
    """Make the plan of a reward for these columns, lists of `rows` values.

    Raises:
        RewardError: a column is missing, or has the name of a field or component; the
            reward was read from a run record and so has no functions.
    """
    if not reward.can_run:
        raise RewardError(
            f"reward {reward.name!r} was read from a run record and cannot be run; "
            "load the reward itself"
        )
    reward.check_columns(list(columns))
    if rows is None:
        rows = len(next(iter(columns.values()), ()))
    parts = tuple(reward.parts(columns, rows))
    return Plan(reward, rows, parts, steps_of(reward, columns.get("step")))


def steps_of(reward: Reward, values: Sequence[Any] | None) -> Floats | None:
    """Return the training step of each row, (rows,), NaN where missing.

    None if no weight depends on it. RewardError: a step is no number.
    """
    if values is None or not reward.is_scheduled:
        return None
    steps = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if value is None:
            continue
        if not isinstance(value, Real) or isinstance(value, bool):
            raise RewardError(
                f"row {row} has step {preview(value)}, and reward {reward.name!r} has "
                "weights that depend on it; give numbers, or leave the column out"
            )
        steps[row] = float(value)
    return steps


def at_step_of(reward: Reward, row: Mapping[str, Any]) -> Reward:
    """Return the reward with the weights at the step of a row."""
    steps = steps_of(reward, [row.get("step")])
    return reward if steps is None else reward.at(steps[0])


def add_up(
    reward: Reward,
    scores: Mapping[str, Floats],
    gated: Mapping[str, Flags],
    gate: Floats,
) -> Floats:
    """Return the reward of each row, (rows,), before the transform, without a route."""
    total = aggregate(
        np.column_stack([scores[name] for name in reward.names]),  # (rows, components)
        np.column_stack([gated[name] for name in reward.names]),
        np.array(list(reward.weights.values())),
        aggregation=reward.aggregation,
        on_missing=reward.on_missing,
    )
    total[gate == 0] = 0.0
    if reward.on_missing == "nan":
        total[np.isnan(gate)] = np.nan
    return total


def apply_transform(reward: Reward, rewards: Floats, groups: Rows) -> Floats:
    """Return the rewards after the transform of a reward without a route.

    Shape (rows,).
    """
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
