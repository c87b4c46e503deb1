"""Findings about the reward as a whole: where its groups have no signal, and why."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.component_findings import never_varies, same_everywhere
from rewardkit.analysis.statistics.groups import ZERO_STD, Floats, effective_levels, group_stats, tie_rate
from rewardkit.analysis.statistics.pairs import marks_of
from rewardkit.analysis.thresholds import FEWEST_GROUPS
from rewardkit.analysis.view import View
from rewardkit.findings import Finding

Groups = NDArray[np.bool_]
MORE_LEVELS = ("graduate", "pay_component")
"""What answers groups that are tied."""


def find(view: View) -> list[Finding]:
    """All findings about one reward as a whole.

    One cause, one finding: groups that are tied as components cancel there, or as most completions earn one
    and the same, are told of with that cause, and as groups without a signal only where many others are.
    """
    known = ~np.isnan(view.rewards)
    few = list(_not_enough(view, int(known.sum())))
    if known.sum() < 2:
        return few
    if never_varies(view):
        if len(view.names) == 1:  # said of the component already
            return few
        value = float(view.rewards[known][0])
        return [same_everywhere(view, "high", None, value, int(known.sum()), False, view.ids(known)), *few]
    causes = [*_opposed(view), *_clustered(view)]
    told = np.zeros(len(view.dead), dtype=bool)
    for cause in causes:
        if not cause.evidence.get("inconclusive"):
            told |= _cancelled(view) if cause.code == "opposed" else _tied_at(view, _commonest(view))
    left = view.dead & ~told
    few_left = left.sum() < min(told.sum(), view.thresholds["zero_std"] * _counted(view).sum())
    silent = [] if few_left else _zero_std(view)
    return [*silent, *causes, *_collapsed(view), *few]


def _not_enough(view: View, judged: int) -> Iterator[Finding]:
    """That there are too few rewards, siblings or groups for what is said of others."""
    groups, several = len(view.stats.count), int((view.stats.count > 1).sum())
    if not judged:
        reason = f"none of its {len(view):,} rows has a reward"
    elif not several:
        reason = f"no two of its {judged:,} rewards are of one group, so that there is no advantage"
    elif several < FEWEST_GROUPS:
        reason = f"it has {several} group{'s'[: several > 1]} of two or more, and {FEWEST_GROUPS} would do"
    else:
        return
    evidence = {"reason": reason, "rows": judged, "groups": groups, "groups_of_two": several}
    yield Finding("not_enough", "info", None, evidence, judged, FEWEST_GROUPS, part=view.part)


def _counted(view: View) -> Groups:
    """The groups of two rewards or more."""
    return view.live | view.dead


def _decided(view: View) -> tuple[Groups, Groups]:
    """The tied groups whose siblings all miss the task, and those whose siblings all have it."""
    primary = group_stats(view.scores[view.primary], view.groups, len(view.stats.count))
    low, high = view.span(view.primary)
    return view.dead & (primary.high == low), view.dead & (primary.low == high)


def _commonest(view: View) -> float:
    """The reward that most rows have."""
    atoms, counts = np.unique(np.round(view.rewards[~np.isnan(view.rewards)], 12), return_counts=True)
    return float(atoms[np.argmax(counts)])


def _tied_at(view: View, reward: float) -> Groups:
    """The groups whose siblings all earn this."""
    return view.dead & _equal(view.stats.low, reward)


def _equal(values: Floats, value: float) -> NDArray[np.bool_]:
    """Which are this, up to the last digits of a sum."""
    return np.asarray(np.abs(values - value) <= ZERO_STD * max(1.0, abs(value)), dtype=bool)


def _severity(view: View, share: float) -> str:
    """Of a cause for which this share of the groups gives no gradient."""
    return "high" if share >= view.thresholds["zero_std_high"] else "warn"


def _zero_std(view: View) -> Iterator[Finding]:
    limits, counted = view.thresholds, _counted(view)
    n = int(counted.sum())
    if not n:
        return
    value = float(view.dead.sum() / n)
    if value < limits["zero_std"]:
        return
    wrong, right = _decided(view)
    evidence = {
        "value": value,
        "interval": view.bootstrap.interval([view.dead.astype(float), counted.astype(float)], view.owner),
        "all_wrong": float(wrong.sum() / n),
        "all_right": float(right.sum() / n),
        "otherwise": float((view.dead & ~wrong & ~right).sum() / n),
        "dropped_by": view.training.filter_metric,
    }
    rows = view.dead[view.groups] & ~np.isnan(view.rewards)
    yield view.graded(
        "zero_std_groups",
        _severity(view, value),
        None,
        evidence,
        n=n,
        threshold=limits["zero_std"],
        rollout_ids=view.ids(rows),
        suggestions=MORE_LEVELS,
    )


def _moving(view: View) -> dict[str, Groups]:
    """The tied groups in which each paid component varies, where components add up."""
    if not view.additive:
        return {}
    total = len(view.dead)
    rows = np.flatnonzero(view.dead[view.groups])
    groups = view.groups[rows]
    paid = {name: scores[rows] for name, scores in view.paid.items() if view.components[name].weight}
    return {name: group_stats(scores, groups, total).live for name, scores in paid.items()}


def _cancelled(view: View) -> Groups:
    """Groups whose reward is tied although two or more components vary in it (TRL issue 3857)."""
    varying = np.sum([live.astype(int) for live in _moving(view).values()] or [view.dead * 0], axis=0)
    return np.asarray(varying >= 2, dtype=bool)


def _opposed(view: View) -> Iterator[Finding]:
    cancelled, counted = _cancelled(view), _counted(view)
    value = float(cancelled.sum() / max(counted.sum(), 1))
    if value < view.thresholds["opposed"]:
        return
    names = [name for name, live in _moving(view).items() if (live & cancelled).any()]
    interval = view.bootstrap.interval([cancelled.astype(float), counted.astype(float)], view.owner)
    yield view.graded(
        "opposed",
        _severity(view, value),
        None,
        {"value": value, "interval": interval, "components": ", ".join(names)},
        n=int(counted.sum()),
        threshold=view.thresholds["opposed"],
        rollout_ids=view.ids(cancelled[view.groups]),
        suggestions=("declared_weights",),
    )


def _clustered(view: View) -> Iterator[Finding]:
    """Most sibling pairs earn the same although the reward has more than two levels.

    A binary one is said to be so already, and so is one that is the commonest as the task is missed, or had,
    by nearly all. Groups that are tied at another reward than the commonest are not counted: they are silent,
    but the reward takes many values. Under GDPO it is not the reward whose levels count.
    """
    if view.training.name == "gdpo":
        return
    equal, pairs = tie_rate(view.rewards, view.groups)
    limit = view.thresholds["tie_rate"]
    known = view.rewards[~np.isnan(view.rewards)]
    if equal.sum() < limit * pairs.sum() or len(np.unique(np.round(known, 12))) <= 2:
        return
    common = _commonest(view)
    ends = np.isin(view.scores[view.primary][_equal(view.rewards, common)], view.span(view.primary))
    at = _tied_at(view, common)
    equal, pairs = equal * (at | ~view.dead), pairs * (at | ~view.dead)
    value = float(equal.sum() / pairs.sum()) if pairs.sum() else 0.0
    if value < limit or ends.mean() > 0.5:
        return
    tied = float(at.sum() / max(_counted(view).sum(), 1))
    evidence = {
        "value": value,
        "interval": view.bootstrap.interval([equal, pairs], view.owner),
        "levels": effective_levels(view.rewards),
        "tied_groups": tied,
    }
    yield view.graded(
        "clustered",
        _severity(view, tied),
        None,
        evidence,
        n=int(pairs.sum()),
        threshold=limit,
        rollout_ids=view.ids(((equal == pairs) & (pairs > 0))[view.groups]),
        suggestions=MORE_LEVELS,
    )


def _collapsed(view: View) -> Iterator[Finding]:
    equal, pairs = tie_rate(
        marks_of(view.completions[view.few]), view.groups[view.few], total=len(view.owner)
    )
    if not pairs.sum():
        return
    value = float(equal.sum() / pairs.sum())
    if value < view.thresholds["identical_pairs"]:
        return
    evidence = {
        "value": value,
        "interval": view.bootstrap.interval([equal, pairs], view.owner),
        "groups": float((equal > 0).sum() / (pairs > 0).sum()),
    }
    yield view.graded(
        "collapsed_outputs",
        "warn",
        None,
        evidence,
        n=int(pairs.sum()),
        threshold=view.thresholds["identical_pairs"],
        rollout_ids=view.ids((equal > 0)[view.groups]),
    )
