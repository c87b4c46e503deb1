"""Rules of what the log itself shows: right completions unpaid, others paid as such."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rewardkit.errors import preview
from rewardkit.findings import Example, Finding, most, rule
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.findings.traits import FORM, Trait, find_trait
from rewardkit.probes.subjects.logged_answers import LoggedAnswer

Findings = Sequence[Finding]

LEAST_ROWS = 2  # rows that are a fault; one may be a slip
LEAST_SHARE = 0.1
"""The same as a share of the rows that are treated as they should be. Our choice."""


@rule("right_unpaid")
def logged_losses(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report completions of the log that are right and earned nothing."""
    right = [answer for answer in observed.logged if answer.is_right]
    right = [answer for answer in right if not math.isnan(answer.gain)]
    labels = observed.calibration.labels
    if not labels:  # not to accept another form at all is fine
        paid_marks = {answer.mark for answer in right if not answer.is_unpaid}
        right = [answer for answer in right if answer.mark in paid_marks]
    lost = [answer for answer in right if answer.is_unpaid]
    kept = [answer for answer in right if not answer.is_unpaid]
    if findings or not kept or not _are_many(lost, kept):
        return  # a finding before this one says why they earned nothing
    trait = find_trait(lost, kept, "are paid")
    is_certain = bool(labels) or (trait is not None and trait.kind != FORM)
    yield _report(
        observed,
        "right_unpaid",
        lost,
        right,
        trait,
        severity="" if is_certain else "info",
    )


@rule("wrong_paid")
def logged_gains(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report completions of the log that are paid as right ones, and are not."""
    logged = observed.logged
    if not any(answer.is_right for answer in logged):
        return
    wrong = [answer for answer in logged if answer.is_right is False]
    paid = [answer for answer in wrong if answer.is_paid]
    unpaid = [answer for answer in wrong if not answer.is_paid]
    if not _are_many(paid, unpaid):
        return
    truths = {answer.prompt: answer.truth for answer in paid if answer.is_open}
    trait = None
    if unpaid and not truths:
        trait = find_trait(paid, unpaid, "earn less")
    yield _report(
        observed,
        "wrong_paid",
        paid,
        wrong,
        trait,
        silent=sum(answer.states_nothing for answer in paid),
        open=len(truths),
        truths=most(list(map(preview, truths.values()))),
    )


def _are_many(at_fault: Sequence[LoggedAnswer], others: Sequence[LoggedAnswer]) -> bool:
    return len(at_fault) >= max(LEAST_ROWS, LEAST_SHARE * len(others))


def _report(
    observed: Observed,
    code: str,
    at_fault: Sequence[LoggedAnswer],
    rows: Sequence[LoggedAnswer],
    trait: Trait | None,
    **evidence: Any,
) -> Finding:
    """Make a finding of rows of the log, with the shortest of each part as examples."""
    rewards = [answer.reward for answer in observed.logged]
    shortest: dict[str, Example] = {}
    for answer in sorted(at_fault, key=lambda answer: len(answer.completion)):
        if answer.part not in shortest:
            example = observed.row_example(answer.row, answer.reward, code)
            shortest[answer.part] = replace(
                example, right=max(rewards), wrong=min(rewards)
            )
    totals = Counter(answer.part for answer in rows)
    counts = Counter(answer.part for answer in at_fault)
    by_part: list[str] = []
    if len(totals) > 1:
        for part, count in counts.most_common():
            by_part.append(f"{part} {count} of {totals[part]}")
    components = dict.fromkeys(
        name for branch in observed.reward.branches for name in branch.task
    )
    return observed.finding(
        code,
        len(rows),
        len(at_fault),
        components=list(components),
        examples=shortest.values(),
        gain=1.0,
        prompts=len({answer.prompt for answer in at_fault}),
        by_part=most(by_part),
        by_label=bool(observed.calibration.labels),
        logged=True,
        trait=trait.kind if trait else "",
        common=trait.says if trait else "",
        **evidence,
    )
