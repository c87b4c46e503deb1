"""Near misses: answers that are wrong by a little, which must not earn full marks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from rewardkit.primitives.verify.numbers import as_decimal, read_number
from rewardkit.probes.strategies.attempts import Attempt, Subject, probe_of
from rewardkit.probes.strategies.special_values import truth_like
from rewardkit.probes.subjects.answers import changed
from rewardkit.probes.subjects.logged import split

__all__ = ["PROBES"]

LONGEST = 80  # characters of a text of which a longer one is another answer for certain
SMALL = 99  # up to here one more or less is more than a hundredth


def _value(subject: Subject) -> Decimal:
    number = read_number(subject.right)
    assert number is not None
    return as_decimal(number)


def _plain(value: Decimal) -> str:
    return f"{value.normalize():f}"


@probe_of(
    "near_misses", "another first digit", knows="near", kinds=("number",), explained_by=("a_fifth_more",)
)
def digit_changed(subject: Subject) -> Iterator[str]:
    text = _plain(_value(subject))
    if re.fullmatch(r"-?\d{2,}", text):
        place = text.index(next(sign for sign in text if sign.isdigit()))
        yield subject.format.write(text[:place] + str(int(text[place]) % 9 + 1) + text[place + 1 :])


@probe_of(
    "near_misses",
    "the answer with the other sign",
    knows="near",
    kinds=("number",),
    explained_by=("mentioned", "several_answers"),
)
def sign_flipped(subject: Subject) -> Iterator[str]:
    if _value(subject):
        yield subject.format.write(_plain(-_value(subject)))


@probe_of(
    "near_misses",
    "a tenth of the answer",
    knows="near",
    kinds=("number",),
    explained_by=("mentioned", "several_answers", "sign_flipped", "too_little"),
)
def a_tenth(subject: Subject) -> Iterator[str]:
    if _value(subject):
        yield subject.format.write(_plain(_value(subject) / 10))


@probe_of(
    "near_misses",
    "ten times the answer",
    knows="near",
    kinds=("number",),
    explained_by=("mentioned", "several_answers", "too_much"),
)
def tenfold(subject: Subject) -> Iterator[str]:
    if _value(subject):
        yield subject.format.write(_plain(_value(subject) * 10))


@probe_of(
    "near_misses",
    "the answer and nine tenths",
    knows="near",
    kinds=("number",),
    explained_by=("one_off", "mentioned", "several_answers", "too_much"),
)
def and_nine_tenths(subject: Subject) -> Iterator[str]:
    value = _value(subject)
    if value == int(value) and abs(value) <= SMALL:
        yield subject.format.write(_plain(value + Decimal("0.9") * (1 if value >= 0 else -1)))


@probe_of(
    "near_misses", "one more or one less", knows="near", kinds=("number",), explained_by=("a_fifth_more",)
)
def one_off(subject: Subject) -> Iterator[str]:
    if abs(_value(subject)) <= SMALL:
        yield subject.format.write(_plain(_value(subject) + 1))
        yield subject.format.write(_plain(_value(subject) - 1))


@probe_of("near_misses", "a fifth more, or less", knows="near", kinds=("number",))
def a_fifth_more(subject: Subject) -> Iterator[str]:
    value = _value(subject)
    if abs(value) >= 5:
        yield subject.format.write(_plain((value * Decimal("1.2")).to_integral_value()))
        yield subject.format.write(_plain((value * Decimal("0.8")).to_integral_value()))


@probe_of(
    "near_misses",
    "an answer in which the right one is a part",
    knows="near",
    kinds=("number", "text"),
    explained_by=("mentioned", "several_answers", "every_number"),
)
def too_much(subject: Subject) -> Iterator[str]:
    text = subject.right if subject.kind == "text" else _plain(_value(subject))
    if subject.kind == "text":
        if len(text) <= LONGEST and "\n" not in text:
            yield subject.format.write(f"un{text}")
            yield subject.format.write(f"{text}less")
    elif re.fullmatch(r"\d+", text):
        yield subject.format.write(f"{text}7")
        yield subject.format.write(f"3{text}")


@probe_of(
    "near_misses",
    "a part of the answer",
    knows="near",
    kinds=("number", "text", "code"),
    explained_by=("several_answers", "too_much"),
)
def too_little(subject: Subject) -> Iterator[str]:
    text = subject.right.strip()
    if subject.kind == "number":
        text = _plain(_value(subject))
        if re.fullmatch(r"[1-9]\d+", text):
            yield subject.format.write(text[0])
            yield subject.format.write(text[1:].lstrip("0") or text[:-1])
    elif len(text) > 5:
        yield subject.format.write(text[: len(text) // 2].rstrip())


@probe_of(
    "near_misses",
    "the answer with something added",
    knows="near",
    kinds=("mathematics",),
    explained_by=("too_much", "several_answers"),
)
def plus_one(subject: Subject) -> Iterator[str]:
    yield subject.format.write(f"{subject.right}+1")
    yield subject.format.write(f"-({subject.right})")


@probe_of(
    "near_misses",
    "the same number before the point and another behind it",
    knows="near",
    kinds=("number",),
    explained_by=("one_off", "mentioned", "several_answers", "a_fifth_more"),
)
def other_decimals(subject: Subject) -> Iterator[Attempt]:
    if re.search(r"\.\d", subject.right):
        truth = truth_like(subject.columns.get("ground_truth"), "3.25")
        if truth is not None:
            yield Attempt.of(subject.format.write("3.75"), ground_truth=truth)


@probe_of(
    "near_misses",
    "the words of the answer in another order",
    knows="near",
    kinds=("code",),
    explained_by=("mentioned",),
)
def words_turned(subject: Subject) -> Iterator[str]:
    words = subject.right.split()
    if len(set(words)) > 2:
        yield subject.format.write(" ".join(reversed(words)))


@probe_of(
    "near_misses",
    "a list with one item missing, or another one",
    knows="near",
    kinds=("json", "list"),
    explained_by=("every_sibling", "every_item", "copied_from_prompt"),
)
def one_item(subject: Subject) -> Iterator[str]:
    if subject.kind == "list":
        items, joint = split(subject.right) or ([subject.right], ", ")
        others = [item for answer in subject.wrong for item in (split(answer) or ([answer], ""))[0]]
        yield subject.format.write(joint.join(items[:-1]))
        for item in [other for other in others if other not in items][:1]:
            yield subject.format.write(joint.join([*items[:-1], item]))
        return
    whole = json.loads(subject.right)
    if isinstance(whole, list) and whole:
        yield subject.format.write(json.dumps([*whole, changed(whole[-1])], ensure_ascii=False))
    if isinstance(whole, list) and len(whole) > 1:
        yield subject.format.write(json.dumps(whole[:-1], ensure_ascii=False))


@probe_of(
    "near_misses",
    "a half-open interval that is open at the other end",
    knows="near",
    explained_by=("mentioned", "several_answers", "one_value"),
)
def other_end(subject: Subject) -> Iterator[str]:
    found = re.fullmatch(r"([\[(])([^\[\](),]+,[^\[\](),]+)([\])])", subject.right.strip())
    if found and found[1] + found[3] in ("[)", "(]"):
        turned = ("(", "]") if found[1] == "[" else ("[", ")")
        yield subject.format.write(found[2].join(turned))


@probe_of("near_misses", "an object with one wrong value", knows="near", kinds=("json",))
def one_value(subject: Subject) -> Iterator[str]:
    whole = json.loads(subject.right)
    wrong = _one_changed(whole)
    if wrong is not None and _leaves(whole) > 1:
        yield subject.format.write(json.dumps(wrong, ensure_ascii=False))


def _leaves(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_leaves, value.values() if isinstance(value, dict) else value))
    return 1


def _one_changed(value: Any) -> Any:
    """The object with the last of its values another one."""
    if isinstance(value, dict) and value:
        *_, last = value
        return {**value, last: changed(value[last])}
    return [*value[:-1], changed(value[-1])] if isinstance(value, list) and value else None


PROBES = (
    digit_changed,
    sign_flipped,
    a_tenth,
    tenfold,
    and_nine_tenths,
    one_off,
    a_fifth_more,
    too_much,
    too_little,
    plus_one,
    other_decimals,
    words_turned,
    one_item,
    other_end,
    one_value,
)
