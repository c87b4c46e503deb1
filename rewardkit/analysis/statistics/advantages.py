"""Advantages of groups: as trainers compute them, where they come from, their spread.

Arrays only. NaN rewards are left out of every mean and standard deviation and have no
advantage (NaN; 0 in TRL). A group of one has advantage 0. verl weighs the batch
standardisation of REINFORCE++ and GDPO by tokens; here each completion counts once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from rewardkit.analysis.statistics import (
    Codes,
    Columns,
    Floats,
    Mask,
    group_stats,
    number_of,
    within,
)
from rewardkit.primitives.weights import aggregate
from rewardkit.rewards.training import Training

TRL_EPSILON = 1e-4
"""Added to each standard deviation that is divided by (TRL 1.16; verl: 1e-6)."""
MOST_COMPONENTS = 8
"""For Shapley values, which take 2^n rewards of each row. Our choice."""


def grpo(rewards: Floats, groups: Codes, *, eps: float = TRL_EPSILON) -> Floats:
    """Return (r - mean_g) / (std_g + eps), std with ddof 1, (rows,).

    TRL's ``scale_rewards="group"``, verl's ``grpo``, DeepSeekMath (arXiv 2402.03300).
    """
    stats = group_stats(rewards, groups)
    return (rewards - stats.mean[groups]) / (stats.std + eps)[groups]


def dr_grpo(rewards: Floats, groups: Codes) -> Floats:
    """Return the reward minus the mean of its group.

    TRL's ``scale_rewards="none"``, verl's ``norm_adv_by_std_in_grpo=False``, Dr. GRPO
    (arXiv 2503.20783).
    """
    return within(rewards, groups)


def batch(
    rewards: Floats,
    groups: Codes,
    batches: Codes | None = None,
    *,
    eps: float = TRL_EPSILON,
) -> Floats:
    """Return (r - mean_g) / (std of all rewards of the batch + eps).

    TRL's ``scale_rewards="batch"``. `batches` are codes (rows,) of what is trained on
    together, such as one step; ``None``: all rows are.
    """
    batches = _one_batch(rewards) if batches is None else batches
    std = group_stats(rewards, batches).std[batches]
    return within(rewards, groups) / (std + eps)


def reinforce_pp(
    rewards: Floats,
    groups: Codes,
    batches: Codes | None = None,
    *,
    eps: float = TRL_EPSILON,
) -> Floats:
    """Return the reward minus its group's mean, standardised over the batch.

    REINFORCE++ with a group baseline (arXiv 2501.03262), verl's
    ``reinforce_plus_plus_baseline``.
    """
    batches = _one_batch(rewards) if batches is None else batches
    return grpo(within(rewards, groups), batches, eps=eps)


def rloo(rewards: Floats, groups: Codes) -> Floats:
    """Return the reward minus the mean of its siblings: G / (G - 1) (r - mean_g).

    RLOO (arXiv 2402.14740), verl's ``rloo``. G counts the rewards that are not NaN.
    """
    count = group_stats(rewards, groups).count[groups]
    return within(rewards, groups) * count / np.maximum(count - 1, 1)


def gdpo(
    scores: Floats,
    weights: Floats,
    groups: Codes,
    batches: Codes | None = None,
    *,
    eps: float = TRL_EPSILON,
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
    batches = _one_batch(total) if batches is None else batches
    return grpo(total, batches, eps=eps)


def _one_batch(rewards: Floats) -> Codes:
    return np.zeros(len(rewards), dtype=np.intp)


def compute(
    training: Training,
    rewards: Floats,
    groups: Codes,
    batches: Codes,
    *,
    scores: Columns,
    weights: Floats,
    columns: Floats | None = None,
) -> Floats:
    """Return the advantages that a trainer of these settings computes, (rows,).

    NaN in groups that its `filter_metric` drops.

    Args:
        training: the settings.
        rewards: (rows,), as are `groups` and `batches`.
        groups: codes of the groups.
        batches: codes of what is trained on together.
        scores: of the components, (rows,) each; a filter metric that is none of them is
            the rewards.
        weights: theirs, (components,), which only GDPO needs.
        columns: what GDPO adds up in place of the scores, (rows, components).
    """
    eps = training.eps
    match training.name:
        case "gdpo":
            if columns is None:
                columns = np.column_stack([*scores.values()])
            values = gdpo(columns, weights, groups, batches, eps=eps)
        case "batch":
            values = batch(rewards, groups, batches, eps=eps)
        case "reinforce_pp":
            values = reinforce_pp(rewards, groups, batches, eps=eps)
        case "rloo":
            values = rloo(rewards, groups)
        case "dr_grpo":
            values = dr_grpo(rewards, groups)
        case _:
            values = grpo(rewards, groups, eps=eps)
    if training.filter_metric is None:
        return values
    metric = scores.get(training.filter_metric, rewards)
    is_dropped = group_stats(metric, groups).dead[groups]
    return np.where(is_dropped, np.nan, values)


# --- which component they come from


def group_shares(pieces: Columns, centred: Floats, groups: Codes) -> dict[str, Floats]:
    """Return the share of each piece in the squared advantage of groups, (groups,).

    It is cov_g(p, A) / cov_g(sum of p, A); the pieces (rows,) add up to the reward, up
    to a constant of the group, and `centred` are advantages from `within`. Shares may
    be below 0 or above 1, and add up to 1; 0 in groups without an advantage. Where A is
    the reward standardised in its group, it is cov_g(p, r) / var_g(r).

    >>> a, b = np.array([0.0, 2.0]), np.array([0.0, -1.0])
    >>> group_shares({"a": a, "b": b}, a + b - 0.5, np.zeros(2, int))
    {'a': array([2.]), 'b': array([-1.])}
    """
    products = {}
    for name, piece in pieces.items():
        products[name] = _products(piece, centred, groups)
    all_sums, all_sizes = map(sum, zip(*products.values(), strict=True))
    total = _without_rounding(all_sums, all_sizes)
    divisor = np.where(total > 0, total, np.inf)
    shares = {}
    for name, (sums, sizes) in products.items():
        shares[name] = _without_rounding(sums, sizes) / divisor
    return shares


def group_squares(advantages: Floats, centred: Floats, groups: Codes) -> Floats:
    """Return the sum of the squared advantages of each group, (groups,).

    `centred` are the advantages around the mean of their group. A sum that is only
    rounding is 0.
    """
    return _without_rounding(*_products(advantages, centred, groups))


def _products(piece: Floats, centred: Floats, groups: Codes) -> tuple[Floats, Floats]:
    """Add up a piece times a centred value by group, and its size, (groups,) each."""
    product = piece * centred
    product[np.isnan(product)] = 0.0
    total = number_of(groups)
    sums = np.bincount(groups, product, minlength=total).astype(float)
    sizes = np.bincount(groups, np.abs(product), minlength=total)
    return sums, sizes.astype(float)


def _without_rounding(sums: Any, sizes: Any) -> Floats:
    """Return 0 where a sum is only the last digits of what was added up."""
    return np.where(np.abs(sums) > 1e-12 * sizes, sums, 0.0)


def shapley(
    scores: Columns,
    gated: Mapping[str, Mask],
    weights: Floats,
    groups: Codes,
    *,
    aggregation: str,
    on_missing: str,
) -> dict[str, Floats]:
    """Return what each component adds to a reward that is no sum, (rows,) each.

    Shapley values: a component outside a coalition has the mean score of its group. The
    values add up to the reward less that of the mean scores. Empty if more than
    `MOST_COMPONENTS` have a weight.
    """
    names = [name for name, weight in zip(scores, weights, strict=True) if weight]
    if len(names) > MOST_COMPONENTS:
        return {}
    closed = np.column_stack([gated[name] for name in scores])
    means = {}
    for name in names:
        mean = group_stats(scores[name], groups).mean[groups]
        means[name] = np.where(np.isnan(scores[name]), np.nan, mean)
    rewards = {}
    for size in range(len(names) + 1):
        for members in combinations(names, size):
            absent = {name: means[name] for name in names if name not in members}
            table = np.column_stack([*{**scores, **absent}.values()])
            rewards[frozenset(members)] = aggregate(
                table, closed, weights, aggregation=aggregation, on_missing=on_missing
            )
    pieces = {name: np.zeros(len(groups)) for name in scores}
    for name in names:
        others = [other for other in names if other != name]
        for size in range(len(names)):
            share = 1 / (len(names) * math.comb(len(others), size))
            for members in combinations(others, size):
                before = frozenset(members)
                pieces[name] += share * (rewards[before | {name}] - rewards[before])
    return pieces


# --- how they are spread


def top_decile(advantages: Floats, groups: Codes) -> float:
    """Return the share of the absolute advantage in the tenth of groups with most.

    Of at least one group; 0.1 where all groups hold the same. Advantages are (rows,);
    NaN without any.

    >>> top_decile(np.array([3.0, -3, 1, -1]), np.array([0, 0, 1, 1]))
    0.75
    """
    sizes = np.sort(np.bincount(groups, np.abs(np.nan_to_num(advantages))))
    if not sizes.sum():
        return math.nan
    return float(sizes[-max(1, len(sizes) // 10) :].sum() / sizes.sum())


def moved(before: Floats, after: Floats) -> float:
    """Return the share of the absolute advantage that differs, both of one size.

    From 0 to 1: an optimiser's step size takes up a common factor. A row without one
    counts as 0.

    >>> moved(np.array([1.0, -1, 0, 0]), np.array([0.0, 0, 5, -5]))
    1.0
    >>> moved(np.array([1.0, -1]), np.zeros(2))
    1.0
    """
    before = of_one_size(np.nan_to_num(before))
    after = of_one_size(np.nan_to_num(after))
    total = float((np.abs(before) + np.abs(after)).sum())
    return float(np.abs(after - before).sum()) / total if total else 0.0


def of_one_size(advantages: Floats) -> Floats:
    """Scale advantages to a root mean square of 1; all zero stays so."""
    if np.isnan(advantages).all():
        return advantages
    size = np.sqrt(np.nanmean(advantages**2))
    return advantages / size if size > 0 else advantages


def sample_size(advantages: Floats) -> float:
    """Return the effective sample size of the absolute advantage, a share of its rows.

    1 where all rows count the same, 1/n where one holds all. NaN without an advantage
    (Kish 1965).

    >>> sample_size(np.array([1.0, -1, 0, np.nan]))
    0.6666666666666666
    """
    sizes = np.abs(advantages[~np.isnan(advantages)])
    if not sizes.any():
        return math.nan
    return float(sizes.sum() ** 2 / (sizes @ sizes * len(sizes)))
