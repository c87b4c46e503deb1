"""Causes: tallies of probes -> findings, one a cause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rewardkit.findings import SEVERITIES, Finding, read_codes
from rewardkit.probes.results.evidence import Seen, components_of, example_of
from rewardkit.probes.results.floor import (
    LEAKAGE,
    flat_credit,
    leaks,
    not_told_apart,
    open_gates,
)
from rewardkit.probes.results.losses import layouts, notations
from rewardkit.probes.trials import Trial
from rewardkit.probes.verdicts import LOST, Tally, risk, severity, threshold
from rewardkit.strategies.equivalents import LAYOUT, NOTATION

EXPLAINS = {
    code: row["explains"]
    for code, row in read_codes()["probe"].items()
    if "explains" in row
}
"""Code -> the probes that report the same fault as this one does."""


def told(
    trials: Sequence[Trial],
    tallies: Sequence[Tally],
    seen: Seen,
    *,
    leakage: float = LEAKAGE,
) -> Iterator[Finding]:
    """The findings of trials and their tallies, part by part: leakage, holes, losses."""
    for part in dict.fromkeys(subject.part for subject in seen.calibration.subjects):
        of_part = seen.of(part)
        some = [item for item in tallies if item.part == part]
        floor = list(open_gates(of_part))
        gated = {
            item.component for item in floor
        }  # a leak through a gate is the gate's
        floor += [
            item for item in leaks(of_part, leakage) if item.component not in gated
        ]
        if not any(item.severity != "info" for item in floor):
            floor += flat_credit(trials, of_part)
        leaking = any(item.severity != "info" for item in floor)
        found = [*floor, *_holes(some, of_part, leaks=leaking)]
        if any(
            item.severity != "info" and item.code in ANYTHING for item in found
        ):  # the same cause
            found = [item for item in found if item.code != "flat_credit"]
        found += [*layouts(some, of_part), *notations(some, of_part)]
        special = any(
            item.severity != "info" and item.family == "special_values"
            for item in found
        )
        yield from [*found, *not_told_apart(of_part, special_told=special)]


def _holes(tallies: Sequence[Tally], seen: Seen, *, leaks: bool) -> Iterator[Finding]:
    """Wrong answers that are paid, and right ones of a special value that are not, one finding a cause."""
    fallen = {
        item.probe.name: item
        for item in tallies
        if item.falls
        and item.probe.knows not in (LAYOUT, NOTATION)
        and not (leaks and item.probe.expects == "form")
    }
    serious = {name: item for name, item in fallen.items() if not item.by_chance}
    roots: dict[str, list[Tally]] = defaultdict(list)
    by_length = _beside_the_task(serious.get(LONGER), seen)
    for name, item in fallen.items():
        root = _root(name, fallen, serious)
        cause = fallen[root]
        if (
            by_length
            and cause.probe.expects == "wrong"
            and _beside_the_task(cause, seen) == by_length
        ):
            root = LONGER
        roots[root].append(item)
    for name, members in roots.items():
        yield _hole(fallen[name], members, seen)


LONGER = "longer"
"""Filler around a wrong answer: who pays for it pays for whatever else makes one longer."""
ANYTHING = ("empty", "empty_answer", "refusal", "constant_text", "random_bytes")
"""Where one of these is paid, so may be whatever else cannot be read, or contains too little."""


def _beside_the_task(item: Tally | None, seen: Seen) -> set[str]:
    """The components that pay for what fell, where none of them is the task."""
    found = set(components_of(item.falls, seen)) if item is not None else set()
    return (
        found
        if found.isdisjoint(
            name for branch in seen.reward.branches for name in branch.task
        )
        else set()
    )


def _root(name: str, fallen: Mapping[str, Tally], serious: Mapping[str, Tally]) -> str:
    """The probe that explains this one: of its explanations that fell as well, the first one's own."""
    seen = {name}
    while True:
        reasons = [cause for cause, others in EXPLAINS.items() if name in others]
        if fallen[name].probe.expects != "right" and name not in ANYTHING:
            reasons += ANYTHING
        cause = next(
            (other for other in reasons if other in serious and other not in seen), None
        )
        if cause is None:
            return name
        seen.add(cause)
        name = cause


def _hole(item: Tally, members: Sequence[Tally], seen: Seen) -> Finding:
    """The finding of a cause: of its probe, or of the member that is graver, so that its numbers say why."""
    risks = {
        member.probe.name: 0.0 if member.by_chance else _risk(member, seen)
        for member in members
    }
    worst = max(members, key=lambda member: risks[member.probe.name])
    if SEVERITIES.index(severity(risks[worst.probe.name])) < SEVERITIES.index(
        severity(risks[item.probe.name])
    ):
        item = worst
    probe = item.probe
    falls = sorted(
        item.falls,
        key=lambda fall: (-fall.size, len(fall.trial.attempt.completions[0])),
    )
    return seen.finding(
        probe.name,
        probe.family,
        item.tried,
        len(item.falls),
        components=components_of(falls, seen),
        threshold=LOST if probe.expects == "right" else threshold(probe, graded=False),
        examples=(example_of(fall, seen) for fall in falls),
        kind={"right": "loses", "form": "fooled", "more": "more"}.get(
            probe.expects, "pays"
        ),
        says=probe.says,
        gain=item.size,
        risk=risks[probe.name],
        answers=falls[0].trial.subject.kind,
        knows=probe.knows,
        truth=any(fall.trial.subject.answer is not None for fall in falls),
        beyond=all(seen.beyond(fall.trial.subject) for fall in falls),
        also=[member.probe.name for member in members if member is not item],
    )


def _risk(item: Tally, seen: Seen) -> float:
    """The risk of what a probe found; none where no prompt of the rollouts has such a truth."""
    if not all(seen.has_truth(fall.trial.attempt) for fall in item.falls):
        return 0.0
    if item.probe.expects == "form" and len(seen.components()) < 2:
        return 0.0  # who writes the form itself earns no less
    return (
        item.size * item.rate / 2
        if item.probe.expects == "right"
        else risk(item, seen.calibration.scales)
    )
