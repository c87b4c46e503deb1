"""Rules that compare the reward with the task: who is paid less, what else is paid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rewardkit.analysis.statistics import Floats
from rewardkit.findings import Finding, Findings, rule
from rewardkit.monitoring.causes import find_rises
from rewardkit.monitoring.changes import Shift, change_of_run, find_change
from rewardkit.monitoring.reports import causes_named, pays_over, report, report_paid
from rewardkit.monitoring.timeline import LEAST_TASK_CHANGE, Timeline


@rule("right_pays_less")
def right_pays_less(
    timeline: Timeline,
    findings: Findings,
    *,
    unpaid_more: float = 0.1,  # growth of their share: our choice
    unpaid_high: float = 0.5,  # share of right ones at the end: our choice
    right_fall: float = 0.1,  # of the rewards' standard deviation: our choice
) -> Iterator[Finding]:
    """Find that right completions no longer earn more than wrong ones.

    They also have to earn less than before. If wrong ones earn more, another rule
    reports it; if the rewards of all change alike, nothing is wrong.
    """
    if timeline.task is None:
        return
    windows, unpaid = timeline.windows, timeline.right_unpaid
    change = find_change(windows.figure(unpaid), windows, 1, least=unpaid_more)
    rewards = timeline.view.rewards
    of_right = windows.figure(np.where(np.isnan(unpaid), np.nan, rewards))
    least = right_fall * timeline.reward_spread
    if change is None or find_change(of_right, windows, -1, least=least) is None:
        return
    counts = []
    for stretch in (change.reference, change.ending):
        inside = unpaid[windows.rows_in(stretch)]
        counts += [int(np.nansum(inside)), int((~np.isnan(inside)).sum())]
    is_read = windows.rows_in(change.ending) & (unpaid == 1)
    yield report(
        timeline,
        "right_pays_less",
        None,
        change,
        severity="high" if change.after >= unpaid_high else "warn",
        reading=is_read,
        counts=counts,
        task=timeline.task_words,
        shares=change.means(windows.figure(timeline.task.scores)),
    )


@rule("reward_falls")
def reward_falls(
    timeline: Timeline,
    findings: Findings,
    *,
    reward_fall: float = 0.2,  # of the rewards' standard deviation: our choice
    fall_high: float = 0.5,  # share of the mean before: our choice
    fall_warn: float = 0.2,  # likewise
) -> Iterator[Finding]:
    """Find that the reward falls while the task does not, or is not known.

    If the task is not known and the reward does not fall, look at its components.
    """
    if any(item.code in ("right_pays_less", "task_falls") for item in findings):
        return
    view = timeline.view
    least = reward_fall * timeline.reward_spread
    change = timeline.fall_on_same_prompts(view.rewards, least)
    severity = "warn"
    if timeline.task is not None:
        severity = "info"
    elif change is not None and change.fall >= fall_high:
        severity = "high"
    if change is not None:
        yield _report_fall(timeline, None, change, severity)
    if timeline.task is not None or change is not None:
        return
    for name in timeline.amounts:
        change = timeline.fall_on_same_prompts(view.scores[name], 0.0)
        if change is not None and change.fall >= fall_warn:
            yield _report_fall(timeline, name, change, severity)


def _report_fall(
    timeline: Timeline, component: str | None, change: Shift, severity: str
) -> Finding:
    """Return the finding that the reward or a component falls.

    Its parts are sorted, the largest loss first.
    """
    parts = timeline.split(change)
    return report(
        timeline,
        "reward_falls",
        component,
        change,
        severity=severity,
        loss=1.0,  # a fall of the reward comes before changes of the texts
        task=timeline.task_words,
        parts=dict(sorted(parts.items(), key=lambda item: item[1])),
        rewards=change.means(timeline.figures["reward"]),
        beside=find_rises(timeline, change),
    )


@rule("slice_falls")
def slice_falls(
    timeline: Timeline,
    findings: Findings,
    *,
    slice_high: float = 0.5,  # share of the mean before: our choice
    slice_warn: float = 0.2,  # likewise
) -> Iterator[Finding]:
    """Find a fall on some kinds of prompts only, which the overall mean may hide.

    Look at the task, or at each component if the task is not known.
    """
    view = timeline.view
    subjects: dict[str, Floats] = {}
    if timeline.task is not None:
        subjects[timeline.task_words] = timeline.task.scores
    else:
        subjects = {repr(name): view.scores[name] for name in timeline.amounts}
    for subject, values in subjects.items():
        falls = {}
        for key, is_inside in timeline.slices.items():
            inside = np.where(is_inside, values, np.nan)
            change = timeline.fall_on_same_prompts(inside, LEAST_TASK_CHANGE)
            if change is not None and change.fall >= slice_warn:
                falls[key] = change
        if len(falls) == len(timeline.slices):
            continue  # all slices fall: other rules report it
        for (column, value), change in falls.items():
            is_inside = timeline.slices[column, value]
            others = timeline.windows.figure(np.where(is_inside, np.nan, values))
            yield report(
                timeline,
                "slice_falls",
                None,
                change,
                severity="high" if change.fall >= slice_high else "warn",
                loss=change.fall,
                reading=timeline.windows.rows_in(change.ending) & is_inside,
                column=column,
                slice=value,
                share=float(is_inside.mean()),
                subject=subject,
                others=change.means(others),
            )


@rule("reward_without_task")
def reward_without_task(
    timeline: Timeline,
    findings: Findings,
    *,
    reward_rise: float = 0.2,  # of the rewards' standard deviation: our choice
) -> Iterator[Finding]:
    """Find that the reward rises, the task does not, and something else is newly paid.

    The reward alone is no evidence: in many sound runs it rises for form first. If the
    task is not known, the newly paid feature has to be an exploit.
    """
    features = timeline.newly_paid
    if timeline.task is None:
        features = list(filter(timeline.is_exploit, features))
    if timeline.task_rises or not features:
        return
    least = reward_rise * timeline.reward_spread
    reward = timeline.figures["reward"]
    change = find_change(reward, timeline.windows, 1, least=least)
    if change is None or change_of_run(reward, change)[1] < least:
        return  # the reward only recovers from a dip
    task_change = math.nan
    if timeline.task_figure:
        before, after = change.means(timeline.task_figure)
        task_change = after - before
    pays = pays_over(timeline, change)
    yield report(
        timeline,
        "reward_without_task",
        None,
        change,
        severity="info" if pays in causes_named(findings) else "warn",
        parts=timeline.split(change),
        task=timeline.task_name,
        task_change=task_change,
        pays=pays,
    )


@rule("more_wrong_paid")
def more_wrong_paid(
    timeline: Timeline,
    findings: Findings,
    *,
    more_wrong_paid: float = 0.2,  # growth of the share: our choice
) -> Iterator[Finding]:
    """Find that a larger share of completions is wrong and paid like right ones."""
    item = timeline.wrong_paid
    if item is None or item.change.size < more_wrong_paid:
        return
    alarm = report_paid(timeline, item, "more_wrong_paid")
    is_named = any(item.words in names for names in causes_named(findings))
    yield replace(alarm, severity="info") if is_named else alarm
