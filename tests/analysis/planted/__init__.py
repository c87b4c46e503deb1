"""Score tables with one known fault each, in an easy and a hard strength, and clean controls.

A fault is what an engineer who knows the run would call one. Its strengths follow from the comment above it
and not from the thresholds of the findings: easy is a fault that nobody would let pass, hard one that still
deserves a word where it is read from about a hundred prompts. What comes of it is in `planted_report.py`.
"""

from typing import NamedTuple

import rewardkit as rk
from planted.controls import CONTROLS
from planted.faults import FAULTS
from planted.tables import generator_of

__all__ = ["CONTROLS", "FAULTS", "Outcome", "false_findings", "outcome"]


class Outcome(NamedTuple):
    """What a diagnosis said of a planted fault: found, or only "inconclusive"; and what else it warned of.

    `beside` are the codes of further findings of severity warn or high about the same component.
    """

    found: bool
    unsure: bool
    beside: set[str]


def outcome(name: str, seed: int, *, hard: bool) -> Outcome:
    """What rk.diagnose says of this fault."""
    fault = FAULTS[name]
    scores, options = fault.made(name, seed, hard=hard)
    findings = rk.diagnose(scores, **options).findings
    meant = fault.code, fault.component, fault.part
    own = [item for item in findings if (item.code, item.component, item.part) == meant]
    sure = any(not item.evidence.get("inconclusive") for item in own)
    others = [
        item
        for item in findings
        if item not in own and item.component == fault.component
    ]
    return Outcome(
        sure, bool(own) and not sure, {x.code for x in others if x.severity != "info"}
    )


def false_findings(name: str, seed: int) -> list[tuple[str, str]]:
    """Severity and code of each finding above "info" on a control."""
    scores, options = CONTROLS[name](generator_of(name, seed))
    found = rk.diagnose(scores, **options).findings
    return [(item.severity, item.code) for item in found if item.severity != "info"]
