"""Causes: tallies of probes -> findings, one a cause."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.component import Component
from rewardkit.probes.attempts import Probe
from rewardkit.probes.calibration import Calibration, Scale
from rewardkit.probes.equivalents import LAYOUT, NOTATION
from rewardkit.probes.findings import Example, ProbeFinding, components_at_fault, most
from rewardkit.probes.trying import Outcome, Row, Variants
from rewardkit.probes.verdicts import FULL, LOST, MORE, PAID, Fall, Tally, risk, severity, threshold, wilson
from rewardkit.reward import Reward

__all__ = ["LEAKAGE", "Known", "Told", "told"]

LEAKAGE = 0.5
"""Share of the ceiling that a wrong answer in good form may earn. Our choice."""

EXAMPLES = 3
SHOWN = 4  # forms that a sentence names


@dataclass(frozen=True)
class Known:
    """What a subject's reference and baseline got."""

    reference: Outcome
    baseline: Outcome


@dataclass(frozen=True, eq=False)
class Told:
    """What findings are made of: the reward and what was seen of it."""

    reward: Reward
    calibration: Calibration
    known: Mapping[Any, Known]
    variants: Variants
    truths: Sequence[str]
    """The answers to all prompts of the rollouts."""

    def weights(self, row: Row) -> dict[str, float]:
        """The weights of the components for a row."""
        parts = self.reward.parts({name: [value] for name, value in row.items()}, 1)
        return parts[0].reward.weights if parts else {}

    def components(self) -> dict[str, Component]:
        """The components by name."""
        return {item.name: item for inner in self.reward.inner for item in inner.components}

    def shown(self, row: Row) -> dict[str, Any]:
        """The columns of a row that the reward asks for; where it asks for the whole row, the usual ones."""
        needs = set(self.reward.needs)
        if needs <= set(row):
            return {name: row[name] for name in row if name in needs}
        of_log = {source for name, source in self.variants.names.items() if source != name}
        kept = ("prompt", "completion", "messages", "ground_truth", "data_source", "extra_info")
        functions = [function for inner in self.reward.inner for function in inner.functions]
        asked = {name for function in functions for name in getattr(function, "needs", ())}
        return {name: row[name] for name in row if (name in kept or name in asked) and name not in of_log}


def told(tallies: Sequence[Tally], seen: Told, *, leakage: float = LEAKAGE) -> list[ProbeFinding]:
    """The findings of tallies: leakage, holes, losses."""
    found = list(_leakage(seen, leakage))
    leaking = {item.part for item in found if item.severity != "info"}
    parts = dict.fromkeys(subject.part for subject in seen.calibration.subjects)
    for part in parts:
        some = [item for item in tallies if item.falls and item.falls[0].trial.subject.part == part]
        every = [item for item in tallies if _part(item) in (part, None)]
        found += _holes(some, seen, part, leaks=part in leaking)
        found += _layouts(every, some, seen, part)
        found += _notations(some, seen, part)
    return found


def _part(tally: Tally) -> str | None:
    return tally.falls[0].trial.subject.part if tally.falls else None


def _holes(tallies: Sequence[Tally], seen: Told, part: str, *, leaks: bool) -> Iterator[ProbeFinding]:
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
        item = fallen[name]
        yield _finding(item, [other.probe.name for other in members if other is not item], seen, part)


def _root(name: str, fallen: Mapping[str, Tally], serious: Mapping[str, Tally]) -> str:
    """The probe that explains this one: of its explanations that fell as well, the first one's own."""
    seen = {name}
    while True:
        cause = next(
            (other for other in fallen[name].probe.explained_by if other in serious and other not in seen),
            None,
        )
        if cause is None:
            return name
        seen.add(cause)
        name = cause


def _finding(item: Tally, also: Sequence[str], seen: Told, part: str) -> ProbeFinding:
    scales = seen.calibration.scales
    falls = sorted(item.falls, key=lambda fall: (-fall.size, len(fall.trial.attempt.completions[0])))
    worth = risk(item, scales)
    if item.probe.expects == "right":
        worth = _rightness(item, seen)
    return ProbeFinding(
        item.probe.name,
        item.probe.family,
        "info" if item.by_chance else severity(worth),
        _component(falls, seen),
        {
            "kind": {"right": "loses", "form": "fooled"}.get(item.probe.expects, "pays"),
            "says": item.probe.says,
            "value": item.rate,
            "interval": wilson(len(item.falls), item.tried),
            "found": len(item.falls),
            "tried": item.tried,
            "gain": item.size,
            "risk": worth,
            "knows": item.probe.knows,
            "also": list(also),
        },
        item.tried,
        LOST if item.probe.expects == "right" else threshold(item.probe, graded=False),
        tuple(_example(fall, seen) for fall in falls[:EXAMPLES]),
        part,
    )


def _rightness(item: Tally, seen: Told) -> float:
    """Risk of right answers that are not paid: as large as the share that is lost, where there are such."""
    special = {"zero_is_right": lambda text: text.strip() in ("0", "0.0"), "negative_is_right": _negative}
    test = special.get(item.probe.name)
    if test is not None and not any(map(test, seen.truths)):
        return 0.0  # no prompt of the rollouts has such an answer
    return item.size * item.rate * 0.5


def _negative(text: str) -> bool:
    return text.strip()[:1] in ("-", "−")


def _component(falls: Sequence[Fall], seen: Told) -> str | None:
    """The component that makes most of the change, where there are several; ``None`` for the whole."""
    if sum(len(inner.components) for inner in seen.reward.inner) < 2 or not falls:
        return None
    trial = falls[0].trial
    known = seen.known.get(trial.subject.rollout_id)
    outcome = min((out for out in trial.outcomes if out), key=lambda out: out.reward, default=None)
    if known is None or outcome is None:
        return None
    before = known.reference if trial.probe.expects == "right" else known.baseline
    changes = components_at_fault(seen.weights(trial.subject.columns), outcome.scores, before.scores)
    sign = -1 if trial.probe.expects == "right" else 1
    return next((name for name, change in changes if change * sign > 0), None)


def _example(fall: Fall, seen: Told) -> Example:
    trial = fall.trial
    scale = seen.calibration.scales[trial.subject.rollout_id]
    worst = 0
    if trial.probe.expects == "right":
        worst = max(range(len(trial.outcomes)), key=lambda place: -_reward(trial.outcomes[place]))
    row = seen.variants.of(trial.subject.columns, trial.attempt.completions[worst], **trial.attempt.columns)
    return Example(
        trial.subject.rollout_id,
        seen.shown(row),
        _reward(trial.outcomes[worst]),
        _expected(trial.probe, scale),
        scale.right,
        scale.wrong,
        trial.probe.name,
    )


def _reward(outcome: Outcome | None) -> float:
    return math.nan if outcome is None else outcome.reward


def _expected(probe: Probe, scale: Scale) -> tuple[float, float]:
    """The rewards that would have been right."""
    if probe.expects == "right":
        return scale.right - (1 - FULL) * scale.span, scale.right + scale.span
    if probe.expects == "form":
        return min(scale.floor, scale.plain), scale.plain
    return min(scale.floor, scale.wrong), scale.wrong + _allowed(probe) * scale.span


def _allowed(probe: Probe) -> float:
    return {FULL: 0.9, PAID: LOST, MORE: 0.1}.get(threshold(probe, graded=False), 0.1)


def _leakage(seen: Told, share: float) -> Iterator[ProbeFinding]:
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
        yield ProbeFinding(
            "leakage",
            "calibration",
            ("high" if value > (1 + share) / 2 else "warn") if over else "info",
            paid[0][0] if len(paid) == 1 and sum(1 for _ in seen.components()) > 1 else None,
            {
                "value": value,
                "gain": value,
                "right": scale.right,
                "wrong": scale.wrong,
                "floor": scale.floor,
                "paid_by": most([f"{name} {amount:+.3g}" for name, amount in paid]) if len(paid) > 1 else "",
            },
            len(subjects),
            share,
            (
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
            part,
        )


def _undeclared(subject: Any, scale: Scale, seen: Told) -> float:
    """The leak, without what components earn that are said to pay partly right answers."""
    partial = {name for name, item in seen.components().items() if item.expects_partial}
    scores = seen.known[subject.rollout_id].baseline.scores
    allowed = sum(
        weight * scores[name]
        for name, weight in seen.weights(subject.columns).items()
        if name in partial and weight > 0 and not math.isnan(scores.get(name, math.nan))
    )
    return max(0.0, scale.wrong - allowed - scale.floor) / (scale.right - scale.floor)


def _layouts(
    every: Sequence[Tally], fallen: Sequence[Tally], seen: Told, part: str
) -> Iterator[ProbeFinding]:
    """Right answers lost by their layout: a fault where most layouts are taken, else strictness."""
    tried = [item for item in every if item.probe.knows == LAYOUT and item.tried]
    lost = [item for item in fallen if item.probe.knows == LAYOUT]
    if not lost:
        return
    kept = len(tried) - len(lost)
    lenient = 2 * kept >= len(tried)
    falls = [fall for item in lost for fall in item.falls[:1]]
    worth = max(item.rate * item.size for item in lost)
    yield ProbeFinding(
        "loses_layout" if lenient else "strict",
        "equivalents",
        ("warn" if worth >= LOST else "info") if lenient else "info",
        _component(falls, seen),
        {
            "value": len(lost) / len(tried),
            "interval": wilson(len(lost), len(tried)),
            "layouts": len(tried),
            "kept": kept,
            "lost": most([item.probe.says for item in lost], SHOWN),
            "rates": {item.probe.name: item.rate for item in lost},
        },
        len(tried),
        LOST,
        tuple(_example(fall, seen) for fall in falls[:EXAMPLES]),
        part,
    )


def _notations(fallen: Iterable[Tally], seen: Told, part: str) -> Iterator[ProbeFinding]:
    """Notations of a right answer that are not taken, with their rates: for information."""
    lost = [item for item in fallen if item.probe.knows == NOTATION]
    if not lost:
        return
    falls = [fall for item in lost for fall in item.falls[:1]]
    yield ProbeFinding(
        "loses_notation",
        "equivalents",
        "info",
        _component(falls, seen),
        {
            "value": sum(item.rate for item in lost) / len(lost),
            "lost": most([item.probe.says for item in lost], 2 * SHOWN),
            "rates": {item.probe.name: item.rate for item in lost},
        },
        max(item.tried for item in lost),
        LOST,
        tuple(_example(fall, seen) for fall in falls[:EXAMPLES]),
        part,
    )
