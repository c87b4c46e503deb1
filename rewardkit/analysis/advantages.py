"""Advantages as trainers compute them from the rewards of groups.

NaN rewards are left out and have no advantage (NaN).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rewardkit.analysis.grouping import Codes, Floats, group_stats

__all__ = ["ESTIMATORS", "batch", "dr_grpo", "grpo", "normalize_then_sum"]

EPSILON = 1e-4  # TRL 1.16, GRPOTrainer: added to every standard deviation it divides by


def grpo(rewards: Floats, groups: Codes) -> Floats:
    """(r - mean_g) / (std_g + 1e-4), std with ddof 1.

    TRL's ``scale_rewards="group"``, DeepSeekMath (arXiv 2402.03300).
    """
    stats = group_stats(rewards, groups)
    return np.asarray((rewards - stats.mean[groups]) / (stats.std[groups] + EPSILON), dtype=float)


def dr_grpo(rewards: Floats, groups: Codes) -> Floats:
    """R - mean_g: TRL's ``scale_rewards="none"``, Dr. GRPO (arXiv 2503.20783)."""
    return np.asarray(rewards - group_stats(rewards, groups).mean[groups], dtype=float)


def batch(rewards: Floats, groups: Codes) -> Floats:
    """(r - mean_g) / (std of all rewards + 1e-4).

    TRL's ``scale_rewards="batch"``, with all rows as one batch.
    """
    known = rewards[~np.isnan(rewards)]
    spread = known.std(ddof=1) if len(known) > 1 else 0.0
    return np.asarray(dr_grpo(rewards, groups) / (spread + EPSILON), dtype=float)


def normalize_then_sum(scores: Floats, weights: Floats, groups: Codes) -> Floats:
    """Each component standardised in its group, weighted sum, standardised over the batch.

    GDPO (arXiv 2601.05242).

    `scores` is (rows, components); TRL's ``multi_objective_aggregation="normalize_then_sum"``, 1e-4 at both
    steps. A missing component of a row counts 0, as in TRL's nansum; a row without any is NaN.
    """
    each = np.column_stack([grpo(column, groups) for column in scores.T])
    total = np.where(np.isnan(each), 0.0, each) @ weights
    total[np.isnan(scores).all(axis=1)] = np.nan
    known = total[~np.isnan(total)]
    spread = known.std(ddof=1) if len(known) > 1 else 0.0
    mean = known.mean() if len(known) else 0.0
    return np.asarray((total - mean) / (spread + EPSILON), dtype=float)


ESTIMATORS: dict[str, Callable[[Floats, Codes], Floats]] = {"group": grpo, "batch": batch, "none": dr_grpo}
"""By the trainer's word for it: `scale_rewards`."""
