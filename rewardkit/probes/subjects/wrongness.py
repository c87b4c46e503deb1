"""Wrongness: whether a text is certain not to state the right answer, so that what it earns is a hole."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.math.equal import math_equal
from rewardkit.primitives.verify.numbers import CONTEXT, as_decimal, distance, read_number
from rewardkit.probes.subjects.subject import Subject

__all__ = ["certainly_wrong"]

TOKEN = re.compile(r"\d+(?:,\d+)*(?:\.\d+)?|\.\d+")
LONGEST_NUMBER = 40
"""Characters of a number that is read; a text with a longer one is not certain."""

CARDINAL = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w{2,5}teen|twenty|thirty|fou?rty|"
    r"fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion|dozen)s?\b",
    re.IGNORECASE,
)
"""Words for numbers that are not read: a text with one of them is not certain."""

SAID = {
    "zero": "0",
    "none": "0",
    "nothing": "0",
    "nil": "0",
    "one": "1",
    "half": "1/2",
    "third": "1/3",
    "quarter": "1/4",
}
"""Words that are harmless unless the right answer is just that."""

RECKONED = re.compile(r"\\(?!boxed\b)[A-Za-z]+|[\w)}]\s*[\^*/=]\s*[\w({\\]|\d\s*[-+]\s*\w|√|\d[A-Za-z]\b")
"""What is an expression, whose value is not worked out here."""

OPERATIONS = {
    "+": CONTEXT.add,
    "-": CONTEXT.subtract,
    "−": CONTEXT.subtract,
    "*": CONTEXT.multiply,
    "x": CONTEXT.multiply,
    "×": CONTEXT.multiply,
    r"\times": CONTEXT.multiply,
    r"\cdot": CONTEXT.multiply,
}


def certainly_wrong(text: str, subject: Subject) -> bool:
    """Whether no part of a text can be read as the subject's right answer, nor as one near it.

    Where that is not sure, as with words for large numbers, it is False. All accepted answers count where the
    truth is a list of them.

    >>> from rewardkit.probes.subjects.formats import Format
    >>> subject = Subject(0, {}, "", "42", "number", ("17",), Format("bare"), "42", "17")
    >>> [certainly_wrong(text, subject) for text in ("17 or 95", "4, 2", "21 + 21", "fifty", "43")]
    [True, False, False, False, False]
    """
    others = subject.wrong if subject.kind == "mathematics" else ()
    return all(_is_wrong(text, answer, kind, subject.prompt, others) for answer, kind in _accepted(subject))


def _accepted(subject: Subject) -> list[tuple[str, str]]:
    """The right answer, and the others that the truth lists, with their kinds; items of a list are texts."""
    truth = subject.columns.get("ground_truth")
    listed = [str(item) for item in truth] if isinstance(truth, list | tuple) else []
    kind = "text" if subject.kind == "json" else subject.kind
    return list(dict.fromkeys([(subject.right, subject.kind), *((item, kind) for item in listed)]))


@lru_cache(maxsize=4096)
def _is_wrong(text: str, right: str, kind: str, prompt: str, others: tuple[str, ...]) -> bool:
    if kind == "number":
        return _no_number(text, right)
    if kind == "choice":
        return _no_letter(text, right, prompt)
    if kind == "mathematics":
        return _no_mathematics(text, right, others)
    return _no_text(text, right) and (kind != "json" or _no_entry(text, right))


def _no_text(text: str, right: str) -> bool:
    """Whether a text does not contain another, case, spaces and quotes aside."""
    sought, searched = normal_text(right), normal_text(text)
    if len(sought) > 2:
        return sought not in searched
    return not re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", searched)


def _no_entry(text: str, right: str) -> bool:
    """Whether none of the keys of an object stands in a text with its value."""
    value = json.loads(right)
    entries = value.items() if isinstance(value, dict) else ()
    return not any(
        re.search(rf"{re.escape(json.dumps(key))}\s*:\s*{re.escape(json.dumps(item))}", text)
        for key, item in entries
    )


def _no_letter(text: str, right: str, prompt: str) -> bool:
    """Whether a letter stands nowhere by itself, nor what the prompt offers under it."""
    letter = right.strip("() ")
    alone = rf"(?<![^\W\d_]){re.escape(letter)}(?![^\W\d_])"
    if re.search(alone, text, re.IGNORECASE):
        return False
    offered = re.search(rf"(?:^|[\s(\[]){re.escape(letter)}[).\]:]\s+([^\n(]{{1,200}})", prompt)
    return offered is None or not offered[1].strip() or _no_text(text, offered[1].strip(" ,;"))


def _no_mathematics(text: str, right: str, others: tuple[str, ...]) -> bool:
    """Whether an expression does not stand in a text, nor, beside some others, one that could be equal."""
    sought, searched = re.sub(r"[\s$]", "", right), re.sub(r"[\s$]", "", text)
    if sought in searched if len(sought) > 2 else re.search(rf"(?<!\w){re.escape(right)}(?!\w)", text):
        return False
    for other in sorted(others, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.\\]){re.escape(other)}(?!\w|\.\d)", " ", text)
    if not text.isascii() or CARDINAL.search(text) or RECKONED.search(text):
        return False
    said = [SAID[word] for word in re.findall(r"[a-z]+", text.lower()) if word in SAID]
    return all(_unequal(token, right) for token in dict.fromkeys([*TOKEN.findall(text), *said]))


@lru_cache(maxsize=4096)
def _unequal(token: str, right: str) -> bool:
    return len(token) <= LONGEST_NUMBER and math_equal(token, right) is False


def _no_number(text: str, right: str) -> bool:
    """Whether no number in a text is right, or near: alone, joined to the next one or reckoned with it."""
    number = read_number(right)
    if number is None or CARDINAL.search(text) or (not text.isascii() and any(map(_odd, text))):
        return False
    value = as_decimal(number)
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in SAID and abs(Fraction(SAID[word]) - abs(Fraction(number))) < Fraction(1, 1000):
            return False
    tokens = list(TOKEN.finditer(text))
    return (
        all(len(token[0]) <= LONGEST_NUMBER and _far(token, text, value) for token in tokens)
        and not _joined(tokens, text, re.sub(r"\D", "", right))
        and not any(_reckoned(a, b, text, value) for a, b in pairwise(tokens))
    )


def _odd(character: str) -> bool:
    """Whether it is a number and no digit: ½, ², ①, 三."""
    return character.isnumeric() and not character.isdecimal()


def _values(token: str) -> list[Decimal]:
    """What a token can be read as: commas part thousands, or list; a point is one, or ends a sentence."""
    texts = {token.replace(",", ""), *token.split(","), *re.split("[.,]", token)} - {""}
    return [Decimal(text) for text in sorted(texts)]


def _far(token: re.Match[str], text: str, right: Decimal) -> bool:
    """Whether a number is neither right, whatever its sign, nor near it, nor right as a percentage."""
    sign = -1 if text[: token.start()].rstrip(" $").endswith(("-", "−")) else 1
    whole = Decimal(token[0].replace(",", ""))
    if distance(whole * sign, right) * 2 <= max(1, int(abs(right))):
        return False
    percent = {abs(right) * 100, abs(right) / 100} if "%" in text else set()
    return not {abs(right), *percent}.intersection(_values(token[0]))


def _joined(tokens: list[re.Match[str]], text: str, digits: str) -> bool:
    """Whether tokens with nothing but signs and spaces between them have the right digits together."""
    for place, first in enumerate(tokens):
        run, end = re.sub(r"\D", "", first[0]), first.end()
        for token in tokens[place + 1 :]:
            if len(run) >= len(digits) or re.search(r"[^\W_]", text[end : token.start()]):
                break
            run, end = run + re.sub(r"\D", "", token[0]), token.end()
            if run == digits:
                return True
    return False


def _reckoned(a: re.Match[str], b: re.Match[str], text: str, right: Decimal) -> bool:
    """Whether two numbers with an operator between them come to the right one."""
    between = text[a.end() : b.start()].strip() if b.start() - a.end() <= 12 else ""
    if between in ("^", "**"):  # not worked out: it may be as large as it likes
        return True
    for one in _values(a[0]):
        for other in _values(b[0]):
            if between in OPERATIONS and abs(OPERATIONS[between](one, other)) == abs(right):
                return True
            if between in ("/", "÷", ":", "}{") and other and CONTEXT.divide(one, other) == abs(right):
                return True
    return False
