"""Edits: seeded changes of a completion's record that keep its answer wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rewardkit.probes.search.completions import CLOSING, LISTS, MARK, OPENING, WRONG, Record, Segment
from rewardkit.probes.search.vocabulary import Vocabulary, filler

__all__ = ["crossed", "edited", "openers"]

COUNTS = (1, 1, 2, 3, 5, 8, 12)
"""Edits at a time, each as likely. Many at once meet what only several together are paid for. Our choice."""

TIMES = (2, 3, 5, 10)
MOST_TIMES = 200
JOINTS = ("", " ", "\n", "\n\n")


def edited(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """The record after some edits, drawn at random."""
    for _ in range(int(draw.choice(COUNTS))):
        edit = EDITS[int(draw.choice(len(EDITS), p=ODDS))]
        record = edit(record, draw, vocabulary)
    return record


def crossed(record: Record, other: Record, draw: np.random.Generator) -> Record:
    """The beginning of one record and the end of another."""
    return (*record[: _place(record, draw)], *other[_place(other, draw) :])


def openers(record: Record, vocabulary: Vocabulary) -> Iterator[Record]:
    """What is tried first: more of each kind, as far as it goes, around each state of the answer."""
    groups = vocabulary.groups
    words = [f"{text}, " for text in groups["phrases"][:20]]
    listed = [f"\n{opening}{next(iter(LISTS))}{closing}" for opening, closing in vocabulary.wraps]
    added = [
        [],
        words,
        [*groups["pairs"][:10]],
        [filler(500), "\n", *words],
        [f"{text}\n" for text in groups["verdicts"]],
        [f"{text}\n" for text in groups["sentences"]],
        [f"\n{text}" for text in (*groups["delimiters"], groups["verdicts"][0])],
        listed,
        *([text] for text in groups["told"][:3]),
    ]
    marked = [segment for segment in record if MARK in segment.text]
    empty, several = ([Segment(text)] for text in (OPENING + CLOSING, f"{OPENING}{[*LISTS][1]}{CLOSING}"))
    for mark in (marked, empty, several, [Segment(MARK + "\n", 5)], []):
        for texts in added:
            behind = tuple(map(Segment, texts))
            whole = (part for segment in record for part in (mark if segment in marked else [segment]))
            yield (*whole, Segment("\n"), *behind)


def _place(record: Record, draw: np.random.Generator) -> int:
    return int(draw.integers(len(record) + 1))


def _span(record: Record, draw: np.random.Generator) -> slice:
    """Some segments, often one or none."""
    low = _place(record, draw)
    return slice(low, low + int(draw.integers(3)) if draw.random() < 0.7 else len(record))


def _put(record: Record, at: slice, *texts: str) -> Record:
    return (*record[: at.start], *map(Segment, texts), *record[at.stop :])


def _one(options: tuple[str, ...], draw: np.random.Generator) -> str:
    return options[int(draw.integers(len(options)))]


# Edits


def inserted(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """Something of the vocabulary more: mostly one text, at times several; at times in a tag of its own."""
    names = [name for name in WEIGHTS if vocabulary.groups[name]]
    odds = np.array([WEIGHTS[name] for name in names])
    group = vocabulary.groups[names[int(draw.choice(len(names), p=odds / odds.sum()))]]
    count = 1 if draw.random() < 0.6 else int(draw.integers(2, 9))
    texts = [_one(JOINTS, draw) + group[at] for at in sorted(draw.permutation(len(group))[:count].tolist())]
    if draw.random() < 0.25:
        opening, closing = vocabulary.tags[int(draw.integers(len(vocabulary.tags)))]
        texts = [opening, *(text.strip() for text in texts), closing]
    at = _place(record, draw)
    return _put(record, slice(at, at), *texts)


def lengthened(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """More words, so many as the code may ask for."""
    at = _place(record, draw)
    return _put(record, slice(at, at), f"\n{filler(int(draw.choice(vocabulary.lengths)))}\n")


def wrapped(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """Something in a tag, a fence, quotes, or nothing in it."""
    at = _span(record, draw)
    opening, closing = vocabulary.wraps[int(draw.integers(len(vocabulary.wraps)))]
    return (*record[: at.start], Segment(opening), *record[at], Segment(closing), *record[at.stop :])


def repeated(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """A segment more than once, or some of them together."""
    if draw.random() < 0.3:
        at = _span(record, draw)
        return (*record[: at.stop], *record[at] * int(draw.choice(TIMES[:3])), *record[at.stop :])
    numbers = (count for number in vocabulary.numbers for count in (number, number + 1))
    chosen, times = _place(record, draw), int(draw.choice((*TIMES, *numbers)))
    return tuple(
        segment._replace(times=min(MOST_TIMES, times * segment.times)) if place == chosen else segment
        for place, segment in enumerate(record)
    )


def dropped(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """A segment less, or all but a few."""
    if draw.random() < 0.3:
        return record[_span(record, draw)]
    at = _place(record, draw)
    return _put(record, slice(at, at + 1))


def moved(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """Some segments in another place."""
    at = _span(record, draw)
    rest = _put(record, at)
    place = _place(rest, draw)
    return (*rest[:place], *record[at], *rest[place:])


def refilled(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """Another wrong answer in the mark, a list, or none."""
    slot = _one(("", *WRONG, *LISTS), draw)
    return tuple(segment._replace(text=segment.text.replace(WRONG[0], slot)) for segment in record)


WEIGHTS: dict[str, float] = {
    "phrases": 8,
    "pairs": 3,
    "ends": 1,
    "verdicts": 2,
    "sentences": 2,
    "delimiters": 3,
    "answers": 3,
    "told": 1.5,
}
"""How likely it is that a text of each group is inserted, against the others. Our choice."""

Edit = Callable[[Record, np.random.Generator, Vocabulary], Record]

LIKELY: dict[Edit, float] = {
    inserted: 20,
    lengthened: 3,
    wrapped: 5,
    repeated: 3,
    dropped: 2.5,
    moved: 2,
    refilled: 2,
}
"""How likely each edit is. Our choice."""

EDITS = tuple(LIKELY)
ODDS = np.array(list(LIKELY.values())) / sum(LIKELY.values())
