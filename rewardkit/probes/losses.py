"""Losses: right answers that are not paid for their layout or notation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewardkit.probes.equivalents import LAYOUT, NOTATION
from rewardkit.probes.findings import ProbeFinding, most
from rewardkit.probes.seen import EXAMPLES, Seen, component_of, example_of
from rewardkit.probes.verdicts import LOST, Fall, Tally, wilson

__all__ = ["layouts", "notations"]

SHOWN = 4  # forms that a sentence names


def _of_the_answer(falls: Sequence[Fall], seen: Seen) -> bool:
    """Whether what lost is about the answer: no component that pays wrong answers alike, as for the form."""
    name = component_of(falls, seen)
    known = seen.known[falls[0].trial.subject.rollout_id]
    return name is None or known.reference.scores.get(name) != known.baseline.scores.get(name)


def _is_layout(item: Tally, every: Sequence[Tally]) -> bool:
    """Whether it is of a layout; a full stop is where the reward takes other signs off the answer."""
    takes_signs = any(other.probe.name == "currency" and other.tried and not other.falls for other in every)
    said = item.falls and all(fall.trial.subject.format.announced for fall in item.falls)
    signs = ("full_stop", "bold") if said else ("full_stop",)
    return item.probe.knows == LAYOUT or (takes_signs and item.probe.name in signs)


def layouts(every: Sequence[Tally], seen: Seen, part: str) -> Iterator[ProbeFinding]:
    """Right answers lost by their layout: a fault where most layouts are taken, else strictness."""
    tried = {item.probe.name: item for item in every if item.tried and _is_layout(item, every)}
    lost = [item for item in tried.values() if item.falls and _of_the_answer(item.falls, seen)]
    if any(item.probe.name == "other_reasoning" for item in lost):  # to lose more words is no matter of tags
        for name in ("other_reasoning", "several_lines", "tag_mentioned"):
            tried.pop(name, None)
        lost = [item for item in lost if item.probe.name in tried]
    if not lost:
        return
    kept = len(tried) - len(lost)
    lenient = "other_reasoning" in tried or 2 * kept >= len(tried)  # finds an answer in any text
    falls = [fall for item in lost for fall in item.falls[:1]]
    worth = max(item.rate * item.size for item in lost)
    yield ProbeFinding(
        "loses_layout" if lenient else "strict",
        "equivalents",
        ("warn" if worth >= LOST else "info") if lenient else "info",
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
        tuple(example_of(fall, seen) for fall in falls[:EXAMPLES]),
        part,
    )


def notations(every: Sequence[Tally], seen: Seen, part: str) -> Iterator[ProbeFinding]:
    """Notations of a right answer that are not taken, with their rates: for information."""
    lost = [
        item for item in every if item.falls and item.probe.knows == NOTATION and not _is_layout(item, every)
    ]
    if not lost:
        return
    falls = [fall for item in lost for fall in item.falls[:1]]
    yield ProbeFinding(
        "loses_notation",
        "equivalents",
        "info",
        component_of(falls, seen),
        {
            "value": sum(item.rate for item in lost) / len(lost),
            "lost": most([item.probe.says for item in lost], 2 * SHOWN),
            "rates": {item.probe.name: item.rate for item in lost},
        },
        max(item.tried for item in lost),
        LOST,
        tuple(example_of(fall, seen) for fall in falls[:EXAMPLES]),
        part,
    )
