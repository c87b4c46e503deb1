"""Answers: what kind of answer a truth is, and answers that are certainly wrong beside it."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from rewardkit.primitives.extract import boxed
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.verify.numbers import read_number

KINDS: Final = ("number", "choice", "mathematics", "json", "code", "text")

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
