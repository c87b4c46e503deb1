"""View: the arrays that findings about one reward are computed from, each computed once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis.context import Context
from rewardkit.analysis.statistics import advantages
from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.cores import each
from rewardkit.analysis.statistics.correlation import Correlations, correlations
from rewardkit.analysis.statistics.groups import (
    ZERO_STD,
    Codes,
    Floats,
    GroupStats,
    group_stats,
    numbered,
    tie_rate,
    within,
)
from rewardkit.analysis.statistics.shares import group_shares, shapley, squared
from rewardkit.rewards.component import Component
from rewardkit.rewards.plan import add_up, transformed
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.scoring.outcomes import GATED, STATUSES

SHOWN_IDS = 5
MOST_ROWS = 250_000
"""With so many in groups of eight a share of pairs is known to a fifth of a percent. Our choice."""
TINY = 1e-9
"""An advantage under this is a rounding error."""


@dataclass(frozen=True, eq=False)
class View:
    """One reward of the scores and its rows: scores by component, rewards, groups (codes from 0), prompts."""

    reward: Reward
    part: str
    rows: NDArray[np.intp]
    scores: Mapping[str, Floats]
    status: Mapping[str, NDArray[np.int8]]
    errors: Mapping[str, NDArray[np.object_]]
    rewards: Floats
    gate: Floats
    groups: Codes
    rollout_ids: pd.Series[Any]
    completions: NDArray[np.object_]
    bootstrap: Bootstrap
    training: Training
    batches: Codes
    context: Context
    thresholds: Mapping[str, float]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components."""
        return self.reward.names

    @cached_property
    def components(self) -> dict[str, Component]:
        """Component by name."""
        return {item.name: item for item in self.reward.components}

    @property
    def primary(self) -> str:
        """Name of the component that is the task itself."""
        return self.reward.primary

    @property
    def task(self) -> tuple[str, ...]:
        """Names of all components that are the task itself."""
        return self.reward.task

    @cached_property
    def stats(self) -> GroupStats:
        """Statistics of the reward by group."""
        return group_stats(self.rewards, self.groups)

    def group_stats(self, values: Floats) -> GroupStats:
        """Statistics by group of other values of these rows, (rows,)."""
        return group_stats(values, self.groups, len(self.owner))

    @cached_property
    def several(self) -> int:
        """How many groups have two rewards or more."""
        return int((self.stats.count > 1).sum())

    @cached_property
    def reward_ties(self) -> tuple[Floats, Floats]:
        """Pairs of siblings that earn the same, and all pairs, (groups,) each; of very many rows some."""
        return tie_rate(self.rewards[self.few], self.groups[self.few], len(self.owner))

    @cached_property
    def varies(self) -> bool:
        """Whether the reward is not the same on all rows that have one, up to the last digits of a sum.

        Under GDPO, which adds up what it has normalised, a paid component is not; `True` without any reward.
        """
        added = [self.rewards]
        if self.training.name == "gdpo":
            added = [
                self.scores[name]
                for name, item in self.components.items()
                if item.weight
            ]
        ends = [
            (np.fmin.reduce(values), np.fmax.reduce(values))
            for values in added
            if len(values)
        ]
        wide = [high - low for low, high in ends if not np.isnan(low)]
        return not wide or max(wide) > ZERO_STD

    @cached_property
    def usual_std(self) -> float:
        """The standard deviation of a group with a signal that is usual; NaN without any.

        The upper quartile, so that up to three groups in four may differ by noise alone; and not under a
        hundredth of what the rewards take, or the paid components can make where all declare a range.
        """
        if not (spread := self.stats.std[self.stats.live]).size:
            return math.nan
        paid = [item for item in self.reward.components if item.weight]
        wide = [
            abs(item.weight) * (item.range[1] - item.range[0])
            for item in paid
            if item.range
        ]
        seen = float(np.ptp(np.nanquantile(self.rewards[self.few], [0.01, 0.99])))
        least = (
            max(seen, sum(wide) if self.additive and len(wide) == len(paid) else 0.0)
            / 100
        )
        return max(float(np.quantile(spread, 0.75)), least)

    @cached_property
    def component_stats(self) -> dict[str, GroupStats]:
        """Statistics of each component's paid scores by group."""
        return each(lambda name: group_stats(self.paid[name], self.groups), self.paid)

    @cached_property
    def advantages(self) -> Floats:
        """Advantage of each row as the trainer computes it."""
        return self.advantages_of(self.rewards)

    @cached_property
    def dead(self) -> NDArray[np.bool_]:
        """The groups of two rewards or more without an advantage, (groups,).

        Their siblings all earn the same; under GDPO, which adds up what it has normalised, it is not the
        reward that must vary, and groups that are dropped by their `filter_metric` have none either.
        """
        if self.training.name != "gdpo" and self.training.filter_metric is None:
            return self.stats.dead
        largest = np.zeros(len(self.owner))
        np.maximum.at(largest, self.groups, np.abs(np.nan_to_num(self.advantages)))
        return np.asarray((self.stats.count > 1) & (largest <= TINY), dtype=bool)

    @property
    def live(self) -> NDArray[np.bool_]:
        """The groups of two rewards or more that have an advantage, (groups,)."""
        return (self.stats.count > 1) & ~self.dead

    @property
    def paid_by(self) -> Floats:
        """What siblings are put in order by, (rows,): their rewards, under GDPO their advantages."""
        return self.advantages if self.training.name == "gdpo" else self.rewards

    def advantages_of(
        self,
        rewards: Floats,
        training: Training | None = None,
        columns: Floats | None = None,
    ) -> Floats:
        """Advantages of other rewards of the same rows, or under other settings.

        GDPO has them from the scores of the components, (rows, components), `columns` where these are others,
        whatever the rewards are.
        """
        training = training or self.training
        eps = training.eps
        stats = self.stats if rewards is self.rewards else None
        found: Floats
        match training.name:
            case "gdpo":
                each = self.score_columns if columns is None else columns
                found = advantages.gdpo(
                    each, self.weights, self.groups, self.batches, eps=eps
                )
            case "batch":
                found = advantages.batch(rewards, self.groups, self.batches, eps=eps)
            case "reinforce_pp":
                found = advantages.reinforce_pp(
                    rewards, self.groups, self.batches, eps=eps
                )
            case "rloo":
                found = advantages.rloo(rewards, self.groups)
            case "dr_grpo":
                found = advantages.dr_grpo(rewards, self.groups, stats=stats)
            case _:
                found = advantages.grpo(rewards, self.groups, eps=eps, stats=stats)
        if training.filter_metric is None:
            return found
        metric = self.scores.get(training.filter_metric, rewards)
        return np.where(
            group_stats(metric, self.groups).dead[self.groups], np.nan, found
        )

    @property
    def filtered_by(self) -> Floats:
        """What a group must vary in to be trained on: the reward, or the metric that it is filtered by.

        Under GDPO a number for each different vector of paid scores.
        """
        if self.training.name != "gdpo" or self.training.filter_metric is not None:
            return self.scores.get(str(self.training.filter_metric), self.rewards)
        codes = np.zeros(len(self), dtype=np.int64)
        for name, item in self.components.items():
            if item.weight:
                each, kinds = pd.factorize(
                    np.round(self.scores[name], 12), use_na_sentinel=False
                )
                codes, _ = pd.factorize(codes * len(kinds) + each)
        return np.where(np.isnan(self.rewards), np.nan, codes)

    @cached_property
    def score_columns(self) -> Floats:
        """Scores, (rows, components), NaN where not scored."""
        return np.column_stack([self.scores[name] for name in self.names])

    @property
    def weights(self) -> Floats:
        """Declared weights, (components,)."""
        return np.array([item.weight for item in self.reward.components], dtype=float)

    @cached_property
    def owner(self) -> Codes:
        """The prompt of each group."""
        return self.bootstrap.of_groups(self.groups)

    @cached_property
    def paid(self) -> dict[str, Floats]:
        """What each component adds to the reward of each row, before a transform; NaN where that is missing.

        Weight times score, over the weights that count where the reward is a mean; 0 where it is gated or
        missing, or the gate on the whole reward is closed.
        """
        below: Floats | None = None
        if self.reward.aggregation == "weighted_mean":
            below, skips = np.zeros(len(self)), self.reward.on_missing == "skip"
            for name, item in self.components.items():
                skipped = (
                    np.isnan(self.scores[name]) & (self.status[name] != GATED) & skips
                )
                below += np.where(skipped, 0.0, max(item.weight, 0.0))
        closed, not_judged = (
            np.flatnonzero(self.gate == 0),
            np.flatnonzero(np.isnan(self.rewards)),
        )

        def paid(name: str) -> Floats:
            found = self.components[name].weight * self.scores[name]
            found[np.isnan(found)] = 0.0
            if below is not None:
                found = np.divide(
                    found, below, out=np.zeros(len(self)), where=below > 0
                )
            found[closed], found[not_judged] = 0.0, np.nan
            return found

        return each(paid, self.names)

    @cached_property
    def few(self) -> slice | NDArray[np.intp]:
        """Rows in which pairs of siblings are counted: of more than `MOST_ROWS` some groups, by the seed."""
        if len(self) <= MOST_ROWS:
            return slice(None)
        total = len(self.owner)
        drawn = np.random.default_rng([self.bootstrap.seed, total]).random(
            total
        ) < MOST_ROWS / len(self)
        return np.flatnonzero(drawn[self.groups])

    @property
    def additive(self) -> bool:
        """Whether the reward is the sum of what its components add, before a transform."""
        return self.reward.aggregation in ("weighted_sum", "weighted_mean")

    @property
    def gated(self) -> dict[str, NDArray[np.bool_]]:
        """The rows whose gate kept a component from running."""
        return {name: status == GATED for name, status in self.status.items()}

    def under(self, reward: Reward) -> View:
        """The view of the same scores under other weights, gates or transform of the reward as a whole."""
        rewards = add_up(reward, self.scores, self.gated, self.gate)
        return replace(
            self, reward=reward, rewards=transformed(reward, rewards, self.groups)
        )

    @cached_property
    def sign_influence(self) -> dict[str, float]:
        """Share of the advantages whose sign is another, or gone, without the component.

        NaN where the reward has no other component.
        """
        return {name: self._sign_influence(name) for name in self.names}

    def _sign_influence(self, name: str) -> float:
        others = [
            other
            for other, item in self.components.items()
            if item.weight and other != name
        ]
        signs = _signs(self.advantages)
        if not self.components[name].weight:
            return 0.0
        mean = (
            self.reward.aggregation == "weighted_mean"
        )  # which only what is paid can be divided by
        if (
            not any(self.components[other].weight > 0 or not mean for other in others)
            or not signs.any()
        ):
            return math.nan
        without = _signs(self.under(self.reward.reweigh({name: 0.0})).advantages)
        return float((signs != without)[signs != 0].mean())

    def span(self, name: str) -> tuple[float, float]:
        """The declared range of a component, else the observed one."""
        known = pd.Series(self.scores[name])
        return self.components[name].range or (float(known.min()), float(known.max()))

    def by_design(self, name: str) -> bool:
        """Whether a component of declared range is as heavy as the task, and its `why` says for what.

        The docstring of a function that was read is no decision of anybody, and its range is not declared.
        """
        item, task = self.components[name], self.components[self.primary]
        return bool(item.why and item.range) and abs(item.weight) >= abs(task.weight)

    def counts(self, name: str) -> dict[str, int]:
        """Number of rows by status."""
        return dict(
            zip(
                STATUSES,
                np.bincount(self.status[name], minlength=4).tolist(),
                strict=True,
            )
        )

    @cached_property
    def pieces(self) -> dict[str, Floats]:
        """What each component adds to what advantages are made of, (rows,), up to a constant of the group.

        Empty where that cannot be said: a product or minimum of too many components.
        """
        if self.training.name == "gdpo":
            return {
                name: item.weight
                * np.nan_to_num(
                    advantages.grpo(
                        self.scores[name], self.groups, eps=self.training.eps
                    )
                )
                for name, item in self.components.items()
            }
        if self.additive:
            return self.paid
        how = {
            "aggregation": self.reward.aggregation,
            "on_missing": self.reward.on_missing,
        }
        return shapley(self.scores, self.gated, self.weights, self.groups, **how)

    @cached_property
    def centred(self) -> Floats:
        """The advantage of each row, from the mean of its group."""
        return within(self.advantages, self.groups)

    @cached_property
    def group_shares(self) -> dict[str, Floats]:
        """Share of each component in the squared advantage of each group, (groups,); 0 in dead groups."""
        return (
            group_shares(self.pieces, self.centred, self.groups) if self.pieces else {}
        )

    @cached_property
    def group_mass(self) -> Floats:
        """How much each group counts in an effective weight.

        1 a live group where groups are scaled, else its squared advantage.
        """
        found = squared(self.advantages, self.centred, self.groups)
        return (found > 0).astype(float) if self.training.name == "grpo" else found

    @cached_property
    def correlations(self) -> Correlations:
        """The correlation of each pair of components among siblings; of very many rows in some groups."""
        columns = {name: scores[self.few] for name, scores in self.scores.items()}
        return correlations(columns, numbered(self.groups[self.few]), self.part)

    def sign(self, first: str, second: str) -> int:
        """-1 where one of two components is a penalty: their pay goes together where their scores do not."""
        return (
            1
            if self.components[first].weight * self.components[second].weight > 0
            else -1
        )

    def correlation_interval(self, first: str, second: str) -> tuple[float, float]:
        """The interval of the correlation of what two components pay."""
        both = [self.scores[first], self.scores[second]]
        missing = np.isnan(both).any(axis=0)
        a, b = (
            np.nan_to_num(within(np.where(missing, np.nan, of), self.groups))
            for of in both
        )
        sums = [a * a, b * b, self.sign(first, second) * a * b]
        return self.bootstrap.interval(
            sums, self.bootstrap.prompts, lambda aa, bb, ab: ab / np.sqrt(aa * bb)
        )

    @cached_property
    def effective_weights(self) -> dict[str, float]:
        """Share of the squared advantage that each component holds.

        They add up to 1, and one may be negative. Empty without live groups.
        """
        mass = self.group_mass
        if not mass.sum():
            return {}
        return {
            name: float((shares * mass).sum() / mass.sum())
            for name, shares in self.group_shares.items()
        }

    @cached_property
    def declared_weights(self) -> dict[str, float]:
        """|weight| of each component as a share of all."""
        total = sum(abs(item.weight) for item in self.components.values()) or 1.0
        return {
            name: abs(item.weight) / total for name, item in self.components.items()
        }

    def ids(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> tuple[Any, ...]:
        """Ids of a few of these rows, spread over all of them."""
        at = np.flatnonzero(rows) if rows.dtype == bool else rows
        if len(at) > SHOWN_IDS:
            at = at[np.linspace(0, len(at) - 1, SHOWN_IDS).astype(int)]
        return tuple(self.rollout_ids.iloc[at].tolist())


def _signs(advantages: Floats) -> Floats:
    """-1, 0 or 1; 0 where there is none, or only the last digits of a sum."""
    return np.sign(
        np.where(
            np.abs(np.nan_to_num(advantages)) < TINY, 0.0, np.nan_to_num(advantages)
        )
    )
