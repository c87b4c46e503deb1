"""Rules on all scored rows: infinite scores, no reward, and who is paid wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from rewardkit.analysis.rewarded_rows import SHOWN_IDS
from rewardkit.analysis.statistics import (
    LARGEST,
    Bootstrap,
    Codes,
    Floats,
    Mask,
)
from rewardkit.analysis.verdicts import rows_to_read
from rewardkit.analysis.view import View
from rewardkit.answers.judging import judge_components
from rewardkit.answers.misjudged import (
    Misjudged,
    find_contradictions,
    find_misjudged,
    find_unpaid_truths,
)
from rewardkit.answers.scales import OtherScale, find_other_scales
from rewardkit.findings import Finding, Findings, most, rule
from rewardkit.reasons import Reason, ReasonCode, read_reasons
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.outcomes import ERROR
from rewardkit.scoring.scores import Scores

LOGGED_CODES = ("right_unpaid", "wrong_paid")
LENGTH_TRAITS = ("length", "window", "before", "behind")
"""Traits of rows that go with the length of their completions."""
READ_COLUMNS = (
    "rollout_id",
    "prompt_id",
    "prompt",
    "completion",
    "messages",
    "ground_truth",
    "data_source",
    "extra_info",
)


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores as they came, the same without infinite ones, and their views."""

    raw: Scores
    scores: Scores
    views: Sequence[View]
    seed: int

    def ids(self, rows: Codes | list[int]) -> tuple[Any, ...]:
        """Return the ids of the first few of these rows."""
        return tuple(self.scores.table["rollout_id"].iloc[rows[:SHOWN_IDS]])

    def share(self, rows: Mask, among: Mask) -> dict[str, Any]:
        """Return `value` and `interval` over prompts of some rows among others."""
        prompts = self.scores.rollouts.prompts
        bootstrap = Bootstrap(prompts, seed=self.seed)
        value, interval = bootstrap.ratio(rows, among, prompts)
        return {"value": value, "interval": interval}


@rule("not_finite")
def not_finite(scored: Scored, findings: Findings) -> Iterator[Finding]:
    """Find scores that are infinite in float32, and such rewards of finite scores.

    A trainer takes an infinite reward into the mean of its group and so into the
    gradient of the whole batch: one row is enough for a high severity.
    """
    raw = scored.raw
    scores = scored.scores
    is_explained = np.zeros(len(raw), dtype=bool)
    of_components = []
    for component in raw.reward.components:
        name = component.name
        is_paid = bool(component.largest_weight)
        is_refused = _refused_infinite(raw, name)
        values = np.where(is_refused, np.inf, raw.score(name))
        is_infinite = is_refused | (
            np.isnan(scores.score(name)) & ~np.isnan(raw.score(name))
        )
        if is_infinite.any():
            is_explained |= is_infinite & is_paid
            of_components.append(_infinite(scored, name, values, is_infinite, is_paid))
    is_infinite = np.isnan(scores.rewards) & ~np.isnan(raw.rewards) & ~is_explained
    if is_infinite.any():
        yield _infinite(scored, None, raw.rewards, is_infinite, True)
    yield from of_components


def _refused_infinite(scores: Scores, component: str) -> Mask:
    """Return the rows in which an infinite score was refused as an error."""
    is_refused = np.zeros(len(scores), dtype=bool)
    failed = np.flatnonzero(scores.status(component) == ERROR)
    reasons = read_reasons(scores.table[f"reason/{component}"].iloc[failed])
    for row, reason in zip(failed, reasons, strict=True):
        is_refused[row] = reason is not None and reason.is_infinite
    return is_refused


def _infinite(
    scored: Scored, name: str | None, values: Floats, rows: Mask, is_paid: bool
) -> Finding:
    is_judged = ~np.isnan(values)
    evidence = {
        **scored.share(rows, is_judged),
        "rows": int(rows.sum()),
        "infinite": int(np.isinf(values).sum()),
        "paid": is_paid,
        "cost": 1.0,
    }
    severity = "high" if is_paid else "info"
    ids = scored.ids(np.flatnonzero(rows))
    n = int(is_judged.sum())
    return Finding("not_finite", severity, name, evidence, n, LARGEST, ids)


@rule("abstentions")
def without_reward(
    scored: Scored,
    findings: Findings,
    *,
    abstained: float = 0.01,
    lost_rows_high: float = 0.2,
) -> Iterator[Finding]:
    """Find the rows that a route has no reward for."""
    scores = scored.scores
    is_unmatched = np.ones(len(scores), dtype=bool)
    for view in scored.views:
        is_unmatched[view.rows] = False
    rows = np.flatnonzero(is_unmatched)
    if not len(rows):
        return
    measured = scored.share(is_unmatched, np.ones_like(is_unmatched))
    severity = "info"
    if measured["value"] >= abstained:
        severity = "high" if measured["value"] >= lost_rows_high else "warn"
    column = scores.reward.routed_by
    values = list(dict.fromkeys(map(repr, scores.table[column].iloc[rows])))
    evidence = {
        **measured,
        "rows": len(rows),
        "reason": Reason(ReasonCode.NO_ROUTE, names=(column,), value=most(values, 5)),
        "paid": False,
    }
    n = len(scores)
    ids = scored.ids(rows)
    yield Finding("abstentions", severity, None, evidence, n, abstained, ids)


@rule(*LOGGED_CODES, "truth_unpaid", "other_scale", "contradiction")
def logged(scored: Scored, findings: Findings) -> Iterator[Finding]:
    """Find right completions that earned nothing, and wrong ones that are paid.

    Probes look for the same in a log before they try anything. Of a long log some whole
    groups are read.
    """
    for view in scored.views:
        label = view.context.label
        places = np.flatnonzero(rows_to_read(view.groups))
        table = view.context.table.iloc[places]
        names = [name for name in READ_COLUMNS if name in table]
        columns = zip(*(column_values(table[name]) for name in names), strict=True)
        rows = [dict(zip(names, values, strict=True)) for values in columns]
        labels: list[bool | None] = []
        if label is not None:
            for value in label[places]:
                labels.append(None if np.isnan(value) else bool(value))
        earned = {}
        for name, rewards in _earned_by_task(view).items():
            earned[name] = rewards[places].tolist()
        log = judge_components(rows, earned, labels=labels)
        judged = find_misjudged(log, is_unread=scored.scores.reward.is_blind)
        contradictions = [] if labels else list(find_contradictions(log.answers))
        for misjudged in chain(judged, find_unpaid_truths(log.answers), contradictions):
            if not contradictions or misjudged.is_certain:
                yield _report(scored, view.part, misjudged)
        for scale in find_other_scales(log.answers, {"ground_truth"}):
            yield _report_scale(scored, view.part, scale)


def _report_scale(scored: Scored, part: str, scale: OtherScale) -> Finding:
    """Return the finding of answers on another scale."""
    ids = [answer.row["rollout_id"] for answer in scale.answers]
    return Finding(
        "other_scale",
        "high",
        None,
        {
            **scale.evidence,
            "found": len(ids),
            "tried": scale.count,
            "value": len(ids) / scale.count,
            "cost": 1.0,
        },
        scale.count,
        rollout_ids=tuple(ids[:SHOWN_IDS]),
        part=part,
    )


def _earned_by_task(view: View) -> dict[str, Floats]:
    """Return what each component of the task earned, (rows,), NaN where not judged.

    The whole reward where no component is known to be the task, or has its name.
    """
    task = view.task if view.task_is_known else ()
    if not task and view.verdicts and view.verdicts.name in view.paid_names:
        task = (view.verdicts.name,)
    if len(view.paid_names) < 2 or not task:
        return {"": view.rewards}
    earned = {}
    for component in view.reward.components:
        if component.name in task:
            rewards = view.row_weights(component) * view.scores[component.name]
            earned[component.name] = np.where(view.is_judged, rewards, np.nan)
    return earned


def _report(scored: Scored, part: str, misjudged: Misjudged) -> Finding:
    all_ids = scored.scores.table["rollout_id"]
    ids = [answer.row["rollout_id"] for answer in misjudged.at_fault]
    ids_of_kind = [answer.row["rollout_id"] for answer in misjudged.rows]
    measured = scored.share(
        all_ids.isin(ids).to_numpy(), all_ids.isin(ids_of_kind).to_numpy()
    )
    counts = {"found": len(ids), "tried": len(ids_of_kind), "cost": measured["value"]}
    return Finding(
        misjudged.code,
        misjudged.severity,
        None,
        {**misjudged.evidence, **measured, **counts},
        len(ids_of_kind),
        rollout_ids=tuple(ids[:SHOWN_IDS]),
        part=part,
    )


def merge_causes(findings: Findings) -> list[Finding]:
    """Return the findings without those that repeat what logged rows show.

    A label that disagrees takes in the rows that disagree. Length that moves the reward
    is the same fault as right answers that lose by their length.
    """
    alarms = {
        (item.code, item.part): item for item in findings if item.severity != "info"
    }
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
