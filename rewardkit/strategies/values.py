"""Values: lists and objects that are wrong in one place, and values that code forgets.

Code forgets NaN and infinity, and truths that are 0, negative or empty.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from rewardkit.answers.kinds import ESTIMATE, LIST_MARK, letters_of, split_items
from rewardkit.answers.truth_column import NO_TRUTH_COLUMNS
from rewardkit.plain import is_number
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.verify.numbers import read_decimal
from rewardkit.strategies.guesses import NUMERIC_KINDS
from rewardkit.strategies.strategy import (
    STAND_IN,
    Attempt,
    Expects,
    Strategy,
    Subject,
    change_values,
    near_miss,
    strategies_of_texts,
    strategy,
)

Place = tuple[str | int, ...]
"""Keys and positions that lead to a value in an object."""

ORDER_ASKED = re.compile(
    r"\b(sort|order|rank|arrange|ascending|descending|chronological|sequence|steps?)",
    re.IGNORECASE,
)
"""Words of prompts that ask for an order."""


LISTS = ("list", "json")
"""Kinds of answers that have items."""
MOST_INNER_OBJECTS = 3
"""Nested objects of which a key is left out. Our choice."""


def _write(subject: Subject, value: Any) -> str:
    return subject.write(json.dumps(value, ensure_ascii=False))


# --- objects


@near_miss("an object with one wrong value", kinds=("json",))
def one_value(subject: Subject) -> Iterator[str]:
    """Change the last of several values, and the first."""
    right = json.loads(subject.right)
    places = list(_find_leaves(right))
    if len(places) > 1:
        for place in dict.fromkeys((places[-1], places[0])):
            other = change_values(_value_at(right, place))
            yield _write(subject, with_values(right, {place: other}))


BESIDE = ("confidence", "certainty")
"""Keys whose values do not make an answer right or wrong."""


def _find_leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the places of all values that are neither objects nor lists."""
    if isinstance(value, dict):
        children = [pair for pair in value.items() if pair[0].lower() not in BESIDE]
    elif isinstance(value, list):
        children = list(enumerate(value))
    else:
        yield place
        return
    for key, child in children:
        yield from _find_leaves(child, (*place, key))


def _value_at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def with_values(value: Any, values: dict[Place, Any]) -> Any:
    """Return a copy of a JSON value with other values in some places."""
    changed = copy.deepcopy(value)
    for (*path, last), new_value in values.items():
        _value_at(changed, tuple(path))[last] = new_value
    return changed


@near_miss("an object whose values contain the right ones", kinds=("json",))
def longer_values(subject: Subject) -> Iterator[str]:
    right = json.loads(subject.right)
    if isinstance(right, dict) and right:
        yield _write(subject, _extend_values(right))


def _extend_values(value: Any) -> Any:
    """Return a copy with something added to each value."""
    if isinstance(value, dict):
        return {key: _extend_values(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_extend_values(child) for child in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return int(f"1{abs(value)}6")
    return f"un{value}less" if isinstance(value, str) else value


@near_miss("an object without one of its keys", kinds=("json",))
def one_key(subject: Subject) -> Iterator[str]:
    """Leave out the last key of the object, then of the first within it."""
    right = json.loads(subject.right)
    for place in itertools.islice(_find_objects(right), MOST_INNER_OBJECTS):
        changed = copy.deepcopy(right)
        inner = _value_at(changed, place)
        keys = [key for key in inner if key.lower() not in BESIDE]
        if len(keys) > 1:
            del inner[keys[-1]]
            yield _write(subject, changed)


def _find_objects(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the places of an object and of those that are values in it."""
    if isinstance(value, dict):
        yield place
        for key, child in value.items():
            yield from _find_objects(child, (*place, key))


@near_miss("an object with two of its values exchanged", kinds=("json",))
def swapped_values(subject: Subject) -> Iterator[str]:
    """Exchange two different values of one type that stand behind different keys."""
    right = json.loads(subject.right)
    leaves = _find_leaves(right)
    named = [place for place in leaves if place and isinstance(place[-1], str)]
    for here, other in itertools.combinations(named, 2):
        first, second = _value_at(right, here), _value_at(right, other)
        is_different = type(first) is type(second) and first != second
        if is_different and here[-1] != other[-1]:
            yield _write(subject, with_values(right, {here: second, other: first}))
            return


# --- lists


FENCED = re.compile(r"(?s)(\s*```\w*[ \t]*\r?\n)(.*?)(\s*```\s*)")
"""A list in a fence."""
RULED = re.compile(r"[-+=|`\s]{3,}")
"""A drawn line, which is no item."""


def _split_fence(answer: str) -> tuple[str, str, str]:
    """Split an answer into what opens a fence, its content, and what closes it."""
    fenced = FENCED.fullmatch(answer)
    return (fenced[1], fenced[2], fenced[3]) if fenced else ("", answer, "")


def _read_items(answer: str) -> list[str]:
    """Return the items of a list that is not JSON."""
    items, _ = split_items(_split_fence(answer)[1])
    return [item for item in items if not RULED.fullmatch(item)]


def _list_items(subject: Subject) -> list[Any]:
    """Return the items of the right answer; none if it is an object."""
    if subject.kind != "json":
        return _read_items(subject.right)
    right = read_json(subject.right)
    return right if isinstance(right, list) else []


def _write_items(subject: Subject, items: list[Any]) -> str:
    """Write a completion with these items in place of the right ones."""
    if subject.kind == "json":
        return _write(subject, items)
    opening, content, closing = _split_fence(subject.right)
    _, joint = split_items(content)
    return subject.write(f"{opening}{joint.join(items)}{closing}")


@strategy("shotgun", "one of the right items over and over", knows="near", kinds=LISTS)
def repeated_item(subject: Subject) -> Iterator[str]:
    items = _list_items(subject)
    if len(set(map(str, items))) > 1:
        yield _write_items(subject, items[:1] * (2 * len(items)))


@near_miss("the right items in another order", kinds=(*LISTS, "prose"))
def other_order(subject: Subject) -> Iterator[str]:
    """Put the first item last; the numbers of a list stay where they are."""
    if not ORDER_ASKED.search(subject.prompt):
        return
    marked = list(re.finditer(LIST_MARK, subject.right))
    if len(marked) > 1:
        turned = iter([*marked[1:], marked[0]])
        yield subject.write(
            re.sub(
                LIST_MARK,
                lambda item: item[0].replace(item[1], next(turned)[1]),
                subject.right,
            )
        )
        return
    items = _list_items(subject) if subject.kind in LISTS else []
    if items[::-1] != items:
        yield _write_items(subject, items[1:] + items[:1])


@near_miss("a list with a wrong item, exchanged or added", kinds=("list",))
def other_item(subject: Subject) -> Iterator[str]:
    items = _list_items(subject)
    letters = {letters_of(item) for item in items}
    for answer in subject.wrong:
        for wrong_item in _read_items(answer):
            if letters_of(wrong_item) not in letters:
                yield _write_items(subject, [*items[:-1], wrong_item])
                if answer != STAND_IN:  # which may pass for words behind the list
                    yield _write_items(subject, [*items, wrong_item])
                return


@near_miss("a list with one item more", kinds=("json",))
def one_item(subject: Subject) -> Iterator[str]:
    items = _list_items(subject)
    if items:
        yield _write_items(subject, [*items, change_values(items[-1])])


@near_miss("a list that leaves right items out", kinds=LISTS)
def fewer_items(subject: Subject) -> Iterator[Attempt | str]:
    """Leave out the last item, and all but the first one.

    Without a truth the right answer of the log may leave some out itself. Where another
    column lists all, the longest one that is paid is taken, and both are tried
    together: its last item may be wrong.
    """
    if subject.columns.get("ground_truth") or subject.kind == "list":
        yield from _shorten(subject, subject.right)
    elif has_listed(subject):
        answers = [subject.right, *subject.paid_answers]
        longest = max(answers, key=lambda answer: len(find_items(answer)))
        shortened = tuple(_shorten(subject, longest))
        if shortened:
            yield Attempt(shortened)


def _shorten(subject: Subject, answer: str) -> Iterator[str]:
    items = find_items(answer)
    shorter = [items[:-1], items[:1]]
    for fewer in shorter[: max(0, len(items) - 1)]:
        if subject.kind == "json":
            value = read_json(answer)
            place = _place_of_list(value)
            yield _write(subject, with_values([value], {(0, *place): fewer})[0])
        else:
            opening, content, closing = _split_fence(answer)
            _, joint = split_items(content)
            yield subject.write(f"{opening}{joint.join(fewer)}{closing}")


def find_items(answer: str) -> list[Any]:
    """Return the items of a list, or of the only list of an object; [] of others.

    >>> find_items('{"items": [{"name": "a"}, {"name": "b"}]}'), find_items("a, b")
    ([{'name': 'a'}, {'name': 'b'}], ['a', 'b'])
    """
    value = read_json(answer)
    if value is None:
        return _read_items(answer)
    items = _value_at(value, _place_of_list(value))
    return items if isinstance(items, list) else []


def has_listed(subject: Subject) -> bool:
    """Return whether a column lists as many items as any paid answer, and such ones.

    Objects have the same keys, and each has a value of one that is listed.
    """
    answers = [find_items(answer) for answer in (subject.right, *subject.paid_answers)]
    if subject.kind != "json" or not answers[0]:
        return False
    for name in subject.columns.keys() - NO_TRUTH_COLUMNS - {"ground_truth"}:
        text = subject.columns[name]
        if not isinstance(text, str) or not text.lstrip().startswith(("{", "[")):
            continue
        listed = find_items(text)
        is_long = len(listed) >= max(2, *map(len, answers))
        if is_long and all(_is_like_any(item, listed) for item in answers[0]):
            return True
    return False


def _is_like_any(item: Any, listed: Sequence[Any]) -> bool:
    """Return whether an item is listed, of objects whether they share a value."""
    if not isinstance(item, dict):
        return letters_of(str(item)) in {letters_of(str(other)) for other in listed}
    values = {(key, letters_of(str(value))) for key, value in item.items()}
    for other in listed:
        if isinstance(other, dict) and other.keys() == item.keys():
            for key, value in other.items():
                if (key, letters_of(str(value))) in values:
                    return True
    return False


def _place_of_list(value: Any) -> Place:
    """Return the place of the only list in an object; () where there is none."""
    if not isinstance(value, dict):
        return ()
    keys = [key for key, child in value.items() if isinstance(child, list)]
    return (keys[0],) if len(keys) == 1 else ()


# --- answers that are far off


OTHER_DIGITS = str.maketrans("0123456789", "5678901234")


def far_answers(subject: Subject) -> Iterator[str]:
    """Write answers that share little more than the form with the right one.

    A number has other digits. A list or object of three or more values has one right
    value, the first or the last. A text keeps one letter.
    """
    text = subject.right.strip()
    if subject.kind == "number":
        first = re.search(r"[1-9]", text)
        if first:  # the number changes by at least half
            before, digit = text[: first.start()], "1" if first[0] >= "5" else "9"
            rest = text[first.end() :].translate(OTHER_DIGITS)
            yield subject.write(f"{before}{digit}{rest}")
    elif subject.kind == "json":
        value = json.loads(text)
        places = list(_find_leaves(value))
        if len(places) > 2:
            changed = change_values(value)
            for place in (places[0], places[-1]):
                right = {place: _value_at(value, place)}
                yield _write(subject, with_values(changed, right))
    elif subject.kind == "list":
        items = _list_items(subject)
        if len(items) > 2 and items.count(items[0]) < len(items):
            yield _write_items(subject, [items[0]] * len(items))
            yield _write_items(subject, [items[-1]] * len(items))
    elif subject.kind == "text" and len(text) > 5:
        yield from map(subject.write, (text[0], text[-1]))


# --- special values


def truth_like(truth: Any, answer: str) -> Any:
    r"""Return a truth of the same form with another answer, or None.

    >>> truth_like("6 * 7\n#### 42", "0"), truth_like(42, "-3"), truth_like(["42"], "0")
    ('6 * 7\n#### 0', -3, ['0'])
    """
    if isinstance(truth, list):
        return [truth_like(truth[0], answer)] if len(truth) == 1 else None
    if is_number(truth):
        return type(truth)(answer) if answer else None
    if not isinstance(truth, str) or r"\boxed" in truth:
        return None
    head, mark, _ = truth.rpartition("####")
    return f"{head}{mark} {answer}" if mark else answer


def _replace_items(subject: Subject, value: str) -> Iterator[str]:
    """Write a value in place of the answer, or of each item of a list."""
    items, joint = split_items(subject.right)
    if value.casefold() != subject.right.casefold():
        yield subject.write(joint.join([value] * len(items)))


_value = strategies_of_texts("special_values", _replace_items)
_number_value = strategies_of_texts(
    "special_values", _replace_items, kinds=NUMERIC_KINDS
)
SPECIAL_VALUES = (
    _number_value("not_a_number", "'NaN' for an answer", "NaN", "nan", "-nan"),
    _number_value(
        "infinity",
        "infinity for an answer",
        *("Infinity", "inf", "-inf", "1e999", "-1e999"),
    ),
    _value("nothing_named", "a word for nothing", "None", "null", "N/A", "undefined"),
    _value(
        "many_digits", "a number of thousands of digits", "9" * 5000, kinds=("number",)
    ),
)


def _against(
    name: str, says: str, truth: str, *answers: str, expects: Expects = "wrong"
) -> Strategy:
    """Make a strategy of answers against another truth.

    `truth` and `answers` may contain {size}, the absolute value of the right answer,
    and {right}, the right answer.
    """

    def build(subject: Subject) -> Iterator[Attempt]:
        size = abs(int(read_decimal(subject.right) or 0))
        right = "9" if subject.right == "0" else subject.right
        values = {"size": size or 7, "right": right}
        own_truth = subject.columns.get("ground_truth")
        other_truth = truth_like(own_truth, truth.format(**values))
        if other_truth is None:
            return
        for answer in answers:
            completion = subject.write(answer.format(**values))
            yield Attempt.of(completion, ground_truth=other_truth)

    return Strategy(
        name, "special_values", build, says, expects=expects, kinds=("number",)
    )


AGAINST_TRUTHS = (
    _against("zero_is_right", "the right answer 0", "0", "0", expects="right"),
    _against(
        "nothing_for_zero", "no answer where 0 is right", "0", "", "nothing", "{right}"
    ),
    _against(
        "negative_is_right",
        "a right answer that is negative",
        "-{size}",
        "-{size}",
        expects="right",
    ),
    _against(
        "sign_lost",
        "a positive answer where a negative one is right",
        "-{size}",
        "{size}",
    ),
)


@strategy("special_values", "any answer where the truth is empty")
def empty_truth(subject: Subject) -> Iterator[Attempt]:
    truth = subject.columns.get("ground_truth")
    if truth and isinstance(truth, str) and subject.kind != ESTIMATE:
        for answer in (subject.wrong[0], subject.right):
            yield Attempt.of(subject.write(answer), ground_truth="")
        for text in ("", "I do not know."):
            yield Attempt.of(text, ground_truth="")


@near_miss("a number with other decimals", kinds=("number", "text"))
def other_decimals(subject: Subject) -> Iterator[Attempt]:
    answer, truth = subject.right.strip(), subject.columns.get("ground_truth")
    amount = re.fullmatch(r"([^\d.]*)\d+\.\d+([^\d.]*)", answer)
    if amount:
        right, wrong = (
            f"{amount[1]}{number}{amount[2]}" for number in ("3.25", "3.75")
        )
        has_unit = str(truth).strip() == answer  # else it is a number alone
        truth = truth_like(truth, right if has_unit else "3.25")
        if truth is not None:
            yield Attempt.of(subject.write(wrong), ground_truth=truth)
