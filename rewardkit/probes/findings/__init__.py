"""The rules that probe() runs, by what they look at, and how findings are merged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice, zip_longest
from statistics import fmean

from rewardkit.findings import Finding, Rule, run_rules
from rewardkit.probes.findings import causes, failures, floor
from rewardkit.probes.findings.evidence import (
    EXAMPLES_OF_A_FINDING,
    Observed,
    alarms_among,
)
from rewardkit.probes.verdicts import WILD, wilson

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


def merge_parts(findings: Iterable[Finding], parts: Sequence[str]) -> list[Finding]:
    """Merge findings of one code and component in several parts.

    A finding in all `parts` names none.
    """
    alike: dict[tuple[str, str | None], list[Finding]] = defaultdict(list)
    for finding in findings:
        alike[finding.code, finding.component].append(finding)
    return [_merge(group, parts) for group in alike.values()]


def _merge(findings: Sequence[Finding], parts: Sequence[str]) -> Finding:
    """Merge findings: as bad as the worst, with pooled rates and examples of each."""
    if len(findings) == 1:
        return findings[0]
    findings = sorted(findings, key=lambda finding: finding.order)
    names = list(dict.fromkeys(finding.part for finding in findings))
    evidences = [finding.evidence for finding in findings]
    n = sum(evidence["tried"] for evidence in evidences)
    counts = [evidence.get("found", 0) for evidence in evidences]
    count = sum(counts)
    pooled = {**evidences[0], "tried": n, "parts": names}
    if count:
        pooled |= {"found": count, "value": count / n, "interval": wilson(count, n)}
        if "gain" in pooled:
            gains = [evidence["gain"] for evidence in evidences]
            pooled["gain"] = fmean(gains, counts)
    if "also" in pooled:
        probes = chain.from_iterable(evidence["also"] for evidence in evidences)
        pooled["also"] = list(dict.fromkeys(probes))
    rounds = zip_longest(*(finding.examples for finding in findings))
    examples = filter(None, chain.from_iterable(rounds))
    return replace(
        findings[0],
        evidence=pooled,
        n=sum(finding.n for finding in findings),
        examples=tuple(islice(examples, EXAMPLES_OF_A_FINDING)),
        part="" if set(names) >= set(parts) else ", ".join(names),
    )
