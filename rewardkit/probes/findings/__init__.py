"""The rules that probe() runs, by what they look at, and how they run."""

from __future__ import annotations

from rewardkit.findings import Finding, Rule, run_rules
from rewardkit.probes.findings import causes, failures, floor
from rewardkit.probes.findings.evidence import Observed, alarms_among
from rewardkit.probes.verdicts import WILD

OVERALL_RULES: tuple[Rule, ...] = (
    failures.judges_nothing,
    failures.always_the_same,
    failures.misreads_truth,
)
"""Of a reward for which nothing else needs to be tried."""
PART_RULES: tuple[Rule, ...] = (
    floor.open_gates,
    floor.leaks,
    floor.flat_credit,
    causes.holes,
    causes.layouts,
    causes.notations,
    floor.not_told_apart,
)
"""Of each part of the log."""
WHOLE_RULES: tuple[Rule, ...] = (
    floor.against_label,
    failures.parts_without_truth,
    failures.failures,
)
"""Of all rollouts, each at a step of its own."""


def find_paid(observed: Observed, leakage: float) -> list[Finding]:
    """Find what wrong answers earn and right ones lose, part by part.

    Nothing but what labels say can be told of a reward that differs from call to call.

    Args:
        observed: What was observed of the reward.
        leakage: Share of the ceiling that a wrong answer in good form may earn.
    """
    findings = run_rules([floor.against_label], observed)
    if observed.noise > WILD:
        return findings
    for part in dict.fromkeys(subject.part for subject in observed.subjects):
        limits = {"leakage": leakage}
        in_part = run_rules(PART_RULES, observed.of(part), thresholds=limits)
        codes = {finding.code for finding in alarms_among(in_part)}
        if not codes.isdisjoint(causes.PAYS_ANYTHING):  # the same cause
            in_part = [item for item in in_part if item.code != "flat_credit"]
        findings += in_part
    return findings
