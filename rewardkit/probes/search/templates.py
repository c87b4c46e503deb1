"""Templates of wrong completions with slots for a prompt's answers, and random edits.

Edits insert texts from the reward's code and the rollouts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, cycle
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from rewardkit.answers.formats import REASONING, find_tags
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import as_decimal, distance, read_number
from rewardkit.probes.code.constants import constants, patterns_in
from rewardkit.probes.code.patterns import spellings
from rewardkit.probes.findings.evidence import Observed
from rewardkit.strategies.added_text import (
    DELIMITERS,
    FAKE_VERDICTS,
    FLATTERY,
    JUDGE_ORDERS,
    RUBRIC,
    filler,
)
from rewardkit.strategies.strategy import Subject

WRONG_SLOTS = "\ue000\ue001\ue002"
"""Slots of three wrong answers: few, so that each of them can be measured."""

BEFORE, BEHIND, OPENING, CLOSING, TAIL = "\ue003\ue004\ue005\ue006\ue007"
"""Slots of the format: around the reasoning, around the answer, behind it."""

FORMAT_SLOTS = BEFORE + BEHIND + OPENING + CLOSING + TAIL
ALL_SLOTS = WRONG_SLOTS + FORMAT_SLOTS
WRONG_MARKED = OPENING + WRONG_SLOTS[0] + CLOSING

LONGEST_SEARCHED = 20_000
"""Characters of a completion. Our choice: some five thousand tokens."""

NUMBER_TOKEN = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


class Segment(NamedTuple):
    """A part of a completion: a text with slots, and its number of repeats."""

    text: str
    times: int = 1


Template = tuple[Segment, ...]
"""A completion as its segments: the same for every subject, in its own answers."""


def plain(subject: Subject, answer: str = WRONG_SLOTS[0]) -> Template:
    """Return the template of a bare wrong answer in the subject's format."""
    reasoning = REASONING if REASONING in subject.format.lead else ""
    texts = (BEFORE, reasoning, BEHIND, OPENING + answer + CLOSING, TAIL)
    return tuple(map(Segment, texts))


def fill(template: Template, subject: Subject) -> str:
    """Write the completion of a template."""
    form = subject.format
    before, _, behind = form.lead.partition(REASONING)
    quote = '"' if form.quoted else ""
    slots: dict[str, str | int | None] = {
        **dict(zip(WRONG_SLOTS, cycle(subject.wrong), strict=False)),
        BEFORE: before,
        BEHIND: behind,
        OPENING: form.opening + quote,
        CLOSING: quote + form.closing,
        TAIL: form.tail,
    }
    return join_segments(template).translate(str.maketrans(slots))


def join_segments(template: Template) -> str:
    """Write the text of a template, with its slots."""
    return "".join(text * times for text, times in template)


def write_wrong(template: Template, subject: Subject) -> str | None:
    """Write the completion of a template; None if it is too long, or may be right."""
    if sum(len(text) * times for text, times in template) > LONGEST_SEARCHED:
        return None
    text = fill(template, subject)
    return text if len(text) <= LONGEST_SEARCHED and is_wrong(text, subject) else None


def is_wrong(text: str, subject: Subject) -> bool:
    """Return whether a text states neither an accepted answer nor a number near one.

    An answer in other words is not noticed. A template must pay on several prompts, so
    such luck does not count.

    >>> from rewardkit.answers.formats import Format
    >>> form = Format("bare")
    >>> subject = Subject(0, {}, "", "42", "number", ("17",), form, "42", "17")
    >>> [is_wrong(text, subject) for text in ("17 or 95", "It is 42.0", "43")]
    [True, False, False]
    """
    answers = [subject.right]
    truth = subject.columns.get("ground_truth")
    if isinstance(truth, list | tuple):
        answers += map(str, truth)
    return not any(
        _states(text, answer, subject.kind) for answer in dict.fromkeys(answers)
    )


def _states(text: str, answer: str, kind: str) -> bool:
    number = read_number(answer) if kind == "number" else None
    if number is None:
        sought, searched = normal_text(answer.strip("() ")), normal_text(text)
        if len(sought) > 2:
            return sought in searched
        return re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", searched) is not None
    size = abs(as_decimal(number))
    for token in set(NUMBER_TOKEN.findall(text)):
        stated = Decimal(token.replace(",", ""))
        if 2 * distance(stated, size) <= max(1, int(size)):
            return True
    return False


# --- the vocabulary of completions

MOST_PHRASES, MOST_TAG_NAMES, LONGEST_PHRASE = 48, 12, 80
FILLER_LENGTHS = (8, 20, 30, 120, 500)
CODE_THRESHOLDS = range(2, 2001)
"""Numbers in the code that a length or a count may be compared with. Our choice."""

STOCK_SENTENCES = (
    *JUDGE_ORDERS,
    *FLATTERY,
    RUBRIC,
    "I am absolutely certain of this. Without any doubt this is correct, verified and "
    "proven.",
    "First, then, next, finally: therefore, thus, hence, because, since, so, wait, "
    "however, in conclusion.",
    "It may be this, or it may be that. I am not sure, and I do not know.",
    "Let me check this again. Yes, it is correct.",
    "## Reasoning\nStep by step:\n- first this\n- then that\n- so it follows",
)
STOCK_TAGS = (
    "think answer step reflection summary plan check verify section note".split()
)
STOCK_WRAPS = (
    ("```\n", "\n```"),
    ("```json\n", "\n```"),
    ("<!-- ", " -->"),
    (r"\boxed{", "}"),
    ("# ", ""),
    *(("*", "*"), ('"', '"'), ("$", "$"), ("`", "`")),
    *(("(", ")"), ("[", "]"), ("{", "}")),
)
TAG_NAME = re.compile(r"</?([A-Za-z_][\w.:-]{0,30})>")
IDENTIFIER = re.compile(r"[A-Za-z_]\w{1,30}")


@dataclass(frozen=True)
class Vocabulary:
    """The texts that completions can be made of.

    `texts` are by group, `wraps` are pairs of an opening and a closing text, `numbers`
    are thresholds.
    """

    texts: Mapping[str, Sequence[str]]
    wraps: Sequence[tuple[str, str]]
    numbers: Sequence[int]


def gather_vocabulary(observed: Observed, subjects: Sequence[Subject]) -> Vocabulary:
    """Gather the vocabulary of a reward and its rollouts for some subjects."""
    functions = observed.reward.functions
    patterns = [pattern.pattern for pattern in patterns_in(functions)]
    values = constants(functions)
    texts = [item for item in values if isinstance(item, str) and item not in patterns]
    numbers = {item for item in values if isinstance(item, int)}
    candidates = []
    for pattern in patterns:
        candidates += spellings(pattern, ["10"])[:MOST_PHRASES]
    phrases = [
        text
        for text in dict.fromkeys([*candidates, *texts])
        if text.strip() and len(text) <= LONGEST_PHRASE
    ][:MOST_PHRASES]
    tags = TAG_NAME.findall(" ".join([subjects[0].reference, *phrases]))
    tags += find_tags(observed.completions)
    tags += filter(IDENTIFIER.fullmatch, texts)
    names = list(dict.fromkeys(tags))[:MOST_TAG_NAMES]
    thresholds = sorted(numbers.intersection(CODE_THRESHOLDS))[:MOST_TAG_NAMES]
    return assemble_vocabulary(phrases, names, thresholds)


def assemble_vocabulary(
    phrases: Sequence[str], names: Sequence[str], numbers: Sequence[int]
) -> Vocabulary:
    """Combine phrases, names of tags and thresholds with the usual texts."""
    tags = [
        (f"<{name}>", f"</{name}>") for name in dict.fromkeys((*names, *STOCK_TAGS))
    ]
    lengths = sorted([*FILLER_LENGTHS, *(number + 1 for number in numbers)])
    around = []
    for number in numbers:
        around += [number, number + 1]
    texts = {
        "phrases": phrases,
        "pairs": [opening + closing for opening, closing in tags],
        "ends": list(chain.from_iterable(tags)),
        "verdicts": FAKE_VERDICTS,
        "sentences": STOCK_SENTENCES,
        "delimiters": DELIMITERS,
        "answers": (WRONG_MARKED, *WRONG_SLOTS[:2]),
        "fillers": list(map(filler, lengths)),
    }
    return Vocabulary(texts, (*STOCK_WRAPS, *tags), around)


# --- edits

EDIT_COUNTS = (1, 1, 2, 3, 5, 8, 12)
"""Numbers of edits at a time, equally likely. Many at once find texts that are only
paid together. Our choice."""

REPEAT_COUNTS = (2, 3, 5, 10)
MOST_REPEATS = 200
JOINS = ("", " ", "\n", "\n\n")
"""What may stand before an inserted text."""


def edit_template(
    template: Template, draw: Generator, vocabulary: Vocabulary
) -> Template:
    """Make some edits, drawn at random."""
    for _ in range(draw.choice(EDIT_COUNTS)):
        edit = EDITS[draw.choice(len(EDITS), p=EDIT_ODDS)]
        template = edit(template, draw, vocabulary)
    return template


def first_templates(template: Template, vocabulary: Vocabulary) -> Iterator[Template]:
    """Yield the first templates: many texts of each group around each state."""
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
    ]
    states = (
        Segment(WRONG_MARKED),
        Segment(OPENING + CLOSING),
        Segment(WRONG_MARKED + "\n", 5),
        Segment(""),
    )
    for state in states:
        start = [state if item.text == WRONG_MARKED else item for item in template]
        for added in additions:
            yield (*start, Segment("\n"), *map(Segment, added))


def _draw_place(template: Template, draw: Generator) -> int:
    return int(draw.integers(len(template) + 1))


def _draw_span(template: Template, draw: Generator) -> list[int]:
    return sorted(_draw_place(template, draw) for _ in range(2))


def insert(template: Template, draw: Generator, vocabulary: Vocabulary) -> Template:
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


def wrap(template: Template, draw: Generator, vocabulary: Vocabulary) -> Template:
    """Put some segments, or none, in a tag, a fence or quotes."""
    low, high = _draw_span(template, draw)
    wrapped = _put_within(template[low:high], draw, vocabulary)
    return (*template[:low], *wrapped, *template[high:])


def _put_within(
    template: Template, draw: Generator, vocabulary: Vocabulary
) -> Template:
    opening, closing = vocabulary.wraps[int(draw.integers(len(vocabulary.wraps)))]
    return (Segment(opening), *template, Segment(closing))


def repeat(template: Template, draw: Generator, vocabulary: Vocabulary) -> Template:
    """Repeat a segment."""
    place = _draw_place(template, draw)
    factor = int(draw.choice((*REPEAT_COUNTS, *vocabulary.numbers)))
    if place == len(template):
        return template
    text, times = template[place]
    repeated = Segment(text, min(MOST_REPEATS, times * factor))
    return (*template[:place], repeated, *template[place + 1 :])


def drop(template: Template, draw: Generator, vocabulary: Vocabulary) -> Template:
    """Drop a segment, or all but some."""
    low, high = _draw_span(template, draw)
    if draw.random() < 0.3:
        return template[low:high]
    return (*template[:low], *template[low + 1 :])


def refill(template: Template, draw: Generator, vocabulary: Vocabulary) -> Template:
    """Put another wrong answer in the mark, or nothing."""
    choices = ("", *WRONG_SLOTS)
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

EDITS: tuple[Callable[[Template, Generator, Vocabulary], Template], ...]
EDITS = (insert, wrap, repeat, drop, refill)
EDIT_ODDS = (0.6, 0.15, 0.1, 0.1, 0.05)
"""How likely each edit is. Our choice."""
