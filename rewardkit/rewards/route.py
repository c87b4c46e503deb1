"""Route: a reward for each value of a column."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rewardkit.errors import RewardError
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import fingerprint
from rewardkit.rewards.reward import Columns, Part, Reward

NO_REWARD: Any = object()
"""Stands for the values of the routing column that no reward is for."""


@dataclass(frozen=True, eq=False)
class RoutedReward(Reward):
    """A reward that gives each row to the one for its value of `column`.

    Other rows go to `default`, or are not judged. `fields` and `components` are those
    of all branches, each name once. Made by `Route`.
    """

    column: str = field(kw_only=True)
    rewards: Mapping[str, Reward] = field(kw_only=True)
    default: Reward | None = field(default=None, kw_only=True)

    def _problems(self) -> Iterator[str]:
        """Yield what contradicts itself; branches check their own order and weights."""
        yield from self._type_problems()
        yield from self._name_problems()

    @property
    def routed_by(self) -> str:
        """The column whose value decides which reward a row gets."""
        return self.column

    @property
    def branches(self) -> list[Reward]:
        """Its rewards, the default one last."""
        return _branches(self.rewards, self.default)

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each component; NaN where its rewards give it different ones."""
        weights: dict[str, float] = {}
        for item in self.all_components:
            if weights.setdefault(item.name, float(item.weight)) != item.weight:
                weights[item.name] = np.nan
        return weights

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Names of the rollout columns that the route and its branches ask for."""
        names = [name for branch in self.branches for name in branch.needs]
        return tuple(dict.fromkeys([self.column, *names]))

    @property
    def functions(self) -> list[Any]:
        """What decides its scores: the functions and gates of all branches."""
        return [item for branch in self.branches for item in branch.functions]

    @property
    def is_async(self) -> bool:
        """Whether a field or component has to be awaited."""
        return any(branch.is_async for branch in self.branches)

    @property
    def can_run(self) -> bool:
        """Whether the functions of all branches are at hand."""
        return all(branch.can_run for branch in self.branches)

    def parts(self, columns: Columns, rows: int) -> list[Part]:
        """Split the rows by their value of the routing column, see `Reward.parts`."""
        places: dict[Any, list[int]] = {value: [] for value in self.rewards}
        places[NO_REWARD] = []
        for row, value in enumerate(columns[self.column]):
            is_known = isinstance(value, Hashable) and value in self.rewards
            places[value if is_known else NO_REWARD].append(row)
        others = places.pop(NO_REWARD)
        parts = [
            Part(str(value), self.rewards[value], np.array(rows))
            for value, rows in places.items()
            if rows
        ]
        if others and self.default is not None:
            parts.append(Part("default", self.default, np.array(others)))
        return parts

    def map(self, change: Callable[[Reward], Reward]) -> Reward:
        """Return the route with `change` made to each of its branches."""
        rewards = {value: change(reward) for value, reward in self.rewards.items()}
        default = None if self.default is None else change(self.default)
        return Route(self.column, rewards, default, name=self.name)

    def map_part(self, label: str, change: Callable[[Reward], Reward]) -> Reward:
        """Return the route with `change` made to the branch of one part only.

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

    def check_columns(self, available: Sequence[str]) -> None:
        """Raise a RewardError as `Reward.check_columns` does, for each branch."""
        for branch in self.branches:
            branch._check_column("the route", self.column, available)
            branch.check_columns(available)

    def record(self) -> dict[str, Any]:
        """Return the definition as plain data, with its two fingerprints."""
        rewards = [
            {"value": value, "reward": reward.record()}
            for value, reward in self.rewards.items()
        ]
        default = None if self.default is None else self.default.record()

        def prints(kind: str) -> str:
            values = [
                [item["value"], item["reward"]["fingerprints"][kind]]  # type: ignore[index]
                for item in rewards
            ]
            return fingerprint(
                [self.column, values, default and default["fingerprints"][kind]]
            )

        return {
            "name": self.name,
            "route": {"column": self.column, "rewards": rewards, "default": default},
            "fingerprints": {kind: prints(kind) for kind in ("scoring", "reward")},
        }


def Route(
    column: str,
    rewards: Mapping[str, Reward],
    default: Reward | None = None,
    *,
    name: str | None = None,
) -> Reward:
    """Make a reward of one for each value of a column.

    Rows whose value has no reward go to `default`, or are not judged (``abstained``,
    reward NaN). Components of the same name share a score column; for the rows of
    another reward they are ``gated``.

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
    return [*rewards.values()] if default is None else [*rewards.values(), default]
