"""The rules that probe() runs on all rollouts and parts, and how findings are merged.

Those of rewards that fail or score the same are in `failing`, those of the log in
`logged`, those of what wrong answers earn and right ones lose in `floor`, `length` and
`causes`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice, zip_longest
from statistics import fmean

from rewardkit.findings import SEVERITIES, Finding, Rule, run_rules
from rewardkit.probes.findings import causes, failing, floor, judge_words, length
from rewardkit.probes.findings.evidence import (
    EXAMPLES_OF_A_FINDING,
    Observed,
    alarms_among,
    rate_of,
)
from rewardkit.probes.findings.logged import LOG_RULES
from rewardkit.probes.trials import WILD

OVERALL_RULES: tuple[Rule, ...] = (
    failing.judges_nothing,
    failing.looks_elsewhere,
    failing.always_the_same,
    failing.misreads_truth,
)
"""Of a reward for which nothing else needs to be tried."""
BY_PLACE = ("loses_layout", "strict", "text_behind", "text_far_behind", "text_before")
BY_READING = ("right_unpaid", "loses_layout", "strict")
OF_SAME_CAUSE = {
    "behind": BY_PLACE,
    "window": BY_PLACE,
    "before": BY_PLACE,
    "length": ("loses_layout", "strict"),
    "notation": ("loses_notation",),
    "prompt_left_out": BY_READING,
    "prompt_read": BY_READING,
    "first_mark_read": BY_READING,
    "truth_unread": ("right_unpaid",),
    "other_scale": ("right_unpaid",),
    "empty_truth_result": ("empty_query",),
}
"""Trait of rows of the log that lose -> findings in parts that say the same."""
PART_RULES: tuple[Rule, ...] = (
    floor.open_gates,
    floor.leaks,
    floor.flat_credit,
    causes.holes,
    length.length_curve,
    causes.layouts,
    causes.notations,
    floor.not_told_apart,
)
"""Of each part of the log."""
WHOLE_RULES: tuple[Rule, ...] = (
    judge_words.verdict_in_words,
    failing.parts_without_truth,
    failing.idle_components,
    failing.failures,
)
"""Of all rollouts, each at a step of its own."""


PAYS_FOR_NOTHING = (*causes.PAYS_ANYTHING, causes.CONTAINMENT)
"""Findings of which credit for any text is the same fault."""


def find_paid(observed: Observed, leakage: float) -> list[Finding]:
    """Find what wrong answers earn and right ones lose, part by part.

    Nothing can be told where a reward differs from call to call.

    Args:
        observed: What was observed of the reward.
        leakage: Share of the ceiling that a wrong answer in good form may earn.
    """
    if observed.noise > WILD:
        return []
    findings = run_rules(LOG_RULES, observed)
    reported: set[str] = set()
    for finding in alarms_among(findings):
        trait = finding.evidence.get("trait", finding.code)
        reported |= {finding.code, *OF_SAME_CAUSE.get(trait, ())}
    for part in dict.fromkeys(subject.part for subject in observed.subjects):
        limits = {"leakage": leakage}
        in_part = run_rules(PART_RULES, observed.of(part), thresholds=limits)
        same_cause = set(reported)
        for alarm in alarms_among(in_part):
            if alarm.code in PAYS_FOR_NOTHING:
                same_cause.add("flat_credit")
            if alarm.evidence.get("peaks"):
                padding = {item.code for item in in_part if item.family == "padding"}
                same_cause |= padding - {alarm.code}
        findings += [item for item in in_part if item.code not in same_cause]
    findings = _merge_silent(findings)
    of_judge = list(judge_words.verdict_in_words.find(observed, findings))
    caused = {code for finding in of_judge for code in finding.evidence["also"]}
    others = [item for item in findings if item.code not in caused]
    return of_judge + others


def _merge_silent(findings: Sequence[Finding]) -> list[Finding]:
    """Merge logged completions that are paid for nothing with the hole that they show.

    Where nothing is a hole by itself they stay a finding of their own.
    """
    silent = 0
    for finding in findings:
        if finding.evidence.get("silent", math.nan) == finding.evidence.get("found"):
            silent = finding.evidence["silent"]
    codes = (*PAYS_FOR_NOTHING, "truth_unread")
    if not silent or all(finding.code not in codes for finding in findings):
        return list(findings)
    merged: list[Finding] = []
    for finding in findings:
        if finding.code in codes:
            evidence = {**finding.evidence, "in_log": silent}
            merged.append(replace(finding, evidence=evidence))
        elif "silent" not in finding.evidence:
            merged.append(finding)
    return merged


def sort_findings(
    findings: Iterable[Finding], observed: Observed, families: frozenset[str]
) -> list[Finding]:
    """Return one finding for each code and component, the worst first.

    Before all stands that the log says something else: then little else is sure. What
    the log shows stands before what was tried, if it is as bad.
    """
    chosen = [finding for finding in findings if finding.family in families]
    if any(finding.code == "depends_on_siblings" for finding in chosen):
        # alone, all rows earn the same
        chosen = [finding for finding in chosen if finding.code != "constant"]
    merged = merge_parts(chosen, list(observed.calibration.modes))
    return sorted(merged, key=lambda finding: (_rank(finding), finding.order))


def _rank(finding: Finding) -> tuple[int, bool]:
    """Rank a finding by its severity, one of the log's own rows first."""
    if finding.code == "log_mismatch" and finding.severity != "info":
        return -1, False
    return SEVERITIES.index(finding.severity), not finding.evidence.get("logged")


def merge_parts(findings: Iterable[Finding], parts: Sequence[str]) -> list[Finding]:
    """Merge findings of one code and component in several parts.

    A finding in all `parts` names none. Rows of the log stand for prompts that were
    tried with the same result: the two are not counted together.
    """
    alike: dict[tuple[str, str | None], list[Finding]] = defaultdict(list)
    for finding in findings:
        alike[finding.code, finding.component].append(finding)
    merged = []
    for group in alike.values():
        logged = [item for item in group if item.evidence.get("logged")]
        worst = min((item.severity for item in group), key=SEVERITIES.index)
        finding = _merge(logged or group, parts)
        evidence = dict(finding.evidence)
        for item in group:
            if "truths" in item.evidence:
                evidence.setdefault("truths", item.evidence["truths"])
        merged.append(replace(finding, severity=worst, evidence=evidence))
    return merged


def _merge(findings: Sequence[Finding], parts: Sequence[str]) -> Finding:
    """Merge findings: as bad as the worst, with pooled rates and examples of each."""
    if len(findings) == 1:
        return findings[0]
    findings = sorted(findings, key=lambda finding: finding.order)
    names = list(dict.fromkeys(finding.part for finding in findings))
    evidences = [finding.evidence for finding in findings]
    n = sum(evidence["tried"] for evidence in evidences)
    counts = [evidence.get("found", 0) for evidence in evidences]
    pooled = {**evidences[0], "tried": n, "parts": names}
    if any(counts):
        pooled |= rate_of(sum(counts), n)
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
