"""Rules of what wrong and unrelated texts earn, outright or behind open gates."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean

from rewardkit.errors import preview
from rewardkit.findings import Example, Finding, most, rule
from rewardkit.probes.findings.evidence import Observed, alarms_among, special_truth
from rewardkit.probes.options import LEAKAGE
from rewardkit.probes.runner import RowOutcome
from rewardkit.probes.trials import (
    NOISY,
    RARE,
    RIGHT_LOST,
    ProbeTrial,
    components_at_fault,
)
from rewardkit.strategies.strategy import Subject

Findings = Sequence[Finding]

FLAT_CREDIT = 0.2
"""Share of full marks that any text may earn for nothing. Our choice."""

UNRELATED_TEXTS = ("constant_text", "refusal", "random_bytes")
"""Probes whose completions have nothing to do with the prompt."""


@rule("open_gate")
def open_gates(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report gates on a right answer that are open for wrong ones."""
    for name, component in observed.components.items():
        if component.gate is None or not isinstance(component.gate.on, str):
            continue
        gate = component.gate.on
        subjects = [
            subject
            for subject in observed.subjects
            if _tells_right(observed, subject, gate)
        ]
        amounts = [_earned_by_wrong(observed, subject, name) for subject in subjects]
        if not amounts or min(amounts) <= 0:
            continue
        first, amount = subjects[0], fmean(amounts)
        scale = observed.scale(first)
        with_gate_closed = scale.wrong - amount
        lowest = min(scale.floor, with_gate_closed)
        expected = lowest, with_gate_closed
        example = observed.example(
            first, first.baseline, scale.wrong, expected, "open_gate"
        )
        yield observed.finding(
            "open_gate",
            len(subjects),
            len(subjects),
            component=name,
            examples=[example],
            gain=amount / (scale.right - lowest),
            on=gate,
        )


@rule("leakage")
def leaks(
    observed: Observed, findings: Findings, *, leakage: float = LEAKAGE
) -> Iterator[Finding]:
    """Report what a wrong answer in good form earns beyond a share of the ceiling.

    A leak through an open gate has been reported.
    """
    subjects = [item for item in observed.subjects if item.answer is not None]
    shares = {item.rollout_id: _undeclared_leak(item, observed) for item in subjects}
    leak = fmean(shares.values()) if shares else 0.0
    if leak < 0.01:
        return
    worst = max(subjects, key=lambda subject: shares[subject.rollout_id])
    scale = observed.scale(worst)
    scores = observed.measured[worst.rollout_id].baseline.scores
    payers = components_at_fault(observed.weights(worst), scores, {})
    component, paid_by = None, ""
    if len(payers) == 1:
        component = payers[0][0]
    elif payers:
        paid_by = most([f"{name} {amount:+.3g}" for name, amount in payers])
    severity = "info"
    if leak > leakage:
        severity = "high" if leak > (1 + leakage) / 2 else "warn"
    highest = scale.floor + leakage * (scale.right - scale.floor)
    expected = scale.floor - scale.span, highest
    example = observed.example(worst, worst.baseline, scale.wrong, expected, "leakage")
    finding = observed.finding(
        "leakage",
        len(subjects),
        severity=severity,
        component=component,
        threshold=leakage,
        examples=[example],
        value=leak,
        gain=leak,
        here=shares[worst.rollout_id],
        right=scale.right,
        wrong=scale.wrong,
        floor=scale.floor,
        paid_by=paid_by,
    )
    if all(gate.component != finding.component for gate in findings):
        yield finding


def _undeclared_leak(subject: Subject, observed: Observed) -> float:
    """Measure a leak, without components that are declared to pay partly right ones."""
    components = observed.components
    partial = [name for name, item in components.items() if item.expects_partial]
    if len(partial) == len(components):
        return 0.0
    scale = observed.scale(subject)
    declared = sum(_earned_by_wrong(observed, subject, name) for name in partial)
    leak = max(0.0, scale.wrong - max(0.0, declared) - scale.floor)
    return leak / (scale.right - scale.floor)


def _earned_by_wrong(observed: Observed, subject: Subject, component: str) -> float:
    """Return what a component pays the wrong answer; 0 behind a closed gate."""
    scores = observed.measured[subject.rollout_id].baseline.scores
    score = scores.get(component, math.nan)
    if math.isnan(score):
        return 0.0
    return score * observed.weights(subject).get(component, 0.0)


def _tells_right(observed: Observed, subject: Subject, component: str) -> bool:
    """Whether a component scores the right answer higher than the wrong one."""
    measured = observed.measured[subject.rollout_id]
    right = measured.reference.scores.get(component, math.nan)
    return right > measured.baseline.scores.get(component, math.nan)


@rule("flat_credit")
def flat_credit(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report what components that tell right from wrong pay any text for nothing.

    Credit that differs from text to text may be for closeness, unless the empty text
    gets it.
    """
    if alarms_among(findings):
        return
    empty_outcomes: dict[object, RowOutcome | None] = {}
    unrelated: dict[object, list[ProbeTrial]] = defaultdict(list)
    for trial in observed.trials:
        if trial.is_tried and not trial.has_failed:
            if trial.probe.name == "empty":
                empty_outcomes[trial.subject.rollout_id] = trial.outcomes[0]
            elif trial.probe.name in UNRELATED_TEXTS:
                unrelated[trial.subject.rollout_id].append(trial)
    credits: dict[str, list[tuple[float, Example]]] = defaultdict(list)
    count = 0
    for subject in observed.subjects:
        empty = empty_outcomes.get(subject.rollout_id)
        if empty is None:
            continue
        count += 1
        trials = unrelated[subject.rollout_id]
        for name in observed.weights(subject):
            if _tells_right(observed, subject, name):
                credit = _measure_credit(observed, subject, name, empty, trials)
                if credit[0] >= FLAT_CREDIT:
                    credits[name].append(credit)
    for name, pairs in credits.items():
        yield observed.finding(
            "flat_credit",
            count,
            len(pairs),
            component=name,
            threshold=FLAT_CREDIT,
            examples=[example for _, example in pairs],
            gain=fmean(share for share, _ in pairs),
        )


def _measure_credit(
    observed: Observed,
    subject: Subject,
    component: str,
    empty: RowOutcome,
    unrelated: Sequence[ProbeTrial],
) -> tuple[float, Example]:
    """Return the share of full marks that a component pays any text, and an example."""
    outcomes: list[RowOutcome] = []
    for trial in unrelated:
        outcomes += filter(None, trial.outcomes)
    scores = {outcome.scores.get(component, math.nan) for outcome in outcomes}
    score_of_empty = empty.scores.get(component, 0.0)
    score, text, reward = score_of_empty, "", empty.reward
    if len(scores) == 1:
        (score,) = scores
        text, reward = unrelated[0].attempt.completions[0], outcomes[0].reward
    full = observed.scale(subject).right - min(empty.reward, 0.0)
    weight = observed.weights(subject)[component]
    share = weight * (score - min(score_of_empty, 0.0)) / max(full, 1e-9)
    expected = 0.0, 0.1 * abs(reward)
    return share, observed.example(subject, text, reward, expected, "flat_credit")


@rule("wrong_paid", "right_unpaid")
def not_told_apart(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report prompts on which a wrong answer earns full marks, or a right one none.

    Prompts with a special truth are left out where probes of special truths have
    reported them.
    """
    subjects, left_out = observed.subjects, observed.calibration.left_out
    if observed.noise > NOISY or not subjects:
        return
    families = {finding.family for finding in alarms_among(findings)}
    scales = [observed.scale(subject) for subject in subjects]
    right_from = fmean(scale.right - RIGHT_LOST * scale.span for scale in scales)
    truths: dict[str, list[str]] = defaultdict(list)
    examples: dict[str, list[Example]] = defaultdict(list)
    codes_with_special: set[str] = set()
    for prompt in left_out:
        subject, scale = prompt.subject, observed.scale(prompt.subject)
        is_special = special_truth(subject.columns.get("ground_truth")) != ""
        if is_special and "special_values" in families:
            continue
        code, text, reward = "wrong_paid", subject.baseline, prompt.wrong
        expected = scale.floor, scale.wrong
        if prompt.right < right_from:
            code, text, reward = "right_unpaid", subject.reference, prompt.right
            expected = scale.right - 0.1 * scale.span, scale.right
        truths[code].append(preview(subject.answer))
        examples[code].append(observed.example(subject, text, reward, expected, code))
        if is_special:
            codes_with_special.add(code)
    n = len(subjects) + len(left_out)
    for code in truths:
        count = len(truths[code])
        severity, risk = "", count / n / 2
        if code == "wrong_paid":
            risk = count / n
            if risk < RARE and code not in codes_with_special:
                severity = "info"  # several answers may be right
        yield observed.finding(
            code,
            n,
            count,
            severity=severity,
            examples=examples[code],
            gain=1.0,
            risk=risk,
            truths=most(list(dict.fromkeys(truths[code]))),
        )
