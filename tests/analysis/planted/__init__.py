"""Score tables with one known fault each, in an easy and a hard strength, and clean controls.

A fault is what an engineer who knows the run would call one. Its strengths follow from the comment above it
and not from the thresholds of the findings: easy is a fault that nobody would let pass, hard one that still
deserves a word where it is read from about a hundred prompts. What comes of it is in `planted_report.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import rewardkit as rk
from planted import beside, components, groups, logs
from planted.controls import CONTROLS
from planted.tables import Fault, generator_of

__all__ = ["CONTROLS", "FAULTS", "Outcome", "false_findings", "outcome"]

FAULTS: dict[str, Fault] = {**components.FAULTS, **groups.FAULTS, **beside.FAULTS, **logs.FAULTS}


@dataclass(frozen=True)
class Outcome:
    """What a diagnosis said of a planted fault: found, or only "inconclusive"; and what else it warned of.

    `beside` are the codes of further findings of severity warn or high about the same component, `elsewhere`
    of those about others.
    """

    found: bool
    unsure: bool
    severity: str
    beside: tuple[str, ...]
    elsewhere: tuple[str, ...]


def outcome(name: str, seed: int, *, hard: bool) -> Outcome:
    """What rk.diagnose says of this fault."""
    fault = FAULTS[name]
    scores, options = fault.made(name, seed, hard=hard)
    findings = rk.diagnose(scores, **options).findings
    own = [
        item
        for item in findings
        if (item.code, item.component, item.part) == (fault.code, fault.component, fault.part)
    ]
    sure = [item for item in own if not item.evidence.get("inconclusive")]
    loud = [item for item in findings if item.severity != "info" and item not in own]
    return Outcome(
        bool(sure),
        bool(own) and not sure,
        sure[0].severity if sure else "",
        tuple(item.code for item in loud if item.component == fault.component),
        tuple(item.code for item in loud if item.component != fault.component),
    )


def false_findings(name: str, seed: int) -> list[tuple[str, str]]:
    """Severity and code of each finding above "info" on a control."""
    scores, options = CONTROLS[name](generator_of(name, seed))
    return [
        (item.severity, item.code)
        for item in rk.diagnose(scores, **options).findings
        if item.severity != "info"
    ]
