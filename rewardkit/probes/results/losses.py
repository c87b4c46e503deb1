"""Losses: right answers that are not paid for their layout or notation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewardkit.findings import Finding
from rewardkit.probes.results.evidence import EXAMPLES, Seen, component_of, example_of
from rewardkit.probes.results.sentences import most
from rewardkit.probes.strategies.equivalents import LAYOUT, NOTATION
from rewardkit.probes.subjects.formats import REASONING
from rewardkit.probes.verdicts import LAYOUT_LOST, LOST, Fall, Tally, wilson

__all__ = ["layouts", "notations"]

MENTIONED, TWICE = "tag_mentioned", "marked_twice"
"""A layout, and a notation: what takes the answer with its tag once only, may lose one that names the tag."""

SHOWN = 4  # forms that a sentence names
WRITTEN = 0.1
"""Rollouts that a notation loses, as a share of those that are paid, from which it is a fault. Our choice."""
SEVERAL = 2  # rollouts that a notation loses, from which it is a fault: one may be a slip


def _of_the_answer(falls: Sequence[Fall], seen: Seen) -> bool:
    """Whether what lost is about the answer: no component that pays wrong answers alike, as for the form."""
    name = component_of(falls, seen)
    known = seen.known[falls[0].trial.subject.rollout_id]
    return name is None or known.reference.scores.get(name) != known.baseline.scores.get(name)


def _of_form(item: Tally) -> bool:
    """Whether even what is paid for the form has to take it: where there is reasoning, it has many lines."""
    leads = [fall.trial.subject.format.lead for fall in item.falls]
    return item.probe.name == "several_lines" and all(REASONING in lead for lead in leads)


def _is_layout(item: Tally, every: Sequence[Tally]) -> bool:
    """Whether it is of a layout: the end of a sentence, too, where the reward takes other signs off."""
    takes_signs = any(other.probe.name == "currency" and other.tried and not other.falls for other in every)
    forms = [fall.trial.subject.format for fall in item.falls]
    open_ended = takes_signs and not any(form.tag or form.opening.endswith("{") for form in forms)
    said = bool(forms) and all(form.announced for form in forms)
    return (
        item.probe.knows == LAYOUT
        or (item.probe.name == "full_stop" and open_ended)
        or (item.probe.name == "bold" and takes_signs and said)
    )


def layouts(every: Sequence[Tally], seen: Seen, part: str) -> Iterator[Finding]:
    """Right answers lost by their layout: a fault where most layouts are taken, else strictness."""
    tried = {item.probe.name: item for item in every if item.tried and _is_layout(item, every)}
    lost = [
        item for item in tried.values() if item.falls and (_of_form(item) or _of_the_answer(item.falls, seen))
    ]
    if any(item.probe.name == "other_reasoning" for item in lost):  # to lose more words is no matter of tags
        for name in ("other_reasoning", "several_lines", MENTIONED):
            tried.pop(name, None)
        lost = [item for item in lost if item.probe.name in tried]
    if not lost:
        return
    kept = len(tried) - len(lost)
    lenient = "other_reasoning" in tried or 2 * kept >= len(tried)  # finds an answer in any text
    falls = [fall for item in lost for fall in item.falls[:1]]
    once = any(item.probe.name == TWICE and item.falls for item in every)
    faults = [item for item in lost if not (once and item.probe.name == MENTIONED)]
    worth = max((item.rate * item.size for item in faults), default=0.0)
    yield Finding(
        "loses_layout" if lenient else "strict",
        "warn" if lenient and worth >= LAYOUT_LOST else "info",
        component_of(falls, seen),
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
        family="equivalents",
        part=part,
        examples=tuple(example_of(fall, seen) for fall in falls[:EXAMPLES]),
    )


def notations(every: Sequence[Tally], seen: Seen, part: str) -> Iterator[Finding]:
    """Notations of a right answer that are not taken, with their rates.

    For information, unless policies write them: rollouts are lost by it, several of those that are right.
    """
    tried = [item for item in every if item.probe.knows == NOTATION and not _is_layout(item, every)]
    lost = [item for item in tried if item.falls]
    if not lost:
        return
    unpaid = {item.probe.says: _rollouts(item, seen) for item in lost}
    lost.sort(key=lambda item: -unpaid[item.probe.says])
    shown = [item for item in lost if unpaid[item.probe.says]] or lost
    falls = [fall for item in shown for fall in item.falls[:1]]
    rows = sum(unpaid.values())
    yield Finding(
        "loses_notation",
        "warn" if rows >= max(SEVERAL, WRITTEN * _paid(seen, part)) else "info",
        component_of(falls, seen),
        {
            "value": sum(item.rate for item in lost) / len(lost),
            "lost": most([item.probe.says for item in lost], 2 * SHOWN),
            "rates": {item.probe.name: item.rate for item in lost},
            "unpaid": most([f"{says} ({count})" for says, count in unpaid.items() if count], SHOWN),
            "rollouts": rows,
        },
        max(item.tried for item in lost),
        LOST,
        family="equivalents",
        part=part,
        examples=tuple(example_of(fall, seen) for fall in falls[:EXAMPLES]),
    )


def _paid(seen: Seen, part: str) -> int:
    """How many rollouts of the prompts of a part are paid in full."""
    scales = {
        one.prompt: seen.calibration.scales[one.rollout_id]
        for one in seen.calibration.subjects
        if one.part == part
    }
    return sum(
        outcome.judged and scale.gain(outcome.reward) >= 1 - LOST
        for prompt, scale in scales.items()
        for _, outcome in seen.by_prompt.get(prompt, ())
    )


def _rollouts(item: Tally, seen: Seen) -> int:
    """How many rollouts of its prompts state the right answer in a notation, and are not paid."""
    found = 0
    for fall in item.falls:
        subject, text = fall.trial.subject, fall.trial.attempt.completions[0]
        scale, form = seen.calibration.scales[subject.rollout_id], subject.format
        stated = text[len(form.lead) : len(text) - len(form.tail)].strip()
        found += sum(
            stated in str(row.get("completion")) and outcome.judged and scale.gain(outcome.reward) < LOST
            for row, outcome in seen.by_prompt.get(subject.prompt, ())
        )
    return found
