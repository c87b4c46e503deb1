"""View: the arrays that findings about one reward are computed from, each computed once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.advantages import ESTIMATORS
from rewardkit.analysis.findings import Finding
from rewardkit.analysis.grouping import Bootstrap, Codes, Floats, GroupStats, group_stats, within
from rewardkit.component import Component
from rewardkit.evaluation import GATED, STATUSES
from rewardkit.reward import Part, Reward
from rewardkit.scoring import Scores

THRESHOLDS: dict[str, float] = {
    # Share of rows at the minimum: with a quarter right and 8 siblings one group in ten is all wrong even if
    # all prompts are alike ((3/4)^8).
    "sparse": 0.75,
    "sparse_groups_high": 0.5,  # half of the batch gives the task no gradient: our choice
    "starved": 0.05,  # mean as a share of the range: our choice
    "saturated": 0.95,  # likewise
    "tie_rate": 0.8,  # share of sibling pairs that earn the same: our choice
    "identical_pairs": 0.25,  # share of sibling pairs with the same text: our choice
    # Robust z. Our choice, far beyond the usual 3.5 (Iglewicz and Hoaglin 1993): rewards are rarely normal.
    "outlier_z": 6.0,
    "top_decile": 0.5,  # share of the unscaled advantage in a tenth of the groups: our choice
    "small_std": 0.1,  # of the typical live group: our choice
    "amplified_noise": 0.05,  # share of live groups that small: our choice
    # Our choice: DAPO (arXiv 2503.14476) resamples such groups, and at 30 % draws 1.4 batches for one.
    "zero_std": 0.3,
    "zero_std_high": 0.6,
    "dominant": 0.5,  # a component that is not primary holds more than half
    "outweighs": 0.1,  # by how much it holds more than one declared heavier: our choice
    "redundant": 0.9,  # correlation
    "opposed": 0.05,  # share of groups where components cancel: our choice
    "gate_open": 0.05,  # our choice
    "abstained": 0.01,  # from here a warning, below only information: our choice
    "error": 0.01,
    "lost_rows_high": 0.2,  # abstentions or errors: our choice
}
FEWEST_GROUPS = 10  # fewer give no verdict on a share of groups: our choice
SHOWN_IDS = 5


@dataclass(frozen=True, eq=False)
class View:
    """One reward of the scores and its rows: scores by component, rewards, groups (codes from 0), prompts."""

    reward: Reward
    part: str
    rows: NDArray[np.intp]
    scores: Mapping[str, Floats]
    status: Mapping[str, NDArray[np.int8]]
    errors: Mapping[str, Sequence[str | None]]
    rewards: Floats
    gate: Floats
    groups: Codes
    rollout_ids: Sequence[Any]
    completions: Sequence[str]
    bootstrap: Bootstrap
    scale_rewards: str
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

    @cached_property
    def stats(self) -> GroupStats:
        """Statistics of the reward by group."""
        return group_stats(self.rewards, self.groups)

    @cached_property
    def component_stats(self) -> dict[str, GroupStats]:
        """Statistics of each component's paid scores by group."""
        return {name: group_stats(paid, self.groups) for name, paid in self.paid.items()}

    @cached_property
    def advantages(self) -> Floats:
        """Advantage of each row under the chosen scaling."""
        return ESTIMATORS[self.scale_rewards](self.rewards, self.groups)

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
        judged, below = ~np.isnan(self.rewards), np.ones(len(self))
        if self.reward.aggregation == "weighted_mean":
            skipped = {
                name: np.isnan(self.scores[name]) & (status != GATED) & (self.reward.on_missing == "skip")
                for name, status in self.status.items()
            }
            positive = {name: max(item.weight, 0.0) for name, item in self.components.items()}
            below = np.sum(
                [np.where(skipped[name], 0.0, weight) for name, weight in positive.items()], axis=0
            )
        counts = judged & (self.gate != 0) & (below > 0)
        return {
            name: np.where(
                judged,
                np.where(
                    counts,
                    item.weight * np.nan_to_num(self.scores[name]) / np.where(below > 0, below, 1),
                    0.0,
                ),
                np.nan,
            )
            for name, item in self.components.items()
        }

    @property
    def additive(self) -> bool:
        """Whether the reward is the sum of what its components add: no product or minimum, no transform."""
        return self.reward.aggregation in ("weighted_sum", "weighted_mean") and self.reward.transform is None

    def span(self, name: str) -> tuple[float, float]:
        """The declared range of a component, else the observed one."""
        declared = self.components[name].range
        scores = self.scores[name][~np.isnan(self.scores[name])]
        return declared or (
            (float(scores.min()), float(scores.max())) if len(scores) else (math.nan, math.nan)
        )

    def counts(self, name: str) -> dict[str, int]:
        """Number of rows by status."""
        return dict(zip(STATUSES, np.bincount(self.status[name], minlength=4).tolist(), strict=True))

    @cached_property
    def group_shares(self) -> dict[str, Floats]:
        """Share of each component in each live group's variance, (groups,): cov_g(w s_k, r) / var_g(r).

        0 in dead groups.

        Empty where the reward is not `additive`.
        """
        if not self.additive:
            return {}
        centred = within(self.rewards, self.groups)
        variance = np.bincount(self.groups, np.nan_to_num(centred) ** 2, minlength=len(self.stats.count))
        shares = {}
        for name, paid in self.paid.items():
            product = np.nan_to_num(within(paid, self.groups) * centred)
            covariance = np.bincount(self.groups, product, minlength=len(variance))
            shares[name] = np.where(self.stats.live, covariance / np.where(variance > 0, variance, 1.0), 0.0)
        return shares

    @cached_property
    def group_mass(self) -> Floats:
        """How much each group counts in an effective weight.

        1 a live group under group scaling, else its squared deviation.
        """
        if self.scale_rewards == "group":
            return self.stats.live.astype(float)
        return np.where(self.stats.live, np.nan_to_num(self.stats.std) ** 2 * (self.stats.count - 1), 0.0)

    @cached_property
    def effective_weights(self) -> dict[str, float]:
        """Share of the squared advantage that each component holds.

        They add up to 1, and one may be negative. Empty without live groups.
        """
        mass = self.group_mass
        if not mass.sum():
            return {}
        return {name: float((shares * mass).sum() / mass.sum()) for name, shares in self.group_shares.items()}

    @cached_property
    def declared_weights(self) -> dict[str, float]:
        """|weight| of each component as a share of all."""
        total = sum(abs(item.weight) for item in self.components.values()) or 1.0
        return {name: abs(item.weight) / total for name, item in self.components.items()}

    def ids(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> tuple[Any, ...]:
        """Ids of a few of these rows, spread over all of them."""
        at = np.flatnonzero(rows) if rows.dtype == bool else rows
        if len(at) > SHOWN_IDS:
            at = at[np.linspace(0, len(at) - 1, SHOWN_IDS).astype(int)]
        return tuple(self.rollout_ids[row] for row in at)

    def graded(
        self,
        code: str,
        severity: str,
        component: str | None,
        evidence: Mapping[str, Any],
        *,
        n: int,
        threshold: float,
        above: bool = True,
        **more: Any,
    ) -> Finding:
        """A finding whose value is past its threshold.

        At its severity where the whole interval is, else "info" and inconclusive.
        """
        value, (low, high) = float(evidence["value"]), evidence["interval"]
        near = low if above else high
        groups, prompts = len(self.stats.count), self.bootstrap.total
        details = dict(evidence)
        sure = groups >= FEWEST_GROUPS and (near >= threshold if above else near <= threshold)
        if groups < FEWEST_GROUPS:
            details |= {"inconclusive": True, "too_few": groups}
        elif not sure:
            gap, half = abs(value - threshold), abs(value - near)
            needed = math.ceil(prompts * (half / gap) ** 2) if gap and not math.isnan(half) else 0
            details |= {"inconclusive": True, "n_needed": needed if needed > prompts else None}
        return Finding(
            code, severity if sure else "info", component, details, n, threshold, part=self.part, **more
        )


def make_view(
    scores: Scores, part: Part, *, scale_rewards: str, seed: int, thresholds: Mapping[str, float]
) -> View:
    """The view of one part of the scores."""
    rows = part.rows
    _, groups = np.unique(scores.groups[rows], return_inverse=True)
    _, prompts = np.unique(scores.rollouts.prompts[rows], return_inverse=True)
    table = scores.table.iloc[rows]
    return View(
        reward=part.reward,
        part=part.label,
        rows=rows,
        scores={name: scores.score(name)[rows] for name in part.reward.names},
        status={name: scores.status(name)[rows] for name in part.reward.names},
        errors={name: table[f"error/{name}"].tolist() for name in part.reward.names},
        rewards=scores.rewards[rows],
        gate=table["gate/reward"].to_numpy(dtype=float) if "gate/reward" in table else np.ones(len(rows)),
        groups=groups,
        rollout_ids=table["rollout_id"].tolist(),
        completions=table["completion"].tolist(),
        bootstrap=Bootstrap(prompts, seed=seed),
        scale_rewards=scale_rewards,
        thresholds=thresholds,
    )


__all__ = ["FEWEST_GROUPS", "THRESHOLDS", "View", "make_view"]
