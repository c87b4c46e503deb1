"""The rule on length: what right and wrong answers of ever more characters earn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rewardkit.analysis.statistics.curves import (
    TURNS,
    CurveStory,
    LengthCurve,
    tell_curve,
)
from rewardkit.answers.formats import REASONING
from rewardkit.findings import Example, Finding, rule
from rewardkit.probes.findings.evidence import Observed, alarms_among
from rewardkit.probes.runner import rewards_in
from rewardkit.probes.trials import NOISY
from rewardkit.strategies.added_text import filler
from rewardkit.strategies.strategy import Subject

Findings = Sequence[Finding]

LENGTHS = (100, 250, 500, 1_000, 1_500, 2_000, 3_000, 4_500, 7_000, 10_000)
"""Characters around which a completion is written. Our choice: what policies write."""
MOST_SUBJECTS_LENGTHENED = 2  # of a part: our choice
SHARE_OF_BUDGET = 0.1  # of what is left, for all of it: our choice
NEARLY_ALL = 0.95
"""Share of the log's completions within whose lengths a penalty counts. Our choice."""
LENGTH_HIGH = 0.5
"""Share of what being right adds from which a curve is grave. Our choice."""


@dataclass(frozen=True)
class Lengthened:
    """A subject's right and wrong answer at several lengths, and what they earned.

    `texts` are those of the right answer, then of the wrong one.
    """

    subject: Subject
    texts: tuple[tuple[str, ...], tuple[str, ...]]
    right: LengthCurve
    wrong: LengthCurve

    @property
    def span(self) -> float:
        """Return what being right adds on average."""
        return float((self.right.values - self.wrong.values).mean())

    def tell(self, longest: float) -> CurveStory:
        """Say what the curve of the right answer does.

        It is mild where nothing moves within the log's own lengths, up to `longest`
        characters, and nothing gains by length: a penalty for overlong text.
        """
        unit = "characters"
        story = tell_curve(self.right, self.wrong, self.span, unit, high=LENGTH_HIGH)
        curves = self.right, self.wrong
        if story.kind and all(
            self._only_falls_behind(longest, curve) for curve in curves
        ):
            words = {**story.words, "kind": "mild"}
            return replace(story, kind="mild", severity="info", words=words)
        return story

    def _only_falls_behind(self, longest: float, curve: LengthCurve) -> bool:
        """Whether a curve never rises, and is flat at the lengths up to one."""
        least = TURNS / 2 * self.span
        gains = curve.values - np.minimum.accumulate(curve.values)
        within = curve.values[curve.lengths <= longest]
        is_flat = len(within) == 0 or np.ptp(within) < least
        return bool(gains.max() < least and is_flat)


@rule("length_curve")
def length_curve(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report that length moves what the same answer earns, and where it turns.

    Of a sum of components only a turn: which of them pays for length other rules say.
    That padding pays is said of a slope; of a peak it is half of the truth.
    """
    if observed.noise > NOISY or observed.tries.is_over:
        return
    attempts = [_lengthen(observed, subject) for subject in _choose_subjects(observed)]
    curves = [item for item in attempts if item is not None]
    logged = [len(answer.completion) for answer in observed.logged]
    longest = float(np.quantile(logged, NEARLY_ALL)) if logged else math.inf
    stories = [item.tell(longest) for item in curves if item.span > 0]
    if len(stories) < len(curves) or len({story.kind for story in stories}) != 1:
        return  # no subject, or they differ
    first, story = curves[0], stories[0]
    is_told = any(item.family == "padding" for item in alarms_among(findings))
    turns = story.kind == "turns"
    is_of_parts = len(observed.components) > 1 and not turns
    if not story.kind or is_of_parts:
        return
    if is_told and not turns and not story.words["peaks"]:
        return
    yield observed.finding(
        "length_curve",
        len(curves),
        len(curves),
        severity=story.severity,
        examples=[_example(observed, first, story.places[1] if turns else None)],
        gain=min(story.worth, 1.0),
        among="right answers",
        others="wrong ones",
        **story.words,
    )


def _example(observed: Observed, lengthened: Lengthened, dip: int | None) -> Example:
    """Show the right answer at a dip, else the wrong answer that earns most."""
    best = float(lengthened.right.values.max())
    side, curve, place = 0, lengthened.right, dip
    expected = best - 0.1 * lengthened.span, best
    if place is None:
        side, curve = 1, lengthened.wrong
        place = int(np.argmax(curve.values))
        lowest = float(curve.values.min())
        expected = lowest, lowest + 0.1 * lengthened.span
    text, reward = lengthened.texts[side][place], float(curve.values[place])
    return observed.example(lengthened.subject, text, reward, expected, "length_curve")


def _choose_subjects(observed: Observed) -> list[Subject]:
    """Return subjects whose completions can be lengthened beside their right answer.

    Where no mark opens the answer, all of the completion is compared: more text is
    another answer then.
    """
    subjects = []
    for item in observed.subjects:
        if item.answer is not None and item.format.opening:
            subjects.append(item)
    return subjects[:MOST_SUBJECTS_LENGTHENED]


def _lengthen(observed: Observed, subject: Subject) -> Lengthened | None:
    """Score the right and the wrong answer at all lengths; None where one is lost.

    The shorter ones are left out where the format itself is longer.
    """
    form = subject.format.neutralized()
    if not form.neutral:
        form = replace(form, lead=f"{REASONING}\n")
    neutral = replace(subject, format=form)
    shortest = len(neutral.write(subject.right, reasoning=""))
    lengths = [length for length in LENGTHS if length > shortest]
    texts: list[tuple[str, ...]] = []
    for answer in (subject.right, subject.wrong[0]):
        written = []
        for length in lengths:
            words = filler(length // 3)[: length - shortest]
            written.append(neutral.write(answer, reasoning=words))
        texts.append(tuple(written))
    rows = [(subject, text, dict[str, Any]()) for text in (*texts[0], *texts[1])]
    rewards = rewards_in(observed.tries.on(rows, share=SHARE_OF_BUDGET))
    values = np.array(rewards).reshape(2, -1)
    if values.shape[1] < 3 or np.isnan(values).any():
        return None
    at = np.array([len(text) for text in texts[0]], dtype=float)
    right, wrong = (LengthCurve(at, side) for side in values)
    return Lengthened(subject, (texts[0], texts[1]), right, wrong)
