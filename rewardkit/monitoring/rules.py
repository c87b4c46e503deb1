"""Rules on a run over its steps. Every finding says since which step it holds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rewardkit.analysis.findings import finding
from rewardkit.analysis.statistics import Floats
from rewardkit.findings import Finding, Findings, Rule, rule
from rewardkit.monitoring.causes import explain_loss, find_dip_steps, find_rises
from rewardkit.monitoring.changes import (
    FEWEST_TO_TELL,
    Shift,
    change_of_run,
    find_change,
    find_dip,
)
from rewardkit.monitoring.reports import causes_named, pays_over, report, report_paid
from rewardkit.monitoring.reward_rules import (
    more_wrong_paid,
    reward_falls,
    reward_without_task,
    right_pays_less,
    slice_falls,
)
from rewardkit.monitoring.timeline import LEAST_TASK_CHANGE, Timeline
from rewardkit.rewards.recorded import is_recorded


@rule("task_falls", "other_prompts")
def task_falls(
    timeline: Timeline,
    findings: Findings,
    *,
    fall_high: float = 0.5,  # share of the mean before: our choice
    fall_warn: float = 0.2,  # likewise
) -> Iterator[Finding]:
    """Find that the task falls on prompts of the same kinds."""
    change = timeline.task_change(-1)
    if change is None or timeline.task is None or change.fall < fall_warn:
        return
    means = timeline.among_same_prompts(timeline.task.scores, change)
    if means is None or means[1] > (1 - fall_warn) * means[0]:
        task = timeline.task_words
        yield report(timeline, "other_prompts", None, change, task=task, same=means)
        change = timeline.fall_of_last_prompts(timeline.task.scores, LEAST_TASK_CHANGE)
        if change is None or change.fall < fall_warn:
            return
    reward_before, reward_after = change.means(timeline.figures["reward"])
    is_paid = reward_after >= reward_before  # further training loses more
    yield report(
        timeline,
        "task_falls",
        None,
        change,
        severity="high" if change.fall >= fall_high or is_paid else "warn",
        task=timeline.task_words,
        is_lost=change.fall >= fall_high,
        is_paid=is_paid,
        reward_before=reward_before,
        reward_after=reward_after,
        pays=pays_over(timeline, change),
        lost_by=explain_loss(timeline, change),
        shorter=_shorter(timeline, change),
        unit=timeline.view.context.length_unit,
        beside=find_rises(timeline, change),
    )


def _shorter(timeline: Timeline, change: Shift) -> tuple[float, ...]:
    """Return the 99th percentiles of length before and after, () if they fall little.

    Our choice: a lower limit of tokens takes at least a fifth.
    """
    lengths = []
    for stretch in (change.reference, change.ending):
        inside = timeline.view.context.lengths[timeline.windows.rows_in(stretch)]
        lengths.append(float(np.nanquantile(inside, 0.99)))
    return tuple(lengths) if lengths[1] <= 0.8 * lengths[0] else ()


@rule("task_dips")
def task_dips(
    timeline: Timeline,
    findings: Findings,
    *,
    dip: float = 0.2,  # share of the mean before: our choice
) -> Iterator[Finding]:
    """Find that the task fell and recovered; without a known task, the reward."""
    if any(item.code == "task_falls" for item in findings):
        return
    values = timeline.task.scores if timeline.task else timeline.view.rewards
    least = LEAST_TASK_CHANGE if timeline.task else dip * timeline.reward_spread
    fall = find_dip(timeline.windows.figure(values), timeline.windows, least)
    if fall is None:
        return
    means = timeline.among_same_prompts(values, fall)
    is_small = timeline.task is not None and fall.fall < dip
    if is_small or means is None or means[0] - means[1] < -fall.size / 2:
        return
    first, last = find_dip_steps(timeline, values, fall)
    yield report(
        timeline,
        "task_dips",
        None,
        replace(fall, since=first),
        task=timeline.task_words,
        last=last,
        beside=find_rises(timeline, fall),
    )


def _severity_of(
    timeline: Timeline, findings: Findings, values: Floats, change: Shift
) -> str:
    """Return "warn", or "info" for a change that is harmless or explained.

    It is harmless if the task rises. It is explained if an alarm names a cause and
    completions without that cause show no change.

    Args:
        timeline: The run.
        findings: Findings of earlier rules.
        values: The column that changed, (rows,).
        change: Its change.
    """
    if timeline.task_rises:
        return "info"
    way = 1 if change.size > 0 else -1
    if causes_named(findings) and timeline.change_beside_causes(values, way) is None:
        return "info"
    return "warn"


@rule("newly_paid")
def newly_paid(
    timeline: Timeline,
    findings: Findings,
    *,
    most_named: int = 3,
) -> Iterator[Finding]:
    """Report newly paid features as notes; other rules raise alarms."""
    others = [item for item in timeline.newly_paid if item is not timeline.wrong_paid]
    for item in others[:most_named]:
        yield report_paid(timeline, item)


@rule("component_dies")
def component_dies(
    timeline: Timeline,
    findings: Findings,
    *,
    component_fall: float = 0.75,  # of its height above the least score: our choice
) -> Iterator[Finding]:
    """Find components that hardly any completion earns any more."""
    view = timeline.view
    for name in view.paid_names:
        is_task = name in (timeline.task_name, timeline.right_component)
        if view.components[name].weight <= 0 or is_task:
            continue
        low, high = view.span(name)
        # siblings that always tie give the policy no reason to leave a component
        varies = view.component_stats[name].live.any()
        if not high > low or not varies:
            continue
        figure = timeline.windows.figure((view.scores[name] - low) / (high - low))
        change = find_change(figure, timeline.windows, -1, least=0.05)
        if change is None or change.fall < component_fall:
            continue
        yield report(
            timeline,
            "component_dies",
            name,
            change,
            severity=_severity_of(timeline, findings, view.scores[name], change),
            loss=change.fall,
        )


@rule("signal_lost")
def signal_lost(
    timeline: Timeline,
    findings: Findings,
    *,
    dead_at_end: float = 0.75,  # of the groups: our choice
    learned: float = 0.7,  # share done of the task that explains ties: our choice
) -> Iterator[Finding]:
    """Find that most groups lost their signal though the task is not solved."""
    change = find_change(timeline.dead_groups, timeline.windows, 1, least=0.2)
    if change is None or change.after < dead_at_end:
        return
    figure = timeline.task_figure
    share = math.nan if figure is None else figure.mean(slice(*change.ending))
    severity = "info" if share >= learned else "warn"
    yield report(timeline, "signal_lost", None, change, severity=severity, task=share)


@rule("never_learned", "never_signal")
def never_learned(
    timeline: Timeline,
    findings: Findings,
    *,
    hardly_done: float = 0.02,  # share done of the task: our choice
    dead_throughout: float = 0.75,  # of the groups: our choice
    enough_done: float = 0.7,  # share done of the task that explains ties: our choice
) -> Iterator[Finding]:
    """Find that hardly any completion is right, or most groups never had a signal."""
    codes = {item.code for item in findings}
    figure = timeline.task_figure
    share = math.nan if figure is None else figure.mean(slice(None))
    if share <= hardly_done and "task_falls" not in codes:
        factor = timeline.find_scale()
        yield _throughout(timeline, "never_learned", share, factor=factor)
    dead_groups = timeline.dead_groups
    dead = dead_groups.mean(slice(None))
    is_lost = dead >= dead_throughout and dead_groups.counts.sum() >= FEWEST_TO_TELL
    is_learned = share >= enough_done
    if is_lost and not is_learned and "signal_lost" not in codes:
        yield _throughout(timeline, "never_signal", dead)


def _throughout(
    timeline: Timeline, code: str, value: float, *, factor: str = ""
) -> Finding:
    """Return a finding that holds from the first step on."""
    first = float(timeline.windows.first[0])
    return finding(
        timeline.view,
        code,
        None,
        n=timeline.windows.row_count,
        value=value,
        since=first,
        since_interval=(first, first),
        task=timeline.task_name,
        cost=0.99,
        factor=factor,
        is_graded=timeline.is_graded,
    )


@rule("length_creep")
def length_creep(
    timeline: Timeline,
    findings: Findings,
    *,
    length_change: float = 0.5,  # of the mean length before: our choice
) -> Iterator[Finding]:
    """Find that completions become much longer or shorter.

    The change counts only if the end also differs from the first windows.
    """
    unit = timeline.view.context.length_unit
    for way in (1, -1):
        change = find_change(timeline.lengths, timeline.windows, way)
        if change is None or abs(change.size) < length_change * change.before:
            continue
        first, difference = change_of_run(timeline.lengths, change)
        if way * difference < length_change * first:
            continue
        lengths = timeline.view.context.lengths
        severity = _severity_of(timeline, findings, lengths, change)
        means = timeline.among_same_prompts(lengths, change)
        if means is None or way * (means[1] - means[0]) < length_change * means[0]:
            severity = "info"  # other prompts explain the change
        yield report(
            timeline, "length_creep", None, change, severity=severity, unit=unit
        )


@rule("texts_repeat")
def texts_repeat(
    timeline: Timeline,
    findings: Findings,
    *,
    repeats: float = 0.2,  # growth of the share: our choice
) -> Iterator[Finding]:
    """Find that more siblings have the same text than before, and than at first."""
    change = find_change(timeline.repeats, timeline.windows, 1, least=repeats)
    if change is None:
        return
    _, difference = change_of_run(timeline.repeats, change)
    if difference >= repeats:
        severity = _severity_of(timeline, findings, timeline.repeated, change)
        yield report(timeline, "texts_repeat", None, change, severity=severity)


@rule("judging_fails")
def judging_fails(
    timeline: Timeline,
    findings: Findings,
    *,
    unjudged: float = 0.05,  # growth of the share of rows: our choice
    unjudged_high: float = 0.5,  # of the rows at the end: our choice
) -> Iterator[Finding]:
    """Find that more rewards, or scores of a component, are missing."""
    view = timeline.view
    reported = False
    for name in (*view.paid_names, None):
        missing = np.isnan(view.rewards) if name is None else view.missing(name)
        if not missing.any():
            continue
        figure = timeline.windows.figure(missing.astype(float))
        change = find_change(figure, timeline.windows, 1, least=unjudged)
        if change is None or (reported and name is None):
            continue
        reported = True
        severity = "high" if change.after >= unjudged_high else "warn"
        is_log = is_recorded(view.reward)
        yield report(
            timeline,
            "judging_fails",
            name,
            change,
            severity=severity,
            recorded=is_log,
        )


RULES: tuple[Rule, ...] = (
    right_pays_less,
    task_falls,
    task_dips,
    reward_falls,
    slice_falls,
    reward_without_task,
    judging_fails,
    component_dies,
    signal_lost,
    never_learned,
    length_creep,
    texts_repeat,
    more_wrong_paid,
    newly_paid,
)
"""Rules in their order: each gets the findings of those before it."""
