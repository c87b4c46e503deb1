"""What wrong, unrelated and empty answers earn, outright or by open gates."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean

from rewardkit.findings import Example, Finding, most
from rewardkit.probes.results.evidence import Observed, special_truth
from rewardkit.probes.runner import RowOutcome
from rewardkit.probes.trials import Trial
from rewardkit.probes.verdicts import NOISY, RARE, RIGHT_LOST, components_at_fault
from rewardkit.strategies.subject import Subject

FLAT_CREDIT = 0.2
"""Share of full marks that any text may earn for nothing. Our choice."""

UNRELATED_TEXTS = ("constant_text", "refusal", "random_bytes")
"""Probes whose completions have nothing to do with the prompt."""


def find_leaks(observed: Observed, limit: float) -> Iterator[Finding]:
    """Find what a wrong answer in good form earns beyond a share of the ceiling."""
    subjects = [one for one in observed.calibration.subjects if one.answer is not None]
    leaks = {one.rollout_id: _undeclared_leak(one, observed) for one in subjects}
    leak = fmean(leaks.values()) if leaks else 0.0
    if leak < 0.01:
        return
    worst = max(subjects, key=lambda subject: leaks[subject.rollout_id])
    scale = observed.scale(worst)
    scores = observed.measured[worst.rollout_id].baseline.scores
    payers = components_at_fault(observed.weights(worst.columns), scores, {})
    highest = scale.floor + limit * (scale.right - scale.floor)
    expected = scale.floor - scale.span, highest
    severity = "info"
    if leak > limit:
        severity = "high" if leak > (1 + limit) / 2 else "warn"
    component, paid_by = None, ""
    if len(payers) == 1:
        component = payers[0][0]
    elif payers:
        paid_by = most([f"{name} {amount:+.3g}" for name, amount in payers])
    yield observed.finding(
        "leakage",
        "calibration",
        len(subjects),
        severity=severity,
        component=component,
        threshold=limit,
        examples=[
            observed.example(worst, worst.baseline, scale.wrong, expected, "leakage")
        ],
        value=leak,
        gain=leak,
        here=leaks[worst.rollout_id],
        right=scale.right,
        wrong=scale.wrong,
        floor=scale.floor,
        paid_by=paid_by,
    )


def _undeclared_leak(subject: Subject, observed: Observed) -> float:
    """Measure a leak, without components that are declared to pay partly right ones."""
    components = observed.components
    partial = [name for name, item in components.items() if item.expects_partial]
    if len(partial) == len(components):
        return 0.0
    scale = observed.scale(subject)
    declared = sum(_paid_for_wrong(observed, subject, name) for name in partial)
    leak = max(0.0, scale.wrong - max(0.0, declared) - scale.floor)
    return leak / (scale.right - scale.floor)


def _paid_for_wrong(observed: Observed, subject: Subject, component: str) -> float:
    """Return what a component pays the wrong answer; 0 behind a closed gate."""
    scores = observed.measured[subject.rollout_id].baseline.scores
    score = scores.get(component, math.nan)
    if math.isnan(score):
        return 0.0
    return score * observed.weights(subject.columns).get(component, 0.0)


def _tells_right(observed: Observed, subject: Subject, component: str) -> bool:
    """Whether a component scores the right answer higher than the wrong one."""
    measured = observed.measured[subject.rollout_id]
    right = measured.reference.scores.get(component)
    wrong = measured.baseline.scores.get(component)
    return right is not None and wrong is not None and right > wrong


def find_open_gates(observed: Observed) -> Iterator[Finding]:
    """Find gates on a component that tells right from wrong, open for wrong answers."""
    for name, component in observed.components.items():
        if component.gate is None or not isinstance(component.gate.on, str):
            continue
        gate = component.gate.on
        subjects = [
            subject
            for subject in observed.calibration.subjects
            if _tells_right(observed, subject, gate)
        ]
        amounts = [_paid_for_wrong(observed, subject, name) for subject in subjects]
        if not amounts or min(amounts) <= 0:
            continue
        first, amount = subjects[0], fmean(amounts)
        scale = observed.scale(first)
        with_gate_closed = scale.wrong - amount
        lowest = min(scale.floor, with_gate_closed)
        expected = lowest, with_gate_closed
        yield observed.finding(
            "open_gate",
            "padding",
            len(subjects),
            len(subjects),
            component=name,
            examples=[
                observed.example(
                    first, first.baseline, scale.wrong, expected, "open_gate"
                )
            ],
            gain=amount / (scale.right - lowest),
            on=gate,
        )


def find_flat_credit(trials: Sequence[Trial], observed: Observed) -> Iterator[Finding]:
    """Find what components that tell right from wrong pay any text for nothing.

    Credit that differs from text to text may be for closeness, unless the empty text
    gets it.
    """
    usable = [trial for trial in trials if trial.tried and not trial.failed]
    empty_outcomes = {
        trial.subject.rollout_id: trial.outcomes[0]
        for trial in usable
        if trial.probe.name == "empty"
    }
    credits: dict[str, list[tuple[float, Example]]] = defaultdict(list)
    subjects_tried = 0
    for subject in observed.calibration.subjects:
        empty = empty_outcomes.get(subject.rollout_id)
        if empty is None:
            continue
        subjects_tried += 1
        unrelated = [
            trial
            for trial in usable
            if trial.subject is subject and trial.probe.name in UNRELATED_TEXTS
        ]
        for name, weight in observed.weights(subject.columns).items():
            if not _tells_right(observed, subject, name):
                continue
            credit = _flat_credit(observed, subject, name, weight, empty, unrelated)
            if credit[0] >= FLAT_CREDIT:
                credits[name].append(credit)
    for name, pairs in credits.items():
        yield observed.finding(
            "flat_credit",
            "calibration",
            subjects_tried,
            len(pairs),
            component=name,
            threshold=FLAT_CREDIT,
            examples=[example for _, example in pairs],
            gain=fmean(share for share, _ in pairs),
        )


def _flat_credit(
    observed: Observed,
    subject: Subject,
    component: str,
    weight: float,
    empty: RowOutcome,
    unrelated: Sequence[Trial],
) -> tuple[float, Example]:
    """Return the share of full marks that a component pays any text, and an example."""
    outcomes = [out for trial in unrelated for out in trial.outcomes if out is not None]
    scores = {outcome.scores.get(component, math.nan) for outcome in outcomes}
    score_of_empty = empty.scores.get(component, 0.0)
    score, text, reward = score_of_empty, "", empty.reward
    if len(scores) == 1:
        (score,) = scores
        text, reward = unrelated[0].attempt.completions[0], outcomes[0].reward
    full = observed.scale(subject).right - min(empty.reward, 0.0)
    share = weight * (score - min(score_of_empty, 0.0)) / max(full, 1e-9)
    expected = 0.0, 0.1 * abs(reward)
    return share, observed.example(subject, text, reward, expected, "flat_credit")


def find_against_label(observed: Observed) -> Iterator[Finding]:
    """Find prompts on which a completion labelled wrong earns as a right one."""
    prompts, rewards = observed.calibration.labelled, observed.calibration.rewards
    lowest = min(rewards, default=0.0)
    span = max(rewards, default=0.0) - lowest
    paid = lowest + RIGHT_LOST * span
    slack = NOISY * span
    wrong_paid = [one for one in prompts if one.wrong >= max(one.right, paid) - slack]
    if not wrong_paid or span <= 1e-9 or observed.noise > NOISY:
        return
    examples = [
        Example(
            one.subject.rollout_id,
            observed.shown_columns(one.subject.columns),
            one.wrong,
            (lowest, lowest + 0.1 * span),
            one.right,
        )
        for one in wrong_paid
    ]
    is_rare = len(wrong_paid) / len(prompts) < RARE
    yield observed.finding(
        "against_label",
        "calibration",
        len(prompts),
        len(wrong_paid),
        severity="info" if is_rare else "",
        examples=examples,
        gain=1.0,
    )


def find_not_told_apart(
    observed: Observed, *, skips_special: bool
) -> Iterator[Finding]:
    """Find prompts on which a wrong answer earns full marks, or a right one none.

    With `skips_special`, prompts with a special truth are left out: probes of special
    truths have reported them.
    """
    subjects, left_out = observed.calibration.subjects, observed.calibration.left_out
    if observed.noise > NOISY or not subjects:
        return
    scales = [observed.scale(subject) for subject in subjects]
    paid = fmean(scale.right - RIGHT_LOST * scale.span for scale in scales)
    groups: dict[str, list[tuple[str, Example, str]]] = defaultdict(list)
    for prompt in left_out:
        subject, scale = prompt.subject, observed.scale(prompt.subject)
        special = special_truth(subject.columns.get("ground_truth"))
        if skips_special and special:
            continue
        code, text, reward = "wrong_paid", subject.baseline, prompt.wrong
        expected = scale.floor, scale.wrong
        if prompt.right < paid:
            code, text, reward = "right_unpaid", subject.reference, prompt.right
            expected = scale.right - 0.1 * scale.span, scale.right
        example = observed.example(subject, text, reward, expected, code)
        groups[code].append((repr(subject.answer), example, special))
    tried = len(subjects) + len(left_out)
    for code, group in groups.items():
        truths, examples, kinds = zip(*group, strict=True)
        share = len(group) / tried
        severity, risk = "", share / 2
        if code == "wrong_paid":
            risk = share
            if share < RARE and not any(kinds):
                severity = "info"  # several answers may be right
        yield observed.finding(
            code,
            "calibration",
            tried,
            len(group),
            severity=severity,
            examples=examples,
            gain=1.0,
            risk=risk,
            truths=most(list(dict.fromkeys(truths))),
        )
