"""Seeded changes of a template that keep its answer wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rewardkit.probes.search.completions import (
    CLOSING,
    LIST_SLOTS,
    LISTING_SLOTS,
    MARKS_SLOT,
    OPENING,
    WRONG_MARKED,
    WRONG_SLOTS,
    Segment,
    Template,
)
from rewardkit.probes.search.vocabulary import Vocabulary

EDIT_COUNTS = (1, 1, 2, 3, 5, 8, 12)
"""Edits at a time, each as likely. Many at once meet what only several together earn.
Our choice."""

REPEATS = (2, 3, 5, 10)
MOST_REPEATS = 200
JOINS = ("", " ", "\n", "\n\n")
"""What may stand before an inserted text."""


def edit_template(
    template: Template, draw: np.random.Generator, vocabulary: Vocabulary
) -> Template:
    """Make some edits, drawn at random."""
    for _ in range(draw.choice(EDIT_COUNTS)):
        edit = EDITS[draw.choice(len(EDITS), p=EDIT_ODDS)]
        template = edit(template, draw, vocabulary)
    return template


def first_templates(template: Template, vocabulary: Vocabulary) -> Iterator[Template]:
    """Yield what is tried first: much of each kind, around each state of the answer."""
    texts = vocabulary.texts
    words = [f"{text}, " for text in texts["phrases"][:20]]
    additions = [
        [],
        words,
        texts["pairs"][:10],
        [*texts["fillers"][-1:], "\n", *words],
        [f"{text}\n" for text in texts["verdicts"]],
        [f"{text}\n" for text in texts["sentences"]],
        [*texts["delimiters"], "\n", *texts["verdicts"][:1]],
        [
            f"\n{opening}{LISTING_SLOTS[0]}{closing}"
            for opening, closing in vocabulary.wraps
        ],
    ]
    # lists are last: what mentions no right answer shows a hole more clearly
    states = (
        Segment(WRONG_MARKED),
        Segment(OPENING + CLOSING),
        Segment(WRONG_MARKED + "\n", 5),
        Segment(""),
        Segment(OPENING + LISTING_SLOTS[1] + CLOSING),
        Segment(MARKS_SLOT),
    )
    for state in states:
        start = [
            state if segment.text == WRONG_MARKED else segment for segment in template
        ]
        for added in additions:
            yield (*start, Segment("\n"), *map(Segment, added))


def _draw_place(template: Template, draw: np.random.Generator) -> int:
    return int(draw.integers(len(template) + 1))


def _draw_span(template: Template, draw: np.random.Generator) -> tuple[int, int]:
    first, second = _draw_place(template, draw), _draw_place(template, draw)
    return min(first, second), max(first, second)


# --- edits


def insert(
    template: Template, draw: np.random.Generator, vocabulary: Vocabulary
) -> Template:
    """Insert one text, at times several, at times in a tag."""
    names = [name for name in GROUP_WEIGHTS if vocabulary.texts[name]]
    odds = np.array([GROUP_WEIGHTS[name] for name in names])
    group = vocabulary.texts[draw.choice(names, p=odds / odds.sum())]
    count = 1 if draw.random() < 0.6 else int(draw.integers(2, 9))
    chosen = sorted(draw.permutation(len(group))[:count].tolist())
    added = tuple(
        Segment(JOINS[draw.integers(len(JOINS))] + group[at]) for at in chosen
    )
    place = _draw_place(template, draw)
    if draw.random() < 0.25:
        added = _put_within(added, draw, vocabulary)
    return (*template[:place], *added, *template[place:])


def wrap(
    template: Template, draw: np.random.Generator, vocabulary: Vocabulary
) -> Template:
    """Put some segments, or none, in a tag, a fence or quotes."""
    low, high = _draw_span(template, draw)
    wrapped = _put_within(template[low:high], draw, vocabulary)
    return (*template[:low], *wrapped, *template[high:])


def _put_within(
    template: Template, draw: np.random.Generator, vocabulary: Vocabulary
) -> Template:
    opening, closing = vocabulary.wraps[int(draw.integers(len(vocabulary.wraps)))]
    return (Segment(opening), *template, Segment(closing))


def repeat(
    template: Template, draw: np.random.Generator, vocabulary: Vocabulary
) -> Template:
    """Repeat a segment."""
    place = _draw_place(template, draw)
    factor = int(draw.choice((*REPEATS, *vocabulary.numbers)))
    if place == len(template):
        return template
    text, times = template[place]
    repeated = Segment(text, min(MOST_REPEATS, times * factor))
    return (*template[:place], repeated, *template[place + 1 :])


def drop(
    template: Template, draw: np.random.Generator, vocabulary: Vocabulary
) -> Template:
    """Drop a segment, or all but some."""
    low, high = _draw_span(template, draw)
    if draw.random() < 0.3:
        return template[low:high]
    return (*template[:low], *template[low + 1 :])


def refill(
    template: Template, draw: np.random.Generator, vocabulary: Vocabulary
) -> Template:
    """Put another wrong answer in the mark, a list, or nothing."""
    choices = ("", *WRONG_SLOTS, *LIST_SLOTS)
    slot = choices[draw.integers(len(choices))]
    return tuple(
        segment._replace(text=segment.text.replace(WRONG_SLOTS[0], slot))
        for segment in template
    )


GROUP_WEIGHTS = {
    "phrases": 8,
    "pairs": 3,
    "ends": 1,
    "verdicts": 2,
    "sentences": 2,
    "delimiters": 3,
    "answers": 3,
    "fillers": 3,
}
"""How likely a text of each group is inserted, against the others. Our choice."""

EDITS: tuple[Callable[[Template, np.random.Generator, Vocabulary], Template], ...]
EDITS = (insert, wrap, repeat, drop, refill)
EDIT_ODDS = (0.6, 0.15, 0.1, 0.1, 0.05)
"""How likely each edit is. Our choice."""
