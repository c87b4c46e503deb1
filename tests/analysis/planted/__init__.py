"""Score tables with one known fault each, in an easy and a hard strength, and clean controls.

A fault is what an engineer who knows the run would call one. Its strengths follow from the comment above it
and not from the thresholds of the findings: easy is a fault that nobody would let pass, hard one that still
deserves a word where it is read from about a hundred prompts. What comes of it is in `planted_report.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import rewardkit as rk
from planted import beside, components, groups, logs
from planted.controls import CONTROLS
from planted.tables import Fault, generator_of

__all__ = ["CONTROLS", "FAULTS", "Outcome", "false_findings", "outcome"]

FAULTS: dict[str, Fault] = {**components.FAULTS, **groups.FAULTS, **beside.FAULTS, **logs.FAULTS}


class Outcome(NamedTuple):
    """What a diagnosis said of a planted fault: found, or only "inconclusive"; and what else it warned of.

    `beside` are the codes of further findings of severity warn or high about the same component.
    """

    found: bool
    unsure: bool
    beside: tuple[str, ...]


def outcome(name: str, seed: int, *, hard: bool) -> Outcome:
    """What rk.diagnose says of this fault."""
    fault = FAULTS[name]
    scores, options = fault.made(name, seed, hard=hard)
    findings = rk.diagnose(scores, **options).findings
    meant = fault.code, fault.component, fault.part
    own = [item for item in findings if (item.code, item.component, item.part) == meant]
    sure = any(not item.evidence.get("inconclusive") for item in own)
    loud = [item for item in findings if item.severity != "info" and item not in own]
    return Outcome(
        sure, bool(own) and not sure, tuple(x.code for x in loud if x.component == fault.component)
    )


def false_findings(name: str, seed: int) -> list[tuple[str, str]]:
    """Severity and code of each finding above "info" on a control."""
    scores, options = CONTROLS[name](generator_of(name, seed))
    return [
        (item.severity, item.code)
        for item in rk.diagnose(scores, **options).findings
        if item.severity != "info"
    ]
