"""Templates of completions with slots for a prompt's own answers: each stays wrong."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import groupby
from typing import NamedTuple

from rewardkit.answers.formats import REASONING
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import as_decimal, distance, read_number
from rewardkit.strategies.strategy import Subject

WRONG_SLOTS = "\ue000\ue001\ue002"
"""Slots of three wrong answers: few, so that what each earns can be measured."""

BEFORE, BEHIND, OPENING, CLOSING, TAIL = "\ue003\ue004\ue005\ue006\ue007"
"""Slots of the format: around the reasoning, around the answer, behind it."""

LIST_SLOTS = {"\ue008": " ", "\ue009": ", ", "\ue00a": " or ", "\ue00b": "\n"}
"""Slots of lists of answers, the right one between two wrong ones -> separator."""

MARKS_SLOT = "\ue00c"
"""Slot of the same list, each answer in a mark of its own."""

LISTING_SLOTS = "".join((*LIST_SLOTS, MARKS_SLOT))
ALL_SLOTS = WRONG_SLOTS + BEFORE + BEHIND + OPENING + CLOSING + TAIL + LISTING_SLOTS
WRONG_MARKED = OPENING + WRONG_SLOTS[0] + CLOSING

LISTABLE_KINDS = ("number", "choice", "text", "mathematics")
"""Kinds of answers of which a list is none: code and JSON may hold one another."""

LONGEST_SEARCHED = 20_000
"""Characters of a completion. Our choice: some five thousand tokens."""

GLUED_LIST = re.compile(
    rf"(?<=[^\s<>()\[\]{{}}`*\"'$|,;:.{ALL_SLOTS}])[{LISTING_SLOTS}]"
    rf"|[{LISTING_SLOTS}][\w{LISTING_SLOTS}{WRONG_SLOTS}]"
)
"""A list run into something else, so that its ends could be read as another answer."""

NUMBER_TOKEN = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


class Segment(NamedTuple):
    """A part of a completion: a text with slots, so many times."""

    text: str
    times: int = 1


Template = tuple[Segment, ...]
"""A completion as its segments: the same for every subject, in its own answers."""


def plain(subject: Subject, answer: str = WRONG_SLOTS[0]) -> Template:
    """Return the template of a wrong answer in the subject's format, and no more."""
    reasoning = REASONING if REASONING in subject.format.lead else ""
    texts = (BEFORE, reasoning, BEHIND, OPENING + answer + CLOSING, TAIL)
    return tuple(map(Segment, texts))


def mentions_right(template: Template) -> bool:
    """Whether the right answer is mentioned, in a list."""
    slots = set(LISTING_SLOTS)
    return any(not slots.isdisjoint(text) for text, _ in template)


def fill(template: Template, subject: Subject, place: int | None = 1) -> str:
    """Write the completion of a template.

    The right answer stands at this place of its lists; with None in none of them.
    """
    form, wrong = subject.format, subject.wrong
    answers = [wrong[number % min(3, len(wrong))] for number in range(3)]
    listed = answers
    if place is not None:
        listed = [*answers[:place], subject.right, *answers[place:2]]
    before, _, behind = form.lead.partition(REASONING)
    quote = '"' if form.quoted else ""
    slots: dict[str, str | int | None] = {
        BEFORE: before,
        BEHIND: behind,
        OPENING: form.opening + quote,
        CLOSING: quote + form.closing,
        TAIL: form.tail,
        MARKS_SLOT: "\n".join(map(form.marked, listed)),
    }
    slots |= zip(WRONG_SLOTS, answers, strict=True)
    for slot, separator in LIST_SLOTS.items():
        slots[slot] = separator.join(listed)
    return _join(template).translate(str.maketrans(slots))


def _join(template: Template) -> str:
    return "".join(text * times for text, times in template)


def write_wrong(template: Template, subject: Subject) -> str | None:
    """Write the completion of a template, or None.

    None is for what is too long, or not certain to be wrong: the right answer may stand
    in lists only, which stand by themselves, between two wrong ones.
    """
    if sum(len(text) * times for text, times in template) > LONGEST_SEARCHED:
        return None
    if mentions_right(template):
        if subject.kind not in LISTABLE_KINDS or GLUED_LIST.search(_join(template)):
            return None
    text = fill(template, subject)
    without_right = fill(template, subject, None)
    if len(text) > LONGEST_SEARCHED or not is_wrong(without_right, subject):
        return None
    return text


def is_wrong(text: str, subject: Subject) -> bool:
    """Whether a text states no answer that the truth accepts, nor a number near one.

    What states it in other words is not seen here: that a template pays on several
    prompts tells it from luck.

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


# --- in words

LIST_NAME = "a list with the right answer among wrong ones"
PART_NAMES = {
    REASONING: "a sentence of reasoning",
    OPENING + CLOSING: "an empty answer",
    BEFORE: "the form before the answer",
    BEHIND: "the form before the answer",
    OPENING: "the opening of the answer",
    CLOSING: "the closing of the answer",
    TAIL: "the form behind the answer",
    **{OPENING + slot + CLOSING: "a wrong answer" for slot in WRONG_SLOTS},
    **dict.fromkeys(WRONG_SLOTS, "a wrong answer without its mark"),
    **{OPENING + slot + CLOSING: LIST_NAME for slot in LIST_SLOTS},
    **dict.fromkeys(LISTING_SLOTS, LIST_NAME),
}
PART = re.compile(
    "|".join(sorted(map(re.escape, PART_NAMES), key=len, reverse=True))
    + rf"|(?:(?!{REASONING})[^{ALL_SLOTS}])+"
)
REPEATED_TEXT = re.compile(r"(.{1,40}?)\1{2,}(?<=.{12})", re.DOTALL)
LONGEST_QUOTED = 60  # characters of a text that is quoted


def describe_template(template: Template) -> str:
    """Say what a completion is made of, in plain words.

    >>> describe_template((Segment("<b>", 9), Segment("thus"), Segment(WRONG_MARKED)))
    "writing '<b>' 9 times, 'thus' and a wrong answer"
    """
    names: list[str] = []
    for part in PART.findall(_join(template)):
        if part.strip():
            names += _name_part(part)
    counted: list[str] = []
    for name, repeats in groupby(names):
        times = len(list(repeats))
        counted.append(name if times == 1 else f"{name} {times} times")
    if len(counted) > 1:
        counted[-2:] = [f"{counted[-2]} and {counted[-1]}"]
    return f"writing {', '.join(counted) or 'nothing at all'}"


def _name_part(part: str) -> list[str]:
    """Name a slot, or quote a text, with what is repeated in it once."""
    if part in PART_NAMES:
        return [PART_NAMES[part]]
    repeated = REPEATED_TEXT.search(part)
    if repeated is None:
        if len(part) > LONGEST_QUOTED:
            part = f"{part[:LONGEST_QUOTED]}..."
        return [repr(part)] if part else []
    times = f"{repeated[1]!r} {len(repeated[0]) // len(repeated[1])} times"
    return [
        *_name_part(part[: repeated.start()]),
        times,
        *_name_part(part[repeated.end() :]),
    ]
