"""Wrong answers: answers of the same kind as the right one, and certainly wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rapidfuzz import fuzz

from rewardkit.answers.kinds import KINDS, OPTION_LETTERS, kind_of, read_options
from rewardkit.primitives.extract.letters import read_choice
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import as_decimal, distance, read_number

MOST_FROM_PROMPTS = 4  # answers to other prompts that are taken: our choice
STAND_INS = {"mathematics": "-917", "code": "pass"}
"""Kind -> an answer that is right nowhere; "none of these" for other kinds."""


def wrong_answers(
    answer: str, kind: str, *, prompt: str = "", others: Sequence[str] = ()
) -> tuple[str, ...]:
    r"""Return certainly wrong answers of the same kind, the plainest first.

    They share nothing with the right one.

    Args:
        answer: The right answer.
        kind: Its kind.
        prompt: The prompt, which may list the options of a choice.
        others: Right answers to other prompts, which read as an answer does.

    >>> wrong_answers("B", "choice", prompt="(A) 3\n(B) 5\n(C) 4")
    ('A', 'C')
    """
    if kind == "number":
        return tuple(_wrong_numbers(answer, others))
    if kind == "choice":
        right = read_choice(answer, OPTION_LETTERS)
        return tuple(letter for letter in read_options(prompt) if letter != right)
    if kind == "json":
        value = json.loads(answer)
        lists = [text for text in others if _is_disjoint(value, read_json(text))]
        changed = json.dumps(change_values(value), ensure_ascii=False)
        return (*lists[:MOST_FROM_PROMPTS], changed)
    alike = ("mathematics", "number") if kind == "mathematics" else KINDS
    unlike = [
        text
        for text in dict.fromkeys(others)
        if not _overlap(answer, text) and kind_of(text) in alike
    ]
    unlike.sort(key=lambda text: (fuzz.ratio(answer, text), text))
    return (*unlike[:MOST_FROM_PROMPTS], STAND_INS.get(kind, "none of these"))


def _wrong_numbers(answer: str, others: Iterable[str]) -> Iterator[str]:
    """Yield numbers off by half the right one, which no tolerance forgives.

    None is a part of the other. Those of other prompts come first.
    """
    right = read_number(answer)
    assert right is not None
    before, behind = "", ""
    units = re.fullmatch(r"([$€£]?)[-+−]?[\d.,]*\d(\s?%?)", answer.strip())
    if units:
        before, behind = units.groups()
    size = int(abs(as_decimal(right)))
    steps = (11, 17, 38, 59, 86, 107, 233)
    for text in dict.fromkeys([*others, *(str(size * 3 + step) for step in steps)]):
        number = read_number(text)
        if number is None or "." in text or _overlap(answer, text):
            continue
        if distance(number, right) * 2 > max(1, size):
            yield f"{before}{text}{behind}" if text.isdecimal() else text.strip()


def _overlap(answer: str, other: str) -> bool:
    """Whether one text is a part of the other, or both say the same."""
    first, second = (
        normal_text(text).replace(",", "").lstrip("-−+$") for text in (answer, other)
    )
    return first in second or second in first


def _is_disjoint(items: Any, others: Any) -> bool:
    """Whether both are lists, and no item of the second is in the first."""
    if not isinstance(items, list) or not isinstance(others, list) or not others:
        return False
    return not any(item in items for item in others)


def change_values(value: Any) -> Any:
    """Return a JSON value with every leaf another one of its type.

    What has no leaves gets one.

    >>> change_values({"name": "Ada", "age": 36, "tags": []})
    {'name': 'none of these', 'age': 145, 'tags': ['none']}
    """
    if isinstance(value, dict):
        changed = {key: change_values(child) for key, child in value.items()}
        return changed or {"none": None}
    if isinstance(value, list):
        return [change_values(child) for child in value] or ["none"]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 3 + 37
    return "none of these" if value != "none of these" else "another"
