"""Rules on where the groups of a reward give no gradient, and why."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd

from rewardkit.analysis.findings import (
    FEWEST_GROUPS,
    components_that_fail,
    conclusive,
    finding,
    share,
)
from rewardkit.analysis.findings.sparsity import constant
from rewardkit.analysis.statistics import (
    ZERO_STD,
    Floats,
    Mask,
    count_ties,
    effective_levels,
    group_stats,
    ratio,
)
from rewardkit.analysis.statistics.pairs import marks_of
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, Findings, counted, percent, rule
from rewardkit.rollouts.columns import LOGGED

MOST_REMAINING = 0.5
"""Share of their variance that two cancelling components may leave. Our choice."""
LEAST_APART = 0.25
"""Share of the span of all rewards by which those of one text differ. Our choice."""


@rule("not_enough")
def not_enough(view: View, findings: Findings) -> Iterator[Finding]:
    """Find that nothing has a weight, or that too few groups have two rewards."""
    judged = int(view.is_judged.sum())
    if not any(view.weights):
        reason = (
            "no component has a weight, so nothing is paid; give a weight to the one "
            "that is the task"
        )
    elif not judged:
        reason = f"none of the {len(view):,} rows has a reward"
    elif not view.several:
        reason = (
            f"no two of the {judged:,} rewards are in one group, so there is no "
            "advantage"
        )
    elif view.several < FEWEST_GROUPS:
        groups = counted(view.several, "group")
        reason = f"only {groups} of two or more completions; {FEWEST_GROUPS} would do"
    else:
        return
    yield finding(
        view,
        "not_enough",
        n=judged,
        limit=FEWEST_GROUPS,
        reason=reason,
        rows=judged,
        groups=len(view.stats.count),
    )


@rule("opposed")
def cancelling(
    view: View,
    findings: Findings,
    *,
    opposed: float = 0.05,  # share of groups where components cancel: our choice
    opposed_correlation: float = 0.9,  # of their pay, sign reversed: our choice
    zero_std_high: float = 0.6,
) -> Iterator[Finding]:
    """Find components that take back what others pay, everywhere or in some groups.

    Seen in TRL issue 3857.
    """
    pairs = list(_opposed_pairs(view, opposed_correlation, zero_std_high))
    yield from pairs
    is_cancelled = _cancelled(view)
    if pairs or is_cancelled.sum() < opposed * max(view.several, 1):
        return
    measured = share(view, is_cancelled, view.stats.has_pairs)
    names = [name for name in view.names if (_varies(view, name) & is_cancelled).any()]
    yield finding(
        view,
        "opposed",
        **measured,
        limit=opposed,
        severity="high" if measured["value"] >= zero_std_high else "",
        reading=is_cancelled[view.groups],
        components=", ".join(names),
    )


def _varies(view: View, name: str) -> Mask:
    """Return the groups in which the pay of a component varies, (groups,)."""
    return view.component_stats[name].live


def _cancelled(view: View) -> Mask:
    """Return the groups whose reward is tied although two components or more vary."""
    if not view.additive:
        return np.zeros(len(view.dead), dtype=bool)
    varying = np.zeros(len(view.dead), dtype=int)
    for name in view.paid_names:
        varying += _varies(view, name)
    return view.dead & (varying >= 2)


def _opposed_pairs(view: View, least: float, high: float) -> Iterator[Finding]:
    """Find the pairs of components whose pay has a correlation under -`least`."""
    if not view.additive:
        return
    for first, second in combinations(view.paid_names, 2):
        sign = view.sign(first, second)
        correlation = sign * view.correlations[first, second].value
        if np.isnan(correlation) or correlation > -least:
            continue
        a = view.pieces[first]
        b = view.pieces[second]
        apart = view.group_stats(a).squares + view.group_stats(b).squares
        remainder = ratio(view.group_stats(a + b).squares, apart)
        if remainder > MOST_REMAINING:
            continue
        scores = view.scores[first]
        others = sign * view.scores[second]
        _, (low, upper) = view.correlate(scores, others)
        both_vary = _varies(view, first) & _varies(view, second)
        tied = float((view.dead & both_vary).sum() / max(view.several, 1))
        yield finding(
            view,
            "opposed",
            value=-float(correlation),
            interval=(-upper, -low),
            n=view.several,
            limit=least,
            severity="high" if tied >= high else "warn",
            reading=view.dead[view.groups] if tied else view.is_judged,
            cost=1 - remainder,
            components=f"{first}, {second}",
            other=first,
            correlation=float(correlation),
            left=remainder,
        )


@rule("constant")
def constant_reward(view: View, findings: Findings) -> Iterator[Finding]:
    """Find a reward that never varies, unless a component or `opposed` explains it."""
    judged = view.is_judged
    if judged.sum() < 2 or view.varies or conclusive(findings, "opposed"):
        return
    if view.primary in components_that_fail(findings):
        return
    is_reported = any(finding.code == "constant" for finding in findings)
    if len(view.names) == 1 and is_reported:
        return
    yield constant(view, None, float(view.rewards[judged][0]), view.rewards)


@rule("clustered")
def clustered(
    view: View,
    findings: Findings,
    *,
    tie_rate: float = 0.8,  # share of sibling pairs that earn the same: our choice
    zero_std_high: float = 0.6,
) -> Iterator[Finding]:
    """Find that most siblings earn the same although the reward has several levels.

    Other findings name a binary reward, and a task that nearly all miss or solve. Only
    groups tied at the commonest reward count: ties at many different rewards do not
    mean that the reward has few values. Under GDPO the levels of the reward do not
    matter.
    """
    rewards = view.rewards[view.is_judged]
    if view.training.name == "gdpo" or len(rewards) < 2 or not view.varies:
        return
    groups = view.groups[view.few]
    total = len(view.owner)
    equal, pairs = count_ties(view.rewards[view.few], groups, total)
    is_binary = len(np.unique(np.round(rewards, 12))) <= 2
    if equal.sum() < tie_rate * pairs.sum() or is_binary:
        return
    common = _commonest(view)
    primary = view.primary_scores[_equal(view.rewards, common)]
    at_ends = np.isin(primary, view.span(view.primary))
    tied = view.dead & _equal(view.stats.low, common)
    counts = tied | ~view.dead
    equal = equal * counts
    pairs = pairs * counts
    if not pairs.sum() or equal.sum() < tie_rate * pairs.sum() or at_ends.mean() > 0.5:
        return
    tied_groups = float(tied.sum() / max(view.several, 1))
    yield finding(
        view,
        "clustered",
        **share(view, equal, pairs),
        limit=tie_rate,
        severity="high" if tied_groups >= zero_std_high else "warn",
        reading=((equal == pairs) & (pairs > 0))[view.groups],
        levels=effective_levels(view.rewards),
        tied_groups=tied_groups,
    )


def _commonest(view: View) -> float:
    """Return the reward that most rows have."""
    return float(pd.Series(view.rewards).round(12).mode()[0])


def _equal(values: Floats, value: float) -> Mask:
    """Return which values equal this one, up to the last digits of a sum."""
    return np.isclose(values, value, rtol=ZERO_STD, atol=ZERO_STD)


@rule("zero_std_groups")
def zero_std_groups(
    view: View,
    findings: Findings,
    *,
    zero_std: float = 0.3,  # our choice: DAPO (2503.14476) draws 1.4 batches for one
    zero_std_high: float = 0.6,  # our choice
) -> Iterator[Finding]:
    """Find groups without a gradient that no cancelling or clustering explains."""
    value = float(view.dead.sum() / max(view.several, 1))
    if value < zero_std or not view.varies:
        return
    is_explained = np.zeros(len(view.dead), dtype=bool)
    if conclusive(findings, "opposed"):
        is_explained |= _cancelled(view)
    if conclusive(findings, "clustered"):
        is_explained |= view.dead & _equal(view.stats.low, _commonest(view))
    unexplained = (view.dead & ~is_explained).sum()
    if unexplained < min(is_explained.sum(), zero_std * view.several):
        return
    primary = view.group_stats(view.primary_scores)
    low, high = view.span(view.primary)
    wrong = view.dead & (primary.high == low)
    right = view.dead & (primary.low == high)
    otherwise = view.dead & ~wrong & ~right
    is_cancelled = otherwise & primary.live & (view.training.filter_metric is None)
    kinds = {
        "all wrong": wrong,
        "all right": right,
        "all right in part": otherwise & ~is_cancelled,
    }
    split = []
    for words, groups in kinds.items():
        if groups.any():
            split.append(f"{percent(float(groups.sum() / view.several))} {words}")
    yield finding(
        view,
        "zero_std_groups",
        **share(view, view.dead, view.stats.has_pairs),
        limit=zero_std,
        severity="high" if value >= zero_std_high else "warn",
        reading=view.dead[view.groups] & view.is_judged,
        cancelled=float(is_cancelled.sum() / view.several),
        task_is_known=view.task_is_known,
        split=", ".join(split),
        dropped_by=view.training.filter_metric,
    )


@rule("collapsed_outputs")
def collapsed_outputs(
    view: View,
    findings: Findings,
    *,
    identical_pairs: float = 0.25,  # sibling pairs with the same text: our choice
) -> Iterator[Finding]:
    """Find siblings that are the same text, turn by turn."""
    if view.is_judged.sum() < 2 or not view.varies:
        return
    marks, groups = view.conversation_marks, view.groups[view.few]
    equal, pairs = count_ties(marks, groups, total=len(view.owner))
    if not pairs.sum() or equal.sum() < identical_pairs * pairs.sum():
        return
    yield finding(
        view,
        "collapsed_outputs",
        **share(view, equal, pairs),
        limit=identical_pairs,
        reading=(equal > 0)[view.groups],
        groups=float((equal > 0).sum() / (pairs > 0).sum()),
    )


@rule("unsteady")
def unsteady(
    view: View,
    findings: Findings,
    *,
    unsteady: float = 0.05,  # share of the texts that siblings repeat: our choice
) -> Iterator[Finding]:
    """Find siblings that are the same text, turn by turn, and earn different rewards.

    The columns that the reward asks for are the same, too. So a judge, a tool or chance
    decides, and training pushes a text both ways. The rewards of one text must lie
    apart by a quarter of the span, on two prompts or more.
    """
    if view.is_judged.sum() < 2 or not view.varies:
        return
    if any(item.group or item.batch for item in view.reward.components):
        return
    rows = np.arange(len(view))[view.few]
    table = view.context.table.iloc[rows]
    groups = view.groups[rows]
    columns = {"group": groups.astype(float), "text": view.conversation_marks}
    for name in {*view.reward.needs} & {*table.columns} - {"completion", "messages"}:
        if not name.startswith(LOGGED):
            cells = list(map(str, table[name].tolist()))
            columns[f"cell/{name}"] = marks_of(cells)
    repeats = np.asarray(pd.DataFrame(columns).groupby([*columns]).ngroup())
    stats = group_stats(view.rewards[rows], repeats)
    span = float(np.nanmax(view.rewards) - np.nanmin(view.rewards))
    is_apart = stats.has_pairs & (stats.high - stats.low >= LEAST_APART * span)
    owner = np.zeros(len(stats.count), dtype=int)
    owner[repeats] = groups
    apart = np.bincount(owner, is_apart, minlength=len(view.owner))
    several = np.bincount(owner, stats.has_pairs, minlength=len(view.owner))
    prompts = np.unique(view.owner[apart > 0])
    if len(prompts) < 2 or apart.sum() < unsteady * several.sum():
        return
    yield finding(
        view,
        "unsteady",
        **share(view, apart, several),
        limit=unsteady,
        reading=rows[is_apart[repeats]],
        apart=int(apart.sum()),
        prompts=len(prompts),
    )
