"""Wrong answers: answers of the same kind as the right one, and certainly wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rapidfuzz import fuzz

from rewardkit.answers.kinds import KINDS, kind_of, options_in
from rewardkit.primitives.extract.letters import read_choice
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import as_decimal, distance, read_number

WRONG = 6  # wrong answers of a subject


def wrong_answers(
    answer: str, kind: str, *, prompt: str = "", others: Sequence[str] = ()
) -> tuple[str, ...]:
    r"""Answers of the same kind, certainly wrong, that share nothing with the right one; plainest first.

    `others` are answers to other prompts: they read as an answer does.

    >>> wrong_answers("B", "choice", prompt="(A) 3\n(B) 5\n(C) 4")
    ('A', 'C')
    """
    if kind == "number":
        return tuple(_wrong_numbers(answer, others))
    if kind == "choice":
        right = read_choice(answer, "ABCDEFGHIJ")
        return tuple(letter for letter in options_in(prompt) if letter != right)
    if kind == "json":
        value = json.loads(answer)
        lists = [
            other
            for other in others
            if isinstance(value, list) and _disjoint(value, read_json(other))
        ]
        return (*lists[:4], json.dumps(changed(value), ensure_ascii=False))
    alike = ("mathematics", "number") if kind == "mathematics" else KINDS
    unlike = sorted(
        {
            other
            for other in others
            if not _overlap(answer, other) and kind_of(other) in alike
        },
        key=lambda other: (fuzz.ratio(answer, other), other),
    )
    made = {"mathematics": "-917", "code": "pass"}.get(kind, "none of these")
    return (*unlike[:4], made)


def _wrong_numbers(answer: str, others: Iterable[str] = ()) -> Iterator[str]:
    """Numbers other than the right one by half of it, which no tolerance forgives, none a part of the other.

    Those of other prompts first.
    """
    right = read_number(answer)
    assert right is not None
    around = re.fullmatch(r"([$€£]?)[-+−]?[\d.,]*\d(\s?%?)", answer.strip())
    before, behind = around.groups() if around else ("", "")
    size = int(abs(as_decimal(right)))
    seen: set[str] = set()
    for text in (
        *others,
        *(str(size * 3 + step) for step in (11, 17, 38, 59, 86, 107, 233)),
    ):
        number = read_number(text)
        if number is None or text in seen or "." in text:
            continue
        seen.add(text)
        far = distance(number, right) * 2 > max(1, size)
        if far and not _overlap(answer, text):
            yield f"{before}{text}{behind}" if text.isdecimal() else text.strip()


def _overlap(answer: str, other: str) -> bool:
    """Whether one is a part of the other, or both say the same."""
    a, b = (
        normal_text(text).replace(",", "").lstrip("-−+$") for text in (answer, other)
    )
    return a in b or b in a


def _disjoint(items: list[Any], others: Any) -> bool:
    """Whether a list has items and none of these."""
    return (
        isinstance(others, list)
        and bool(others)
        and not any(item in items for item in others)
    )


def changed(value: Any) -> Any:
    """A JSON value with every leaf another one of its type; what has no leaves gets one.

    >>> changed({"name": "Ada", "age": 36, "tags": []})
    {'name': 'none of these', 'age': 145, 'tags': ['none']}
    """
    if isinstance(value, dict):
        return {key: changed(item) for key, item in value.items()} or {"none": None}
    if isinstance(value, list):
        return [changed(item) for item in value] or ["none"]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 3 + 37
    return "none of these" if value != "none of these" else "another"
