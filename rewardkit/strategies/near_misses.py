"""Near misses: answers that are wrong by a little, which must not earn full marks."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from rewardkit.answers.marks import split
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.verify.numbers import as_decimal, read_number
from rewardkit.strategies.special_values import truth_like
from rewardkit.strategies.strategy import Attempt, Strategy, strategy
from rewardkit.strategies.subject import Subject
from rewardkit.strategies.wrong_answers import changed

LONGEST = 80  # characters of a text of which a longer one is another answer for certain
SMALL = 99  # up to here one more or less is more than a hundredth

Change = Callable[[Any], Iterable[str | Decimal]]


def _near(name: str, says: str, **changes: Change) -> Strategy:
    """A probe of answers that are near the right one, by its kind; a number comes as a Decimal."""

    def build(subject: Subject) -> Iterator[str]:
        answer: Any = subject.right.strip()
        if subject.kind == "number" and (number := read_number(answer)) is not None:
            answer = as_decimal(number)
        for value in changes[subject.kind](answer):
            yield subject.format.write(
                value if isinstance(value, str) else _digits(value)
            )

    return Strategy(
        name, "near_misses", build, says, knows="near", kinds=tuple(changes)
    )


def _digits(value: Decimal) -> str:
    return f"{value.normalize():f}"


def _other_digit(value: Decimal) -> list[str]:
    found = re.fullmatch(r"(-?)(\d)(\d+)", _digits(value))
    return [f"{found[1]}{int(found[2]) % 9 + 1}{found[3]}"] if found else []


def _nine_tenths(value: Decimal) -> list[Decimal]:
    small = value == int(value) and abs(value) <= SMALL
    return [value + Decimal("0.9").copy_sign(value)] if small else []


def _fifths(value: Decimal) -> list[Decimal]:
    fifths = [(value * Decimal(share)).to_integral_value() for share in ("1.2", "0.8")]
    return fifths if abs(value) >= 5 else []


def _more_digits(value: Decimal) -> list[str]:
    text = _digits(value)
    return [f"{text}7", f"3{text}"] if text.isdecimal() else []


def _fewer_digits(value: Decimal) -> list[str]:
    text = _digits(value)
    return (
        [text[0], text[1:].lstrip("0") or text[:-1]]
        if re.fullmatch(r"[1-9]\d+", text)
        else []
    )


def _more_letters(text: str) -> list[str]:
    return (
        [f"un{text}", f"{text}less"]
        if len(text) <= LONGEST and not re.search(r"[\n\d]", text)
        else []
    )


def _half(text: str) -> list[str]:
    return [text[: len(text) // 2].rstrip()] if len(text) > 5 else []


def _words_turned(text: str) -> list[str]:
    words = text.split()
    return [" ".join(reversed(words))] if len(set(words)) > 2 else []


def _one_value(text: str) -> Iterator[str]:
    """The object with the last of its values another one, and with the first."""
    whole = json.loads(text)
    places = list(_leaves(whole))
    if len(places) > 1:
        for place in dict.fromkeys((places[-1], places[0])):
            yield _json(_put(whole, {place: changed(_at(whole, place))}))


Place = tuple[str | int, ...]  # keys and numbers of items that lead to a value


def _leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    """Where the values of an object stand that are no objects or lists."""
    if not isinstance(value, dict | list):
        yield place
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(item, (*place, key))


def _at(value: Any, place: Place) -> Any:
    return functools.reduce(lambda inner, key: inner[key], place, value)


def _put(whole: Any, values: Mapping[Place, Any]) -> Any:
    """A copy of an object with other values in some places."""
    whole = copy.deepcopy(whole)
    for (*before, last), value in values.items():
        _at(whole, tuple(before))[last] = value
    return whole


def _one_key(text: str) -> list[str]:
    whole = json.loads(text)
    if not isinstance(whole, dict) or len(whole) < 2:
        return []
    *_, last = whole
    return [_json({key: value for key, value in whole.items() if key != last})]


def _swapped(text: str) -> list[str]:
    """The object with two of its values exchanged that stand behind different keys."""
    whole = json.loads(text)
    places = [place for place in _leaves(whole) if place and isinstance(place[-1], str)]
    for one, other in itertools.combinations(places, 2):
        first, second = _at(whole, one), _at(whole, other)
        if type(first) is type(second) and first != second and one[-1] != other[-1]:
            return [_json(_put(whole, {one: second, other: first}))]
    return []


def _longer_values(text: str) -> list[str]:
    """The object with something added to each of its values."""
    whole = json.loads(text)
    return [_json(_longer(whole))] if isinstance(whole, dict) and whole else []


def _longer(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _longer(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_longer(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return int(f"1{abs(value)}6")
    return f"un{value}less" if isinstance(value, str) else value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.]*\d)")


@strategy(
    "near_misses", "code with any other number in it", knows="near", kinds=("code",)
)
def other_constant(subject: Subject) -> Iterator[Attempt]:
    """Several in the place of one, as code may do the same with some of them."""
    if found := NUMBER.search(subject.right):
        others = (
            int(found[0]) + 7,
            int(found[0]) + 1_000_003,
            1 if int(found[0]) == 0 else 0,
        )
        before, after = subject.right[: found.start()], subject.right[found.end() :]
        yield Attempt.of(
            *(subject.format.write(f"{before}{other}{after}") for other in others)
        )


@strategy("near_misses", "a query for the whole table", knows="near", kinds=("code",))
def whole_table(subject: Subject) -> Iterator[str]:
    found = re.search(
        r"(?is)^\s*select\b.+?\bfrom\s+(\w+).*?\b(where|limit|group|having)\b",
        subject.right,
    )
    if found:
        yield subject.format.write(f"SELECT * FROM {found[1]}")


@strategy(
    "near_misses",
    "the answer with other numbers in it",
    knows="near",
    kinds=("text", "mathematics"),
)
def other_number(subject: Subject) -> Iterator[str]:
    """One other, all of them 0, and of a time of the day the other half."""
    if re.search("[1-9]", subject.right):
        yield subject.format.write(re.sub(r"\d+", "0", subject.right))
    if time := re.fullmatch(r"(\d{1,2}):(\d\d)", subject.right):
        yield subject.format.write(f"{(int(time[1]) + 12) % 24:02}:{time[2]}")
    for found in dict.fromkeys(re.findall(r"\d+", subject.right)):
        yield subject.format.write(
            subject.right.replace(found, str(int(found) + 4).zfill(len(found)), 1)
        )


@strategy(
    "near_misses",
    "a span or box that is far wider, or far away",
    knows="near",
    kinds=("text", "json"),
)
def other_span(subject: Subject) -> Iterator[str]:
    """Two numbers, or four, of which the second half are larger: a span, an interval or a box."""
    between = re.split(r"(\d+(?:\.\d+)?)", subject.right)
    numbers, half = between[1::2], len(between) // 4
    pairs = list(zip(numbers[:half], numbers[half:], strict=False))
    alone = re.fullmatch(
        r"[\s\[\](),;:–-]*", "".join(between[::2]).replace("to", "").replace("s", "")
    )
    if (
        alone
        and len(numbers) in (2, 4)
        and all(float(low) < float(high) for low, high in pairs)
    ):
        far = [str(int(float(high)) * 9 + 9) for high in numbers[half:]]
        dot = [str(int(end) + 1) for end in far]
        for ends in (["0"] * half + far, far + dot, numbers[half:] + numbers[:half]):
            between[1::2] = ends
            yield subject.format.write("".join(between))


@strategy(
    "shotgun",
    "one of the right items over and over",
    knows="near",
    kinds=("list", "json"),
)
def repeated_item(subject: Subject) -> Iterator[str]:
    whole, write = _listed(subject)
    if len(set(map(str, whole))) > 1:
        yield write([whole[0]] * (2 * len(whole)))


def _listed(subject: Subject) -> tuple[list[Any], Callable[[list[Any]], str]]:
    """The items of the right answer, none where it is no list, and what writes others in their place."""
    if subject.kind == "json":
        whole = read_json(subject.right)
        return whole if isinstance(
            whole, list
        ) else [], lambda items: subject.format.write(_json(items))
    found, joint = split(subject.right)
    return found, lambda items: subject.format.write(joint.join(items))


ORDERED = re.compile(
    r"\b(sort|order|rank|arrange|ascending|descending|chronological|sequence|steps?)",
    re.IGNORECASE,
)
"""What a prompt says that asks for an order."""


@strategy(
    "near_misses",
    "the right items in another order",
    knows="near",
    kinds=("list", "json"),
)
def other_order(subject: Subject) -> Iterator[str]:
    if not ORDERED.search(subject.prompt):
        return
    whole, write = _listed(subject)
    if whole[::-1] != whole:
        yield write([*whole[1:], whole[0]])


@strategy(
    "near_misses",
    "a list with a wrong item, exchanged or added",
    knows="near",
    kinds=("list",),
)
def other_item(subject: Subject) -> Iterator[str]:
    whole, write = _listed(subject)
    others = (item for answer in subject.wrong for item in split(answer)[0])
    for item in [other for other in others if other not in whole][:1]:
        yield write([*whole[:-1], item])
        yield write([*whole, item])


@strategy(
    "near_misses",
    "a list with one item more, or one less",
    knows="near",
    kinds=("list", "json"),
)
def one_item(subject: Subject) -> Iterator[str]:
    whole, write = _listed(subject)
    if whole and subject.kind == "json":
        yield write([*whole, changed(whole[-1])])
    if len(whole) > 1:
        yield write(whole[:-1])


@strategy(
    "near_misses", "a number with other decimals", knows="near", kinds=("number",)
)
def other_decimals(subject: Subject) -> Iterator[Attempt]:
    if re.search(r"\.\d", subject.right):
        truth = truth_like(subject.columns.get("ground_truth"), "3.25")
        if truth is not None:
            yield Attempt.of(subject.format.write("3.75"), ground_truth=truth)


@strategy(
    "near_misses", "a half-open interval that is open at the other end", knows="near"
)
def other_end(subject: Subject) -> Iterator[str]:
    found = re.fullmatch(
        r"([\[(])([^\[\](),]+,[^\[\](),]+)([\])])", subject.right.strip()
    )
    if found and found[1] + found[3] in ("[)", "(]"):
        turned = ("(", "]") if found[1] == "[" else ("[", ")")
        yield subject.format.write(found[2].join(turned))


PROBES = (
    _near("digit_changed", "an answer with another first digit", number=_other_digit),
    _near(
        "sign_flipped",
        "the answer with the other sign",
        number=lambda value: [-value] if value else [],
    ),
    _near(
        "a_tenth",
        "a tenth of the answer",
        number=lambda value: [value / 10] if value else [],
    ),
    _near(
        "tenfold",
        "ten times the answer",
        number=lambda value: [value * 10] if value else [],
    ),
    _near("and_nine_tenths", "the answer and nine tenths", number=_nine_tenths),
    _near(
        "one_off",
        "an answer off by one",
        number=lambda value: [value + 1, value - 1] if abs(value) <= SMALL else [],
    ),
    _near("a_fifth_more", "an answer off by a fifth", number=_fifths),
    _near(
        "too_much",
        "a longer answer that contains the right one",
        number=_more_digits,
        text=_more_letters,
    ),
    _near(
        "too_little",
        "a part of the answer",
        number=_fewer_digits,
        text=_half,
        code=_half,
    ),
    _near(
        "plus_one",
        "the answer with something added",
        mathematics=lambda text: [f"{text}+1", f"-({text})"],
    ),
    _near(
        "words_turned", "the words of the answer in another order", code=_words_turned
    ),
    _near("one_value", "an object with one wrong value", json=_one_value),
    _near(
        "longer_values",
        "an object whose values contain the right ones",
        json=_longer_values,
    ),
    _near("one_key", "an object without one of its keys", json=_one_key),
    _near(
        "swapped_values", "an object with two of its values exchanged", json=_swapped
    ),
)
