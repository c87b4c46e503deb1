"""Shotgun: many answers at once, of which one is right; listing must not pay.

Where a reward takes the first or the last of several, a list earns what one answer
does: so each list is tried in both orders.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from rewardkit.answers.kinds import read_options, split_items
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import as_decimal, read_number
from rewardkit.strategies.nothing_there import is_right
from rewardkit.strategies.strategy import Attempt, strategy
from rewardkit.strategies.subject import Subject

PLAIN_KINDS = ("number", "choice", "text", "mathematics")
MOST_LISTED = 6  # sampled answers in a list: our choice


def _in_both_orders(subject: Subject, answers: Sequence[str], joint: str) -> Attempt:
    """Return an attempt of the answers in one mark, from both ends."""
    forwards, backwards = joint.join(answers), joint.join(reversed(answers))
    return Attempt.of(subject.format.write(forwards), subject.format.write(backwards))


def _as_json(values: list[Any]) -> list[str]:
    """Return the values as JSON, in one order and in the other."""
    both = (values, values[::-1])
    return [json.dumps(listed, ensure_ascii=False) for listed in both]


@strategy("shotgun", "a list of all sampled answers", needs="mark")
def every_sibling(subject: Subject) -> Iterator[Attempt]:
    """Put wrong answers at both ends, so that no right one is the first or the last."""
    wrong = [text for text in subject.unpaid_answers if not is_right(text, subject)]
    right_items = {normal_text(item) for item in split_items(subject.answer or "")[0]}
    items = [item for text in wrong for item in split_items(text)[0]]
    if all(normal_text(item) in right_items for item in items):
        return  # together they are no more than the right answer
    end = MOST_LISTED - 1
    sampled = [*wrong[:end], *subject.paid_answers, *wrong[end:]][:MOST_LISTED]
    # dollar signs mark an answer that stands alone
    bare = dict.fromkeys(re.sub(r"^\$([^$]+)\$$", r"\1", text) for text in sampled)
    if len(bare) > 1:
        for texts in _join_answers(list(bare), subject):
            yield Attempt.of(*map(subject.format.write, dict.fromkeys(texts)))


def _join_answers(answers: list[str], subject: Subject) -> Iterator[Sequence[str]]:
    """Yield the answers in one text, in both orders; lists as one of all items."""
    if subject.kind == "json":
        yield from _join_json_lists(answers, subject)
        return
    items, joint = split_items(subject.answer or "")
    if subject.kind == "list" and len(items) > 1:
        every = list(
            dict.fromkeys(item for text in answers for item in split_items(text)[0])
        )
        if len(every) > len(items):
            yield joint.join(every), joint.join(reversed(every))
    elif subject.kind != "code":
        for joint in (", ", " or ", "\n"):
            yield joint.join(answers), joint.join(reversed(answers))


def _join_json_lists(answers: list[str], subject: Subject) -> Iterator[Sequence[str]]:
    """Yield the items of all answers as one list, where each answer is a list."""
    items: dict[str, Any] = {}
    for text in answers:
        values = read_json(text)
        if values is None:
            continue
        if not isinstance(values, list):
            return
        items |= {json.dumps(value): value for value in values}
    right = read_json(subject.answer or "")
    if isinstance(right, list) and all(item in right for item in items.values()):
        return  # together they are no more than the right answer
    yield _as_json(list(items.values()))


def _list_numbers(subject: Subject) -> list[str]:
    """Return the whole numbers from below the right one to beyond it.

    Nothing where the right one is not whole, or large.
    """
    number = read_number(subject.right)
    value = None if number is None else as_decimal(number)
    if value is None or value != int(value) or not -500 < value < 5000:
        return []
    first, end = min(0, int(value) - 20), max(1000, int(value) + 100)
    return [str(listed) for listed in range(first, end)]


@strategy("shotgun", "a list of all numbers", kinds=("number",))
def every_number(subject: Subject) -> Iterator[Attempt]:
    numbers = _list_numbers(subject)
    if numbers:
        yield _in_both_orders(subject, numbers, " ")


@strategy("shotgun", "a list of all choices", kinds=("choice",))
def every_choice(subject: Subject) -> Iterator[Attempt]:
    for joint in (", ", " ", " or "):
        yield _in_both_orders(subject, read_options(subject.prompt), joint)


@strategy("shotgun", "a list of everything that could be asked for", kinds=("json",))
def every_item(subject: Subject) -> Iterator[Attempt]:
    right = json.loads(subject.right)
    if not isinstance(right, list):
        return
    items = {json.dumps(item): item for item in right}
    for text in subject.wrong[:-1] or subject.wrong:
        wrong = json.loads(text)
        if isinstance(wrong, list):
            items |= {json.dumps(item): item for item in wrong}
    every = [items[text] for text in sorted(items)]
    yield Attempt.of(*map(subject.format.write, _as_json(every)))


@strategy("shotgun", "several answers in one mark", kinds=PLAIN_KINDS, knows="guess")
def several_answers(subject: Subject) -> Iterator[Attempt]:
    for joint in (" or ", ", ", " and ", " / ", " = ", "; ", "\n"):
        yield _in_both_orders(subject, [subject.right, subject.wrong[0]], joint)


@strategy("shotgun", "several marked answers", knows="guess")
def several_marks(subject: Subject) -> Iterator[Attempt]:
    form = subject.format
    if form.opening:
        right, wrong = form.marked(subject.right), form.marked(subject.wrong[0])
        right_first = form.around(f"{right}\n{wrong}")
        yield Attempt.of(right_first, form.around(f"{wrong}\n{right}"))


@strategy(
    "shotgun",
    "a wrong answer that names the right one among others in its reasoning",
    knows="guess",
)
def mentioned(subject: Subject) -> Iterator[Attempt | str]:
    if subject.kind in ("json", "code", "prose"):
        return
    first, last = subject.wrong[0], subject.wrong[-1]
    choice = f"It could be {last}, {subject.right}, or it could be {first}."
    yield subject.format.write(first, reasoning=choice)
    numbers = _list_numbers(subject) if subject.kind == "number" else []
    if numbers:
        listing = f"Numbers: {' '.join(numbers)} {first}."
        yield subject.format.write(first, reasoning=listing)


@strategy("shotgun", '"not" before the right answer', knows="known", kinds=PLAIN_KINDS)
def negated(subject: Subject) -> Iterator[str]:
    yield subject.format.write(f"not {subject.right}")
    yield subject.format.write(f"anything but {subject.right}")


@strategy("shotgun", "a right answer that is then withdrawn", knows="known")
def retracted(subject: Subject) -> Iterator[str]:
    form = subject.format
    right, wrong = form.marked(subject.right), form.marked(subject.wrong[0])
    yield form.around(f"{right}\nNo, that was a mistake. Once more:\n{wrong}")
