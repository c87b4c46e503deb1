"""Completions of a search: templates with slots for a prompt's own answers, so that each stays wrong."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import groupby
from typing import NamedTuple

from rewardkit.answers.formats import REASONING
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import as_decimal, distance, read_number
from rewardkit.strategies.subject import Subject

WRONG = "\ue000\ue001\ue002"
"""Slots of three wrong answers: few, so that what each earns can be measured."""

BEFORE, BEHIND, OPENING, CLOSING, TAIL = "\ue003\ue004\ue005\ue006\ue007"
"""Slots of the format: before and behind the reasoning, around the answer, behind it."""

LISTS = {"\ue008": " ", "\ue009": ", ", "\ue00a": " or ", "\ue00b": "\n"}
"""Slots of lists of answers, the right one between two wrong ones -> what stands between them."""

MARKS = "\ue00c"
"""Slot of the same list, each answer in a mark of its own."""

SLOTS = "".join((WRONG, BEFORE, BEHIND, OPENING, CLOSING, TAIL, *LISTS, MARKS))
LISTING = "".join((*LISTS, MARKS))
MARK = OPENING + WRONG[0] + CLOSING

LISTED = ("number", "choice", "text", "mathematics")
"""Kinds of answers of which a list is none: code and JSON may hold one another."""

LONGEST = 20_000
"""Characters of a completion, at the most. Our choice: some five thousand tokens."""

GLUED = re.compile(
    rf"(?<=[^\s<>()\[\]{{}}`*\"'$|,;:.{SLOTS}])[{LISTING}]|[{LISTING}][\w{LISTING}{WRONG}]"
)
"""A list that is run into something else, so that its ends could be read as another answer."""

NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


class Segment(NamedTuple):
    """A part of a completion: a text with slots, so many times."""

    text: str
    times: int = 1


Record = tuple[Segment, ...]
"""A completion as its segments: the same for every subject, in that subject's own answers."""


def plain(subject: Subject, answer: str = WRONG[0]) -> Record:
    """The record of a wrong answer in the subject's format, and no more."""
    reasoning = REASONING if REASONING in subject.format.lead else ""
    return tuple(
        map(Segment, (BEFORE, reasoning, BEHIND, OPENING + answer + CLOSING, TAIL))
    )


def mentions(record: Record) -> bool:
    """Whether the right answer is mentioned, in a list."""
    return any(slot in text for text, _ in record for slot in LISTING)


def filled(record: Record, subject: Subject, place: int | None = 1) -> str:
    """The completion of a record, the right answer at this place of its lists; with ``None`` in none."""
    form = subject.format
    answers = [
        subject.wrong[number % min(3, len(subject.wrong))] for number in range(3)
    ]
    listed = (
        answers
        if place is None
        else [*answers[:place], subject.right, *answers[place:2]]
    )
    before, _, behind = form.lead.partition(REASONING)
    quote = '"' if form.quoted else ""
    slots: dict[str, str | int | None] = {}
    slots |= zip(WRONG, answers, strict=True)
    slots |= {BEFORE: before, BEHIND: behind, TAIL: form.tail}
    slots |= {OPENING: form.opening + quote, CLOSING: quote + form.closing}
    slots |= {slot: between.join(listed) for slot, between in LISTS.items()}
    slots[MARKS] = "\n".join(map(form.marked, listed))
    return _template(record).translate(str.maketrans(slots))


def _template(record: Record) -> str:
    return "".join(text * times for text, times in record)


def written(record: Record, subject: Subject) -> str | None:
    """The completion of a record; ``None`` where it is too long, or not certain to be wrong.

    The right answer stands in lists only, which stand by themselves, between two wrong ones.
    """
    if sum(len(text) * times for text, times in record) > LONGEST:
        return None
    if mentions(record) and (
        subject.kind not in LISTED or GLUED.search(_template(record))
    ):
        return None
    text = filled(record, subject)
    return (
        text
        if len(text) <= LONGEST
        and certainly_wrong(filled(record, subject, None), subject)
        else None
    )


def certainly_wrong(text: str, subject: Subject) -> bool:
    """Whether a text states none of the answers that the truth accepts, nor a number near a right one.

    What states it in other words is not known here: that a record pays on several prompts tells it from luck.

    >>> from rewardkit.answers.formats import Format
    >>> subject = Subject(0, {}, "", "42", "number", ("17",), Format("bare"), "42", "17")
    >>> [certainly_wrong(text, subject) for text in ("17 or 95", "It is 42.0", "43")]
    [True, False, False]
    """
    truth = subject.columns.get("ground_truth")
    listed = map(str, truth) if isinstance(truth, list | tuple) else ()
    return not any(
        _states(text, answer, subject.kind)
        for answer in dict.fromkeys((subject.right, *listed))
    )


def _states(text: str, answer: str, kind: str) -> bool:
    number = read_number(answer) if kind == "number" else None
    if number is None:
        sought, searched = normal_text(answer.strip("() ")), normal_text(text)
        if len(sought) > 2:
            return sought in searched
        return re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", searched) is not None
    size = abs(as_decimal(number))
    found = (Decimal(token.replace(",", "")) for token in set(NUMBER.findall(text)))
    return any(2 * distance(value, size) <= max(1, int(size)) for value in found)


# In words

NAMES = {
    REASONING: "a sentence of reasoning",
    OPENING + CLOSING: "an empty answer",
    BEFORE: "the form before the answer",
    BEHIND: "the form before the answer",
    OPENING: "the opening of the answer",
    CLOSING: "the closing of the answer",
    TAIL: "the form behind the answer",
    **{OPENING + slot + CLOSING: "a wrong answer" for slot in WRONG},
    **dict.fromkeys(WRONG, "a wrong answer without its mark"),
    **{
        f"{OPENING}{slot}{CLOSING}": "a list with the right answer among wrong ones"
        for slot in LISTS
    },
    **dict.fromkeys(LISTING, "a list with the right answer among wrong ones"),
}
PARTS = re.compile(
    "|".join(sorted(map(re.escape, NAMES), key=len, reverse=True))
    + rf"|(?:(?!{REASONING})[^{SLOTS}])+"
)
REPEATED = re.compile(r"(.{1,40}?)\1{2,}(?<=.{12})", re.DOTALL)
LONGEST_SHOWN = 60


def described(record: Record) -> str:
    """What a completion is made of, in plain words.

    >>> described((Segment("<b>", 9), Segment("thus"), Segment(MARK)))
    "writing '<b>' 9 times, 'thus' and a wrong answer"
    """
    parts = [
        name
        for part in PARTS.findall(_template(record))
        if part.strip()
        for name in _named(part)
    ]
    counted = ((name, len([*same])) for name, same in groupby(parts))
    named = [name if count == 1 else f"{name} {count} times" for name, count in counted]
    return f"writing {' and '.join(filter(None, (', '.join(named[:-1]), *named[-1:]))) or 'nothing at all'}"


def _named(part: str) -> list[str]:
    """A slot by its name; a text quoted, what is repeated in it once."""
    if part in NAMES:
        return [NAMES[part]]
    found = REPEATED.search(part)
    if found is None:
        return (
            [repr(part if len(part) <= LONGEST_SHOWN else f"{part[:LONGEST_SHOWN]}...")]
            if part
            else []
        )
    times = f"{found[1]!r} {len(found[0]) // len(found[1])} times"
    return [*_named(part[: found.start()]), times, *_named(part[found.end() :])]
