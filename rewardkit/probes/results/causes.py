"""Causes: tallies of probes -> findings, one a cause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rewardkit.findings import Finding
from rewardkit.probes.results.evidence import EXAMPLES, Seen, component_of, example_of
from rewardkit.probes.results.floor import LEAKAGE, flat_credit, leaks, not_told_apart, open_gates
from rewardkit.probes.results.losses import layouts, notations
from rewardkit.probes.strategies.equivalents import LAYOUT, NOTATION
from rewardkit.probes.verdicts import LOST, Tally, Trial, risk, severity, threshold, wilson

__all__ = ["told"]


def told(
    trials: Sequence[Trial], tallies: Sequence[Tally], seen: Seen, *, leakage: float = LEAKAGE
) -> list[Finding]:
    """The findings of trials and their tallies: leakage, holes, losses."""
    gates = list(open_gates(seen))
    through = {(item.part, item.component) for item in gates}  # a leak through a gate is the gate's
    found = [item for item in leaks(seen, leakage) if (item.part, item.component) not in through] + gates
    if not any(item.severity != "info" for item in found):
        found += flat_credit(trials, seen)
    leaking = {item.part for item in found if item.severity != "info"}
    parts = dict.fromkeys(subject.part for subject in seen.calibration.subjects)
    for part in parts:
        some = [item for item in tallies if item.falls and item.part == part]
        every = [item for item in tallies if item.part == part]
        found += _holes(some, seen, part, leaks=part in leaking)
        found += layouts(every, seen, part)
        found += notations(every, seen, part)
    alarms = [item for item in found if item.severity != "info"]
    shown = [code for item in alarms for code in (item.code, *item.evidence.get("also", ()))]
    return [*found, *not_told_apart(seen, shown)]


def _holes(tallies: Sequence[Tally], seen: Seen, part: str, *, leaks: bool) -> Iterator[Finding]:
    """Wrong answers that are paid, and right ones of a special value that are not, one finding a cause."""
    fallen = {
        item.probe.name: item
        for item in tallies
        if item.probe.knows not in (LAYOUT, NOTATION) and not (leaks and item.probe.expects == "form")
    }
    serious = {name: item for name, item in fallen.items() if not item.by_chance}
    roots: dict[str, list[Tally]] = defaultdict(list)
    for name, item in fallen.items():
        roots[_root(name, fallen, serious)].append(item)
    for name, members in roots.items():
        yield _finding(fallen[name], members, seen, part)


ANYTHING = ("empty", "empty_answer", "refusal", "constant_text", "random_bytes")
"""Where one of these is paid, so may be whatever else cannot be read, or contains too little."""


def _root(name: str, fallen: Mapping[str, Tally], serious: Mapping[str, Tally]) -> str:
    """The probe that explains this one: of its explanations that fell as well, the first one's own."""
    seen = {name}
    while True:
        probe = fallen[name].probe
        reasons = (*probe.explained_by, *(() if probe.expects == "right" or name in ANYTHING else ANYTHING))
        cause = next((other for other in reasons if other in serious and other not in seen), None)
        if cause is None:
            return name
        seen.add(cause)
        name = cause


def _finding(item: Tally, members: Sequence[Tally], seen: Seen, part: str) -> Finding:
    """The finding of a probe, as bad as the worst of the members of its cause."""
    falls = sorted(item.falls, key=lambda fall: (-fall.size, len(fall.trial.attempt.completions[0])))
    worth = max((_risk(member, seen) for member in members if not member.by_chance), default=0.0)
    return Finding(
        item.probe.name,
        severity(worth),
        component_of(falls, seen),
        {
            "kind": {"right": "loses", "form": "fooled", "more": "more"}.get(item.probe.expects, "pays"),
            "says": item.probe.says,
            "value": item.rate,
            "interval": wilson(len(item.falls), item.tried),
            "found": len(item.falls),
            "tried": item.tried,
            "gain": item.size,
            "risk": worth,
            "knows": item.probe.knows,
            "truth": any(fall.trial.subject.answer is not None for fall in falls),
            "also": [member.probe.name for member in members if member is not item],
        },
        item.tried,
        LOST if item.probe.expects == "right" else threshold(item.probe, graded=False),
        family=item.probe.family,
        part=part,
        examples=tuple(example_of(fall, seen) for fall in falls[:EXAMPLES]),
    )


def _risk(item: Tally, seen: Seen) -> float:
    """The risk of what a probe found; none where no prompt of the rollouts has such a truth."""
    if not all(seen.has_truth(fall.trial.attempt) for fall in item.falls):
        return 0.0
    return item.size * item.rate / 2 if item.probe.expects == "right" else risk(item, seen.calibration.scales)
