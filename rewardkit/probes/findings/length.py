"""The rule on length: the rewards of right and wrong answers of growing length."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rewardkit.analysis.statistics.curves import (
    TURNS,
    CurveStory,
    LengthCurve,
    tell_curve,
)
from rewardkit.answers.formats import REASONING
from rewardkit.answers.requests import ASKS_FOR_LENGTH
from rewardkit.findings import Example, Finding, Findings, rule
from rewardkit.probes.code.constants import names_used
from rewardkit.probes.falls import NOISY
from rewardkit.probes.findings.evidence import Observed, alarms_among
from rewardkit.probes.runner import SHARE_OF_RULE, rewards_in
from rewardkit.strategies.added_text import filler
from rewardkit.strategies.strategy import Subject

LENGTHS = (100, 250, 500, 1_000, 1_500, 2_000, 3_000, 4_500, 7_000, 10_000)
"""Approximate characters of a completion. Our choice: lengths that policies write."""
MOST_SUBJECTS_LENGTHENED = 2  # of a part: our choice
LEAST_LENGTHS = 3  # points that make a curve
BEYOND_LOG = 1.1
"""Factor to the log's longest completion up to which lengths count as its own. Our
choice."""
USUAL_LENGTHS = 0.95
"""Quantile of the log's lengths above which a penalty is mild. Our choice."""
COSINE = re.compile(r"(?i)cos(ine)?(_|$)")
"""A name in the code of a cosine reward."""
LENGTH_HIGH = 0.5
"""Share of the span from which a curve is grave. Our choice."""


@dataclass(frozen=True)
class Lengthened:
    """A subject's right and wrong answer at several lengths, with their rewards."""

    subject: Subject
    right_texts: list[str]
    wrong_texts: list[str]
    right: LengthCurve
    wrong: LengthCurve

    @property
    def span(self) -> float:
        """Return the mean reward that being right adds."""
        return float((self.right.values - self.wrong.values).mean())

    def within(self, longest: float) -> Lengthened:
        """Return the part up to the log's longest completion, if it makes a curve."""
        count = int((self.right.lengths <= BEYOND_LOG * longest).sum())
        if count < LEAST_LENGTHS:
            return self
        curves = [
            replace(curve, lengths=curve.lengths[:count], values=curve.values[:count])
            for curve in (self.right, self.wrong)
        ]
        texts = self.right_texts[:count], self.wrong_texts[:count]
        return Lengthened(self.subject, *texts, *curves)

    def tell(self, longest: float, *, is_cosine: bool) -> CurveStory:
        """Describe the curve of the right answer.

        A penalty for overlong text is mild: nothing changes up to `longest` characters,
        the usual lengths of the log, and no reward rises with length.
        """
        curves = self.right, self.wrong, self.span
        story = tell_curve(*curves, "characters", high=LENGTH_HIGH, is_cosine=is_cosine)
        least = TURNS / 2 * self.span
        for curve in (self.right, self.wrong):
            gains = curve.values - np.minimum.accumulate(curve.values)
            within = curve.values[curve.lengths <= longest]
            if gains.max() >= least or (len(within) and np.ptp(within) >= least):
                return story
        if not story.kind:
            return story
        words = {**story.words, "kind": "mild"}
        return replace(story, kind="mild", severity="info", words=words)


@rule("length_curve")
def length_curve(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report rewards of the same answer that change with length.

    For a sum of components only a turn is reported, as other rules name the component
    that pays for length. A slope is not reported if padding pays: that says the same.
    """
    if observed.noise > NOISY or observed.tries.is_over:
        return
    attempts = [_lengthen(observed, subject) for subject in _choose_subjects(observed)]
    curves = list(filter(None, attempts))
    logged = [len(answer.completion) for answer in observed.logged]
    longest = float(np.quantile(logged, USUAL_LENGTHS)) if logged else math.inf
    names = names_used(observed.reward.functions)
    is_cosine = any(COSINE.match(name) for name in names)
    # a penalty without an end outweighs everything at lengths beyond the log
    most = max(logged, default=math.inf)
    curves = [item if item.span > 0 else item.within(most) for item in curves]
    stories = []
    for item in curves:
        if item.span > 0:
            stories.append(item.tell(longest, is_cosine=is_cosine))
    kinds = {story.kind for story in stories}
    if len(stories) < len(curves) or len(kinds) != 1:
        return  # no subject, or they differ
    story = stories[0]
    is_turn, is_mirrored = story.kind == "turns", story.kind == "mirrored"
    parts = list(observed.components.values())
    if is_mirrored:  # by a factor of all, whatever else is returned beside it
        parts = [item for item in parts if item.weight]
    if not story.kind or (len(parts) > 1 and not is_turn):
        return
    is_slope = not (is_turn or is_mirrored or story.words["peaks"])
    is_padding = any(item.family == "padding" for item in alarms_among(findings))
    if is_slope and is_padding:
        return
    dip = story.places[1] if is_turn else None
    yield observed.finding(
        "length_curve",
        len(curves),
        len(curves),
        severity=story.severity,
        examples=[_example(observed, curves[0], dip)],
        gain=min(story.worth, 1.0),
        trait="mirrored" if is_mirrored else "",
        among="right answers",
        others="wrong ones",
        **story.words,
    )


def _example(observed: Observed, lengthened: Lengthened, dip: int | None) -> Example:
    """Show the right answer at a dip, else the wrong answer that earns most.

    If all wrong answers earn the same, show the right answer that earns least.
    """
    values, texts = lengthened.right.values, lengthened.right_texts
    if dip is None and not lengthened.wrong.height:
        dip = int(values.argmin())
    best = float(values.max())
    expected = best - 0.1 * lengthened.span, best
    if dip is None:
        values, texts = lengthened.wrong.values, lengthened.wrong_texts
        dip, lowest = int(values.argmax()), float(values.min())
        expected = lowest, lowest + 0.1 * lengthened.span
    text, reward = texts[dip], float(values[dip])
    return observed.example(lengthened.subject, text, reward, expected, "length_curve")


def _choose_subjects(observed: Observed) -> list[Subject]:
    """Return subjects whose completions can get more text around their answer.

    Without a mark more text is another answer, since all of the completion is compared.
    Prompts that ask for a length are left out, since the reward may well check it.
    """
    subjects = []
    for subject in observed.subjects_with_truth:
        if subject.format.opening and not ASKS_FOR_LENGTH.search(subject.prompt):
            subjects.append(subject)
    return subjects[:MOST_SUBJECTS_LENGTHENED]


def _lengthen(observed: Observed, subject: Subject) -> Lengthened | None:
    """Score the right and the wrong answer at all lengths; None if one is not judged.

    Lengths below that of the format itself are left out.
    """
    form = subject.format.neutralized()
    if not form.neutral:
        form = replace(form, lead=f"{REASONING}\n")
    neutral = replace(subject, format=form)
    shortest = len(neutral.write(subject.right, reasoning=""))
    lengths = [length for length in LENGTHS if length > shortest]
    words = [filler(length // 3)[: length - shortest] for length in lengths]
    right_texts = [neutral.write(subject.right, reasoning=text) for text in words]
    wrong_texts = [neutral.write(subject.wrong[0], reasoning=text) for text in words]
    pairs = [(subject, text) for text in right_texts + wrong_texts]
    rewards = rewards_in(observed.tries.on(pairs, share=SHARE_OF_RULE))
    values = np.array(rewards).reshape(2, -1)
    if len(lengths) < LEAST_LENGTHS or np.isnan(values).any():
        return None
    written_lengths = np.array(list(map(len, right_texts)), dtype=float)
    right, wrong = (LengthCurve(written_lengths, side) for side in values)
    return Lengthened(subject, right_texts, wrong_texts, right, wrong)
