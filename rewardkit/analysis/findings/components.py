"""Rules on components: lost rows, gates, redundancy, dominance, switches of weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from rewardkit.analysis.findings import finding, share
from rewardkit.analysis.statistics import (
    Codes,
    Floats,
    group_stats,
    in_both,
    ratio,
    within,
)
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, Findings, percent, rule
from rewardkit.plain import Record
from rewardkit.reasons import Reason, ReasonCode, read_reasons
from rewardkit.rewards.recorded import is_recorded
from rewardkit.rewards.route import add_up
from rewardkit.scoring.outcomes import ABSTAINED, ERROR, GATED
from rewardkit.strategies.strategy import opened_tag

FEWEST_OF_TAG = 10
"""Completions with and without the tag of their prompt to compare. Our choice."""
OFTEN_VARIES = 0.2
"""Share of the live groups in which a component must vary to be compared by influence.

Our choice: a penalty that rarely fires is meant to hold little.
"""


@rule("of_siblings")
def of_siblings(view: View, findings: Findings) -> Iterator[Finding]:
    """Find scores relative to siblings: they change with the group, not the answer."""
    for name, component in view.components.items():
        if component.group:
            size = float(np.bincount(view.groups).mean())
            yield finding(view, "of_siblings", name, n=len(view), value=size, cost=0.0)


@rule("errors", "out_of_range", "abstentions")
def lost_rows(
    view: View,
    findings: Findings,
    *,
    # from here a warning, below only information: our choice; None may be meant, as
    # where a judge failed now and then, and an error is never
    abstained: float = 0.05,
    error: float = 0.01,
    lost_rows_high: float = 0.2,  # our choice
) -> Iterator[Finding]:
    """Find rows that lack a score, except infinite ones, which `not_finite` reports.

    A key that a function's result lacks is reported once, of the first paid component
    that reads such a key.
    """
    limits = {"errors": error, "out_of_range": error, "abstentions": abstained}
    is_key_told = False
    for name in sorted(view.names, key=lambda name: not view.components[name].weight):
        for code, rows in _lost(view, name).items():
            if not len(rows):
                continue
            item = _lost_rows(view, name, code, rows, limits[code], lost_rows_high)
            reason = item.evidence["reason"]
            lacks_key = bool(reason) and reason.code is ReasonCode.LACKS_KEY
            if not (lacks_key and is_key_told):
                yield item
            is_key_told |= lacks_key


def _lost(view: View, name: str) -> dict[str, Codes]:
    """Return the rows in which a component has no score, by the code of their finding.

    Its own infinite scores are left out: `not_finite` reports them.
    """
    status = view.status[name]
    errors = np.flatnonzero(status == ERROR)
    reasons = read_reasons(view.reasons[name][errors])
    failed = []
    outside = []
    for row, reason in zip(errors, reasons, strict=True):
        if reason is not None and reason.code is ReasonCode.OUT_OF_RANGE:
            outside.append(row)
        elif reason is None or not reason.is_infinite:
            failed.append(row)
    return {
        "errors": np.array(failed, dtype=np.intp),
        "out_of_range": np.array(outside, dtype=np.intp),
        "abstentions": np.flatnonzero(status == ABSTAINED),
    }


def _lost_rows(
    view: View, name: str, code: str, rows: Codes, limit: float, high: float
) -> Finding:
    """Return the finding of lost rows: a warning from `limit`, high from `high`.

    Below `high`, abstentions on whole groups are for information, as no comparison
    between siblings is lost. So are all abstentions on rows of a source that another
    component scores.
    """
    lost = len(rows) / len(view)
    is_paid = view.components[name].weight != 0
    missing = float(np.isnan(view.rewards[rows]).mean())
    severity = "info"
    is_other_source = code == "abstentions" and name in view.one_a_source
    if is_paid and lost >= limit and not is_other_source:
        if lost >= high:
            severity = "high"
        elif code != "abstentions" or not _are_whole_groups(view, rows):
            severity = "warn"
    ((reason, _),) = Counter(view.reasons[name][rows]).most_common(1)
    counts = np.bincount(rows, minlength=len(view))
    return finding(
        view,
        code,
        name,
        **share(view, counts, np.ones(len(view)), by_rows=True),
        limit=limit,
        severity=severity,
        reading=rows,
        rows=len(rows),
        reason=Reason.from_json(reason) if reason else "",
        recorded=code == "abstentions" and is_recorded(view.reward),
        reward_missing=missing,
        paid=is_paid,
        lost=_describe_loss(missing, is_paid=is_paid),
    )


def _are_whole_groups(view: View, rows: Codes) -> bool:
    """Return whether rows are all those of their groups, which have several."""
    groups = np.unique(view.groups[rows])
    return len(groups) < len(rows) == int(np.isin(view.groups, groups).sum())


def _describe_loss(missing: float, *, is_paid: bool) -> str:
    """Say what happens to the rewards of the rows, of which a share is missing."""
    if missing >= 1:
        return "their reward is missing, not low"
    if missing > 0:
        return f"the reward of {percent(missing)} of them is missing, not low"
    if is_paid:
        return "these rows are paid without it"
    return "it is not paid, so no reward is lost"


@rule("gate_rarely_open")
def gates(
    view: View,
    findings: Findings,
    *,
    gate_open: float = 0.05,  # our choice
) -> Iterator[Finding]:
    """Find components behind a gate that hardly lets anything through."""
    for name, component in view.components.items():
        decided = view.status[name] != ABSTAINED
        is_open = decided & (view.status[name] != GATED)
        if component.gate is None or not decided.any():
            continue
        if is_open.sum() < gate_open * decided.sum():
            yield finding(
                view,
                "gate_rarely_open",
                name,
                **share(view, is_open, decided, by_rows=True),
                limit=gate_open,
                reading=is_open,
                cost=view.declared_weights[name],
            )


@rule("repeated_tag")
def repeated_tag(
    view: View,
    findings: Findings,
    *,
    repeated_tag: float = 0.25,  # of those that write it again: our choice
) -> Iterator[Finding]:
    """Find components that look for a tag which the prompts have opened already.

    Completions that go on behind the tag earn nothing, others write it again and earn.
    """
    table = view.context.table
    if "prompt" not in table:
        return
    opened = [opened_tag({"prompt": prompt}).strip() for prompt in table["prompt"]]
    if not any(opened):
        return
    pairs = zip(opened, table["completion"], strict=True)
    has_tag = np.array(opened) != ""
    is_repeated = has_tag & [tag in str(text) for tag, text in pairs]
    for name in view.paid_names:
        if view.declared_weights[name] < 0:  # a penalty of those that repeat it
            continue
        scores = view.scores[name]
        is_scored = has_tag & ~np.isnan(scores)
        continued = is_scored & ~is_repeated
        again = is_scored & is_repeated
        if min(continued.sum(), again.sum()) < FEWEST_OF_TAG:
            continue
        lowest = scores[is_scored].min()
        paid = again & (scores > lowest)
        if paid.any() and (scores[continued] == lowest).all():
            yield finding(
                view,
                "repeated_tag",
                name,
                **share(view, paid, again, by_rows=True),
                limit=repeated_tag,
                reading=paid,
                cost=view.declared_weights[name],
                tag=next(filter(None, opened)),
                continued=int(continued.sum()),
                repeated=int(again.sum()),
                paid=int(paid.sum()),
            )


@rule("redundant")
def redundant(
    view: View,
    findings: Findings,
    *,
    redundant: float = 0.9,  # correlation within groups
) -> Iterator[Finding]:
    """Find components that pay for the same thing as an earlier component."""
    if not view.varies:
        return
    names = [name for name in view.paid_names if name not in view.totals]
    for place, second in enumerate(names):
        correlations = {}
        for first in names[:place]:
            value = view.sign(first, second) * view.correlations[first, second].value
            if value >= redundant:
                correlations[first] = value
        if correlations:
            first = max(correlations, key=lambda name: correlations[name])
            yield _redundant(view, first, second, correlations[first], redundant)


def _redundant(
    view: View, first: str, second: str, correlation: float, limit: float
) -> Finding:
    if second in view.task and first not in view.task:
        first, second = second, first  # the task is never the redundant one
    sign = view.sign(first, second)
    scores = view.scores[first]
    others = sign * view.scores[second]
    both = in_both(scores, others)
    gap = within(np.where(both, scores - others, np.nan), view.groups)
    return finding(
        view,
        "redundant",
        second,
        value=correlation,
        interval=view.correlate(scores, others)[1],
        n=int(both.sum()),
        limit=limit,
        reading=both & (np.abs(gap) > 0.5),
        cost=view.declared_weights[second],
        other=first,
    )


@rule("dominant")
def dominant(
    view: View,
    findings: Findings,
    *,
    dominant: float = 0.5,  # a component that is not the task holds more than half
    outweighs: float = 0.1,  # more than one declared heavier, by so much: our choice
    over_declared: float = 0.3,  # more than its share of the weights: our choice
) -> Iterator[Finding]:
    """Find components whose share of the squared advantage is too large.

    Larger than half, than its share of the weights, or than that of a component with a
    larger weight; the surest of the three is reported.

    Where siblings tie in the task, all of the advantage goes to whatever varies, which
    `phantom` reports. So the component must also hold more than its share of the
    weights, or half, in the groups in which the task varies. A component as heavy as
    the task that says why is so by design. Components that never vary among siblings
    have no share of the weights here. The task is spared if it is known, and so are
    recorded scores that tell right answers from wrong ones.
    """
    if not view.varies or not view.effective_weights:
        return
    names = []
    for name in view.paid_names:
        if view.component_stats[name].live.any() and name not in view.totals:
            names.append(name)
    declared_weights = view.declared_among(names)
    spared = {*view.task} if view.task_is_known else set()
    if is_recorded(view.reward) and view.verdicts is not None:
        spared.add(view.verdicts.name)  # a log declares no weights
    if view.training.filter_metric in names:  # groups are kept for what they tell of it
        spared.add(str(view.training.filter_metric))
    task_mass = view.group_mass * view.component_stats[view.primary].live
    for name in names:
        effective = view.effective_weights.get(name)
        if effective is None or name in spared or len(names) < 2:
            continue
        declared = declared_weights[name]
        enough = min(declared, dominant) * task_mass.sum()
        beside_task = (view.group_shares[name] * task_mass).sum() > enough > 0
        evidence: Record = {"declared": declared}
        candidates = []
        if effective >= dominant and spared and beside_task:
            candidates.append(_dominant(view, name, dominant, 0.0, evidence))
        if effective - declared >= over_declared and beside_task:
            candidates.append(_dominant(view, name, over_declared, declared, evidence))
        other = _outweighed(view, name, names)
        is_tied = other in spared and not beside_task  # then it is phantom signal
        if (
            other
            and not is_tied
            and effective - view.effective_weights[other] >= outweighs
        ):
            evidence |= {"over": other, "over_value": view.effective_weights[other]}
            shares = view.group_shares[other]
            candidates.append(_dominant(view, name, outweighs, shares, evidence))
        candidates.sort(key=lambda item: bool(item.evidence.get("inconclusive")))
        yield from candidates[:1]


def _dominant(
    view: View,
    name: str,
    limit: float,
    subtracted: Floats | float,
    evidence: Record,
) -> Finding:
    """Return the finding that a component holds too much.

    The share of the component is shown. The share less `subtracted` decides, by its
    interval, whether the finding is conclusive.
    """
    shares = view.group_shares[name]
    mass = view.group_mass
    options: Record = {"severity": "warn", "why": ""}
    if view.by_design(name):
        options = {"severity": "info", "why": view.components[name].why, "answers": ()}
    measured = share(view, shares * mass, mass)
    low, high = measured["interval"]
    measured["interval"] = (low, min(high, max(1.0, measured["value"])))
    measured["n"] = int(view.live.sum())
    return finding(
        view,
        "dominant",
        name,
        **measured,
        compared=share(view, (shares - subtracted) * mass, mass),
        limit=limit,
        reading=np.abs(within(view.payments[name], view.groups)) > 0,
        **options,
        **evidence,
    )


def _outweighed(view: View, name: str, names: list[str]) -> str | None:
    """Return the heaviest component with a larger weight and a smaller share, or None.

    Components that rarely vary do not count.
    """
    effective = view.effective_weights
    declared = view.declared_weights
    often = OFTEN_VARIES * view.live.sum()
    heavier = []
    for other in names:
        if other not in effective or declared[other] <= declared[name]:
            continue
        is_often = view.component_stats[other].live.sum() > often
        if is_often and effective[other] < effective[name]:
            heavier.append(other)
    return max(
        heavier, key=lambda other: (declared[other], -effective[other]), default=None
    )


@rule("switch")
def switch(
    view: View,
    findings: Findings,
    *,
    switch_lost: float = 0.25,  # of the groups with a signal: our choice
    switch_turned: float = 0.25,  # of the sibling pairs that were ordered: our choice
    switch_shift: float = 0.5,  # standard deviations of the reward: our choice
) -> Iterator[Finding]:
    """Find switches of weights that change what is paid from one step to the next.

    On the present rows, before any training: how far the mean reward moves, which
    sibling pairs change their order, which groups lose their signal.
    """
    names: dict[int, list[str]] = {}
    for item in view.reward.components:
        for step in item.schedule.switches if item.schedule else ():
            names.setdefault(step, []).append(item.name)
    for step in sorted(names):
        before = _rewards_at(view, step - 1)
        after = _rewards_at(view, step)
        # where no component has a weight any more there is no reward, and no signal
        after = np.where(np.isnan(after) & ~np.isnan(before), 0.0, after)
        turned = np.nan_to_num(1 - ratio(*concordance(after, before, view.groups)))
        had_signal = group_stats(before, view.groups).live
        is_lost = had_signal & group_stats(after, view.groups).dead
        lost = np.nan_to_num(ratio(is_lost, had_signal))
        spread = float(np.nanstd(before))
        move = float(np.nanmean(after) - np.nanmean(before))
        shift = move / spread if spread else 0.0
        is_harmful = lost >= switch_lost or turned >= switch_turned
        if not is_harmful and abs(shift) < switch_shift:
            continue
        yield finding(
            view,
            "switch",
            None,
            n=len(view),
            severity="warn" if is_harmful else "info",
            reading=is_lost[view.groups],
            step=step,
            names=names[step],
            value=float(max(lost, turned)),
            lost=float(lost),
            turned=float(turned),
            shift=shift,
            is_harmful=bool(is_harmful),
        )


@rule("unpaid_task")
def unpaid_task(view: View, findings: Findings) -> Iterator[Finding]:
    """Find a task that is paid at other steps than those of these rows."""
    for item in view.reward.components:
        is_unpaid = view.components[item.name].weight == 0
        if item.schedule is None or item.name not in view.task or not is_unpaid:
            continue
        yield finding(
            view,
            "unpaid_task",
            item.name,
            n=len(view),
            cost=1.0,
            schedule=repr(item.schedule),
            step=item.schedule.step_of(item.largest_weight),
        )


def _rewards_at(view: View, step: int) -> Floats:
    """Return what the rows would earn at a step, before a transform, (rows,)."""
    return add_up(view.reward.at(step), view.scores, view.gated, view.gate)
