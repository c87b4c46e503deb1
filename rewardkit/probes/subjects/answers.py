"""Answers: what kind of answer a truth is, and answers that are certainly wrong beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from rapidfuzz import fuzz

from rewardkit.primitives.extract import boxed
from rewardkit.primitives.extract.letters import read_choice
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import as_decimal, distance, read_number

KINDS: Final = ("number", "choice", "mathematics", "json", "code", "text")

WRONG = 6  # wrong answers of a subject
OPTION = re.compile(r"(?:^|[\s(\[])([A-J])[).\]:](?=\s)", re.MULTILINE)
CODE = re.compile(
    r"^\s*(def |class |import |from \w+ import|assert |return |print\(|#include|function )"
    r"|(?i:^\s*select\b.+\bfrom\b)",
    re.M,
)
MATHEMATICS = re.compile(
    r"\\[A-Za-z]+|[\w)}][\^/*]\s*[\w({\\]|[A-Za-z]\s*=\s*\S|^\([^()]*,[^()]*\)$|√|π|∞"
)


def answer_in(truth: Any) -> str | None:
    r"""The answer that a truth states, as a completion would write it; ``None`` where there is none to write.

    Of a worked solution what stands behind ``####`` or in the last box; of a list of accepted answers the
    first; an object as JSON.

    >>> answer_in("48 / 2 = 24, 48 + 24 = 72\n#### 72"), answer_in([]), answer_in(7.0)
    ('72', None, '7.0')
    """
    if isinstance(truth, list | tuple) and all(
        isinstance(item, str | int | float) for item in truth
    ):
        return answer_in(truth[0]) if truth else None
    if isinstance(truth, dict | list | tuple):
        return json.dumps(truth, ensure_ascii=False, default=str)
    if truth is None or not str(truth).strip():
        return None
    text = str(truth).strip()
    if "####" in text:
        return text.rpartition("####")[2].strip() or None
    return boxed()(text) or text


def states_list(completion: str, truth: Any) -> bool:
    """Whether a completion states all the items of a truth as a JSON list, in any order.

    >>> states_list('Labels: ["b", "a"]', ["a", "b"]), states_list("Label: a", ["a", "b"])
    (True, False)
    """
    if not isinstance(truth, list | tuple) or not truth:
        return False
    wanted = sorted(map(str, truth))
    found = (read_json(text) for text in re.findall(r"\[[^\[\]]*\]", completion))
    return any(
        isinstance(value, list) and sorted(map(str, value)) == wanted for value in found
    )


def kind_of(answer: str) -> str:
    r"""The kind of an answer, one of `KINDS`.

    >>> [kind_of(answer) for answer in ("1,250.5", "B", r"\frac{1}{2}", '{"a": 1}', "import os", "Oslo")]
    ['number', 'choice', 'mathematics', 'json', 'code', 'text']
    """
    text = answer.strip()
    if re.fullmatch(r"\(?[A-J](\)?|[).:]\s.*)", text):
        return "choice"
    if (
        re.fullmatch(r"[-+−$€£]*\s?[\d.,]*\d\.?\s?%?", text)
        and read_number(text) is not None
    ):
        return "number"
    if text[:1] in "{[" and read_json(text) is not None:
        return "json"
    if CODE.search(text) or "```" in text:
        return "code"
    return "mathematics" if MATHEMATICS.search(text) and len(text) <= 200 else "text"


def options_in(prompt: str) -> str:
    r"""The letters that a prompt offers, in order; ABCD where it lists none.

    >>> options_in("Which is largest?\n(A) 3\n(B) 5\n(C) 4")
    'ABC'
    """
    found = "".join(sorted(set(OPTION.findall(f"{prompt}\n"))))
    return found if len(found) > 1 else "ABCD"


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
