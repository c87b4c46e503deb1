"""Rules on the rewards of wrong and unrelated texts: for nothing, form or closeness."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from rewardkit.answers.kinds import ESTIMATE
from rewardkit.errors import preview
from rewardkit.findings import Example, Finding, Findings, most, rule
from rewardkit.probes.falls import (
    FULL_MARKS,
    NOISY,
    OFTEN,
    RARE,
    RIGHT_LOST,
    Fall,
)
from rewardkit.probes.findings.evidence import Observed, alarms_among, special_truth
from rewardkit.probes.options import LEAKAGE
from rewardkit.probes.runner import SHARE_OF_RULE, rewards_in
from rewardkit.probes.subjects.scales import Scale
from rewardkit.probes.trials import PILOT_SUBJECTS, ProbeTrial
from rewardkit.strategies.strategy import Subject
from rewardkit.strategies.values import far_answers

FLAT_CREDIT = 0.2
"""Share of full marks that any text may earn. Our choice."""

PARTLY_PAID = 0.25
"""Gain from which a nearly right answer earns partial credit. Our choice."""

SAME_CREDIT = 0.05
"""Least gain of a nearly right answer over one that is far off. Our choice."""

MOST_NEAR_FORMS = 3  # forms of near misses that a sentence names

UNRELATED_TEXTS = ("constant_text", "refusal", "random_bytes")
"""Probes whose completions have nothing to do with the prompt."""


@rule("open_gate")
def open_gates(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report gates on a right answer that are open for wrong ones."""
    for name, component in observed.components.items():
        if component.gate is None or not isinstance(component.gate.on, str):
            continue
        gate = component.gate.on
        subjects = []
        amounts = []
        for subject in observed.subjects:
            if _tells_right(observed, subject, gate):
                subjects.append(subject)
                amounts.append(_paid_to_wrong(observed, subject).get(name, 0.0))
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
    """Report wrong answers in good form that earn more than a share of the ceiling.

    A leak through an open gate is reported by `open_gates`.
    """
    subjects = observed.subjects_with_truth
    shares = {item.rollout_id: _undeclared_leak(item, observed) for item in subjects}
    leak = fmean(shares.values()) if shares else 0.0
    if leak < 0.01:
        return
    worst = max(subjects, key=lambda subject: shares[subject.rollout_id])
    scale = observed.scale(worst)
    amounts = _paid_to_wrong(observed, worst)
    component, *others = amounts or [None]
    paid_by = ""
    if others:
        component = None
        paid_by = most([f"{name} {amount:+.3g}" for name, amount in amounts.items()])
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
    """Measure a leak, leaving out components that are declared to pay in part."""
    components = observed.components
    partial = [name for name, item in components.items() if item.expects_partial]
    if len(partial) == len(components):
        return 0.0
    scale, amounts = observed.scale(subject), _paid_to_wrong(observed, subject)
    declared = sum(amounts.get(name, 0.0) for name in partial)
    leak = max(0.0, scale.wrong - max(0.0, declared) - scale.floor)
    return leak / scale.ceiling


def _paid_to_wrong(observed: Observed, subject: Subject) -> dict[str, float]:
    """Return what each component pays the wrong answer, if it pays anything."""
    scores = observed.measured[subject.rollout_id].baseline.scores
    return dict(observed.changes(subject, scores, {}))


def _tells_right(observed: Observed, subject: Subject, component: str) -> bool:
    """Return whether a component scores the right answer higher than the wrong one."""
    measured = observed.measured[subject.rollout_id]
    right = measured.reference.scores.get(component, math.nan)
    return right > measured.baseline.scores.get(component, math.nan)


@rule("flat_credit")
def flat_credit(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report components that tell right from wrong, yet pay any text a part.

    Credit that differs between texts may be for closeness, unless the empty text earns
    it too.
    """
    empty_trials = {}
    unrelated = defaultdict(list)
    for trial in observed.trials:
        if trial.outcomes[0].is_lost or not trial.outcomes[0].is_tried:
            continue
        if trial.probe.name == "empty":
            empty_trials[trial.subject.rollout_id] = trial
        elif trial.probe.name in UNRELATED_TEXTS:
            unrelated[trial.subject.rollout_id].append(trial)
    subjects = [item for item in observed.subjects if item.rollout_id in empty_trials]
    credits = defaultdict(list)
    for subject in subjects:
        trials = empty_trials[subject.rollout_id], unrelated[subject.rollout_id]
        for name in observed.weights(subject):
            if _tells_right(observed, subject, name):
                share, example = _measure_credit(observed, subject, name, *trials)
                if share >= FLAT_CREDIT:
                    credits[name].append((share, example))
    for name, pairs in credits.items():
        yield observed.finding(
            "flat_credit",
            len(subjects),
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
    empty: ProbeTrial,
    unrelated: Sequence[ProbeTrial],
) -> tuple[float, Example]:
    """Return the share of full marks that a component pays any text, and an example."""
    scores = {trial.outcomes[0].scores.get(component, math.nan) for trial in unrelated}
    empty_score = empty.outcomes[0].scores.get(component, 0.0)
    score, trial = empty_score, empty
    if len(scores) == 1:
        (score,), trial = scores, unrelated[0]
    reward = trial.outcomes[0].reward
    full = observed.scale(subject).right - min(empty.outcomes[0].reward, 0.0)
    weight = observed.weights(subject)[component]
    share = weight * (score - min(empty_score, 0.0)) / max(full, 1e-9)
    expected = 0.0, 0.1 * abs(reward)
    return share, observed.example(subject, trial.text, reward, expected, "flat_credit")


@rule("partial_credit", "flat_partial_credit")
def partial_credit(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report near misses that earn a part of full marks.

    That is a fault if answers that are far off earn as much.
    """
    prompts_tried = defaultdict(set)
    partly_paid: dict[str, dict[Any, Fall]] = defaultdict(dict)
    best: dict[Any, Fall] = {}
    for fall in _score_near_misses(observed):
        key, says = fall.subject.rollout_id, fall.trial.probe.says
        prompts_tried[says].add(key)
        if key not in best or fall.size >= best[key].size:
            best[key] = fall
        if PARTLY_PAID <= fall.size - observed.noise < FULL_MARKS - 2 * observed.noise:
            partly_paid[says][key] = fall
    gains = {}
    falls: dict[Any, Fall] = {}
    for says, in_prompts in partly_paid.items():
        if len(in_prompts) >= RARE * len(prompts_tried[says]):
            gains[says] = fmean(fall.size for fall in in_prompts.values())
            falls |= in_prompts
    if not gains:
        return
    code, n, count = "partial_credit", len(best), len(falls)
    compared, flat = _find_flat(observed, [best[key] for key in falls])
    if len(flat) >= max(2, OFTEN * compared):
        code, n, count = "flat_partial_credit", compared, len(flat)
    usual = sorted(gains, key=lambda says: (-len(partly_paid[says]), -gains[says]))
    yield observed.finding(
        code,
        n,
        count,
        components=observed.components_of([*falls.values()]),
        threshold=PARTLY_PAID,
        examples=flat or map(observed.example_of, falls.values()),
        gain=max(gains.values()),
        near=[(says, gains[says]) for says in usual[:MOST_NEAR_FORMS]],
    )


def _score_near_misses(observed: Observed) -> Iterator[Fall]:
    """Yield each nearly right answer that was judged, with its gain as the size."""
    for trial in observed.trials:
        subject = trial.subject
        if trial.probe.family != "near_misses" or subject.part != observed.part:
            continue
        is_single = len(trial.outcomes) == 1 and not trial.attempt.columns
        if is_single and subject.kind != ESTIMATE and not math.isnan(trial.reward):
            yield Fall(trial, observed.scale(subject).gain(trial.reward))


def _find_flat(
    observed: Observed, nearest: Sequence[Fall]
) -> tuple[int, list[Example]]:
    """Compare the best near miss of each prompt with answers that are far off.

    Returns:
        The number of prompts with far answers, and examples of prompts on which each
        far answer earned as much as the near miss.
    """
    n = 0
    examples = []
    for fall in nearest[:PILOT_SUBJECTS]:
        subject, scale = fall.subject, observed.scale(fall.subject)
        texts = list(far_answers(subject))
        completions = [(subject, text) for text in texts]
        rewards = rewards_in(observed.tries.on(completions, share=SHARE_OF_RULE))
        n += len(texts) > 0
        least = min(rewards, default=math.nan)
        if scale.gain(least) > fall.size - SAME_CREDIT and fall.size < FULL_MARKS:
            text = texts[rewards.index(least)]
            expected = scale.floor, scale.wrong + fall.size / 2 * scale.span
            code = "flat_partial_credit"
            examples.append(observed.example(subject, text, least, expected, code))
    return n, examples


@rule("wrong_paid", "right_unpaid")
def not_told_apart(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report prompts on which a wrong answer earns full marks, or a right one none.

    Prompts with a special truth are left out if a probe of special truths reported a
    fault.
    """
    subjects, left_out = observed.subjects, observed.calibration.left_out
    if observed.noise > NOISY or not subjects:
        return
    families = {finding.family for finding in alarms_among(findings)}
    scales = [observed.scale(subject) for subject in subjects]
    right_from = fmean(scale.right - RIGHT_LOST * scale.span for scale in scales)
    misjudged = defaultdict(list)
    for subject, scale in left_out:
        truth = subject.columns.get("ground_truth")
        if not special_truth(truth) or "special_values" not in families:
            code = "right_unpaid" if scale.right < right_from else "wrong_paid"
            misjudged[code].append((subject, scale))
    n = len(subjects) + len(left_out)
    for code, pairs in misjudged.items():
        share = risk = len(pairs) / n
        answers = dict.fromkeys(preview(subject.answer) for subject, _ in pairs)
        truths = [subject.columns.get("ground_truth") for subject, _ in pairs]
        is_open = share < RARE and not any(map(special_truth, truths))
        if code == "right_unpaid":
            risk, is_open = share / 2, False
        yield observed.finding(
            code,
            n,
            len(pairs),
            severity="info" if is_open else "",  # several answers may be right
            examples=[_example_left_out(observed, code, *pair) for pair in pairs],
            gain=1.0,
            risk=risk,
            truths=most(list(answers)),
        )


def _example_left_out(
    observed: Observed, code: str, subject: Subject, earned: Scale
) -> Example:
    """Show a completion of a prompt on which right and wrong answers earn the same."""
    scale = observed.scale(subject)
    text, reward, expected = subject.baseline, earned.wrong, (scale.floor, scale.wrong)
    if code == "right_unpaid":
        text, reward = subject.reference, earned.right
        expected = scale.right - 0.1 * scale.span, scale.right
    return observed.example(subject, text, reward, expected, code)
