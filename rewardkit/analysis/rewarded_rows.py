"""RewardedRows: one reward, the rows it scored, their groups and advantages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis.context import Context
from rewardkit.analysis.statistics import (
    ZERO_STD,
    Bootstrap,
    Codes,
    Columns,
    Floats,
    GroupStats,
    Interval,
    Mask,
    Ratio,
    advantages,
    group_stats,
    spread_out,
    within,
)
from rewardkit.analysis.statistics.pairs import concordance, marks_of
from rewardkit.rewards.component import Component
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.scoring.outcomes import GATED

SHOWN_IDS = 5
"""Rollouts that a finding names."""
MOST_PAIRED_ROWS = 250_000
"""Rows in which pairs of siblings are counted.

In groups of eight a share of pairs is then known to a fifth of a percent. Our choice.
"""
LEAST_SHARED_OUT = 0.95
"""Share of the rows that exactly one component of a source scores. Our choice."""
ROUNDING = 1e-9
"""Advantages under this are rounding errors."""


@dataclass(frozen=True, eq=False)
class RewardedRows:
    """One reward and the rows it scored: scores by component, rewards, groups, prompts.

    Arrays are (rows,) unless stated otherwise. `groups` are codes from 0; `batches` are
    codes of the rows of one training step. `part` is the value of a route, or "".
    """

    reward: Reward
    part: str
    rows: Codes
    scores: Columns
    status: Mapping[str, NDArray[np.int8]]
    reasons: Mapping[str, NDArray[np.object_]]
    """Component -> why it has no score on a row, as `Reason.to_json`, or None."""
    rewards: Floats
    gate: Floats
    groups: Codes
    completions: NDArray[np.object_]
    bootstrap: Bootstrap
    training: Training
    batches: Codes
    context: Context
    thresholds: Mapping[str, float]

    def __len__(self) -> int:
        return len(self.rows)

    # --- the reward

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the components."""
        return self.reward.names

    @cached_property
    def components(self) -> dict[str, Component]:
        """Return the components by name; a schedule's weight is its mean here."""
        components = {}
        for item in self.reward.components:
            if item.schedule is not None:
                weight = float(np.mean(self.row_weights(item)))
                item = replace(item, weight=weight, schedule=None)
            components[item.name] = item
        return components

    @cached_property
    def paid_names(self) -> list[str]:
        """Return the names of the components with a weight."""
        return [name for name, item in self.components.items() if item.weight]

    @property
    def primary(self) -> str:
        """Return the name of the component that is the task itself."""
        return self.reward.primary

    @property
    def primary_scores(self) -> Floats:
        """Return the scores of that component, (rows,)."""
        return self.scores[self.primary]

    @property
    def task(self) -> tuple[str, ...]:
        """Return the names of all components that are the task itself."""
        return self.reward.task

    @property
    def weights(self) -> Floats:
        """Return the declared weights, (components,)."""
        return np.array([item.weight for item in self.components.values()], dtype=float)

    def row_weights(self, component: Component) -> float | Floats:
        """Return the weight of a component: one, or of a schedule that of each row."""
        if component.schedule is None or self.context.steps is None:
            return float(component.weight)
        return component.schedule.over(self.context.steps)

    @cached_property
    def declared_weights(self) -> dict[str, float]:
        """Return |weight| of each component as a share of all."""
        return self.declared_among(self.names)

    def declared_among(self, names: Sequence[str]) -> dict[str, float]:
        """Return |weight| of each of these components as a share of theirs."""
        sizes = {name: abs(self.components[name].weight) for name in names}
        total = sum(sizes.values()) or 1.0
        return {name: size / total for name, size in sizes.items()}

    @property
    def additive(self) -> bool:
        """Return whether the reward before its transform is a sum over components."""
        return self.reward.aggregation in ("weighted_sum", "weighted_mean")

    def span(self, name: str) -> Interval:
        """Return the declared range of a component, else the observed one."""
        declared = self.components[name].range
        if declared:
            return declared
        scores = pd.Series(self.scores[name])
        return float(scores.min()), float(scores.max())

    def by_design(self, name: str) -> bool:
        """Return whether a component is as heavy as the task on purpose.

        It needs a `why` and a declared range: the docstring of a loaded function alone
        is nobody's decision.
        """
        component = self.components[name]
        task = self.components[self.primary]
        is_heavy = abs(component.weight) >= abs(task.weight)
        return bool(component.why and component.range) and is_heavy

    def sign(self, first: str, second: str) -> int:
        """Return -1 where one of two components is a penalty, else 1."""
        product = self.components[first].weight * self.components[second].weight
        return 1 if product > 0 else -1

    # --- rows and groups

    @property
    def gated(self) -> dict[str, Mask]:
        """Return the rows in which a gate kept a component from running."""
        return {name: status == GATED for name, status in self.status.items()}

    def missing(self, name: str) -> Mask:
        """Return the rows in which a component was not judged, (rows,)."""
        has_score = ~np.isnan(self.scores[name])
        return np.asarray(~has_score & (self.status[name] != GATED))

    @cached_property
    def one_a_source(self) -> list[str]:
        """Return the paid components of which one scores each row, or [].

        Each scores one source of prompts and abstains on the others.
        """
        names = []
        counts = np.zeros(len(self))
        for name in self.paid_names:
            has_score = ~np.isnan(self.scores[name])
            if self.components[name].weight > 0 and not has_score.all():
                names.append(name)
                counts += has_score
        is_shared_out = len(names) > 1 and (counts == 1).mean() >= LEAST_SHARED_OUT
        return names if is_shared_out else []

    @cached_property
    def is_judged(self) -> Mask:
        """Return which rows have a reward."""
        return ~np.isnan(self.rewards)

    @cached_property
    def stats(self) -> GroupStats:
        """Return the statistics of the reward by group."""
        return group_stats(self.rewards, self.groups)

    def group_stats(self, values: Floats) -> GroupStats:
        """Return the statistics of other values of these rows by group."""
        return group_stats(values, self.groups, len(self.owner))

    @cached_property
    def several(self) -> int:
        """Return how many groups have two rewards or more."""
        return int(self.stats.has_pairs.sum())

    @cached_property
    def owner(self) -> Codes:
        """Return the prompt of each group, (groups,)."""
        return self.bootstrap.of_groups(self.groups)

    @cached_property
    def few(self) -> slice | Codes:
        """Return the rows in which pairs of siblings are counted."""
        if len(self) <= MOST_PAIRED_ROWS:
            return slice(None)
        total = len(self.owner)
        generator = np.random.default_rng([self.bootstrap.seed, total])
        is_drawn = generator.random(total) < MOST_PAIRED_ROWS / len(self)
        return np.flatnonzero(is_drawn[self.groups])

    def concordance(
        self, values: Floats, order: Floats, alike: Floats | None = None
    ) -> Ratio:
        """Count the pairs of siblings of `pairs.concordance` among the `few` rows.

        Args:
            values: (rows,), as are the others.
            order: the values that give the order.
            alike: if given, only pairs with equal values of it count.
        """
        few = self.few
        same = None if alike is None else alike[few]
        groups = self.groups[few]
        total = len(self.owner)
        return concordance(values[few], order[few], groups, same, total=total)

    @cached_property
    def conversation_marks(self) -> Floats:
        """Return a number for what each of the `few` rows says, turn by turn."""
        return marks_of(self.context.conversations(self.few))

    @cached_property
    def varies(self) -> bool:
        """Return whether the reward differs between any two rows; True without rewards.

        Under GDPO, which normalises before it adds up, whether any paid component does.
        """
        columns = {"reward": self.rewards}
        if self.training.name == "gdpo":
            columns = {name: self.scores[name] for name in self.paid_names}
        table = pd.DataFrame(columns)
        widths = (table.max() - table.min()).dropna()
        return bool(widths.empty or widths.max() > ZERO_STD)

    @cached_property
    def usual_std(self) -> float:
        """Return the usual standard deviation of a group with a signal.

        The upper quartile, so that noise in three of four groups does not lower it. It
        is at least a hundredth of the width of the rewards, or of the declared ranges
        of a sum where all paid components declare one.
        """
        spread = self.stats.std[self.stats.live]
        low, high = np.nanquantile(self.rewards[self.few], [0.01, 0.99])
        width = float(high - low)
        declared = 0.0
        for name in self.paid_names:
            component = self.components[name]
            bottom, top = component.range or (math.nan, math.nan)
            declared += abs(component.weight) * (top - bottom)
        if self.additive and declared > width:  # never where one has no range
            width = declared
        return max(float(np.quantile(spread, 0.75)), width / 100)

    def ids(self, rows: Mask | Codes) -> tuple[Any, ...]:
        """Return the ids of a few of these rows, spread over all of them."""
        places: Any = np.flatnonzero(rows) if rows.dtype == bool else rows
        ids = self.context.table["rollout_id"]
        return tuple(ids.iloc[spread_out(places, SHOWN_IDS)].tolist())

    # --- advantages

    @cached_property
    def advantages(self) -> Floats:
        """Return the advantage of each row as the trainer computes it."""
        return self.advantages_of(self.rewards)

    def advantages_of(
        self,
        rewards: Floats,
        training: Training | None = None,
        columns: Floats | None = None,
    ) -> Floats:
        """Return the advantages of other rewards, or under other settings.

        GDPO ignores `rewards`: it takes `columns`, (rows, components), by default the
        scores of the view.
        """
        return advantages.compute(
            training or self.training,
            rewards,
            self.groups,
            self.batches,
            scores=self.scores,
            weights=self.weights,
            columns=columns,
        )

    @cached_property
    def dead(self) -> Mask:
        """Return the groups of two rewards or more without an advantage, (groups,).

        Their siblings earn the same, or the `filter_metric` drops them. Under GDPO a
        group may have an advantage although its rewards are equal.
        """
        if self.training.name != "gdpo" and self.training.filter_metric is None:
            return self.stats.dead
        largest = np.zeros(len(self.owner))
        np.maximum.at(largest, self.groups, np.abs(np.nan_to_num(self.advantages)))
        return self.stats.has_pairs & (largest <= ROUNDING)

    @property
    def live(self) -> Mask:
        """Return the groups of two rewards or more with an advantage, (groups,)."""
        return self.stats.has_pairs & ~self.dead

    @property
    def paid_by(self) -> Floats:
        """Return what orders siblings: their rewards, under GDPO their advantages."""
        return self.advantages if self.training.name == "gdpo" else self.rewards

    @property
    def filtered_by(self) -> Floats:
        """Return the values that must differ in a group for it to be trained on.

        The filter metric if there is one, else the rewards. Under GDPO without a filter
        metric, a code for each distinct vector of paid scores, NaN without a reward.
        """
        if self.training.name != "gdpo" or self.training.filter_metric is not None:
            return self.scores.get(str(self.training.filter_metric), self.rewards)
        table = pd.DataFrame({name: self.scores[name] for name in self.paid_names})
        codes = table.round(12).groupby(self.paid_names, dropna=False).ngroup()
        return np.where(self.is_judged, codes, np.nan)

    @cached_property
    def centred(self) -> Floats:
        """Return the advantages less the mean of their group."""
        return within(self.advantages, self.groups)
