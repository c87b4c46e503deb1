"""Variant: the settings of a reward in the workbench, and the resulting figures."""

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
    """Settings for scores: weights, gates, aggregation, the trainer's scaling.

    `base` are the scores to which the settings apply: the initial scores, or those
    after a change of a function. `aggregation` is "" for a route, whose branches keep
    their own. Scheduled weights are viewed at `step`, or with None at each row's step;
    the reward keeps its schedules.
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
        """Return whether it is a route, whose branches keep gates and aggregation."""
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
        """Return a reward with these weights and aggregation, and its own gates.

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
        """Return a reward with these weights and aggregation, at the viewed step."""
        reward = self.combined(reward)
        return reward if self.step is None else reward.at(self.step)

    @cached_property
    def shown_weights(self) -> dict[str, float]:
        """Return the weights of components, scheduled ones at the viewed step."""
        return dict(self.at_step(self.base.reward).weights)

    def range_of(self, name: str) -> tuple[float, float]:
        """Return the lowest and highest score of a component, or of "reward".

        They are infinite if unknown: for a route, a transform or scheduled weights.
        """
        reward = self.base.reward
        if reward.routed_by or reward.transform or self.schedule_steps:
            return -math.inf, math.inf
        lows = []
        highs = []
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
        """Return the steps in the schedules of the reward, in order."""
        steps: set[int] = set()
        for item in self.combined(self.base.reward).all_components:
            if item.schedule is not None:
                steps.update(item.schedule.steps)
        return sorted(steps)

    def after(self, change: Change, scores: Scores, part: str = "") -> Variant:
        """Return the settings after a change of the reward with these `scores`.

        A change of weights, or of gates that need no scoring, is a change of settings.
        Any other change gives a new `base`, scored on the rollouts. Errors as in
        `Suggestion.apply`.
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
    """Return a gate on the task for each later component without a gate."""
    names = list(reward.names)
    task = reward.components[names.index(reward.primary)]
    full = 1.0 if task.range is None else task.range[1]
    gates = {}
    for item in reward.components[names.index(task.name) + 1 :]:
        if item.gate is None and item.name not in reward.task:
            gates[item.name] = Gate(task.name, at_least=full)
    return gates


def _is_movable(gate: Gate | None) -> bool:
    """Return whether a gate can change without scoring, as it is on a named column."""
    return gate is not None and isinstance(gate.on, str)


# --- figures, fast enough to follow a slider


@dataclass(frozen=True, eq=False)
class Figures:
    """The figures shown while a weight moves.

    `rewards` and `advantages` have shape (rows,), NaN where missing. `several` counts
    groups with at least two judged completions, `tied` those of them without a signal.
    `effective` is the share of the squared advantage by component. `auc` is the share
    of sibling pairs that the reward orders as the label does, NaN without a label.
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
    """Return the figures over all parts of a reward; rows in no part are missing."""
    rewards = np.full(rows, np.nan)
    advantages = np.full(rows, np.nan)
    for view in views:
        rewards[view.rows] = view.rewards
        advantages[view.rows] = view.advantages
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
    """Return each component by its title, with its part if there are several."""
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
    """Return the share of nonzero advantages before whose sign is different now.

    NaN without an advantage before, or now.
    """
    if np.isnan(now.advantages).all():
        return math.nan
    signs_before = signs_of(before.advantages)
    signs_now = signs_of(now.advantages)
    had_sign = signs_before != 0
    if not had_sign.any():
        return math.nan
    return float((signs_before != signs_now)[had_sign].mean())
