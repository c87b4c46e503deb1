"""Losses: right answers that are not paid for their layout or notation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from rewardkit.answers.formats import REASONING
from rewardkit.findings import Finding, most
from rewardkit.probes.results.evidence import Seen, components_of, example_of
from rewardkit.probes.verdicts import LAYOUT_LOST, LOST, Tally
from rewardkit.strategies.equivalents import LAYOUT, NOTATION

MENTIONED, TWICE = "tag_mentioned", "marked_twice"
"""A layout, and a notation: what takes the answer with its tag once only, may lose one that names the tag."""

SHOWN = 4  # forms that a sentence names
WRITTEN = 0.1
"""Rollouts that a notation loses, as a share of those that are paid, from which it is a fault. Our choice."""
SEVERAL = (
    2  # rollouts that a notation loses, from which it is a fault: one may be a slip
)


def _counts(item: Tally, seen: Seen) -> bool:
    """Whether what lost is about the answer, and not a form for which right and wrong are paid alike.

    To write several lines is part of such a form as well where there is reasoning.
    """
    known = seen.known[item.falls[0].trial.subject.rollout_id]
    name = next(iter(components_of(item.falls, seen)), None)
    reasoned = all(REASONING in fall.trial.subject.format.lead for fall in item.falls)
    return (
        name is None
        or known.reference.scores.get(name) != known.baseline.scores.get(name)
        or (item.probe.name == "several_lines" and reasoned)
    )


def layouts(every: Sequence[Tally], seen: Seen) -> Iterator[Finding]:
    """Right answers lost by their layout: a fault where most layouts are taken, else strictness."""
    tried = {
        item.probe.name: item
        for item in every
        if item.tried and item.probe.knows == LAYOUT
    }
    lost = [item for item in tried.values() if item.falls and _counts(item, seen)]
    if any(
        item.probe.name == "other_reasoning" for item in lost
    ):  # to lose more words is no matter of tags
        for name in ("other_reasoning", "several_lines", MENTIONED):
            tried.pop(name, None)
        lost = [item for item in lost if item.probe.name in tried]
    if not lost:
        return
    kept = len(tried) - len(lost)
    lenient = "other_reasoning" in tried or 2 * kept >= len(
        tried
    )  # finds an answer in any text
    once = any(item.probe.name == TWICE and item.falls for item in every)
    faults = [item for item in lost if not (once and item.probe.name == MENTIONED)]
    fault = lenient and any(item.rate * item.size >= LAYOUT_LOST for item in faults)
    yield _loss(
        "loses_layout" if lenient else "strict",
        lost,
        seen,
        len(tried),
        len(lost),
        grave="warn" if fault else "info",
        lost=most([item.probe.says for item in lost], SHOWN),
        layouts=len(tried),
        kept=kept,
    )


def notations(every: Sequence[Tally], seen: Seen) -> Iterator[Finding]:
    """Notations of a right answer that are not taken, with their rates.

    For information, unless policies write them: rollouts are lost by it, several of those that are right.
    """
    lost = [
        (_rollouts(item, seen), item)
        for item in every
        if item.falls and item.probe.knows == NOTATION
    ]
    if not lost:
        return
    lost.sort(key=lambda pair: -pair[0])
    written = [f"{item.probe.says} ({rows})" for rows, item in lost if rows]
    rollouts = sum(rows for rows, _ in lost)
    yield _loss(
        "loses_notation",
        [item for _, item in lost],
        seen,
        max(item.tried for _, item in lost),
        grave="warn" if rollouts >= max(SEVERAL, WRITTEN * _paid(seen)) else "info",
        shown=len(written) or len(lost),
        value=fmean(item.rate for _, item in lost),
        lost=most([item.probe.says for _, item in lost], 2 * SHOWN),
        unpaid=most(written, SHOWN),
        rollouts=rollouts,
    )


def _loss(
    code: str,
    tallies: Sequence[Tally],
    seen: Seen,
    *counts: int,
    shown: int | None = None,
    **rest: Any,
) -> Finding:
    """The finding of layouts or notations that are lost; the first `shown` of them are its examples."""
    falls = [item.falls[0] for item in tallies[:shown]]
    rest |= {"examples": (example_of(fall, seen) for fall in falls), "threshold": LOST}
    rates = {item.probe.name: item.rate for item in tallies}
    components = components_of(falls, seen)
    return seen.finding(
        code, "equivalents", *counts, components=components, rates=rates, **rest
    )


def _paid(seen: Seen) -> int:
    """How many rollouts of the prompts are paid in full."""
    scales = {one.prompt: seen.scale(one) for one in seen.calibration.subjects}
    every = (
        (scale, reward)
        for at, scale in scales.items()
        for _, reward in seen.by_prompt.get(at, ())
    )
    return sum(scale.gain(reward) >= 1 - LOST for scale, reward in every)


def _rollouts(item: Tally, seen: Seen) -> int:
    """How many rollouts of its prompts state the right answer in a notation, and are not paid."""
    found = 0
    for fall in item.falls:
        subject, text = fall.trial.subject, fall.trial.attempt.completions[0]
        scale, form = seen.scale(subject), subject.format
        stated = text[len(form.lead) : len(text) - len(form.tail)].strip()
        logged = seen.by_prompt.get(subject.prompt, ())
        found += sum(
            stated in said and scale.gain(reward) < LOST for said, reward in logged
        )
    return found
