"""Sets and lists in text: JSON, Python literals, mathematics or plain enumerations, read and compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from rewardkit.primitives.factories import true_or_false
from rewardkit.primitives.texts import is_missing, normal_text
from rewardkit.primitives.verify.json_values import MISSING, json_of
from rewardkit.primitives.verify.numbers import read_number

__all__ = ["lists_equal", "sets_equal"]

LONGEST = 100_000
"""Characters of a text that is read as a set or list; a longer one is no answer that a person would grade."""

DEEPEST = 10
"""Lists inside lists, at the most."""

Key = tuple[str, Any]
"""What an element is compared by: equal elements have equal keys."""


def sets_equal(prediction: Any, ground_truth: Any, *, partial: bool = False) -> float | None:
    r"""1.0 if two sets have the same elements, in any order, else 0.0; duplicates do not count.

    Sets are sequences and sets, or text: a JSON array, a Python literal, ``{1, 2}``, ``\{1, 2\}``, "(1, 2)",
    or elements separated by semicolons, else by commas, with "and" before the last. Elements that are numbers
    are compared as `numbers_equal` does, others as `matches`, lists in them by position. A comma always
    separates: "1,234" is two elements unless semicolons do.

    ``partial=True`` gives the share of the elements of either that both have (Jaccard), so that a missing and
    an added one cost the same. A prediction that is no set is wrong, a truth that is none is not judged: an
    empty text, brackets that do not match, more than 100,000 characters. ValueError: `partial` is no bool.

    >>> sets_equal(r"\{2, 1.0\}", "[1, 2]"), sets_equal("1 and 5", [1, 2], partial=True)
    (1.0, 0.3333333333333333)
    """
    return _share(prediction, ground_truth, partial, _jaccard)


def lists_equal(prediction: Any, ground_truth: Any, *, partial: bool = False) -> float | None:
    """1.0 if two lists have the same elements in the same order, as often, else 0.0.

    ``partial=True`` gives the share of the positions, of the longer list, that hold the same element, so that
    an element left out costs all behind it. What a list is, how elements are compared and what is missing: as
    in `sets_equal`.

    >>> lists_equal("[1, 2]", "1, 2"), lists_equal("2, 1", "1, 2"), lists_equal("1, 3", "1, 2", partial=True)
    (1.0, 0.0, 0.5)
    """
    return _share(prediction, ground_truth, partial, _places)


Share = Callable[[list[Key], list[Key]], float]


def _share(prediction: Any, ground_truth: Any, partial: bool, share: Share) -> float | None:
    """The share of two lists, or with `partial` not asked for whether it is all of them."""
    true_or_false(partial=partial)
    truth, found = _read(ground_truth), _read(prediction)
    if truth is None or found is None:
        return None if truth is None else 0.0
    alike = share(truth, found)
    return alike if partial else float(alike == 1.0)


def _jaccard(a: list[Key], b: list[Key]) -> float:
    either = {*a, *b}
    return len(set(a) & set(b)) / len(either) if either else 1.0


def _places(a: list[Key], b: list[Key]) -> float:
    same = sum(x == y for x, y in zip(a, b, strict=False))
    return same / max(len(a), len(b)) if a or b else 1.0


class _Unreadable(Exception):
    """Not a set or list."""


def _read(value: Any) -> list[Key] | None:
    """The keys of the elements, in order; ``None`` where there is no set or list."""
    if is_missing(value) or isinstance(value, Mapping | bytes | bytearray):
        return None
    try:
        if isinstance(value, str):
            return _read_text(value) if len(value) <= LONGEST else None
        if hasattr(value, "tolist") and not isinstance(value, np.generic):  # arrays
            value = value.tolist()
        if not isinstance(value, Sequence | AbstractSet) or isinstance(value, str):
            value = [value]
        return [_object_key(item, 1) for item in value]
    except _Unreadable:
        return None


def _read_text(text: str) -> list[Key]:
    if text.lstrip().startswith("["):
        value = json_of(text)
        if value is not MISSING:  # else a Python literal, say
            return [_object_key(item, 1) for item in value]
    return _elements(_undressed(text), 1)[1]


def _object_key(value: Any, depth: int) -> Key:
    if depth > DEEPEST:
        raise _Unreadable
    if isinstance(value, Mapping):
        return "object", frozenset((str(key), _object_key(item, depth + 1)) for key, item in value.items())
    if isinstance(value, AbstractSet):
        return "set", frozenset(_object_key(item, depth + 1) for item in value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return "list", tuple(_object_key(item, depth + 1) for item in value)
    return _key("null" if value is None else value)


def _key(value: Any) -> Key:
    """Of a single element: its number where it is one, else its text as `matches` compares it."""
    number = read_number(value)
    return ("text", normal_text(str(value))) if number is None else ("number", number)


# Braces and spaces of LaTeX, in plain text.
_LATEX = {
    re.compile(r"\\(?:left|right)(?![a-zA-Z])\s*"): "",
    re.compile(r"\\[,;:! ]"): " ",
    re.compile(r"\\([{}])"): r"\1",
    re.compile(r"\\(?:emptyset|varnothing)(?![a-zA-Z])|∅|\A\s*(?:frozen)?set\(\)\s*\Z"): "{}",
}
_DOLLARS = re.compile(r"\$\$([^$]*)\$\$|\$([^$]*)\$|\\\((.*)\\\)|\\\[(.*)\\\]", re.DOTALL)


def _undressed(text: str) -> str:
    """Without mathematics around it and a full stop behind it."""
    text = text.strip().rstrip(".。").rstrip()
    dressed = _DOLLARS.fullmatch(text)
    text = text if dressed is None else dressed[dressed.lastindex or 0].strip()
    for pattern, plain in _LATEX.items():
        text = pattern.sub(plain, text)
    return text


_CLOSES = {")": "(", "]": "[", "}": "{"}
_QUOTED = r"""(?:"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+')"""
_TOKEN = re.compile(  # a text in quotes starts an element, and no word is behind it: not in "'tis, 'twas"
    rf"""(?<![^\s(\[{{,;、，；]) {_QUOTED} (?!\s*+(?!and\b)\w)
      | (?P<open>[(\[{{]) | (?P<close>[)\]}}]) | (?P<mark>[,、，;；]|\band\b)""",
    re.DOTALL | re.VERBOSE,
)


def _elements(text: str, depth: int) -> tuple[str, list[Key]]:
    """The bracket around an enumeration ("" where there is none) and the keys of its elements."""
    if not text or depth > DEEPEST:
        raise _Unreadable
    marks, whole = _marks(text)
    if not whole:
        return "", [_text_key(item, depth) for item in _split(text, marks)]
    inner = text[1:-1].strip()
    marks = [mark for mark in _marks(inner)[0] if mark[0] != "and"]
    return text[0], [_text_key(item, depth) for item in _split(inner, marks)] if inner else []


def _marks(text: str) -> tuple[list[re.Match[str]], bool]:
    """What separates elements, outside of brackets and quotes; whether one pair of brackets holds it all."""
    found: list[re.Match[str]] = []
    opened: list[str] = []
    whole = text[:1] in _CLOSES.values()
    for token in _TOKEN.finditer(text):
        if token["open"]:
            opened.append(token[0])
        elif token["close"]:
            if not opened or opened.pop() != _CLOSES[token[0]]:
                raise _Unreadable
            whole = whole and (bool(opened) or token.end() == len(text))
        elif token["mark"] and not opened:
            found.append(token)
    if opened:
        raise _Unreadable
    return found, whole


def _split(text: str, marks: list[re.Match[str]]) -> list[str]:
    """The elements between separators: semicolons where there are any, else commas, else "and"."""
    kinds = [[mark for mark in marks if mark[0] in kind] for kind in (";；", ",、，", ("and",))]
    separators, joins = kinds[0] or kinds[1], kinds[2]
    last = separators[-1].end() if separators else 0
    if not separators or len(joins) == 1:  # "1, 2 and 3", but not "Bonnie and Clyde, Romeo and Juliet"
        separators = separators + [join for join in joins if join.start() >= last]
    edges = [0, *(edge for mark in separators for edge in mark.span()), len(text)]
    items = [text[start:end].strip() for start, end in zip(edges[::2], edges[1::2], strict=True)]
    if len(separators) > 1 and separators[-1][0] == "and" and not items[-2]:  # ", and"
        del items[-2]
    return items[:-1] if len(items) > 1 and not items[-1] else items


_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def _text_key(item: str, depth: int) -> Key:
    if re.fullmatch(_QUOTED, item, re.DOTALL):
        return _key(_ESCAPED.sub(r"\1", item[1:-1]))
    item = _undressed(item)
    if item[:1] not in ("(", "[", "{") or not _marks(item)[1]:
        return _key(item)
    bracket, keys = _elements(item, depth + 1)
    return ("set", frozenset(keys)) if bracket == "{" else ("list", tuple(keys))
