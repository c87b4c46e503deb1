"""Rules of what the log shows by its truths or label: lost answers and paid ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rewardkit.analysis.findings.scored import Scored
from rewardkit.analysis.rewarded_rows import SHOWN_IDS
from rewardkit.analysis.statistics import Floats
from rewardkit.analysis.verdicts import rows_to_read
from rewardkit.analysis.view import View
from rewardkit.answers.logged import judge_log
from rewardkit.answers.misjudged import Misjudged, find_misjudged
from rewardkit.findings import Finding, rule, severity_of
from rewardkit.rollouts.values import column_values

LOGGED_CODES = ("right_unpaid", "wrong_paid")
LENGTH_TRAITS = ("length", "window", "before", "behind")
"""Traits of rows that go with the length of their completions."""
READ_COLUMNS = (
    "rollout_id",
    "prompt_id",
    "prompt",
    "completion",
    "ground_truth",
    "data_source",
    "extra_info",
)


@rule(*LOGGED_CODES)
def logged(scored: Scored, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Find right completions that earned nothing, and others that are paid as such.

    They are those that probes find before they try anything. Whole groups are read, of
    a long log some.
    """
    for view in scored.views:
        label = view.context.label
        if label is None and "ground_truth" not in view.context.table:
            continue
        places = np.flatnonzero(rows_to_read(view.groups))
        table = view.context.table.iloc[places]
        names = [name for name in READ_COLUMNS if name in table]
        columns = zip(*(column_values(table[name]) for name in names), strict=True)
        answers = judge_log(
            [dict(zip(names, values, strict=True)) for values in columns],
            _earned_by_task(view)[places].tolist(),
            labels=[] if label is None else _read_labels(label[places]),
        )
        for misjudged in find_misjudged(answers, by_label=label is not None):
            yield _report(scored, view.part, misjudged)


def _earned_by_task(view: View) -> Floats:
    """Return what the task earned, (rows,); NaN where it is gated or was not judged.

    Without a component that is known to be the task all that was paid counts.
    """
    if len(view.paid_names) < 2 or not view.task_is_known:
        return view.rewards
    earned = np.zeros(len(view))
    for component in view.reward.components:
        if component.name in view.task:
            earned += view.row_weights(component) * view.scores[component.name]
    return np.where(np.isnan(view.rewards), np.nan, earned)


def _read_labels(label: Floats) -> list[bool | None]:
    return [None if np.isnan(value) else bool(value) for value in label]


def _report(scored: Scored, part: str, misjudged: Misjudged) -> Finding:
    all_ids = scored.scores.table["rollout_id"]
    ids = [answer.row["rollout_id"] for answer in misjudged.at_fault]
    ids_of_kind = [answer.row["rollout_id"] for answer in misjudged.rows]
    value, interval = scored.share(
        all_ids.isin(ids).to_numpy(), all_ids.isin(ids_of_kind).to_numpy()
    )
    counts = {"value": value, "interval": interval, "cost": value}
    counts |= {"found": len(ids), "tried": len(ids_of_kind)}
    return Finding(
        misjudged.code,
        severity_of(value) if misjudged.is_certain else "info",
        None,
        {**misjudged.evidence, **counts},
        len(ids_of_kind),
        rollout_ids=tuple(ids[:SHOWN_IDS]),
        part=part,
    )


def merge_causes(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings of which none repeats what logged rows show.

    A label that disagrees says which rows of it do; length that moves the reward is the
    same as right answers that lose by their length.
    """
    alarms = {(item.code, item.part): item for item in findings if _is_alarm(item)}
    merged: list[Finding] = []
    for item in findings:
        lost, paid_alarm = (alarms.get((code, item.part)) for code in LOGGED_CODES)
        evidence = dict(item.evidence)
        if item.code == "label_disagrees":
            evidence["lost"] = lost.evidence if lost else {}
            evidence["paid"] = paid_alarm.evidence if paid_alarm else {}
            item = replace(item, evidence=evidence)
        elif item.code == "length_curve" and lost:
            if lost.evidence["trait"].removesuffix("_below") in LENGTH_TRAITS:
                continue
        elif item.code in LOGGED_CODES and evidence["by_label"]:
            if any(code == "label_disagrees" for code, _ in alarms):
                continue
        merged.append(item)
    return merged


def _is_alarm(item: Finding) -> bool:
    return item.severity != "info"
