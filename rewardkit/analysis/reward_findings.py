"""Findings about the reward as a whole and its groups."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rewardkit.analysis.advantages import grpo
from rewardkit.analysis.component_findings import same_everywhere
from rewardkit.analysis.findings import Finding
from rewardkit.analysis.grouping import ZERO_STD, effective_levels, group_stats, tie_rate
from rewardkit.analysis.view import View


def find(view: View) -> list[Finding]:
    """All findings about one reward as a whole."""
    known = ~np.isnan(view.rewards)
    if known.sum() < 2:
        return []
    if np.ptp(view.rewards[known]) <= ZERO_STD:
        if len(view.names) == 1:  # said of the component already
            return []
        value = float(view.rewards[known][0])
        return [same_everywhere(view, "high", None, value, int(known.sum()), False, view.ids(known))]
    return [
        *_zero_std(view),
        *_opposed(view),
        *_clustered(view),
        *_collapsed(view),
        *_outliers(view),
        *_spread(view),
    ]


def _zero_std(view: View) -> Iterator[Finding]:
    stats, limits = view.stats, view.thresholds
    counted = stats.live | stats.dead
    n = int(counted.sum())
    if not n:
        return
    value = float(stats.dead.sum() / n)
    if value < limits["zero_std"]:
        return
    primary = group_stats(view.scores[view.primary], view.groups, len(stats.count))
    low, high = view.span(view.primary)
    wrong, right = stats.dead & (primary.high == low), stats.dead & (primary.low == high)
    evidence = {
        "value": value,
        "interval": view.bootstrap.interval([stats.dead.astype(float), counted.astype(float)], view.owner),
        "all_wrong": float(wrong.sum() / n),
        "all_right": float(right.sum() / n),
        "otherwise": float((stats.dead & ~wrong & ~right).sum() / n),
    }
    severity = "high" if value >= limits["zero_std_high"] else "warn"
    rows = stats.dead[view.groups] & ~np.isnan(view.rewards)
    yield view.graded(
        "zero_std_groups",
        severity,
        None,
        evidence,
        n=n,
        threshold=limits["zero_std"],
        rollout_ids=view.ids(rows),
        suggestions=("graduate",),
    )


def _opposed(view: View) -> Iterator[Finding]:
    """Groups whose reward is tied although two or more components vary in it (TRL issue 3857)."""
    moving = {
        name: stats.live for name, stats in view.component_stats.items() if view.components[name].weight
    }
    if len(moving) < 2 or not view.additive:
        return
    cancelled = view.stats.dead & (sum(live.astype(int) for live in moving.values()) >= 2)
    counted = view.stats.live | view.stats.dead
    value = float(cancelled.sum() / max(counted.sum(), 1))
    if value < view.thresholds["opposed"]:
        return
    names = [name for name, live in moving.items() if (live & cancelled).any()]
    interval = view.bootstrap.interval([cancelled.astype(float), counted.astype(float)], view.owner)
    yield view.graded(
        "opposed",
        "warn",
        None,
        {"value": value, "interval": interval, "components": ", ".join(names)},
        n=int(counted.sum()),
        threshold=view.thresholds["opposed"],
        rollout_ids=view.ids(cancelled[view.groups]),
        suggestions=("declared_weights",),
    )


def _clustered(view: View) -> Iterator[Finding]:
    """Most sibling pairs earn the same although the reward has more than two levels.

    A binary one is said to be so already.
    """
    known = view.rewards[~np.isnan(view.rewards)]
    if len(np.unique(np.round(known, 12))) <= 2:
        return
    equal, pairs = tie_rate(view.rewards, view.groups)
    if not pairs.sum():
        return
    value = float(equal.sum() / pairs.sum())
    if value >= view.thresholds["tie_rate"]:
        interval = view.bootstrap.interval([equal, pairs], view.owner)
        evidence = {"value": value, "interval": interval, "levels": effective_levels(view.rewards)}
        yield view.graded(
            "clustered",
            "warn",
            None,
            evidence,
            n=int(pairs.sum()),
            threshold=view.thresholds["tie_rate"],
            suggestions=("graduate",),
        )


def _collapsed(view: View) -> Iterator[Finding]:
    texts = {text: code for code, text in enumerate(dict.fromkeys(view.completions))}
    codes = np.array([texts[text] for text in view.completions], dtype=float)
    equal, pairs = tie_rate(codes, view.groups)
    if not pairs.sum():
        return
    value = float(equal.sum() / pairs.sum())
    if value >= view.thresholds["identical_pairs"]:
        groups = float((equal > 0).sum() / (pairs > 0).sum())
        evidence = {
            "value": value,
            "interval": view.bootstrap.interval([equal, pairs], view.owner),
            "groups": groups,
        }
        rows = (equal > 0)[view.groups]
        yield view.graded(
            "collapsed_outputs",
            "warn",
            None,
            evidence,
            n=int(pairs.sum()),
            threshold=view.thresholds["identical_pairs"],
            rollout_ids=view.ids(rows),
        )


def _outliers(view: View) -> Iterator[Finding]:
    """Scores of components with an open range that lie far out: robust z by the median absolute deviation."""
    for name in view.names:
        scores = view.scores[name]
        known = scores[~np.isnan(scores)]
        if view.components[name].range is not None or len(known) < 20:
            continue
        median = float(np.median(known))
        deviation = 1.4826 * float(np.median(np.abs(known - median)))
        if deviation == 0:
            continue
        limit = view.thresholds["outlier_z"]
        far = np.abs(scores - median) / deviation > limit
        if far.any():
            value = float(far.sum() / len(known))
            extreme = float(scores[far][np.argmax(np.abs(scores[far] - median))])
            rows = [np.nan_to_num(far.astype(float)), (~np.isnan(scores)).astype(float)]
            interval = view.bootstrap.interval(rows, view.bootstrap.prompts)
            evidence = {
                "value": value,
                "interval": interval,
                "z": limit,
                "median": median,
                "extreme": extreme,
            }
            yield Finding(
                "outliers",
                "warn",
                name,
                evidence,
                len(known),
                limit,
                view.ids(far),
                ("clip_3_sigma",),
                view.part,
            )


def _spread(view: View) -> Iterator[Finding]:
    """Few groups that carry the unscaled advantage, or many with tiny differences that scaling blows up."""
    stats, limits = view.stats, view.thresholds
    live = np.flatnonzero(stats.live)
    if len(live) < 10:
        return
    typical = float(np.median(stats.std[live]))
    if not view.training.scales_groups:
        mass = np.where(stats.live, np.nan_to_num(stats.std) * stats.count, 0.0)
        cut = np.sort(mass[live])[-max(1, len(live) // 10)]
        top = mass >= cut
        value = float(mass[top].sum() / mass.sum())
        if value >= limits["top_decile"]:
            interval = view.bootstrap.interval([np.where(top, mass, 0.0), mass], view.owner)
            rows = top[view.groups]
            yield view.graded(
                "high_variance",
                "warn",
                None,
                {"value": value, "interval": interval},
                n=len(live),
                threshold=limits["top_decile"],
                rollout_ids=view.ids(rows),
            )
    small = stats.live & (stats.std < limits["small_std"] * typical)
    value = float(small.sum() / len(live))
    if view.training.scales_groups and value >= limits["amplified_noise"]:
        size = np.abs(np.nan_to_num(grpo(view.rewards, view.groups)))
        share = float(size[small[view.groups]].sum() / size.sum())
        interval = view.bootstrap.interval([small.astype(float), stats.live.astype(float)], view.owner)
        evidence = {"value": value, "interval": interval, "typical_std": typical, "advantage_share": share}
        yield view.graded(
            "amplified_noise",
            "warn",
            None,
            evidence,
            n=len(live),
            threshold=limits["amplified_noise"],
            rollout_ids=view.ids(small[view.groups]),
            suggestions=("no_std",),
        )
