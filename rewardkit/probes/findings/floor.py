"""Rules of what wrong and unrelated texts earn, outright or behind open gates."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean

from rewardkit.errors import preview
from rewardkit.findings import Example, Finding, Findings, most, rule
from rewardkit.probes.falls import NOISY, RARE, RIGHT_LOST
from rewardkit.probes.findings.evidence import Observed, alarms_among, special_truth
from rewardkit.probes.options import LEAKAGE
from rewardkit.probes.runner import RowOutcome
from rewardkit.strategies.strategy import Subject

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
        if min(amounts, default=0.0) <= 0:
            continue
        first, amount = subjects[0], fmean(amounts)
        scale = observed.scale(first)
        with_gate_closed = scale.wrong - amount
        expected = min(scale.floor, with_gate_closed), with_gate_closed
        example = observed.example(
            first, first.baseline, scale.wrong, expected, "open_gate"
        )
        yield observed.finding(
            "open_gate",
            len(subjects),
            len(subjects),
            component=name,
            examples=[example],
            gain=amount / (scale.right - expected[0]),
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
    payers = observed.changes(worst, scores, {})
    component, paid_by = None, ""
    if len(payers) == 1:
        component = payers[0][0]
    elif payers:
        paid_by = most([f"{name} {amount:+.3g}" for name, amount in payers])
    severity = "info"
    if leak > leakage:
        severity = "high" if leak > (1 + leakage) / 2 else "warn"
    highest = scale.floor + leakage * scale.ceiling
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
    return leak / scale.ceiling


def _earned_by_wrong(observed: Observed, subject: Subject, component: str) -> float:
    """Return what a component pays the wrong answer; 0 behind a closed gate."""
    scores = observed.measured[subject.rollout_id].baseline.scores
    return dict(observed.changes(subject, scores, {})).get(component, 0.0)


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
    empty_outcomes = {}
    unrelated: dict[object, list[tuple[str, RowOutcome]]] = defaultdict(list)
    for trial in observed.trials:
        key, outcome = trial.subject.rollout_id, trial.outcomes[0]
        if outcome.is_lost or not outcome.is_tried:
            continue
        if trial.probe.name == "empty":
            empty_outcomes[key] = outcome
        elif trial.probe.name in UNRELATED_TEXTS:
            unrelated[key].append((trial.text, outcome))
    credits: dict[str, list[tuple[float, Example]]] = defaultdict(list)
    count = 0
    for subject in observed.subjects:
        empty = empty_outcomes.get(subject.rollout_id)
        if empty is None:
            continue
        count += 1
        others = unrelated[subject.rollout_id]
        for name in observed.weights(subject):
            if _tells_right(observed, subject, name):
                credit = _measure_credit(observed, subject, name, empty, others)
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
    unrelated: Sequence[tuple[str, RowOutcome]],
) -> tuple[float, Example]:
    """Return the share of full marks that a component pays any text, and an example."""
    scores = {outcome.scores.get(component, math.nan) for _, outcome in unrelated}
    score_of_empty = empty.scores.get(component, 0.0)
    score, text, reward = score_of_empty, "", empty.reward
    if len(scores) == 1:
        (score,), (text, outcome) = scores, unrelated[0]
        reward = outcome.reward
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
    has_special = False
    for subject, own_scale in left_out:
        scale = observed.scale(subject)
        is_special = special_truth(subject.columns.get("ground_truth")) != ""
        if is_special and "special_values" in families:
            continue
        code, text, reward = "wrong_paid", subject.baseline, own_scale.wrong
        expected = scale.floor, scale.wrong
        if own_scale.right < right_from:
            code, text, reward = "right_unpaid", subject.reference, own_scale.right
            expected = scale.right - 0.1 * scale.span, scale.right
        truths[code].append(preview(subject.answer))
        examples[code].append(observed.example(subject, text, reward, expected, code))
        has_special |= is_special and code == "wrong_paid"
    n = len(subjects) + len(left_out)
    for code, answers in truths.items():
        share = len(answers) / n
        is_open = code == "wrong_paid" and share < RARE and not has_special
        yield observed.finding(
            code,
            n,
            len(answers),
            severity="info" if is_open else "",  # several answers may be right
            examples=examples[code],
            gain=1.0,
            risk=share if code == "wrong_paid" else share / 2,
            truths=most(list(dict.fromkeys(answers))),
        )
