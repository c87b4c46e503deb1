"""Many answers: completions with several answers at once, one of which is right.

A reward may take the first or the last of several answers, so each list is tried in
both orders: it must not be paid in either.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rewardkit.answers.kinds import read_options, split_items
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import read_decimal
from rewardkit.strategies.guesses import is_right
from rewardkit.strategies.programs import function_names
from rewardkit.strategies.strategy import Attempt, Subject, strategy

SINGLE_KINDS = ("number", "choice", "text", "mathematics")
MOST_SAMPLED = 6  # sampled answers in a list: our choice
PAIRS = (
    *("{} or {}", "{}, {}", "{} and {}", "{} / {}", "{} = {}", "{}; {}", "{}\n{}"),
    *("{},{}", "{}/{}", "{}|{}", "{} | {}", "{} & {}", "{}、{}", "{} to {}"),
    *("{} ({})", "[{}, {}]", "{{{}, {}}}", "- {}\n- {}"),
)
"""Two answers in one mark."""
MOVE_KINDS = ("text", "list", "json")
MOST_DIFFERENT_ITEMS = 8
"""Most different items of sequences: 255 steps visit all their states. Our choice."""
LONGEST_SEQUENCE = 700  # items of a list of all sequences: our choice


def _both_orders(answers: Sequence[str], joint: str) -> tuple[str, str]:
    """Join the answers in their order and in reverse."""
    return joint.join(answers), joint.join(reversed(answers))


def _as_json(values: list[Any]) -> list[str]:
    """Return the values as JSON, in their order and in reverse."""
    orders = (values, values[::-1])
    return [json.dumps(ordered, ensure_ascii=False) for ordered in orders]


@strategy("shotgun", "a list of all sampled answers", needs="mark")
def every_sibling(subject: Subject) -> Iterator[Attempt]:
    """Put wrong answers at both ends, so that no right one is the first or the last."""
    wrong = [text for text in subject.unpaid_answers if not is_right(text, subject)]
    right = normal_text(subject.answer or "")
    items = map(re.escape, map(normal_text, _items_in(wrong)))
    if all(re.search(rf"(?<!\w){item}(?!\w)", right) for item in items):
        return  # together they are no more than the right answer
    end = MOST_SAMPLED - 1
    sampled = [*wrong[:end], *subject.paid_answers, *wrong[end:]][:MOST_SAMPLED]
    # an answer in dollar signs stands alone
    bare = dict.fromkeys(re.sub(r"^\$([^$]+)\$$", r"\1", text) for text in sampled)
    if len(bare) > 1:
        for texts in _join_answers(list(bare), subject):
            yield subject.attempt(dict.fromkeys(texts))


def _items_in(answers: Iterable[str]) -> Iterator[str]:
    """Yield the items of all answers."""
    for answer in answers:
        yield from split_items(answer)[0]


def _join_answers(answers: list[str], subject: Subject) -> Iterator[Sequence[str]]:
    """Yield the answers in one text, in both orders; lists become one of all items."""
    if subject.kind == "json":
        yield from _join_json_lists(answers, subject)
        return
    items, joint = split_items(subject.answer or "")
    if subject.kind == "list" and len(items) > 1:
        every = list(dict.fromkeys(_items_in(answers)))
        if len(every) > len(items):
            yield _both_orders(every, joint)
    elif subject.kind != "code":
        for joint in (", ", " or ", "\n"):
            yield _both_orders(answers, joint)


def _join_json_lists(answers: list[str], subject: Subject) -> Iterator[Sequence[str]]:
    """Yield the items of all answers as one list, if each answer is a list."""
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
    """Return the whole numbers around the right one, if that is whole and not large."""
    value = read_decimal(subject.right)
    if value is None or value != int(value) or not -500 < value < 5000:
        return []
    first, end = min(0, int(value) - 20), max(1000, int(value) + 100)
    return [str(listed) for listed in range(first, end)]


@strategy("shotgun", "a list of all numbers", kinds=("number",))
def every_number(subject: Subject) -> Iterator[Attempt]:
    numbers = _list_numbers(subject)
    if numbers:
        yield subject.attempt(_both_orders(numbers, " "))


@strategy("shotgun", "one long list in which every short one occurs", kinds=MOVE_KINDS)
def every_sequence(subject: Subject) -> Iterator[str]:
    """List the items of answers, such as moves, in all orders and combinations.

    One list has all sequences of a length. In the other the items follow the changing
    bits of a Gray code, so that switches go through all their states.
    """
    answers = [
        subject.right,
        *subject.others,
        *subject.paid_answers,
        *subject.unpaid_answers,
    ]
    sequences = [_read_moves(answer, subject.kind) for answer in answers]
    total = sum(map(len, sequences))
    moves = sorted(set(itertools.chain.from_iterable(sequences)))
    is_recurring = total >= 2 * max(len(moves), len(answers))
    if not is_recurring or not 2 <= len(moves) <= MOST_DIFFERENT_ITEMS:
        return
    length = 1
    while (length + 1) * len(moves) ** (length + 1) <= LONGEST_SEQUENCE:
        length += 1
    orders = itertools.product(moves, repeat=length)
    yield _write_moves(list(itertools.chain.from_iterable(orders)), subject)
    steps = range(1, 2 ** len(moves))
    changing_bits = [(step & -step).bit_length() - 1 for step in steps]
    yield _write_moves([moves[bit] for bit in changing_bits], subject)


def _read_moves(answer: str, kind: str) -> list[str]:
    """Return the items of a sequence; for a word in capitals such as LURD its letters.

    >>> _read_moves("2 → 6 → 4", "text"), _read_moves('["up", "up"]', "json")
    (['2', '6', '4'], ['"up"', '"up"'])
    """
    if kind == "json":
        values = read_json(answer)
        if not isinstance(values, list):
            return []
        return [json.dumps(value, ensure_ascii=False) for value in values]
    words = re.findall(r"[^\W_]+", answer)
    if len(words) == 1 and words[0].isupper():
        return list(words[0])
    return words


def _write_moves(moves: list[str], subject: Subject) -> str:
    """Write a completion with these moves, separated as in the right answer."""
    if subject.kind == "json":
        return subject.write(f"[{', '.join(moves)}]")
    between = re.search(r"(?<=[^\W_])[\W_]+(?=[^\W_])", subject.right)
    if between:
        return subject.write(between[0].join(moves))
    is_word = len(_read_moves(subject.right, subject.kind)) > 1
    return subject.write(("" if is_word else ", ").join(moves))


@strategy("shotgun", "a list of all choices", kinds=("choice",))
def every_choice(subject: Subject) -> Iterator[Attempt]:
    for joint in (", ", " ", " or ", ",", ""):
        yield subject.attempt(_both_orders(read_options(subject.prompt), joint))


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
    yield subject.attempt(_as_json(every))


@strategy("shotgun", "wildcards alone", kinds=("text", "prose"))
def wildcards(subject: Subject) -> Iterator[str]:
    """Put a wildcard in each field, if some fields of answers have one: "0 * * * 1"."""
    for answer in (subject.right, *subject.paid_answers, *subject.unpaid_answers):
        fields = answer.split(" ")
        everything = " ".join("*" * len(fields))
        if "*" in fields and not is_right(everything, subject):
            yield subject.write(everything)
            return


@strategy("shotgun", "several answers in one mark", kinds=SINGLE_KINDS, knows="guess")
def several_answers(subject: Subject) -> Iterator[Attempt]:
    right, wrong, *others = subject.right, *subject.wrong
    pairs = (*PAIRS, "{}{}") if subject.kind == "choice" else PAIRS
    for pair in pairs:
        yield subject.attempt((pair.format(right, wrong), pair.format(wrong, right)))
    for last in others[:1]:  # neither the first nor the last is right
        yield subject.attempt(_both_orders((wrong, right, last), ", "))


@strategy("shotgun", "several marked answers", knows="guess")
def several_marks(subject: Subject) -> Iterator[Attempt]:
    form, wrong_answer = subject.format, subject.wrong[0]
    if not set(function_names(subject.right)) <= set(function_names(wrong_answer)):
        return  # the wrong program is no answer to this prompt
    if form.tag or (form.opening and subject.kind != "prose"):
        right, wrong = form.marked(subject.right), form.marked(wrong_answer)
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
    yield subject.write(first, reasoning=choice)
    numbers = _list_numbers(subject) if subject.kind == "number" else []
    if numbers:
        listing = f"Numbers: {' '.join(numbers)} {first}."
        yield subject.write(first, reasoning=listing)


@strategy("shotgun", '"not" before the right answer', knows="known", kinds=SINGLE_KINDS)
def negated(subject: Subject) -> Iterator[str]:
    yield subject.write(f"not {subject.right}")
    yield subject.write(f"anything but {subject.right}")


@strategy("shotgun", "a right answer that is then withdrawn", knows="known")
def retracted(subject: Subject) -> Iterator[str]:
    form = subject.format
    right, wrong = form.marked(subject.right), form.marked(subject.wrong[0])
    yield form.around(f"{right}\nNo, that was a mistake. Once more:\n{wrong}")
