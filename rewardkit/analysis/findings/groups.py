"""Rules on where the groups of a reward give no gradient, and why."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.findings.rule import FEWEST_GROUPS, Said, finding, share, sure
from rewardkit.analysis.findings.sparsity import constant
from rewardkit.analysis.statistics.groups import (
    ZERO_STD,
    Floats,
    effective_levels,
    tie_rate,
)
from rewardkit.analysis.statistics.pairs import marks_of
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, counted, percent, rule

Groups = NDArray[np.bool_]
MOST_LEFT = 0.5
"""Share of the variance of two components that may be left where they are said to cancel. Our choice."""


@rule("not_enough")
def not_enough(view: View, said: Said) -> Iterator[Finding]:
    """Too few rewards, siblings or groups for what is said of others."""
    judged, several = (
        int((~np.isnan(view.rewards)).sum()),
        int((view.stats.count > 1).sum()),
    )
    if not any(view.weights):
        reason = "no component has a weight, so nothing is paid; give a weight to the one that is the task"
    elif not judged:
        reason = f"none of the {len(view):,} rows has a reward"
    elif not several:
        reason = f"no two of the {judged:,} rewards are in one group, so there is no advantage"
    elif several < FEWEST_GROUPS:
        reason = f"only {counted(several, 'group')} of two or more completions; {FEWEST_GROUPS} would do"
    else:
        return
    more = {"rows": judged, "groups": len(view.stats.count), "groups_of_two": several}
    yield finding(
        view, "not_enough", n=judged, limit=FEWEST_GROUPS, reason=reason, **more
    )


@rule("opposed")
def cancelling(
    view: View,
    said: Said,
    *,
    opposed: float = 0.05,  # share of groups where components cancel: our choice
    opposed_correlation: float = 0.9,  # of what two components pay, with its sign turned round: our choice
    zero_std_high: float = 0.6,
) -> Iterator[Finding]:
    """Components that take back what others pay, everywhere or in some groups (TRL issue 3857)."""
    pairs = _opposed_pairs(view, opposed_correlation) if view.additive else []
    for first, second, value, interval, left in pairs:
        tied = float(
            (view.dead & _varies(view, first) & _varies(view, second)).sum()
            / max(view.several, 1)
        )
        told: dict[str, Any] = {
            "value": -value,
            "interval": (-interval[1], -interval[0]),
            "n": view.several,
        }
        more = {
            "components": f"{first}, {second}",
            "other": first,
            "correlation": value,
            "left": left,
        }
        grave, read = (
            "high" if tied >= zero_std_high else "warn",
            view.dead[view.groups],
        )
        read = read if tied else ~np.isnan(view.rewards)
        limit = opposed_correlation
        yield finding(
            view,
            "opposed",
            **told,
            limit=limit,
            severity=grave,
            read=read,
            cost=1 - left,
            **more,
        )
    cancelled = _cancelled(view)
    if pairs or cancelled.sum() < opposed * max(view.several, 1):
        return
    told = share(view, cancelled, view.stats.count > 1)
    names = ", ".join(
        name for name in view.paid if (_varies(view, name) & cancelled).any()
    )
    grave, read = (
        "high" if told["value"] >= zero_std_high else "warn",
        cancelled[view.groups],
    )
    yield finding(
        view,
        "opposed",
        **told,
        limit=opposed,
        severity=grave,
        read=read,
        components=names,
    )


def _varies(view: View, name: str) -> Groups:
    return view.component_stats[name].live


def _cancelled(view: View) -> Groups:
    """Groups whose reward is tied although two or more components vary in it."""
    if not view.additive:
        return view.dead & False
    varying = sum(
        _varies(view, name).astype(int)
        for name in view.paid
        if view.components[name].weight
    )
    return view.dead & (np.asarray(varying) >= 2)


def _opposed_pairs(
    view: View, least: float
) -> list[tuple[str, str, float, tuple[float, float], float]]:
    """Pairs whose pay goes against each other: names, correlation, its interval, share of variance left."""
    found = []
    paid = [name for name in view.names if view.components[name].weight]
    for first, second in combinations(paid, 2):
        value = view.sign(first, second) * view.correlations[first, second]
        if np.isnan(value) or value > -least:
            continue
        a, b = (view.pieces[name] for name in (first, second))
        single = float(sum(view.group_stats(piece).squares.sum() for piece in (a, b)))
        left = float(view.group_stats(a + b).squares.sum()) / single if single else 0.0
        if left <= MOST_LEFT:
            found.append(
                (
                    first,
                    second,
                    float(value),
                    view.correlation_interval(first, second),
                    left,
                )
            )
    return found


@rule("constant")
def constant_reward(view: View, said: Said) -> Iterator[Finding]:
    """A reward that never varies, where no component says so already and none cancel."""
    known = ~np.isnan(view.rewards)
    alone = len(view.names) == 1 and sure(said, "constant", component=view.names[0])
    if known.sum() < 2 or view.varies or alone or sure(said, "opposed"):
        return
    if len(view.names) > 1 or not any(item.code == "constant" for item in said):
        yield constant(
            view, None, float(view.rewards[known][0]), int(known.sum()), read=known
        )


@rule("clustered")
def clustered(
    view: View,
    said: Said,
    *,
    tie_rate: float = 0.8,  # share of sibling pairs that earn the same: our choice
    zero_std_high: float = 0.6,
) -> Iterator[Finding]:
    """Most sibling pairs earn the same although the reward has more than two levels.

    A binary one is said to be so already, and so is one that is the commonest as the task is missed, or had,
    by nearly all. Groups that are tied at another reward than the commonest are not counted: they are silent,
    but the reward takes many values. Under GDPO it is not the reward whose levels count.
    """
    known = view.rewards[~np.isnan(view.rewards)]
    if view.training.name == "gdpo" or len(known) < 2 or not view.varies:
        return
    equal, pairs = view.reward_ties
    if equal.sum() < tie_rate * pairs.sum() or len(np.unique(np.round(known, 12))) <= 2:
        return
    common = _commonest(view)
    ends = np.isin(
        view.scores[view.primary][_equal(view.rewards, common)], view.span(view.primary)
    )
    at = view.dead & _equal(view.stats.low, common)
    equal, pairs = equal * (at | ~view.dead), pairs * (at | ~view.dead)
    if not pairs.sum() or equal.sum() < tie_rate * pairs.sum() or ends.mean() > 0.5:
        return
    tied = float(at.sum() / max(view.several, 1))
    more = {"levels": effective_levels(view.rewards), "tied_groups": tied}
    grave, read = (
        "high" if tied >= zero_std_high else "warn",
        ((equal == pairs) & (pairs > 0))[view.groups],
    )
    told = share(view, equal, pairs)
    yield finding(
        view, "clustered", **told, limit=tie_rate, severity=grave, read=read, **more
    )


def _commonest(view: View) -> float:
    """The reward that most rows have."""
    atoms, counts = np.unique(
        np.round(view.rewards[~np.isnan(view.rewards)], 12), return_counts=True
    )
    return float(atoms[np.argmax(counts)])


def _equal(values: Floats, value: float) -> NDArray[np.bool_]:
    """Which are this, up to the last digits of a sum."""
    return np.asarray(
        np.abs(values - value) <= ZERO_STD * max(1.0, abs(value)), dtype=bool
    )


@rule("zero_std_groups")
def zero_std_groups(
    view: View,
    said: Said,
    *,
    zero_std: float = 0.3,  # our choice: DAPO (arXiv 2503.14476) draws 1.4 batches for one at 30 %
    zero_std_high: float = 0.6,  # our choice
) -> Iterator[Finding]:
    """Groups without a gradient: what is left where components cancel, or most rows earn one and the same."""
    value = float(view.dead.sum() / max(view.several, 1))
    if value < zero_std or not view.varies:
        return
    cancel, cluster = (bool(sure(said, code)) for code in ("opposed", "clustered"))
    told = _cancelled(view) & cancel
    if cluster:
        told |= view.dead & _equal(view.stats.low, _commonest(view))
    if (view.dead & ~told).sum() < min(told.sum(), zero_std * view.several):
        return
    primary, (low, high) = (
        view.group_stats(view.scores[view.primary]),
        view.span(view.primary),
    )
    wrong, right = view.dead & (primary.high == low), view.dead & (primary.low == high)
    parts = {
        "all_wrong": wrong,
        "all_right": right,
        "otherwise": view.dead & ~wrong & ~right,
    }
    shares: dict[str, Any] = {
        name: float(mask.sum() / view.several) for name, mask in parts.items()
    }
    words = zip(
        ("all wrong", "all right", "tied between"), shares.values(), strict=True
    )
    split = ", ".join(f"{percent(of)} {word}" for word, of in words if of > 0)
    more = {**shares, "split": split, "dropped_by": view.training.filter_metric}
    grave = "high" if value >= zero_std_high else "warn"
    read = view.dead[view.groups] & ~np.isnan(view.rewards)
    measured = share(view, view.dead, view.stats.count > 1)
    yield finding(
        view,
        "zero_std_groups",
        **measured,
        limit=zero_std,
        severity=grave,
        read=read,
        **more,
    )


@rule("collapsed_outputs")
def collapsed_outputs(
    view: View,
    said: Said,
    *,
    identical_pairs: float = 0.25,  # share of sibling pairs with the same text: our choice
) -> Iterator[Finding]:
    """Siblings that are the same text."""
    if (~np.isnan(view.rewards)).sum() < 2 or not view.varies:
        return
    marks = marks_of(view.completions[view.few])
    equal, pairs = tie_rate(marks, view.groups[view.few], total=len(view.owner))
    if not pairs.sum() or equal.sum() < identical_pairs * pairs.sum():
        return
    told, groups = (
        share(view, equal, pairs),
        float((equal > 0).sum() / (pairs > 0).sum()),
    )
    read = (equal > 0)[view.groups]
    yield finding(
        view,
        "collapsed_outputs",
        **told,
        limit=identical_pairs,
        read=read,
        groups=groups,
    )


RULES = (
    not_enough,
    cancelling,
    constant_reward,
    clustered,
    zero_std_groups,
    collapsed_outputs,
)
