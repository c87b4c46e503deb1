"""Which findings report the same fault: they are merged into one, and sorted.

A fault has one cause. Which findings follow from which is said in `findings.toml`, in
the columns `explains`; what a rule knows beyond that it lists in `also`. What is found
in several parts of the log is one fault as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice, zip_longest
from statistics import fmean
from typing import Any

from rewardkit.findings import SEVERITIES, Finding, read_codes
from rewardkit.probes.findings.causes import HOLE_CODES
from rewardkit.probes.findings.evidence import EXAMPLES_OF_A_FINDING, rate_of

HOLES, SILENT = "holes", "silent"
"""Names in `explains` of all wrong answers that are paid, and of logged completions
that are paid and state nothing."""

CONTAINMENT = "containment"
"""Code of the cause of what falls where a part of the truth, or more than it, is paid.
"""
PARTS_OF_TRUTH = (
    "too_little",
    *("empty", "empty_answer", "empty_tags", "white_space", "usual_answer"),
)
MORE_THAN_TRUTH = (
    "too_much",
    *("every_sibling", "several_answers", "every_choice", "every_number", "negated"),
)
"""Probes that fall where an answer may stand in the truth, or the truth in an answer.
The first and one of the others have to fall."""


def merge_by_cause(findings: Sequence[Finding]) -> list[Finding]:
    """Return one finding for each cause; codes of those merged are in its `also`."""
    order = {code: place for place, code in enumerate(read_codes()["probe"])}
    causes = sorted(findings, key=lambda item: order.get(item.code, len(order)))
    members: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        members[id(_find_root(finding, causes))].append(finding)
    roots = [finding for finding in findings if id(finding) in members]
    return [_fold(root, members[id(root)]) for root in roots]


def _find_root(finding: Finding, causes: Sequence[Finding]) -> Finding:
    """Follow a finding to the cause that no other one explains."""
    for cause in causes:
        if _explains(cause, finding):
            return _find_root(cause, causes)
    for cause in causes:
        also = cause.evidence.get("also", ())
        if finding.code in also and _is_certain(cause) and _overlap(cause, finding):
            return cause
    return finding


def _explains(cause: Finding, finding: Finding) -> bool:
    """Whether the table says that a finding follows from a cause.

    Rows of the log stand for prompts that were tried with the same result.
    """
    if not _overlap(cause, finding):
        return False
    if cause.code == finding.code:
        return _is_logged(cause) and not _is_logged(finding)
    return _is_certain(cause) and not _explained_by(cause).isdisjoint(_names(finding))


def _explained_by(cause: Finding) -> set[str]:
    row = read_codes()["probe"].get(cause.code, {})
    of_trait = row.get(f"explains_for_{cause.evidence.get('trait')}", ())
    return {*row.get("explains", ()), *of_trait}


def _names(finding: Finding) -> list[str]:
    """List the names of a finding in `explains`: its code, and what it is one of."""
    names = [finding.code]
    is_loss = finding.evidence.get("kind") == "loses"
    if finding.code in HOLE_CODES and not is_loss:
        if HOLES not in _explained_by(finding):
            names.append(HOLES)
    if _count_silent(finding):
        names.append(SILENT)
    return names


def _count_silent(finding: Finding) -> int:
    """Count the paid rows of the log, if all of them state nothing."""
    silent: int = finding.evidence.get("silent", 0)
    return silent if silent == finding.evidence.get("found") else 0


def _is_certain(finding: Finding) -> bool:
    """Whether a finding is a fault, so that others may follow from it."""
    if "doubt" in finding.evidence:
        return not finding.evidence["doubt"]
    return finding.severity != "info"


def _is_logged(finding: Finding) -> bool:
    return bool(finding.evidence.get("logged"))


def _overlap(first: Finding, second: Finding) -> bool:
    """Whether two findings are about the same rows; "" are all parts of the log."""
    return first.part == second.part or "" in (first.part, second.part)


def _fold(root: Finding, members: Sequence[Finding]) -> Finding:
    """Merge a cause and what follows from it.

    It is shown as its cause is, or as a wrong answer that is paid more.
    """
    if len(members) == 1:
        return root
    chosen, code = root, root.code
    certain = {item.code for item in members if _is_certain(item)}
    if root.code in HOLE_CODES:
        holes = [root, *(item for item in members if item.code in HOLE_CODES)]
        chosen = min(holes, key=_severity)
        code = chosen.code
    evidence: dict[str, Any] = dict(chosen.evidence)
    for names in (PARTS_OF_TRUTH, MORE_THAN_TRUTH):
        if root.code in names and names[0] in certain and len(certain & {*names}) > 1:
            code = CONTAINMENT
            evidence["takes_part"] = not certain.isdisjoint(PARTS_OF_TRUTH)
            evidence["takes_more"] = not certain.isdisjoint(MORE_THAN_TRUTH)
    codes: list[str] = []
    for item in (root, *members):
        codes += [item.code, *item.evidence.get("also", ())]
        if _count_silent(item):
            evidence["in_log"] = _count_silent(item)
        if "truths" in item.evidence:
            evidence.setdefault("truths", item.evidence["truths"])
    evidence["also"] = [name for name in dict.fromkeys(codes) if name != code]
    same = [item for item in members if item.code == chosen.code]
    severity = min((chosen, *same), key=_severity).severity
    return replace(chosen, code=code, severity=severity, evidence=evidence)


def _severity(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def sort_findings(
    findings: Iterable[Finding], parts: Sequence[str], families: frozenset[str]
) -> list[Finding]:
    """Return one finding for each fault of these families, the worst first.

    Before all stands that the log says something else: then little else is sure. What
    the log shows stands before what was tried, if it is as bad.

    Args:
        findings: What all rules found.
        parts: The parts of the log. A finding in all of them names none.
        families: Families of findings that were asked for.
    """
    chosen = [finding for finding in findings if finding.family in families]
    alike: dict[tuple[str, str | None], list[Finding]] = defaultdict(list)
    for finding in merge_by_cause(chosen):
        alike[finding.code, finding.component].append(finding)
    merged = [_pool_parts(group, parts) for group in alike.values()]
    return sorted(merged, key=_rank)


def _rank(finding: Finding) -> tuple[bool, int, bool, float]:
    is_contradiction = finding.code == "log_mismatch" and finding.severity != "info"
    severity, worth = finding.order
    return not is_contradiction, severity, not _is_logged(finding), worth


def _pool_parts(findings: Sequence[Finding], parts: Sequence[str]) -> Finding:
    """Merge a fault in several parts: as in the worst, with pooled rates."""
    if len(findings) == 1:
        return findings[0]
    findings = sorted(findings, key=lambda finding: finding.order)
    worst = findings[0]
    names = list(dict.fromkeys(finding.part for finding in findings))
    evidences = [finding.evidence for finding in findings]
    n = sum(evidence["tried"] for evidence in evidences)
    counts = [evidence.get("found", 0) for evidence in evidences]
    pooled = {**worst.evidence, "tried": n, "parts": names}
    if any(counts):
        pooled |= rate_of(sum(counts), n)
        if "gain" in pooled:
            pooled["gain"] = fmean([item["gain"] for item in evidences], counts)
    also = chain.from_iterable(item.get("also", ()) for item in evidences)
    pooled["also"] = list(dict.fromkeys(also))
    rounds = zip_longest(*(finding.examples for finding in findings))
    examples = filter(None, chain.from_iterable(rounds))
    return replace(
        worst,
        evidence=pooled,
        n=sum(finding.n for finding in findings),
        examples=tuple(islice(examples, EXAMPLES_OF_A_FINDING)),
        part="" if set(names) >= set(parts) else ", ".join(names),
    )
