"""Advantages as trainers compute them from the rewards of groups. Arrays only.

NaN rewards are left out of every mean and standard deviation and have no advantage
(NaN; TRL makes 0 of it). A group of one has advantage 0. The figure that trainers weigh
by tokens (the batch standardisation of REINFORCE++ and GDPO in verl) is taken over
completions here.
"""

from __future__ import annotations

import numpy as np

from rewardkit.analysis.statistics.groups import (
    Codes,
    Floats,
    GroupStats,
    group_stats,
    within,
)

EPSILON = 1e-4
"""Added to each standard deviation that is divided by (TRL 1.16; verl: 1e-6)."""


def grpo(
    rewards: Floats,
    groups: Codes,
    *,
    eps: float = EPSILON,
    stats: GroupStats | None = None,
) -> Floats:
    """Return (r - mean_g) / (std_g + eps), std with ddof 1, (rows,).

    TRL's ``scale_rewards="group"``, verl's ``grpo``, DeepSeekMath (arXiv 2402.03300).
    `stats` are those of the groups, where they are known already.
    """
    stats = stats or group_stats(rewards, groups)
    found = rewards - stats.mean[groups]
    found /= (stats.std + eps)[groups]
    return found


def dr_grpo(
    rewards: Floats, groups: Codes, *, stats: GroupStats | None = None
) -> Floats:
    """Return the reward minus the mean of its group.

    TRL's ``scale_rewards="none"``, verl's ``norm_adv_by_std_in_grpo=False``, Dr. GRPO
    (arXiv 2503.20783). `stats` as in `grpo`.
    """
    stats = stats or group_stats(rewards, groups)
    return rewards - stats.mean[groups]


def batch(
    rewards: Floats,
    groups: Codes,
    batches: Codes | None = None,
    *,
    eps: float = EPSILON,
) -> Floats:
    """Return (r - mean_g) / (std of all rewards of the batch + eps).

    TRL's ``scale_rewards="batch"``.

    `batches` are codes (rows,) of what is trained on together, such as one step;
    ``None``: all rows are.
    """
    stats = group_stats(rewards, _batches(rewards, batches))
    return np.asarray(
        within(rewards, groups) / (stats.std[_batches(rewards, batches)] + eps),
        dtype=float,
    )


def reinforce_pp(
    rewards: Floats,
    groups: Codes,
    batches: Codes | None = None,
    *,
    eps: float = EPSILON,
) -> Floats:
    """Return the reward minus its group's mean, standardised over the batch.

    REINFORCE++ with a group baseline (arXiv 2501.03262), verl's
    ``reinforce_plus_plus_baseline``.
    """
    return grpo(within(rewards, groups), _batches(rewards, batches), eps=eps)


def rloo(rewards: Floats, groups: Codes) -> Floats:
    """Return the reward minus the mean of its siblings: G / (G - 1) (r - mean_g).

    RLOO (arXiv 2402.14740), verl's ``rloo``. G counts the rewards that are there.
    """
    count = group_stats(rewards, groups).count[groups]
    return np.asarray(
        within(rewards, groups) * count / np.maximum(count - 1, 1), dtype=float
    )


def gdpo(
    scores: Floats,
    weights: Floats,
    groups: Codes,
    batches: Codes | None = None,
    *,
    eps: float = EPSILON,
) -> Floats:
    """Return the weighted sum of components standardised in groups, then in batches.

    `scores` are (rows, components), `weights` (components,). TRL's
    ``multi_objective_aggregation="normalize_then_sum"``, verl's ``gdpo``, arXiv
    2601.05242. A missing score of a row counts 0, as in TRL's nansum; a row without any
    is NaN.
    """
    total = np.zeros(len(groups))
    for column, weight in zip(scores.T, weights, strict=True):
        total += weight * np.nan_to_num(grpo(column, groups, eps=eps))
    total[np.isnan(scores).all(axis=1)] = np.nan
    return grpo(total, _batches(total, batches), eps=eps)


def compute(
    name: str,
    rewards: Floats,
    groups: Codes,
    batches: Codes,
    *,
    eps: float,
    columns: Floats | None = None,
    weights: Floats | None = None,
    stats: GroupStats | None = None,
) -> Floats:
    """Return the advantages that the algorithm of this name gives, (rows,).

    Args:
        name: as `Training.name` has it; any other is `grpo`.
        rewards: (rows,), as are `groups` and `batches`.
        groups: codes of the groups.
        batches: codes of what is trained on together.
        eps: added to standard deviations.
        columns: scores, (rows, components), which only GDPO needs.
        weights: their weights, (components,).
        stats: those of the rewards by group, where they are known.
    """
    match name:
        case "gdpo":
            assert columns is not None and weights is not None
            return gdpo(columns, weights, groups, batches, eps=eps)
        case "batch":
            return batch(rewards, groups, batches, eps=eps)
        case "reinforce_pp":
            return reinforce_pp(rewards, groups, batches, eps=eps)
        case "rloo":
            return rloo(rewards, groups)
        case "dr_grpo":
            return dr_grpo(rewards, groups, stats=stats)
    return grpo(rewards, groups, eps=eps, stats=stats)


def _batches(rewards: Floats, batches: Codes | None) -> Codes:
    return np.zeros(len(rewards), dtype=np.intp) if batches is None else batches
