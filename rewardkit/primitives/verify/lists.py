"""Sets and lists in text: JSON, Python literals, mathematics or plain enumerations, read and compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import eq
from typing import Any

from rewardkit.primitives.json_text import MISSING
from rewardkit.primitives.primitive import true_or_false
from rewardkit.primitives.texts import is_missing, normal_text
from rewardkit.primitives.verify.enumerations import between, separators
from rewardkit.primitives.verify.json_values import json_of
from rewardkit.primitives.verify.numbers import read_number, undressed

LONGEST = 100_000
"""Characters of a text that is read as a set or list; a longer one is no answer that a person would grade."""

DEEPEST = 10
"""Lists inside lists, at the most."""

Key = tuple[str, Any]
"""What an element is compared by: equal elements have equal keys."""


def sets_equal(
    prediction: Any, ground_truth: Any, *, partial: bool = False
) -> float | None:
    r"""1.0 if two sets have the same elements, in any order, else 0.0; duplicates do not count.

    Sets are sequences and sets, or text: a JSON array, a Python literal, ``{1, 2}``,
    ``\{1, 2\}``, "(1, 2)", or elements separated by semicolons, else by commas, with
    "and" before the last. Elements that are numbers are compared as `numbers_equal`
    does, others as `matches`, lists in them by position. A comma always separates:
    "1,234" is two elements unless semicolons do.

    ``partial=True`` gives the share of the elements of either that both have (Jaccard),
    so that a missing and an added one cost the same. A prediction that is no set is
    wrong, a truth that is none is not judged: an empty text, brackets that do not
    match, more than 100,000 characters. ValueError: `partial` is no bool.

    >>> sets_equal(r"\{2, 1.0\}", "[1, 2]"), sets_equal("1 and 5", [1, 2], partial=True)
    (1.0, 0.3333333333333333)
    """
    return _share(prediction, ground_truth, partial, _jaccard)


def lists_equal(
    prediction: Any, ground_truth: Any, *, partial: bool = False
) -> float | None:
    """1.0 if two lists have the same elements in the same order, as often, else 0.0.

    ``partial=True`` gives the share of the positions, of the longer list, that hold the
    same element, so that an element left out costs all behind it. What a list is, how
    elements are compared and what is missing: as in `sets_equal`.

    >>> lists_equal("[1, 2]", "1, 2"), lists_equal("2, 1", "1, 2"), lists_equal("1, 3", "1, 2", partial=True)
    (1.0, 0.0, 0.5)
    """
    return _share(prediction, ground_truth, partial, _places)


def _share(
    prediction: Any,
    ground_truth: Any,
    partial: bool,
    share: Callable[[list[Key], list[Key]], float],
) -> float | None:
    """The share of two lists, or with `partial` not asked for whether it is all of them."""
    true_or_false(partial=partial)
    truth, found = _read(ground_truth), _read(prediction)
    if truth is None or found is None:
        return None if truth is None else 0.0
    same = share(truth, found)
    return same if partial else float(same == 1.0)


def _jaccard(a: list[Key], b: list[Key]) -> float:
    return len({*a} & {*b}) / len({*a, *b}) if a or b else 1.0


def _places(a: list[Key], b: list[Key]) -> float:
    return sum(map(eq, a, b)) / max(len(a), len(b)) if a or b else 1.0


def _read(value: Any) -> list[Key] | None:
    """The keys of the elements, in order; ``None`` where there is no set or list."""
    if is_missing(value) or isinstance(value, Mapping | bytes | bytearray):
        return None
    try:
        if isinstance(value, str):
            parsed = (
                json_of(value)
                if value.lstrip().startswith("[") and len(value) <= LONGEST
                else MISSING
            )
            if parsed is MISSING:  # a Python literal, say
                return (
                    _enumerated(_undressed(value), 1) if len(value) <= LONGEST else None
                )
            value = parsed
        elif hasattr(value, "tolist"):  # arrays
            value = value.tolist()
        return [
            _key(item, 1)
            for item in (
                value if isinstance(value, Sequence | AbstractSet) else [value]
            )
        ]
    except ValueError:
        return None


def _key(value: Any, depth: int) -> Key:
    """Of an object: its number where it is one, else its text as `matches` compares it."""
    if depth > DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, Mapping):
        return "object", frozenset(
            (str(key), _key(item, depth + 1)) for key, item in value.items()
        )
    if isinstance(value, AbstractSet):
        return "set", frozenset(_key(item, depth + 1) for item in value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return "list", tuple(_key(item, depth + 1) for item in value)
    number = read_number(value)
    text = "null" if value is None else str(value)
    return ("text", normal_text(text)) if number is None else ("number", number)


# Braces and spaces of LaTeX, in plain text.
_LATEX = {
    re.compile(r"\\(?:left|right)(?![a-zA-Z])\s*"): "",
    re.compile(r"\\[,;:! ]"): " ",
    re.compile(r"\\([{}])"): r"\1",
    re.compile(
        r"\\(?:emptyset|varnothing)(?![a-zA-Z])|∅|\A\s*(?:frozen)?set\(\)\s*\Z"
    ): "{}",
}


def _undressed(text: str) -> str:
    """In plain text, without mathematics around it."""
    text = undressed(text)
    for pattern, plain in _LATEX.items():
        text = pattern.sub(plain, text)
    return text


_QUOTED = r"""(?:"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+')"""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_TOKEN = re.compile(  # a text in quotes starts an element, and no word is behind it: not in "'tis, 'twas"
    rf"""(?<![^\s(\[{{,;、，；]) {_QUOTED} (?!\s*+(?!and\b)\w)
      | (?P<opening>[(\[{{]) | (?P<closing>[)\]}}]) | (?P<separator>[,、，;；](?:\s*+and\b)?|\band\b)""",
    re.DOTALL | re.VERBOSE,
)


def _enumerated(text: str, depth: int) -> list[Key]:
    """The keys of the elements of an enumeration, with brackets around it or without."""
    places, around = separators(text, _TOKEN)
    if not text or depth > DEEPEST:
        raise ValueError("no enumeration")
    if around:
        text = text[1:-1].strip()
        places = [place for place in separators(text, _TOKEN)[0] if place[0] != "and"]
    kinds = [
        [place for place in places if place[0][0] in kind]
        for kind in (";；", ",、，", "a")
    ]
    chosen, joins = kinds[0] or kinds[1], kinds[2]
    if (
        not chosen or len(joins) == 1
    ):  # "1, 2 and 3", but not "Bonnie and Clyde, Romeo and Juliet"
        chosen = chosen + [
            join for join in joins if not chosen or join.start() >= chosen[-1].end()
        ]
    items = between(text, chosen) if text else []
    return [
        _text_key(item, depth)
        for item in (items[:-1] if items[1:] and not items[-1] else items)
    ]


def _text_key(item: str, depth: int) -> Key:
    if re.fullmatch(_QUOTED, item, re.DOTALL):
        return _key(_ESCAPED.sub(r"\1", item[1:-1]), depth)
    item = _undressed(item)
    if not separators(item, _TOKEN)[1]:
        return _key(item, depth)
    keys = _enumerated(item, depth + 1)
    return ("set", frozenset(keys)) if item[0] == "{" else ("list", tuple(keys))
