"""Findings about how the reward varies, and where: outliers, wide and narrow groups, two kinds of prompts."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics.advantages import grpo
from rewardkit.analysis.statistics.bootstrap import LEVEL
from rewardkit.analysis.statistics.groups import Floats, group_stats
from rewardkit.analysis.statistics.shape import dip, dip_limit, outlying, two_piles
from rewardkit.analysis.thresholds import FEWEST_GROUPS
from rewardkit.analysis.view import View
from rewardkit.findings import Finding

Rows = NDArray[np.bool_]
FEWEST_VALUES = 20
"""Scores, or different means of prompts, under which a distribution has no shape. Our choice."""
SEVERAL = 2
"""Values far out in a group that has any, on average, from which on the group itself is wide. Our choice."""
FEWEST_PROMPTS = 50
"""Prompts under which two peaks are not told from one. Our choice."""
BLUR = 0.5
"""Standard errors of a prompt's mean by which it is blurred: enough for steps of four scores of 0 and 1."""


def find(view: View) -> list[Finding]:
    """All findings about the spread of one reward.

    One cause, one finding: groups that are wide as they hold outliers are told of with these.
    """
    outliers = []
    blamed = np.zeros(len(view), dtype=bool)
    for name in view.names:
        is_open = view.components[name].range is None
        far = outlying(view.scores[name]) if is_open else np.zeros(len(view), dtype=bool)
        found = list(_outliers(view, name, far))
        outliers += found
        if found and found[0].severity != "info":
            blamed |= far
    return [*outliers, *_wide(view, blamed), *_narrow(view), *_bimodal(view)]


def _outliers(view: View, name: str, far: Rows) -> Iterator[Finding]:
    """Rare scores of an open range, so far out that they make much of what siblings differ in.

    A long tail is no fault, and where several siblings lie far out together the group is wide: rare ones have
    a group for themselves. It is not inconclusive for being of few rows: what they hold is no estimate.
    """
    scores, item, limits = view.scores[name], view.components[name], view.thresholds
    known = int((~np.isnan(scores)).sum())
    if known < FEWEST_VALUES or not 0 < far.sum() <= limits["outlier_rows"] * known:
        return
    if far.sum() >= SEVERAL * len(np.unique(view.groups[far])):
        return
    whole = _squares(view, scores)
    added = np.maximum(whole - _squares(view, np.where(far, np.nan, scores)), 0.0)
    value = float(added.sum() / whole.sum()) if whole.sum() else 0.0
    if value < limits["outliers"]:
        return
    median = float(np.nanmedian(scores))
    extreme = float(scores[far][np.argmax(np.abs(scores[far] - median))])
    evidence = {
        "value": value,
        "interval": view.bootstrap.interval([added, whole], view.owner),
        "rows": int(far.sum()),
        "share": float(far.sum() / known),
        "median": median,
        "extreme": extreme,
        "scaled": view.training.scales_groups,
    }
    few = len(view.stats.count) < FEWEST_GROUPS
    if few:
        evidence |= {"inconclusive": True, "too_few": len(view.stats.count)}
    severity = "warn" if item.weight and not few else "info"
    advice = ("standardise_components",) if item.weight else ()
    limit = limits["outliers"]
    yield Finding("outliers", severity, name, evidence, known, limit, view.ids(far), advice, view.part)


def _squares(view: View, values: Floats) -> Floats:
    """Sum of the squared differences to the mean of the group, (groups,)."""
    stats = group_stats(values, view.groups, len(view.stats.count))
    return np.where(stats.count > 1, np.nan_to_num(stats.std) ** 2 * (stats.count - 1), 0.0)


def _wide(view: View, far: Rows) -> Iterator[Finding]:
    """Few groups that carry the unscaled advantage, for another reason than the outliers in them."""
    stats, limit = view.stats, view.thresholds["top_decile"]
    live = np.flatnonzero(stats.live)
    if len(live) < FEWEST_GROUPS or view.training.scales_groups:
        return
    mass = np.where(stats.live, np.nan_to_num(stats.std) * stats.count, 0.0)
    widest = max(1, len(live) // 10)
    cut = np.sort(mass[live])[-widest - 1 :][:2].mean()
    # adds up to the mass of the widest; in a resample to that of its own widest, to first order, whichever
    # groups these are (Beach and Davidson 1983)
    held = np.where(stats.live, np.maximum(mass - cut, 0.0) + cut * widest / len(live), 0.0)
    value = float(held.sum() / mass.sum())
    top = mass >= cut
    of_outliers = np.bincount(view.groups, far, minlength=len(mass)) > 0
    if value < limit or mass[top & of_outliers].sum() > mass[top].sum() / 2:
        return
    yield view.graded(
        "high_variance",
        "warn",
        None,
        {"value": value, "interval": view.bootstrap.interval([held, mass], view.owner)},
        n=len(live),
        threshold=limit,
        rollout_ids=view.ids(top[view.groups]),
        suggestions=("group_std", "rank_group"),
    )


def _narrow(view: View) -> Iterator[Finding]:
    """Many groups with tiny differences that scaling blows up.

    The spread of two siblings is tiny now and then whatever is behind it, that of eight hardly ever: a group
    counts where its own spread leaves less than one chance in twenty that what is behind it is no tenth of
    the typical one's.
    """
    stats, limits = view.stats, view.thresholds
    moving = stats.live & view.live
    live = int(moving.sum())
    if live < FEWEST_GROUPS or view.training.name != "grpo":
        return
    typical = float(np.median(stats.std[moving]))
    small = moving & (stats.std < limits["small_std"] * typical * least_spread(stats.count))
    value = float(small.sum() / live)
    if value < limits["amplified_noise"]:
        return
    size = np.abs(np.nan_to_num(grpo(view.rewards, view.groups)))
    evidence = {
        "value": value,
        "interval": view.bootstrap.interval([small.astype(float), moving.astype(float)], view.owner),
        "typical_std": typical,
        "advantage_share": float(size[small[view.groups]].sum() / size.sum()),
    }
    yield view.graded(
        "amplified_noise",
        "warn",
        None,
        evidence,
        n=live,
        threshold=limits["amplified_noise"],
        rollout_ids=view.ids(small[view.groups]),
        suggestions=("no_std",),
    )


def least_spread(count: Floats) -> Floats:
    """The standard deviation that one in twenty samples of a normal distribution stays under, by sample size.

    As a part of the true one: the square root of the 5 % point of chi-squared over its degrees of freedom;
    exact for samples of two and three, and by Wilson and Hilferty (1931) for larger ones. NaN under two.

    >>> least_spread(np.array([2.0, 3, 8])).round(3).tolist()
    [0.063, 0.226, 0.555]
    """
    normal, freedom = NormalDist(), np.where(count > 1, count - 1, np.nan)
    rough = 2 / (9 * freedom)
    found = np.maximum(1 - rough + normal.inv_cdf(1 - LEVEL) * np.sqrt(rough), 0.0) ** 1.5
    found = np.where(freedom == 1, normal.inv_cdf((2 - LEVEL) / 2), found)
    return np.where(freedom == 2, np.sqrt(-np.log(LEVEL)), found)


def _bimodal(view: View) -> Iterator[Finding]:
    """Two kinds of prompts, by their mean rewards, blurred by a part of what these would vary by anyhow.

    The mean of a few scores of few levels lies on steps, which are no peaks; the blur is what levels them.
    """
    prompts = view.bootstrap.prompts
    stats = group_stats(view.rewards, prompts)
    known = stats.count > 0
    means, count = stats.mean[known], stats.count[known]
    freedom = np.maximum(count - 1, 0).sum()
    if len(means) < FEWEST_PROMPTS or len(np.unique(np.round(means, 12))) < FEWEST_VALUES or not freedom:
        return
    inside = float(np.sqrt(((count - 1) * stats.std[known] ** 2).sum() / freedom))
    noise = np.random.default_rng(view.bootstrap.seed).standard_normal(len(means))
    value, limit = dip(means + BLUR * inside / np.sqrt(count) * noise), dip_limit(len(means))
    if value <= limit:
        return
    low, high, share = two_piles(means)
    evidence = {"value": value, "low": low, "high": high, "share": share}
    rows = stats.mean[prompts] < (low + high) / 2
    yield Finding("bimodal", "info", None, evidence, len(means), limit, view.ids(rows), part=view.part)
