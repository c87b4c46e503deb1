"""Floor: what wrong answers, unrelated texts and empty ones earn, outright or through gates that are open."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from statistics import fmean
from typing import Any

from rewardkit.findings import Finding
from rewardkit.probes.results.evidence import EXAMPLES, Seen, special
from rewardkit.probes.results.sentences import components_at_fault, most
from rewardkit.probes.subjects.subject import LeftOut, Scale, Subject
from rewardkit.probes.trials import Trial
from rewardkit.probes.verdicts import LOST, NOISY, RARE, severity, wilson

__all__ = ["LEAKAGE", "flat_credit", "leaks", "not_told_apart", "open_gates"]

LEAKAGE = 0.5
"""Share of the ceiling that a wrong answer in good form may earn. Our choice."""

FLAT = 0.2
"""Share of full marks that any text may earn for nothing. Our choice."""

UNRELATED = ("constant_text", "refusal", "random_bytes")


def leaks(seen: Seen, share: float) -> Iterator[Finding]:
    """What a wrong answer in good form earns, where that is more than a share of the ceiling."""
    by_part: dict[str, list[Subject]] = defaultdict(list)
    for subject in seen.calibration.subjects:
        if subject.answer is not None:
            by_part[subject.part].append(subject)
    for part, subjects in by_part.items():
        leak = {subject.rollout_id: _undeclared(subject, seen) for subject in subjects}
        value = fmean(leak.values())
        if value < 0.01:
            continue
        subject = max(subjects, key=lambda one: leak[one.rollout_id])
        scale = seen.calibration.scales[subject.rollout_id]
        scores = seen.known[subject.rollout_id].baseline.scores
        paid = components_at_fault(seen.weights(subject.columns), scores, {})
        over = value > share
        yield Finding(
            "leakage",
            ("high" if value > (1 + share) / 2 else "warn") if over else "info",
            paid[0][0] if len(paid) == 1 and len(seen.components()) > 1 else None,
            {
                "value": value,
                "gain": value,
                "most": leak[subject.rollout_id],
                "right": scale.right,
                "wrong": scale.wrong,
                "floor": scale.floor,
                "paid_by": most([f"{name} {amount:+.3g}" for name, amount in paid]) if len(paid) > 1 else "",
            },
            len(subjects),
            share,
            family="calibration",
            part=part,
            examples=(
                seen.example(
                    subject,
                    subject.baseline,
                    scale.wrong,
                    (scale.floor, scale.floor + share * (scale.right - scale.floor)),
                    "leakage",
                ),
            ),
        )


def _undeclared(subject: Subject, seen: Seen) -> float:
    """The leak of a subject, without what components earn that are said to pay partly right answers."""
    scale, components = seen.calibration.scales[subject.rollout_id], seen.components()
    partial = {name for name, item in components.items() if item.expects_partial}
    if partial == set(components):
        return 0.0
    scores, weights = seen.known[subject.rollout_id].baseline.scores, seen.weights(subject.columns)
    allowed = sum(
        weight * scores[name]
        for name, weight in weights.items()
        if name in partial and weight > 0 and not math.isnan(scores.get(name, math.nan))
    )
    return max(0.0, scale.wrong - max(0.0, allowed) - scale.floor) / (scale.right - scale.floor)


def flat_credit(trials: Sequence[Trial], seen: Seen) -> Iterator[Finding]:
    """What components that tell right from wrong pay any text for nothing.

    Credit that differs from text to text is none: it may be for closeness.
    """
    texts: dict[Any, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        if trial.tried and not trial.failed:
            texts[trial.subject.rollout_id][trial.probe.name] += zip(
                trial.attempt.completions, trial.outcomes, strict=True
            )
    paid: dict[str, list[tuple[float, Subject, str, float]]] = defaultdict(list)
    tried = [subject for subject in seen.calibration.subjects if texts[subject.rollout_id]["empty"]]
    for subject in tried:
        of_text = texts[subject.rollout_id]
        (_, empty), *_ = of_text["empty"]
        unrelated = [pair for name in UNRELATED for pair in of_text[name]]
        for name, weight in seen.weights(subject.columns).items():
            scores = [out.scores.get(name, math.nan) for _, out in unrelated]
            if weight > 0 and _tells(seen, subject, name) and len(set(scores)) == 1:
                full = seen.calibration.scales[subject.rollout_id].right - min(empty.reward, 0.0)
                nothing = min(empty.scores.get(name, 0.0), 0.0)
                share = weight * (scores[0] - nothing) / full if full > 1e-9 else 0.0
                if share >= FLAT:
                    text, outcome = unrelated[0]
                    paid[name].append((share, subject, text, outcome.reward))
    for name, items in paid.items():
        value = fmean(share for share, *_ in items)
        rate = len(items) / len(tried)
        yield Finding(
            "flat_credit",
            severity(value * rate),
            name if len(seen.components()) > 1 else None,
            {
                "value": rate,
                "interval": wilson(len(items), len(tried)),
                "found": len(items),
                "tried": len(tried),
                "gain": value,
                "risk": value * rate,
            },
            len(tried),
            FLAT,
            family="calibration",
            part=items[0][1].part,
            examples=tuple(
                seen.example(subject, text, reward, (0.0, 0.1 * abs(reward)), "flat_credit")
                for _, subject, text, reward in items[:EXAMPLES]
            ),
        )


def open_gates(seen: Seen) -> Iterator[Finding]:
    """Components whose gate is on what tells right from wrong, and open for wrong answers all the same."""
    for name, item in seen.components().items():
        if item.gate is None:
            continue
        on = item.gate.on if isinstance(item.gate.on, str) else ""
        subjects = [subject for subject in seen.calibration.subjects if _tells(seen, subject, on)]
        worths = [_paid_for_wrong(seen, subject, name) for subject in subjects]
        if not subjects or min(worths) <= 0:
            continue
        subject, worth = subjects[0], fmean(worths)
        scale = seen.calibration.scales[subject.rollout_id]
        share = worth / (scale.right - min(scale.floor, scale.wrong - worth))
        count = {"found": len(subjects), "tried": len(subjects)}
        expected = (min(scale.floor, scale.wrong - worth), scale.wrong - worth)
        yield Finding(
            "open_gate",
            severity(share),
            name,
            {"value": 1.0, "gain": share, "risk": share, "on": on, **count},
            len(subjects),
            None,
            family="padding",
            part=subject.part,
            examples=(seen.example(subject, subject.baseline, scale.wrong, expected, "open_gate"),),
        )


def _tells(seen: Seen, subject: Subject, component: str) -> bool:
    """Whether a component tells the right from the wrong answer of a subject."""
    known = seen.known[subject.rollout_id]
    right, wrong = (outcome.scores.get(component) for outcome in (known.reference, known.baseline))
    return right is not None and wrong is not None and right > wrong


def _paid_for_wrong(seen: Seen, subject: Subject, component: str) -> float:
    """What a component pays the wrong answer of a subject; 0 behind a closed gate."""
    score = seen.known[subject.rollout_id].baseline.scores.get(component, math.nan)
    return 0.0 if math.isnan(score) else score * seen.weights(subject.columns).get(component, 0.0)


def not_told_apart(seen: Seen, fallen: Collection[str]) -> Iterator[Finding]:
    """Prompts of the rollouts on which a wrong answer earns full marks, or a right one none.

    Without those whose truth is special in a way that probes of `fallen` have shown already.
    """
    if seen.noise > NOISY:
        return
    kinds: dict[tuple[str, str], list[LeftOut]] = defaultdict(list)
    for item in seen.calibration.left_out:
        of_part = [seen.calibration.scales[one.rollout_id] for one in _subjects(seen, item.subject.part)]
        least = fmean(scale.right - LOST * scale.span for scale in of_part)
        truth = special(item.subject.columns.get("ground_truth"))
        if not truth or not any(truth in TRUTHS.get(name, "") for name in fallen):
            kinds["right_unpaid" if item.right < least else "wrong_paid", item.subject.part].append(item)
    for (code, part), items in kinds.items():
        tried = len(_subjects(seen, part)) + sum(
            item.subject.part == part for item in seen.calibration.left_out
        )
        paid = code == "wrong_paid"
        share = len(items) / tried / (1 if paid else 2)
        truths = {special(item.subject.columns.get("ground_truth")) for item in items}
        scale = seen.calibration.scales[_subjects(seen, part)[0].rollout_id]
        yield Finding(
            code,
            "info" if paid and share < RARE and truths == {""} else severity(share),  # several may be right
            None,
            {
                "value": len(items) / tried,
                "interval": wilson(len(items), tried),
                "found": len(items),
                "tried": tried,
                "gain": 1.0,
                "risk": share,
                "truths": most(list(dict.fromkeys(repr(item.subject.answer) for item in items))),
            },
            tried,
            None,
            family="special_values" if "" not in truths else "calibration",
            part=part,
            examples=tuple(_left_out(item, scale, seen, paid=paid) for item in items[:EXAMPLES]),
        )


def _subjects(seen: Seen, part: str) -> list[Subject]:
    return [subject for subject in seen.calibration.subjects if subject.part == part]


def _left_out(item: LeftOut, scale: Scale, seen: Seen, *, paid: bool) -> Any:
    """The example of a prompt on which right and wrong earn alike, by the scale of another prompt."""
    if paid:
        given = (item.subject.baseline, item.wrong, (scale.floor, scale.wrong))
    else:
        given = (item.subject.reference, item.right, (scale.right - 0.1 * scale.span, scale.right))
    return seen.example(item.subject, *given, "wrong_paid" if paid else "right_unpaid", scale)


TRUTHS = {
    "zero_is_right": "zero",
    "nothing_for_zero": "zero",
    "negative_is_right": "negative",
    "sign_lost": "negative",
    "sign_flipped": "negative",
    "empty_truth": "empty",
}
"""Probe -> the special truth that it is about."""
