"""What two versions differ in: their findings, and the cases that they pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.findings import SEVERITIES, Finding, most
from rewardkit.html.excerpts import one_line
from rewardkit.plain import Plain, Record
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.cases import WHOLE, Case
from rewardkit.scoring.check import check
from rewardkit.scoring.check_result import REWARD

MOST_CHANGES = 3
"""New and changed findings, and notes, of a short text; the rest are counted."""

FindingKey = tuple[Any, ...]
LONGEST_NAME = 64
"""Characters of a change or a case in a line. Our choice."""


@dataclass(frozen=True)
class FindingChanges:
    """Findings that B has and A has not (`new`), the reverse (`gone`), and others.

    `graded` are those whose severity changed, as in A and as in B.
    """

    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    graded: tuple[tuple[Finding, Finding], ...]

    @property
    def worse(self) -> list[tuple[Finding, Finding]]:
        """Return those of `graded` that are more severe in B."""
        return [(was, now) for was, now in self.graded if now.order[0] < was.order[0]]

    @property
    def new_or_worse(self) -> list[Finding]:
        """Return the findings of B that A lacks, or has at a lower severity."""
        return [*self.new, *(now for _, now in self.worse)]

    @property
    def better(self) -> list[Finding]:
        """Return the findings of A that B lacks, or has at a lower severity."""
        milder = [was for was, now in self.graded if was.order[0] < now.order[0]]
        return [*self.gone, *milder]

    @property
    def lines(self) -> list[str]:
        """Return how many findings came and went, and the first new or worse ones.

        What is new for information is counted by itself, and not listed.
        """
        lines = []
        for item in self.new:
            if item.severity != "info":
                lines.append(f"  new: {item.severity}: {item.sentence}")
        for was, now in self.worse:
            lines.append(f"  {now.severity}: {now.sentence} (was {was.severity})")
        if len(lines) > MOST_CHANGES:
            lines[MOST_CHANGES:] = [f"  and {len(lines) - MOST_CHANGES} more"]
        counts = {
            "new": len(self.new),
            "more severe": len(self.worse),
            "gone or less severe": len(self.better),
        }
        parts = [f"{count} {name}" for name, count in counts.items() if count]
        minor = sum(item.severity == "info" for item in self.new)
        if minor:
            parts[0] += f" ({minor} for information)"
        return [f"Findings: {', '.join(parts) or 'the same as before'}", *lines]


def compare_findings(
    a: Diagnosis, b: Diagnosis, renamed: Mapping[str, str] = MappingProxyType({})
) -> FindingChanges:
    """Return what changed between the findings of two diagnoses.

    `renamed` maps the name of a component in B to that in A: a finding of one is a
    finding of the other.
    """
    before = _findings_by_key(a, {})
    after = _findings_by_key(b, renamed)
    graded = []
    for key, was in before.items():
        now = after.get(key, was)
        if was.severity != now.severity:
            graded.append((was, now))
    new = _only_in(b, after, before)
    gone = _only_in(a, before, after)
    return FindingChanges(new, gone, tuple(graded))


def _findings_by_key(
    side: Diagnosis, renamed: Mapping[str, str]
) -> dict[FindingKey, Finding]:
    """Return findings by code, component, part and subject; of equal ones the worst."""
    findings: dict[FindingKey, Finding] = {}
    for item in sorted(side.findings, key=lambda item: SEVERITIES.index(item.severity)):
        names = [item.component]
        names += [item.evidence.get(name) for name in ("column", "other", "longer")]
        for place, name in enumerate(names):
            if isinstance(name, str):
                names[place] = renamed.get(name, name)
        component, *subject = names
        findings.setdefault((item.code, component, item.part, *subject), item)
    return findings


def _only_in(
    side: Diagnosis,
    findings_by_key: Mapping[FindingKey, Finding],
    others: Mapping[FindingKey, Finding],
) -> tuple[Finding, ...]:
    """Return the findings of one side that the other does not have.

    The other side has a finding of a slice, too, if it has it of all rows: a diagnosis
    does not repeat that for each slice.
    """
    certain = set()
    for key, item in others.items():
        if not item.evidence.get("inconclusive"):
            certain.add(key[:3])
    parts = sorted((view.part for view in side.views), key=len, reverse=True)
    findings = []
    for key, item in findings_by_key.items():
        part = next((part for part in parts if item.part.startswith(f"{part}: ")), "")
        is_of_slice = item.part not in parts
        is_covered = is_of_slice and (*key[:2], part) in certain
        if key not in others and not is_covered:
            findings.append(item)
    return tuple(findings)


def compare_cases(
    a: Reward, b: Reward, cases: Sequence[Case], timeout: float | None
) -> Record:
    """Return which cases B passes and A fails (`gained`), and the reverse (`lost`).

    Undecided cases do not count, nor expectations of a component that one reward lacks.
    A reward from a run record cannot be run: then `reason` says so, and both are None.
    """
    shared = set(a.names).intersection(b.names)
    passed: Record = {"a": None, "b": None}
    failed: dict[str, set[str]] = {}
    recorded = []
    for side, reward in (("a", a), ("b", b)):
        if not reward.can_run:
            recorded.append(side.upper())
            continue
        result = check(reward, cases, ignore={*a.names, *b.names}, timeout=timeout)
        passed[side] = {"passed": result.passed, "failed": result.failed}
        failed[side] = {
            miss.case for miss in result.misses if miss.what in {REWARD, *shared}
        }
    changes = {"cases": len(cases), **passed, "gained": None, "lost": None}
    if recorded:
        reason = (
            f"the reward of {' and '.join(recorded)} was read from a run record and "
            "cannot be run"
        )
        return {**changes, "compared": 0, "reason": reason}
    names = []
    for case in cases:
        if not case.is_undecided and {WHOLE, *shared}.intersection(case.parts):
            names.append(case.name)
    gained = failed["a"] - failed["b"]
    lost = failed["b"] - failed["a"]
    changes["gained"] = [name for name in names if name in gained]
    changes["lost"] = [name for name in names if name in lost]
    return changes | {"compared": len(names), "reason": None}


def describe_cases(changes: Plain | None) -> list[str]:
    """Say how many cases each side passes, and which are lost or gained."""
    if changes is None:
        return []
    sides = []
    for side in "ab":
        if changes[side]:
            sides.append(f"{side.upper()} passes {changes[side]['passed']}")
    passed = ", ".join(sides)
    if changes["reason"]:
        line = f"Cases were not compared: {changes['reason']}"
        return [f"{line}; {passed}" if passed else line]
    line = f"Cases: {passed} of {changes['cases']}"
    for kind in ("lost", "gained"):
        names = [*map(repr, changes[kind])]
        if names:
            line += f", {len(names)} {kind} ({first_of(names)})"
    return [line]


def first_of(items: Sequence[object]) -> str:
    """List the first of these, each cut to one line."""
    texts = [one_line(item, LONGEST_NAME) for item in items]
    return most(texts, MOST_CHANGES)
