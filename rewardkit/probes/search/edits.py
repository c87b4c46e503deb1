"""Edits: seeded changes of a completion's record that keep its answer wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rewardkit.probes.search.completions import (
    CLOSING,
    LISTING,
    LISTS,
    MARK,
    MARKS,
    OPENING,
    WRONG,
    Record,
    Segment,
)
from rewardkit.probes.search.vocabulary import Vocabulary

COUNTS = (1, 1, 2, 3, 5, 8, 12)
"""Edits at a time, each as likely. Many at once meet what only several together are paid for. Our choice."""

TIMES = (2, 3, 5, 10)
MOST_TIMES = 200
JOINTS = ("", " ", "\n", "\n\n")


def edited(record: Record, draw: np.random.Generator, vocabulary: Vocabulary) -> Record:
    """The record after some edits, drawn at random."""
    for _ in range(draw.choice(COUNTS)):
        edit = draw.choice(len(EDITS), p=ODDS)
        record = EDITS[edit](record, draw, vocabulary)
    return record


def openers(record: Record, vocabulary: Vocabulary) -> Iterator[Record]:
    """What is tried first: more of each kind, as far as it goes, around each state of the answer."""
    texts = vocabulary.texts
    words = [f"{text}, " for text in texts["phrases"][:20]]
    added = [
        [],
        words,
        texts["pairs"][:10],
        [*texts["fillers"][-1:], "\n", *words],
        [f"{text}\n" for text in texts["verdicts"]],
        [f"{text}\n" for text in texts["sentences"]],
        [*texts["delimiters"], "\n", *texts["verdicts"][:1]],
        [f"\n{opening}{LISTING[0]}{closing}" for opening, closing in vocabulary.wraps],
    ]
    listed = (
        OPENING + LISTING[1] + CLOSING
    )  # last: what mentions no right answer shows a hole more clearly
    for text, times in (
        (MARK, 1),
        (OPENING + CLOSING, 1),
        (MARK + "\n", 5),
        ("", 1),
        (listed, 1),
        (MARKS, 1),
    ):
        mark = Segment(text, times)
        start = tuple(mark if segment.text == MARK else segment for segment in record)
        yield from ((*start, Segment("\n"), *map(Segment, some)) for some in added)


def _place(record: Record, draw: np.random.Generator) -> int:
    return int(draw.integers(len(record) + 1))


# Edits


def inserted(
    record: Record, draw: np.random.Generator, vocabulary: Vocabulary
) -> Record:
    """Something of the vocabulary more: mostly one text, at times several; at times in a tag of its own."""
    names = [name for name in WEIGHTS if vocabulary.texts[name]]
    odds = np.array([WEIGHTS[name] for name in names])
    group = vocabulary.texts[draw.choice(names, p=odds / odds.sum())]
    count = 1 if draw.random() < 0.6 else int(draw.integers(2, 9))
    chosen = sorted(draw.permutation(len(group))[:count].tolist())
    some = tuple(
        Segment(JOINTS[draw.integers(len(JOINTS))] + group[at]) for at in chosen
    )
    at = _place(record, draw)
    if draw.random() < 0.25:
        some = _within(some, draw, vocabulary)
    return (*record[:at], *some, *record[at:])


def wrapped(
    record: Record, draw: np.random.Generator, vocabulary: Vocabulary
) -> Record:
    """Some segments in a tag, a fence, quotes, or nothing in it."""
    low, high = sorted((_place(record, draw), _place(record, draw)))
    return (*record[:low], *_within(record[low:high], draw, vocabulary), *record[high:])


def _within(
    record: Record, draw: np.random.Generator, vocabulary: Vocabulary
) -> Record:
    opening, closing = vocabulary.wraps[int(draw.integers(len(vocabulary.wraps)))]
    return (Segment(opening), *record, Segment(closing))


def repeated(
    record: Record, draw: np.random.Generator, vocabulary: Vocabulary
) -> Record:
    """A segment more than once."""
    chosen = _place(record, draw)
    times = int(draw.choice((*TIMES, *vocabulary.numbers)))
    return tuple(
        Segment(text, min(MOST_TIMES, many * times) if place == chosen else many)
        for place, (text, many) in enumerate(record)
    )


def dropped(
    record: Record, draw: np.random.Generator, vocabulary: Vocabulary
) -> Record:
    """Some segments less, or all but these."""
    low, high = sorted((_place(record, draw), _place(record, draw)))
    return (
        record[low:high] if draw.random() < 0.3 else (*record[:low], *record[low + 1 :])
    )


def refilled(
    record: Record, draw: np.random.Generator, vocabulary: Vocabulary
) -> Record:
    """Another wrong answer in the mark, a list, or none."""
    slot = ("", *WRONG, *LISTS)[draw.integers(1 + len(WRONG) + len(LISTS))]
    return tuple(
        segment._replace(text=segment.text.replace(WRONG[0], slot))
        for segment in record
    )


WEIGHTS = {
    "phrases": 8,
    "pairs": 3,
    "ends": 1,
    "verdicts": 2,
    "sentences": 2,
    "delimiters": 3,
    "answers": 3,
    "fillers": 3,
}
"""How likely it is that a text of each group is inserted, against the others. Our choice."""

EDITS: tuple[Callable[[Record, np.random.Generator, Vocabulary], Record], ...]
EDITS = (inserted, wrapped, repeated, dropped, refilled)
ODDS = (0.6, 0.15, 0.1, 0.1, 0.05)
"""How likely each edit is. Our choice."""
