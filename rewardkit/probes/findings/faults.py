"""Merge the findings that report the same fault, and sort them.

A fault has one cause. The columns `explains` of `findings.toml` say which findings
follow from which; a rule may list more of them in `also`. The same finding in several
parts of the log is one fault as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean

from rewardkit.findings import SEVERITIES, Finding, Findings, read_codes
from rewardkit.probes.findings.causes import HOLE_CODES
from rewardkit.probes.findings.evidence import EXAMPLES_OF_A_FINDING, rate_of

CONTAINMENT = "containment"
"""Code of a cause: the truth may contain the answer, or the answer the truth."""

CONTAINED = {
    "pays_parts": "too_little empty empty_answer empty_tags white_space usual_answer",
    "pays_more": "too_much every_sibling several_answers every_choice every_number "
    "negated",
}
"""Probes that show it: the first one must be paid, and one of the others."""


CONTRADICTIONS = ("log_mismatch", "hidden_state")
"""Codes of findings with which little else is sure: rows earn something else."""


def merge_by_cause(findings: Findings) -> list[Finding]:
    """Return one finding for each cause; its `also` has the codes of the others."""
    order = {code: place for place, code in enumerate(read_codes()["probe"])}
    causes = sorted(findings, key=lambda item: order.get(item.code, len(order)))
    members = defaultdict(list)
    for finding in findings:
        root = _find_root(finding, causes)
        members[id(root)].append(finding)
    merged = []
    for finding in findings:
        group = members.get(id(finding), [])
        if len(group) > 1:
            finding = _fold(finding, group)
        if group:
            merged.append(finding)
    return merged


def _find_root(finding: Finding, causes: Findings) -> Finding:
    """Follow a finding to the cause that no other finding explains."""
    others = [cause for cause in causes if cause is not finding]
    for cause in others:
        if _explains(cause, finding):
            return _find_root(cause, others)
    return finding


def _explains(cause: Finding, finding: Finding) -> bool:
    """Return whether a finding follows from a cause in the same part of the log.

    A finding on logged rows explains the same finding on written completions.
    """
    if cause.part != finding.part and "" not in (cause.part, finding.part):
        return False
    if cause.code == finding.code:
        return "logged" in cause.evidence and "logged" not in finding.evidence
    codes = _explained_codes(cause)
    if finding.code in codes:
        return True
    # a cause of a whole kind explains only findings that are no cause themselves
    kind = finding.evidence.get("kind")
    is_cause = finding.evidence.get("also") or kind in _explained_codes(finding)
    return kind in codes and not is_cause


def _explained_codes(cause: Finding) -> set[str]:
    """Return the codes and kinds of findings that follow from a certain cause."""
    if not _is_certain(cause):
        return set()
    row = read_codes()["probe"].get(cause.code, {})
    codes = set(row.get("explains", ()))
    codes.update(row.get(f"explains_for_{cause.evidence.get('trait')}", ()))
    codes.update(cause.evidence.get("also", ()))
    return codes


def _is_certain(finding: Finding) -> bool:
    if "doubt" in finding.evidence:
        return not finding.evidence["doubt"]
    return finding.severity != "info"


def _fold(root: Finding, members: Findings) -> Finding:
    """Merge a cause and the findings that follow from it.

    For wrong answers that are paid the gravest finding is shown, else the cause.
    """
    alike = HOLE_CODES if root.code in HOLE_CODES else (root.code,)
    candidates = [root, *(item for item in members if item.code in alike)]
    gravest = min(candidates, key=lambda item: SEVERITIES.index(item.severity))
    evidence = dict(gravest.evidence)
    code = gravest.code
    if code == root.code:  # the log shows the same as the trials, so it goes first
        evidence |= root.evidence
        gravest = replace(root, severity=gravest.severity)
    certain = {item.code for item in members if _is_certain(item)}
    pays = {}
    for name, probes in CONTAINED.items():
        first, *others = probes.split()
        pays[name] = first in certain and not certain.isdisjoint(others)
        is_cause = root.code in (first, *others, "too_little", "too_much")
        is_code = root.evidence.get("answers") == "code"  # half a program just fails
        if is_cause and pays[name] and not is_code:
            code = CONTAINMENT
    if code == CONTAINMENT != root.code:
        evidence |= pays
    codes = []
    for item in (root, *members):
        codes += [item.code, *item.evidence.get("also", ())]
        if item.evidence.get("kind") == "silent":
            evidence["in_log"] = item.evidence["found"]
    evidence["also"] = [name for name in dict.fromkeys(codes) if name != code]
    return replace(gravest, code=code, evidence=evidence)


def sort_findings(
    findings: Iterable[Finding], parts: Sequence[str], families: frozenset[str]
) -> list[Finding]:
    """Return one finding for each fault of these families, the worst first.

    A hang comes first, then a contradiction to the log: with these little else is
    certain. Among equally bad findings those on logged rows come first.

    Args:
        findings: The findings of all rules.
        parts: The parts of the log. A finding in all of them names none.
        families: The families of findings to return.
    """
    chosen = [finding for finding in findings if finding.family in families]
    groups = defaultdict(list)
    for finding in merge_by_cause(chosen):
        groups[finding.code, finding.component].append(finding)
    merged = []
    for group in groups.values():
        merged.append(_pool_parts(group, parts) if len(group) > 1 else group[0])
    return sorted(merged, key=_rank)


def _rank(finding: Finding) -> tuple[bool, bool, int, bool, float]:
    is_hang = finding.code == "hang" and finding.severity == "high"
    is_contradiction = finding.code in CONTRADICTIONS and finding.severity != "info"
    severity, worth = finding.order
    return (
        not is_hang,
        not is_contradiction,
        severity,
        "logged" not in finding.evidence,
        worth,
    )


def _pool_parts(findings: Findings, parts: Sequence[str]) -> Finding:
    """Merge a fault in several parts into the worst finding, with pooled rates."""
    findings = sorted(findings, key=lambda finding: finding.order)
    evidences = [finding.evidence for finding in findings]
    n = sum(evidence["tried"] for evidence in evidences)
    counts = [evidence.get("found", 0) for evidence in evidences]
    pooled = {**evidences[0], "tried": n}
    if any(counts):
        pooled |= rate_of(sum(counts), n)
    if any(counts) and "gain" in pooled:
        pooled["gain"] = fmean([evidence["gain"] for evidence in evidences], counts)
    if findings[0].code == CONTAINMENT:
        for name in CONTAINED:
            pooled[name] = any(evidence[name] for evidence in evidences)
    also = chain.from_iterable(evidence.get("also", ()) for evidence in evidences)
    pooled["also"] = list(dict.fromkeys(also))
    examples = [item.examples[0] for item in findings if item.examples]
    names = dict.fromkeys(finding.part for finding in findings)
    part = "" if names.keys() >= {*parts} else ", ".join(names)
    return replace(
        findings[0],
        evidence=pooled,
        n=sum(finding.n for finding in findings),
        examples=tuple(examples[:EXAMPLES_OF_A_FINDING]),
        part=part,
    )
