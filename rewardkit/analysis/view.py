"""View: rewarded rows, what is known of the task in them, and who pays what."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rewardkit.analysis.rewarded_rows import ROUNDING, RewardedRows
from rewardkit.analysis.statistics import (
    NO_INTERVAL,
    Codes,
    Floats,
    GroupStats,
    Interval,
    Ratio,
    advantages,
    group_stats,
    in_both,
    numbered,
    ratio,
    within,
)
from rewardkit.analysis.statistics.pairs import Correlation, correlations
from rewardkit.analysis.totals import find_totals
from rewardkit.analysis.verdicts import Verdicts, find_verdicts
from rewardkit.rewards.recorded import is_recorded
from rewardkit.rewards.reward import Part, Reward
from rewardkit.rewards.route import Plan, apply_transform

STEPS_AT_START = 0.15
"""Share of the steps of a run that are its first stage. Our choice."""
GROUPS_AT_START = 32
"""Groups of that stage, at least: they say how a policy writes. Our choice."""
FEWEST_STEPS = 10
"""Steps in which a policy may change. Our choice."""


@dataclass(frozen=True, eq=False)
class View(RewardedRows):
    """Rewarded rows with the verdicts on them and the share of each component.

    It is what the rules of a diagnosis look at.
    """

    # --- groups and steps

    @cached_property
    def first_rows(self) -> Codes:
        """Return the first row of each group, (groups,): it stands for the prompt."""
        return np.unique(self.groups, return_index=True)[1]

    @cached_property
    def stages(self) -> Codes:
        """Return codes of the stages of a run, 0 for the rows it began with, (rows,).

        All are 0 where there are no steps, or too few for a policy to change.
        """
        steps = self.context.steps
        stages = np.zeros(len(self), dtype=np.intp)
        if steps is None or np.isnan(steps).any() or np.ptp(steps) < FEWEST_STEPS:
            return stages
        distinct, places = np.unique(steps, return_inverse=True)
        groups = np.cumsum(np.bincount(places[self.first_rows]))
        enough = 1 + int(np.searchsorted(groups, GROUPS_AT_START))
        first_steps = max(enough, math.ceil(STEPS_AT_START * len(distinct)))
        return np.asarray(places // first_steps, dtype=np.intp)

    # --- the task

    @cached_property
    def totals(self) -> frozenset[str]:
        """Return the recorded scores that are the sum of others."""
        if not is_recorded(self.reward):
            return frozenset()
        return find_totals({name: self.scores[name] for name in self.paid_names})

    @property
    def task_is_known(self) -> bool:
        """Return whether a component is known to be the task.

        The weights of a log say what was paid, not what is right: its heaviest score
        may be one for form.
        """
        if not is_recorded(self.reward):
            return self.reward.task_is_known
        return self.task_is_declared or len(self.paid_names) == 1

    @property
    def task_is_declared(self) -> bool:
        """Return whether a component is declared to be the task."""
        return any(item.primary for item in self.reward.components)

    @cached_property
    def verdicts(self) -> Verdicts | None:
        """Return what says which rows did the task, or None.

        The primary component, if it is declared, even if only recorded, or if it is
        known and another component has a weight at some step. Else see `find_verdicts`.
        """
        components = self.reward.components
        names = [item.name for item in components if item.largest_weight]
        if self.task_is_declared or (self.task_is_known and len(names) > 1):
            name = self.primary
            low = self.span(self.primary)[0]
            return Verdicts(name, self.scores[name], low, is_component=True)
        return find_verdicts(self.scores, names, self.context, self.groups)

    @cached_property
    def has_task_signal(self) -> Floats:
        """Return 1 for groups with an advantage whose verdicts differ, (groups,).

        NaN where fewer than two of a group have a verdict or a reward.
        """
        if self.verdicts is None:
            return np.full(len(self.owner), np.nan)
        stats = self.group_stats(self.verdicts.scores)
        is_decided = self.stats.has_pairs & stats.has_pairs
        return np.where(is_decided, stats.live & self.live, np.nan)

    def phantom_mass(self, values: Floats) -> Ratio:
        """Return the squared advantage of groups without a right row, and of all.

        Args:
            values: advantages, (rows,).

        Returns:
            Two arrays, (groups,) each; 0 in groups without verdicts.
        """
        if self.verdicts is None:
            return np.zeros(len(self.owner)), np.zeros(len(self.owner))
        stats = self.group_stats(self.verdicts.scores)
        total = self.group_stats(values).squares * stats.has_pairs
        return total * (stats.high <= self.verdicts.low), total

    # --- which component it comes from

    @cached_property
    def payments(self) -> dict[str, Floats]:
        """Return what each component adds to the reward before a transform, (rows,).

        Weight times score, divided by the sum of the weights in a mean; 0 where the
        component is gated or missing, or the gate of the reward is closed.
        """
        divisor = np.ones(len(self))
        if self.reward.aggregation == "weighted_mean":
            divisor = self._divisor
        payments = {}
        for component in self.reward.components:
            values = self.row_weights(component) * self.scores[component.name]
            values = np.nan_to_num(values) / divisor
            values[self.gate == 0] = 0.0
            values[~self.is_judged] = np.nan
            payments[component.name] = values
        return payments

    @property
    def _divisor(self) -> Floats:
        """Return the sum of the weights in the mean of each row, inf for 0, (rows,)."""
        total = np.zeros(len(self))
        skips = self.reward.on_missing == "skip"
        for component in self.reward.components:
            weight = np.maximum(self.row_weights(component), 0.0)
            total += np.where(self.missing(component.name) & skips, 0.0, weight)
        return np.where(total > 0, total, np.inf)

    @cached_property
    def component_stats(self) -> dict[str, GroupStats]:
        """Return the statistics of what each component pays by group."""
        payments = self.payments.items()
        return {name: group_stats(values, self.groups) for name, values in payments}

    @cached_property
    def pieces(self) -> dict[str, Floats]:
        """Return what each component adds to the advantage, up to a constant a group.

        Empty where that is unknown: a product or minimum of too many components.
        """
        if self.training.name == "gdpo":
            pieces = {}
            for component in self.reward.components:
                name = component.name
                eps = self.training.eps
                scaled = advantages.grpo(self.scores[name], self.groups, eps=eps)
                pieces[name] = self.row_weights(component) * np.nan_to_num(scaled)
            return pieces
        if self.additive:
            return self.payments
        return advantages.shapley(
            self.scores,
            self.gated,
            self.weights,
            self.groups,
            aggregation=self.reward.aggregation,
            on_missing=self.reward.on_missing,
        )

    @cached_property
    def group_shares(self) -> dict[str, Floats]:
        """Return each component's share of the squared advantage, (groups,)."""
        if not self.pieces:
            return {}
        return advantages.group_shares(self.pieces, self.centred, self.groups)

    @cached_property
    def group_mass(self) -> Floats:
        """Return the weight of each group in an effective weight, (groups,).

        1 for a live group where groups are scaled, else its squared advantage.
        """
        squares = advantages.group_squares(self.advantages, self.centred, self.groups)
        if self.training.name == "grpo":
            return (squares > 0).astype(float)
        return squares

    @cached_property
    def effective_weights(self) -> dict[str, float]:
        """Return each component's share of all squared advantage; {} if there is none.

        They add up to 1, and one may be negative.
        """
        mass = self.group_mass
        if not mass.any():
            return {}
        shares = self.group_shares.items()
        return {name: ratio(share * mass, mass) for name, share in shares}

    @cached_property
    def sign_influence(self) -> dict[str, float]:
        """Return the share of the advantages whose sign changes without each component.

        NaN where the reward has no other component.
        """
        weights = self.weights
        if self.reward.aggregation == "weighted_mean":  # which divides by what is paid
            weights = np.maximum(weights, 0.0)
        signs = signs_of(self.advantages)
        influence = dict.fromkeys(self.names, 0.0)
        for place, name in enumerate(self.names):
            if not self.components[name].weight:
                continue
            if not np.delete(weights, place).any() or not signs.any():
                influence[name] = math.nan
                continue
            without = self.under(self.reward.reweigh({name: 0.0})).advantages
            is_other = signs != signs_of(without)
            influence[name] = float(is_other[signs != 0].mean())
        return influence

    def under(self, reward: Reward) -> View:
        """Return the view of these scores under other weights, gates or transform."""
        steps = self.context.steps if reward.is_scheduled else None
        part = Part(self.part, reward, np.arange(len(self)))
        plan = Plan(reward, len(self), (part,), steps)
        rewards = plan.combine(self.scores, self.gated, self.gate)
        rewards = apply_transform(reward, rewards, self.groups)
        return replace(self, reward=reward, rewards=rewards)

    @cached_property
    def correlations(self) -> dict[tuple[str, str], Correlation]:
        """Return the correlation of each pair of components among siblings."""
        columns = {name: scores[self.few] for name, scores in self.scores.items()}
        return correlations(columns, numbered(self.groups[self.few]))

    def correlate(self, first: Floats, second: Floats) -> tuple[float, Interval]:
        """Return the correlation of two values among siblings, and its interval.

        NaN where one of them is the same among all siblings.

        Args:
            first: (rows,), NaN in rows that do not count.
            second: likewise.
        """
        is_both = in_both(first, second)
        a, b = (
            np.nan_to_num(within(np.where(is_both, values, np.nan), self.groups))
            for values in (first, second)
        )
        sums = [a * a, b * b, a * b]
        squares = float(sums[0].sum() * sums[1].sum())
        if squares <= 0:
            return math.nan, NO_INTERVAL
        interval = self.bootstrap.interval(
            sums, self.bootstrap.prompts, lambda aa, bb, ab: ab / np.sqrt(aa * bb)
        )
        return float(sums[2].sum() / math.sqrt(squares)), interval


def signs_of(values: Floats) -> Floats:
    """Return -1, 0 or 1; 0 for a missing advantage or a rounding error."""
    values = np.nan_to_num(values)
    return np.sign(np.where(np.abs(values) < ROUNDING, 0.0, values))
