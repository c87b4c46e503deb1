"""Floor: what wrong answers, unrelated texts and empty ones earn, outright or through gates that are open."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from rewardkit.findings import Example, Finding, most
from rewardkit.probes.results.evidence import Seen, special
from rewardkit.probes.trials import Trial
from rewardkit.probes.verdicts import LOST, NOISY, RARE, components_at_fault
from rewardkit.strategies.subject import Subject

LEAKAGE = 0.5
"""Share of the ceiling that a wrong answer in good form may earn. Our choice."""

FLAT = 0.2
"""Share of full marks that any text may earn for nothing. Our choice."""

UNRELATED = ("constant_text", "refusal", "random_bytes")


def leaks(seen: Seen, share: float) -> Iterator[Finding]:
    """What a wrong answer in good form earns, where that is more than a share of the ceiling."""
    subjects = [
        subject for subject in seen.calibration.subjects if subject.answer is not None
    ]
    leak = {subject.rollout_id: _undeclared(subject, seen) for subject in subjects}
    value = fmean(leak.values()) if leak else 0.0
    if value < 0.01:
        return
    subject = max(subjects, key=lambda one: leak[one.rollout_id])
    scale, scores = seen.scale(subject), seen.known[subject.rollout_id].baseline.scores
    paid = components_at_fault(seen.weights(subject.columns), scores, {})
    expected = (
        scale.floor - scale.span,
        scale.floor + share * (scale.right - scale.floor),
    )
    yield seen.finding(
        "leakage",
        "calibration",
        len(subjects),
        grave="info"
        if value <= share
        else "high"
        if value > (1 + share) / 2
        else "warn",
        component=paid[0][0] if len(paid) == 1 else None,
        threshold=share,
        examples=[
            seen.example(subject, subject.baseline, scale.wrong, expected, "leakage")
        ],
        value=value,
        gain=value,
        here=leak[subject.rollout_id],
        right=scale.right,
        wrong=scale.wrong,
        floor=scale.floor,
        paid_by=most([f"{name} {amount:+.3g}" for name, amount in paid])
        if len(paid) > 1
        else "",
    )


def _undeclared(subject: Subject, seen: Seen) -> float:
    """The leak of a subject, without what components earn that are said to pay partly right answers."""
    scale, components = seen.scale(subject), seen.components()
    partial = [name for name, item in components.items() if item.expects_partial]
    if len(partial) == len(components):
        return 0.0
    allowed = max(0.0, sum(_paid_for_wrong(seen, subject, name) for name in partial))
    return max(0.0, scale.wrong - allowed - scale.floor) / (scale.right - scale.floor)


def _paid_for_wrong(seen: Seen, subject: Subject, component: str) -> float:
    """What a component pays the wrong answer of a subject; 0 behind a closed gate."""
    score = seen.known[subject.rollout_id].baseline.scores.get(component, math.nan)
    return (
        0.0
        if math.isnan(score)
        else score * seen.weights(subject.columns).get(component, 0.0)
    )


def _tells(seen: Seen, subject: Subject, component: str) -> bool:
    """Whether a component tells the right from the wrong answer of a subject."""
    known = seen.known[subject.rollout_id]
    right, wrong = (
        outcome.scores.get(component) for outcome in (known.reference, known.baseline)
    )
    return right is not None and wrong is not None and right > wrong


def open_gates(seen: Seen) -> Iterator[Finding]:
    """Components whose gate is on what tells right from wrong, and open for wrong answers all the same."""
    for name, item in seen.components().items():
        on = (
            item.gate.on
            if item.gate is not None and isinstance(item.gate.on, str)
            else ""
        )
        subjects = [
            subject
            for subject in seen.calibration.subjects
            if _tells(seen, subject, on)
        ]
        worths = [_paid_for_wrong(seen, subject, name) for subject in subjects]
        if not worths or min(worths) <= 0:
            continue
        subject, worth, scale = subjects[0], fmean(worths), seen.scale(subjects[0])
        closed = scale.wrong - worth
        least, count = min(scale.floor, closed), len(subjects)
        example = seen.example(
            subject, subject.baseline, scale.wrong, (least, closed), "open_gate"
        )
        told: dict[str, Any] = {
            "examples": [example],
            "gain": worth / (scale.right - least),
            "on": on,
        }
        yield seen.finding("open_gate", "padding", count, count, component=name, **told)


def flat_credit(trials: Sequence[Trial], seen: Seen) -> Iterator[Finding]:
    """What components that tell right from wrong pay any text for nothing.

    Credit that differs from text to text is none, as it may be for closeness; but that of the empty text is.
    """
    whole = [trial for trial in trials if trial.tried and not trial.failed]
    empties = {
        one.subject.rollout_id: one.outcomes[0]
        for one in whole
        if one.probe.name == "empty"
    }
    tried = [one for one in seen.calibration.subjects if one.rollout_id in empties]
    paid: dict[str, list[tuple[float, Example]]] = defaultdict(list)
    for subject in tried:
        some = [
            trial
            for trial in whole
            if trial.subject is subject and trial.probe.name in UNRELATED
        ]
        outcomes = [outcome for trial in some for outcome in trial.outcomes if outcome]
        empty = empties[subject.rollout_id]
        for name, weight in seen.weights(subject.columns).items():
            scores = {outcome.scores.get(name, math.nan) for outcome in outcomes}
            if empty is None or not _tells(seen, subject, name):
                continue
            of_empty = empty.scores.get(name, 0.0)
            alike = len(scores) == 1
            score = scores.pop() if alike else of_empty
            full = seen.scale(subject).right - min(empty.reward, 0.0)
            share = weight * (score - min(of_empty, 0.0)) / max(full, 1e-9)
            if share >= FLAT:
                text, reward = "", empty.reward
                if alike:
                    text, reward = some[0].attempt.completions[0], outcomes[0].reward
                expected = 0.0, 0.1 * abs(reward)
                paid[name].append(
                    (
                        share,
                        seen.example(subject, text, reward, expected, "flat_credit"),
                    )
                )
    for name, items in paid.items():
        shares, examples = zip(*items, strict=True)
        told: dict[str, Any] = {
            "component": name,
            "examples": examples,
            "gain": fmean(shares),
        }
        yield seen.finding(
            "flat_credit", "calibration", len(tried), len(items), threshold=FLAT, **told
        )


def against_label(seen: Seen) -> Iterator[Finding]:
    """Prompts on which a completion that the label calls wrong earns as much as the best right one."""
    every, earned = seen.calibration.labelled, seen.calibration.rewards
    low, span = (
        min(earned, default=0.0),
        max(earned, default=0.0) - min(earned, default=0.0),
    )
    found = [
        item
        for item in every
        if item.wrong >= max(item.right, low + LOST * span) - NOISY * span
    ]
    if not found or span <= 1e-9 or seen.noise > NOISY:
        return
    share = len(found) / len(every)
    examples = [
        Example(
            one.rollout_id,
            seen.shown(one.columns),
            item.wrong,
            (low, low + 0.1 * span),
            item.right,
        )
        for item in found
        for one in [item.subject]
    ]
    told: dict[str, Any] = {
        "examples": examples,
        "gain": 1.0,
        "grave": "" if share >= RARE else "info",
    }
    yield seen.finding("against_label", "calibration", len(every), len(found), **told)


def not_told_apart(seen: Seen, *, special_told: bool) -> Iterator[Finding]:
    """Prompts of the rollouts on which a wrong answer earns full marks, or a right one none.

    Where probes of special truths have found something, `special_told`, without the prompts that have such.
    """
    subjects, left_out = seen.calibration.subjects, seen.calibration.left_out
    if seen.noise > NOISY or not subjects:
        return
    tried = len(subjects) + len(left_out)
    least = fmean(
        one.right - LOST * one.span for one in map(seen.scale, subjects)
    )  # of what is paid
    found: dict[str, list[tuple[str, Example, str]]] = defaultdict(list)
    for item in left_out:
        subject, scale = item.subject, seen.scale(item.subject)
        kind = special(subject.columns.get("ground_truth"))
        if special_told and kind:
            continue
        code, text, reward = "wrong_paid", subject.baseline, item.wrong
        expected = scale.floor, scale.wrong
        if item.right < least:
            code, text, reward = "right_unpaid", subject.reference, item.right
            expected = scale.right - 0.1 * scale.span, scale.right
        example = seen.example(subject, text, reward, expected, code)
        found[code].append((repr(subject.answer), example, kind))
    for code, items in found.items():
        truths, examples, kinds = zip(*items, strict=True)
        share, paid = len(items) / tried, code == "wrong_paid"
        risk = share if paid else share / 2
        grave = (
            "info" if paid and share < RARE and not any(kinds) else ""
        )  # several may be right
        told = {
            "grave": grave,
            "gain": 1.0,
            "risk": risk,
            "truths": most(list(dict.fromkeys(truths))),
        }
        yield seen.finding(
            code, "calibration", tried, len(items), examples=examples, **told
        )
