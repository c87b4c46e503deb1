"""Leaks: what wrong answers earn for their form, behind gates that should keep it from them, or outright."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any

from rewardkit.findings import Example, Finding
from rewardkit.probes.results.evidence import EXAMPLES, Seen, special
from rewardkit.probes.results.sentences import components_at_fault, most
from rewardkit.probes.strategies.attempts import Subject
from rewardkit.probes.subjects.scales import LeftOut, Scale
from rewardkit.probes.verdicts import LOST, NOISY, severity, wilson

__all__ = ["LEAKAGE", "leaks", "not_told_apart", "open_gates"]

LEAKAGE = 0.5
"""Share of the ceiling that a wrong answer in good form may earn. Our choice."""


def leaks(seen: Seen, share: float) -> Iterator[Finding]:
    """What a wrong answer in good form earns, where that is more than a share of the ceiling."""
    by_part: dict[str, list[Any]] = defaultdict(list)
    for subject in seen.calibration.subjects:
        if subject.answer is not None:
            by_part[subject.part].append(subject)
    for part, subjects in by_part.items():
        scales = [seen.calibration.scales[subject.rollout_id] for subject in subjects]
        leaks = [_undeclared(subject, scale, seen) for subject, scale in zip(subjects, scales, strict=True)]
        value = sum(leaks) / len(leaks)
        if value < 0.01:
            continue
        worst = max(range(len(subjects)), key=lambda place: leaks[place])
        subject, scale = subjects[worst], scales[worst]
        paid = components_at_fault(
            seen.weights(subject.columns), seen.known[subject.rollout_id].baseline.scores, {}
        )
        over = value > share
        yield Finding(
            "leakage",
            ("high" if value > (1 + share) / 2 else "warn") if over else "info",
            paid[0][0] if len(paid) == 1 and sum(1 for _ in seen.components()) > 1 else None,
            {
                "value": value,
                "gain": value,
                "most": leaks[worst],
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
                Example(
                    subject.rollout_id,
                    seen.shown(seen.variants.of(subject.columns, subject.baseline)),
                    scale.wrong,
                    (scale.floor, scale.floor + share * (scale.right - scale.floor)),
                    scale.right,
                    scale.wrong,
                    "leakage",
                ),
            ),
        )


def _undeclared(subject: Any, scale: Scale, seen: Seen) -> float:
    """The leak, without what components earn that are said to pay partly right answers."""
    components = seen.components()
    partial = {name for name, item in components.items() if item.expects_partial}
    if partial == set(components):
        return 0.0
    scores = seen.known[subject.rollout_id].baseline.scores
    allowed = sum(
        weight * scores[name]
        for name, weight in seen.weights(subject.columns).items()
        if name in partial and weight > 0 and not math.isnan(scores.get(name, math.nan))
    )
    return max(0.0, scale.wrong - max(0.0, allowed) - scale.floor) / (scale.right - scale.floor)


def open_gates(seen: Seen) -> Iterator[Finding]:
    """Components whose gate is on what tells right from wrong, and open for wrong answers all the same."""
    gated = {name: item for name, item in seen.components().items() if item.gate is not None}
    for name, item in gated.items():
        on = str(item.gate.on) if item.gate is not None and isinstance(item.gate.on, str) else None
        subjects = [subject for subject in seen.calibration.subjects if _tells(seen, subject, on)]
        paid = [subject for subject in subjects if _paid_for_wrong(seen, subject, name) > 0]
        if not subjects or len(paid) < len(subjects):
            continue
        subject = paid[0]
        scale = seen.calibration.scales[subject.rollout_id]
        worth = sum(_paid_for_wrong(seen, some, name) for some in paid) / len(paid)
        share = worth / (scale.right - min(scale.floor, scale.wrong - worth))
        yield Finding(
            "open_gate",
            severity(share),
            name,
            {
                "value": 1.0,
                "gain": share,
                "risk": share,
                "on": on,
                "found": len(paid),
                "tried": len(subjects),
            },
            len(subjects),
            None,
            family="padding",
            part=subject.part,
            examples=(
                Example(
                    subject.rollout_id,
                    seen.shown(seen.variants.of(subject.columns, subject.baseline)),
                    scale.wrong,
                    (min(scale.floor, scale.wrong - worth), scale.wrong - worth),
                    scale.right,
                    scale.wrong,
                    "open_gate",
                ),
            ),
        )


def _tells(seen: Seen, subject: Subject, component: str | None) -> bool:
    """Whether a component tells the right from the wrong answer of a subject."""
    known = seen.known[subject.rollout_id]
    right, wrong = (outcome.scores.get(component or "") for outcome in (known.reference, known.baseline))
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
        scales = [
            seen.calibration.scales[subject.rollout_id]
            for subject in seen.calibration.subjects
            if subject.part == item.subject.part
        ]
        right = sum(scale.right for scale in scales) / len(scales)
        span = sum(scale.span for scale in scales) / len(scales)
        truth = special(item.subject.columns.get("ground_truth"))
        if truth and any(truth in TRUTHS.get(name, "") for name in fallen):
            continue
        code = "right_unpaid" if item.right < right - LOST * span else "wrong_paid"
        kinds[code, item.subject.part].append(item)
    for (code, part), items in kinds.items():
        of_part = [subject for subject in seen.calibration.subjects if subject.part == part]
        tried = len(of_part) + sum(item.subject.part == part for item in seen.calibration.left_out)
        share = len(items) / tried / (2 if code == "right_unpaid" else 1)
        truths = {special(item.subject.columns.get("ground_truth")) for item in items}
        scale = seen.calibration.scales[of_part[0].rollout_id]
        paid = code == "wrong_paid"
        yield Finding(
            code,
            severity(share),
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
            examples=tuple(
                Example(
                    item.subject.rollout_id,
                    seen.shown(
                        seen.variants.of(
                            item.subject.columns, item.subject.baseline if paid else item.subject.reference
                        )
                    ),
                    item.wrong if paid else item.right,
                    (scale.floor, scale.wrong) if paid else (scale.right - 0.1 * scale.span, scale.right),
                    scale.right,
                    scale.wrong,
                    code,
                )
                for item in items[:EXAMPLES]
            ),
        )


TRUTHS = {
    "zero_is_right": "zero",
    "nothing_for_zero": "zero",
    "negative_is_right": "negative",
    "sign_lost": "negative",
    "sign_flipped": "negative",
    "empty_truth": "empty",
}
"""Probe -> the special truth that it is about."""
