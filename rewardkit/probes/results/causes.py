"""Findings of what wrong answers earn and right ones lose, one a cause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from rewardkit.answers.formats import REASONING
from rewardkit.findings import SEVERITIES, Finding, most, read_codes
from rewardkit.probes.arguments import LEAKAGE
from rewardkit.probes.results.evidence import Observed
from rewardkit.probes.results.floor import (
    find_flat_credit,
    find_leaks,
    find_not_told_apart,
    find_open_gates,
)
from rewardkit.probes.trials import Trial
from rewardkit.probes.verdicts import (
    LAYOUT_LOST,
    RIGHT_LOST,
    Tally,
    paid_from,
    risk_of,
    severity_of,
)
from rewardkit.strategies.equivalents import LAYOUT, NOTATION

EXPLAINS = {
    code: row["explains"]
    for code, row in read_codes()["probe"].items()
    if "explains" in row
}
"""Code -> the probes that report the same fault as this one does."""

LONGER = "longer"
"""Filler around a wrong answer; who pays for it pays for all that makes one longer."""

PAYS_ANYTHING = (
    "empty",
    "empty_answer",
    "refusal",
    "constant_text",
    "random_bytes",
)
"""Where one of these is paid, so is what cannot be read or contains too little."""

MENTIONS_TAG, MARKED_TWICE = "tag_mentioned", "marked_twice"
"""A layout and a notation. A reward that takes the answer only if its tag stands there
once may lose an answer that names the tag."""

MOST_FORMS_NAMED = 4  # forms that a sentence names
LOST_ROLLOUTS_SHARE = 0.1
"""Rollouts lost by notations that are a fault, as a share of the paid ones. Our
choice."""
LEAST_LOST_ROLLOUTS = 2  # the same as a number: one may be a slip

KINDS_BY_EXPECTATION = {"right": "loses", "form": "fooled", "more": "more"}


def find_causes(
    trials: Sequence[Trial],
    tallies: Sequence[Tally],
    observed: Observed,
    *,
    leakage: float = LEAKAGE,
) -> Iterator[Finding]:
    """Find leakage, holes and losses, part by part.

    Args:
        trials: All trials.
        tallies: What each probe found in each part.
        observed: What was observed of the reward.
        leakage: Share of the ceiling that a wrong answer in good form may earn.
    """
    parts = dict.fromkeys(one.part for one in observed.calibration.subjects)
    for part in parts:
        here = observed.of(part)
        in_part = [tally for tally in tallies if tally.part == part]
        floor = list(find_open_gates(here))
        gated = {finding.component for finding in floor}
        for finding in find_leaks(here, leakage):
            if finding.component not in gated:  # else the gate is the cause
                floor.append(finding)
        if not _alarms(floor):
            floor += find_flat_credit(trials, here)
        holes = list(_find_holes(in_part, here, leaks=bool(_alarms(floor))))
        alarms = {finding.code for finding in _alarms([*floor, *holes])}
        if not alarms.isdisjoint(PAYS_ANYTHING):  # the same cause
            floor = [finding for finding in floor if finding.code != "flat_credit"]
        losses = [*_find_layouts(in_part, here), *_find_notations(in_part, here)]
        findings = [*floor, *holes, *losses]
        families = {finding.family for finding in _alarms(findings)}
        yield from findings
        yield from find_not_told_apart(here, skips_special="special_values" in families)


def _alarms(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity != "info"]


def _find_holes(
    tallies: Sequence[Tally], observed: Observed, *, leaks: bool
) -> Iterator[Finding]:
    """Find wrong answers that are paid, and special truths that are not."""
    fallen: dict[str, Tally] = {}
    for tally in tallies:
        is_loss = tally.probe.knows in (LAYOUT, NOTATION)
        is_leak = leaks and tally.probe.expects == "form"
        if tally.falls and not is_loss and not is_leak:
            fallen[tally.probe.name] = tally
    serious = {name: tally for name, tally in fallen.items() if not tally.by_chance}
    by_length = _payers_beside_task(serious.get(LONGER), observed)
    roots: dict[str, list[Tally]] = defaultdict(list)
    for name, tally in fallen.items():
        root = _find_root(name, fallen, serious)
        cause = fallen[root]
        if by_length and cause.probe.expects == "wrong":
            if _payers_beside_task(cause, observed) == by_length:
                root = LONGER
        roots[root].append(tally)
    for name, members in roots.items():
        yield _make_hole(fallen[name], members, observed)


def _payers_beside_task(tally: Tally | None, observed: Observed) -> set[str]:
    """Name the components that pay for what fell, if none of them is the task."""
    if tally is None:
        return set()
    payers = set(observed.components_of(tally.falls))
    for branch in observed.reward.branches:
        if not payers.isdisjoint(branch.task):
            return set()
    return payers


def _find_root(
    name: str, fallen: Mapping[str, Tally], serious: Mapping[str, Tally]
) -> str:
    """Follow the probes that explain this one and fell as well, to the first."""
    visited = {name}
    while True:
        causes = [cause for cause, others in EXPLAINS.items() if name in others]
        if fallen[name].probe.expects != "right" and name not in PAYS_ANYTHING:
            causes += PAYS_ANYTHING
        causes = [cause for cause in causes if cause in serious]
        causes = [cause for cause in causes if cause not in visited]
        if not causes:
            return name
        name = causes[0]
        visited.add(name)


def _make_hole(tally: Tally, members: Sequence[Tally], observed: Observed) -> Finding:
    """Make the finding of a cause: of its probe, or of a member that is graver."""
    risks = {
        member.probe.name: 0.0 if member.by_chance else _risk(member, observed)
        for member in members
    }
    worst = max(members, key=lambda member: risks[member.probe.name])
    if _rank(risks[worst.probe.name]) < _rank(risks[tally.probe.name]):
        tally = worst
    probe = tally.probe
    falls = sorted(
        tally.falls,
        key=lambda fall: (-fall.size, len(fall.trial.attempt.completions[0])),
    )
    subjects = [fall.trial.subject for fall in falls]
    threshold = paid_from(probe, graded=False)
    if probe.expects == "right":
        threshold = RIGHT_LOST
    return observed.finding(
        probe.name,
        probe.family,
        tally.tried,
        len(falls),
        components=observed.components_of(falls),
        threshold=threshold,
        examples=map(observed.example_of, falls),
        kind=KINDS_BY_EXPECTATION.get(probe.expects, "pays"),
        says=probe.says,
        gain=tally.size,
        risk=risks[probe.name],
        answers=subjects[0].kind,
        knows=probe.knows,
        truth=any(subject.answer is not None for subject in subjects),
        beyond=all(map(observed.is_beyond, subjects)),
        also=[member.probe.name for member in members if member is not tally],
    )


def _rank(risk: float) -> int:
    return SEVERITIES.index(severity_of(risk))


def _risk(tally: Tally, observed: Observed) -> float:
    """Return the risk of a hole; 0 where no rollout has such a truth."""
    if not all(observed.has_truth(fall.trial.attempt) for fall in tally.falls):
        return 0.0
    if tally.probe.expects == "form" and len(observed.components) < 2:
        return 0.0  # whoever writes the form itself earns no less
    if tally.probe.expects == "right":
        return tally.size * tally.rate / 2
    return risk_of(tally, observed.calibration.scales)


# --- losses of right answers


def _find_layouts(tallies: Sequence[Tally], observed: Observed) -> Iterator[Finding]:
    """Find right answers lost by layout: a fault if most layouts are taken."""
    layouts = {
        tally.probe.name: tally
        for tally in tallies
        if tally.tried and tally.probe.knows == LAYOUT
    }
    lost = {
        name: tally
        for name, tally in layouts.items()
        if tally.falls and _is_about_answer(tally, observed)
    }
    if "other_reasoning" in lost:  # to lose more words has nothing to do with tags
        for name in ("other_reasoning", "several_lines", MENTIONS_TAG):
            layouts.pop(name, None)
            lost.pop(name, None)
    if not lost:
        return
    kept = len(layouts) - len(lost)
    # it finds an answer in any text
    is_lenient = "other_reasoning" in layouts or 2 * kept >= len(layouts)
    faults = dict(lost)
    if any(tally.probe.name == MARKED_TWICE and tally.falls for tally in tallies):
        faults.pop(MENTIONS_TAG, None)
    losses = [tally.rate * tally.size for tally in faults.values()]
    is_fault = is_lenient and max(losses, default=0.0) >= LAYOUT_LOST
    names = [tally.probe.says for tally in lost.values()]
    yield _make_loss(
        "loses_layout" if is_lenient else "strict",
        list(lost.values()),
        observed,
        len(layouts),
        len(lost),
        severity="warn" if is_fault else "info",
        lost=most(names, MOST_FORMS_NAMED),
        layouts=len(layouts),
        kept=kept,
    )


def _is_about_answer(tally: Tally, observed: Observed) -> bool:
    """Whether a loss is about the answer, not a form that wrong answers have, too.

    To write several lines is part of such a form as well where there is reasoning.
    """
    measured = observed.measured[tally.falls[0].trial.subject.rollout_id]
    components = observed.components_of(tally.falls)
    if not components:
        return True
    name = components[0]
    if measured.reference.scores.get(name) != measured.baseline.scores.get(name):
        return True
    subjects = [fall.trial.subject for fall in tally.falls]
    has_reasoning = all(REASONING in subject.format.lead for subject in subjects)
    return tally.probe.name == "several_lines" and has_reasoning


def _find_notations(tallies: Sequence[Tally], observed: Observed) -> Iterator[Finding]:
    """Find notations of a right answer that are not taken.

    For information, unless policies write them: then right rollouts are lost by it.
    """
    lost: list[tuple[int, Tally]] = []
    for tally in tallies:
        if tally.falls and tally.probe.knows == NOTATION:
            lost.append((_count_lost_rollouts(tally, observed), tally))
    if not lost:
        return
    lost.sort(key=lambda pair: -pair[0])
    written = [f"{tally.probe.says} ({rows})" for rows, tally in lost if rows]
    rollouts = sum(rows for rows, _ in lost)
    limit = LOST_ROLLOUTS_SHARE * _count_paid_rollouts(observed)
    is_fault = rollouts >= max(LEAST_LOST_ROLLOUTS, limit)
    in_order = [tally for _, tally in lost]
    names = [tally.probe.says for tally in in_order]
    yield _make_loss(
        "loses_notation",
        in_order,
        observed,
        max(tally.tried for tally in in_order),
        severity="warn" if is_fault else "info",
        shown=len(written) or len(lost),
        value=fmean(tally.rate for tally in in_order),
        lost=most(names, 2 * MOST_FORMS_NAMED),
        unpaid=most(written, MOST_FORMS_NAMED),
        rollouts=rollouts,
    )


def _make_loss(
    code: str,
    tallies: Sequence[Tally],
    observed: Observed,
    tried: int,
    found: int | None = None,
    *,
    shown: int | None = None,
    **evidence: Any,
) -> Finding:
    """Make the finding of lost forms; the first `shown` of them are its examples."""
    falls = [tally.falls[0] for tally in tallies[:shown]]
    return observed.finding(
        code,
        "equivalents",
        tried,
        found,
        components=observed.components_of(falls),
        threshold=RIGHT_LOST,
        examples=map(observed.example_of, falls),
        rates={tally.probe.name: tally.rate for tally in tallies},
        **evidence,
    )


def _count_paid_rollouts(observed: Observed) -> int:
    """Count the rollouts of the prompts that are paid in full."""
    subjects = observed.calibration.subjects
    count = 0
    for prompt, scale in {one.prompt: observed.scale(one) for one in subjects}.items():
        for _, reward in observed.by_prompt.get(prompt, ()):
            count += scale.gain(reward) >= 1 - RIGHT_LOST
    return count


def _count_lost_rollouts(tally: Tally, observed: Observed) -> int:
    """Count the unpaid rollouts that state the right answer in a notation."""
    count = 0
    for fall in tally.falls:
        subject, text = fall.trial.subject, fall.trial.attempt.completions[0]
        scale, form = observed.scale(subject), subject.format
        stated = text[len(form.lead) : len(text) - len(form.tail)].strip()
        for completion, reward in observed.by_prompt.get(subject.prompt, ()):
            count += stated in completion and scale.gain(reward) < RIGHT_LOST
    return count
