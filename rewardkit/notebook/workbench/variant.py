"""Variant: the settings that a person moves by hand, and the figures that they move."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rewardkit.analysis.statistics import Floats
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.suggestions.change import Change, applied
from rewardkit.analysis.view import View, signs_of
from rewardkit.primitives.gates import Gate
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.scoring.rescore import replace_gates
from rewardkit.scoring.scores import Scores


@dataclass(frozen=True)
class Variant:
    """Settings on top of scores: weights, gates, aggregation, the trainer's scaling.

    `aggregation` is "" for a route, whose parts keep their own. `base` are the scores
    that these are settings of: those that all starts from, or those that a change of a
    function gave. `step` is that of the training whose weights are looked at, None for
    those of each row's own step; the schedules of the reward stay.
    """

    base: Scores
    weights: Mapping[str, float]
    gates: Mapping[str, Gate | None]
    aggregation: str
    training: Training
    step: int | None = None

    @classmethod
    def of(cls, base: Scores, training: Training) -> Variant:
        """Return the settings with which a reward was scored."""
        reward = base.reward
        gates: dict[str, Gate | None] = {}
        aggregation = ""
        if not reward.routed_by:
            aggregation = reward.aggregation
            gates |= dict.fromkeys(proposed_gates(reward))
            for item in reward.components:
                if _is_movable(item.gate):
                    gates[item.name] = item.gate
        weights = dict(reward.weights)
        return cls(base, weights, gates, aggregation, training)

    @property
    def is_routed(self) -> bool:
        """Return whether it is a route, whose parts keep gates and aggregation."""
        return bool(self.base.reward.routed_by)

    def make_reward(self) -> Reward:
        """Return the reward with these settings.

        Raises:
            RewardError: weights that the aggregation does not take.
        """
        return replace_gates(self.combined(self.base.reward), self.moved)

    @property
    def moved(self) -> dict[str, Gate | None]:
        """Return the gates that differ from those of the base."""
        if not self.gates:
            return {}
        start = {item.name: item.gate for item in self.base.reward.components}
        return {name: gate for name, gate in self.gates.items() if gate != start[name]}

    def combined(self, reward: Reward) -> Reward:
        """Return a reward with the weights and aggregation, its gates as they are.

        A weight that was not moved keeps its schedule.
        """
        if self.aggregation and self.aggregation != reward.aggregation:
            reward = replace(reward, aggregation=self.aggregation)
        moved = {}
        for name, weight in reward.weights.items():
            if self.weights[name] != weight:
                moved[name] = self.weights[name]
        return reward.reweigh(moved)

    def at_step(self, reward: Reward) -> Reward:
        """Return a reward combined as here, at the step that is looked at."""
        reward = self.combined(reward)
        return reward if self.step is None else reward.at(self.step)

    @cached_property
    def shown_weights(self) -> dict[str, float]:
        """Return the weights that are looked at, those of a schedule at the step."""
        return dict(self.at_step(self.base.reward).weights)

    def range_of(self, name: str) -> tuple[float, float]:
        """Return the lowest and highest score of a component, or reward under "reward".

        Infinite where that is not known: of a route, a transform, weights by step.
        """
        reward = self.base.reward
        if reward.routed_by or reward.transform or self.schedule_steps:
            return -math.inf, math.inf
        lows, highs = [], []
        for item in reward.components:
            low, high = item.range or (-math.inf, math.inf)
            if item.name == name:
                return low, high
            weight = self.weights[item.name]
            if weight:
                lows.append(min(0.0, weight * low, weight * high))
                highs.append(max(0.0, weight * low, weight * high))
        return sum(lows), sum(highs)

    @cached_property
    def schedule_steps(self) -> list[int]:
        """Return the steps that schedules of the reward name, in order."""
        steps: set[int] = set()
        for item in self.combined(self.base.reward).all_components:
            if item.schedule is not None:
                steps.update(item.schedule.steps)
        return sorted(steps)

    def after(self, change: Change, scores: Scores, part: str = "") -> Variant:
        """Return the settings after a change of the reward with these `scores`.

        Another weight, or another gate that is decided without scoring, is a setting;
        anything else is tried on the rollouts. Errors as in `Suggestion.apply`.
        """
        if change.weights and not part:
            return replace(self, weights={**self.weights, **change.weights})
        gates = {}
        for name, options in change.components.items():
            if list(options) == ["gate"] and _is_movable(options["gate"]):
                gates[name] = options["gate"]
        if gates and len(gates) == len(change.components) and not self.is_routed:
            return replace(self, gates={**self.gates, **gates})
        return Variant.of(applied(change, scores, part), self.training)


def proposed_gates(reward: Reward) -> dict[str, Gate]:
    """Return a gate on the task for each component that has none and comes after it."""
    names = list(reward.names)
    task = reward.components[names.index(reward.primary)]
    full = 1.0 if task.range is None else task.range[1]
    gates = {}
    for item in reward.components[names.index(task.name) + 1 :]:
        if item.gate is None and item.name not in reward.task:
            gates[item.name] = Gate(task.name, at_least=full)
    return gates


def _is_movable(gate: Gate | None) -> bool:
    """Return whether a gate can be moved without scoring: it is on a named column."""
    return gate is not None and isinstance(gate.on, str)


# --- figures, from arrays, quick enough to follow a slider


@dataclass(frozen=True, eq=False)
class Figures:
    """What a person looks at while a weight moves, of rewards (rows,) and their groups.

    `several` counts the groups of two judged completions or more, `tied` those of them
    without a signal. `effective` is the share of the squared advantage by component,
    and `auc` the share of sibling pairs that the reward orders as the label does: NaN
    without a label.
    """

    rewards: Floats
    advantages: Floats
    several: int
    tied: int
    effective: Mapping[str, float]
    auc: float

    @property
    def tied_share(self) -> float:
        """Return the share of groups of two or more without a signal."""
        return self.tied / self.several if self.several else math.nan

    @property
    def missing(self) -> int:
        """Return the number of rows whose reward is missing."""
        return int(np.isnan(self.rewards).sum())


def figures_of(views: Sequence[View], rows: int) -> Figures:
    """Return the figures of all parts of a reward; rows of no part count as missing."""
    rewards = np.full(rows, np.nan)
    advantages = np.full(rows, np.nan)
    for view in views:
        rewards[view.rows], advantages[view.rows] = view.rewards, view.advantages
    effective = {}
    for title, (view, name) in name_components(views).items():
        share = view.effective_weights.get(name)
        if share is not None:
            effective[title] = share
    return Figures(
        rewards,
        advantages,
        sum(view.several for view in views),
        sum(int(view.dead.sum()) for view in views),
        effective,
        _auc(views),
    )


def name_components(views: Sequence[View]) -> dict[str, tuple[View, str]]:
    """Return each component by its title: with its part where there are several."""
    names = {}
    for view in views:
        for name in view.names:
            title = f"{view.part}: {name}" if len(views) > 1 else name
            names[title] = view, name
    return names


def _auc(views: Sequence[View]) -> float:
    agree = pairs = 0.0
    for view in views:
        if view.context.label is not None:
            right, total = concordance(view.paid_by, view.context.label, view.groups)
            agree += float(right.sum())
            pairs += float(total.sum())
    return agree / pairs if pairs else math.nan


def share_of_turned_signs(before: Figures, now: Figures) -> float:
    """Return the share of advantages before whose sign is another now, or gone.

    NaN where no advantage is known now, or none was before.
    """
    if np.isnan(now.advantages).all():
        return math.nan
    signs_before = signs_of(before.advantages)
    signs_now = signs_of(now.advantages)
    had_sign = signs_before != 0
    if not had_sign.any():
        return math.nan
    return float((signs_before != signs_now)[had_sign].mean())
