"""Rules of what the log itself shows: right completions unpaid, others paid as such."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rewardkit.answers.misjudged import Misjudged, find_misjudged
from rewardkit.findings import Example, Finding, rule
from rewardkit.probes.findings.evidence import Observed

Findings = Sequence[Finding]


@rule("right_unpaid", "wrong_paid")
def misjudged_rows(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report completions of the log that are right and unpaid, or paid and not right.

    Of right ones nothing is said where a finding before this says why they lose.
    """
    by_label = bool(observed.calibration.labels)
    for misjudged in find_misjudged(observed.logged, by_label=by_label):
        if misjudged.code == "wrong_paid" or not findings:
            yield _report(observed, misjudged)


def _report(observed: Observed, misjudged: Misjudged) -> Finding:
    """Make a finding of rows of the log, with the shortest of each part as examples."""
    code, at_fault = misjudged.code, misjudged.at_fault
    rewards = [answer.reward for answer in observed.logged]
    shortest: dict[str, Example] = {}
    for answer in sorted(at_fault, key=lambda answer: len(answer.completion)):
        if answer.part not in shortest:
            example = observed.row_example(answer.row, answer.reward, code)
            shortest[answer.part] = replace(
                example, right=max(rewards), wrong=min(rewards)
            )
    components = dict.fromkeys(
        name for branch in observed.reward.branches for name in branch.task
    )
    return observed.finding(
        code,
        len(misjudged.rows),
        len(at_fault),
        components=list(components),
        examples=shortest.values(),
        severity="" if misjudged.is_certain else "info",
        **misjudged.evidence,
    )
