"""Read JSON values, sets and lists in text exactly, and compare them by value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal, InvalidOperation
from itertools import zip_longest
from operator import eq
from statistics import fmean
from typing import Any, Literal

from rewardkit.primitives.messages import (
    NO_JSON,
    bracket_depth,
    plain_value,
    read_strict_json,
)
from rewardkit.primitives.primitive import note, one_of, true_or_false
from rewardkit.primitives.texts import is_missing, normal_text
from rewardkit.primitives.verify.numbers import read_number, strip_delimiters

DEEPEST_JSON = 100
"""Depth of nested values, at most; deeper JSON is not read."""


def json_of(value: Any) -> Any:
    """Return the value of a JSON text or of an object, or `NO_JSON`.

    JSON is strict, without NaN and single quotes. Numbers become exact Decimals.

    >>> json_of('{"a": [1, 0.1]}'), json_of([1, True, None])
    ({'a': [Decimal('1'), Decimal('0.1')]}, [Decimal('1'), True, None])
    >>> json_of("{'a': 1}") is NO_JSON
    True
    """
    if not isinstance(value, str):
        try:
            value = json.dumps(plain_value(value))
        except ValueError:
            return NO_JSON
    if bracket_depth(value) > DEEPEST_JSON:
        return NO_JSON
    return read_strict_json(value, parse_int=_read_decimal, parse_float=_read_decimal)


def _read_decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        raise ValueError(text) from None


def json_equal(
    prediction: Any,
    ground_truth: Any,
    *,
    partial: bool = False,
    text: Literal["exact", "matches"] = "exact",
) -> float | None:
    """Return 1.0 if two JSON values, texts or objects, are equal, else 0.0.

    The order of keys does not matter. Numbers are compared exactly by value (1 is 1.0),
    true is not 1, a missing key is not null, and the last of two equal keys counts.
    Texts must have the same characters; with ``text="matches"`` they are compared as in
    `matches`.

    ``partial=True`` gives partial credit: for two objects the mean credit over the keys
    of both, so that a missing and an added key cost the same; for two lists the mean
    over positions. Notes "wrong_keys", the keys with less than full credit. A
    prediction that is not JSON is wrong, a truth that is not JSON, or missing, is not
    judged. ValueError: `partial` is no bool, unknown `text`.

    >>> json_equal('{"a": 1.0, "b": 2}', {"b": 2, "a": 1}), json_equal("[true]", "[1]")
    (1.0, 0.0)
    >>> json_equal('{"a": 1, "c": 0}', {"a": 1, "b": 2}, partial=True)
    0.3333333333333333
    """
    true_or_false(partial=partial)
    one_of("text", text, ("exact", "matches"))
    if is_missing(ground_truth):
        return None
    truth = json_of(ground_truth)
    if truth is NO_JSON:
        return None
    answer = NO_JSON if prediction is None else json_of(prediction)
    folded = text == "matches"
    if not partial:
        return _credit(answer, truth, folded, min)
    if isinstance(truth, dict):
        keyed = answer if isinstance(answer, dict) else {}
        wrong = []
        for key, (a, b) in _pair_values(keyed, truth).items():
            if not _credit(a, b, folded, min):
                wrong.append(key)
        note("wrong_keys", sorted(wrong))
    return _credit(answer, truth, folded, fmean)


def _pair_values(a: dict[str, Any], b: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Pair the values of two objects by key; `NO_JSON` stands for a missing one."""
    return {key: (a.get(key, NO_JSON), b.get(key, NO_JSON)) for key in {**a, **b}}


def _credit(
    a: Any, b: Any, folded: bool, overall: Callable[[list[float]], float]
) -> float:
    """Score values by key or position, combined by `overall`: `min` or `fmean`."""
    if isinstance(a, dict) and isinstance(b, dict):
        pairs = list(_pair_values(a, b).values())
    elif isinstance(a, list) and isinstance(b, list):
        pairs = list(zip_longest(a, b, fillvalue=NO_JSON))
    elif isinstance(a, str) and isinstance(b, str):
        if folded:
            a = normal_text(a)
            b = normal_text(b)
        return float(a == b)
    else:
        return float(type(a) is type(b) and bool(a == b))
    credits = [_credit(x, y, folded, overall) for x, y in pairs]
    return overall(credits or [1.0])


LONGEST_LIST = 100_000
"""Characters of a list, at most: nobody would grade a longer one."""

DEEPEST_LIST = 10
"""Depth of nested lists, at most."""

Key = tuple[str, Any]
"""Kind and value of an element; equal elements have equal keys."""


def sets_equal(
    prediction: Any, ground_truth: Any, *, partial: bool = False
) -> float | None:
    r"""Return 1.0 if two sets have the same elements, in any order, else 0.0.

    Duplicates do not count. A set is a Python sequence or set, or a text: a JSON array,
    a Python literal, ``{1, 2}``, ``\{1, 2\}``, "(1, 2)", or elements separated by
    semicolons, else by commas, with "and" before the last. Numbers are compared as in
    `numbers_equal`, other elements as in `matches`, inner lists by position. A comma
    always separates: "1,234" is two elements unless semicolons separate.

    ``partial=True`` gives the share of common elements among all (Jaccard), so that a
    missing and an added one cost the same. A prediction that is no set is wrong, a
    truth that is no set is not judged: an empty text, brackets that do not match, more
    than 100,000 characters. ValueError: `partial` is no bool.

    >>> sets_equal(r"\{2, 1.0\}", "[1, 2]"), sets_equal("1 and 5", [1, 2], partial=True)
    (1.0, 0.3333333333333333)
    """
    return _score_lists(prediction, ground_truth, partial, _jaccard)


def sets_f1(prediction: Any, ground_truth: Any) -> float | None:
    """Return the F1 of two sets: the harmonic mean of precision and recall.

    That is twice the number of common elements, divided by the sum of both sizes: 1.0
    for equal sets, 0.0 for disjoint ones. Sets, elements and missing values as in
    `sets_equal`, whose ``partial=True`` (Jaccard) is lower.

    >>> sets_f1("red, blue", ["red", "green", "blue"]), sets_f1("red", "blue")
    (0.8, 0.0)
    """
    return _score_lists(prediction, ground_truth, True, _f1)


def lists_equal(
    prediction: Any, ground_truth: Any, *, partial: bool = False
) -> float | None:
    """Return 1.0 if two lists have the same elements in the same order, else 0.0.

    ``partial=True`` gives the share of positions of the longer list with the same
    element, so that a missing element also costs all behind it. Lists, elements and
    missing values as in `sets_equal`.

    >>> lists_equal("[1, 2]", "1, 2"), lists_equal("2, 1", "1, 2")
    (1.0, 0.0)
    >>> lists_equal("1, 3", "1, 2", partial=True)
    0.5
    """
    return _score_lists(prediction, ground_truth, partial, _same_places)


def _score_lists(
    prediction: Any,
    ground_truth: Any,
    partial: bool,
    share: Callable[[list[Key], list[Key]], float],
) -> float | None:
    """Score two lists by `share`; without `partial`, a share below 1.0 becomes 0.0."""
    true_or_false(partial=partial)
    truth = _read_elements(ground_truth)
    answer = _read_elements(prediction)
    if truth is None:
        return None
    if answer is None:
        return 0.0
    score = share(truth, answer)
    return score if partial else float(score == 1.0)


def _jaccard(a: list[Key], b: list[Key]) -> float:
    union = {*a, *b}
    return len({*a} & {*b}) / len(union) if union else 1.0


def _f1(a: list[Key], b: list[Key]) -> float:
    size = len({*a}) + len({*b})
    return 2 * len({*a} & {*b}) / size if size else 1.0


def _same_places(a: list[Key], b: list[Key]) -> float:
    longer = max(len(a), len(b))
    return sum(map(eq, a, b)) / longer if longer else 1.0


def _read_elements(value: Any) -> list[Key] | None:
    """Return the keys of the elements of a list, in order, or ``None``."""
    if is_missing(value) or isinstance(value, Mapping | bytes | bytearray):
        return None
    if isinstance(value, str) and len(value) > LONGEST_LIST:
        return None
    try:
        if isinstance(value, str):
            parsed = NO_JSON
            if value.lstrip().startswith("["):
                parsed = json_of(value)
            if parsed is NO_JSON:  # such as a Python literal
                return _read_enumeration(_without_latex(value), 1)
            value = parsed
        elif hasattr(value, "tolist"):  # arrays
            value = value.tolist()
        if not isinstance(value, Sequence | AbstractSet):
            value = [value]
        return [_element_key(element, 1) for element in value]
    except ValueError:
        return None


def _element_key(value: Any, depth: int) -> Key:
    """Return the key of an element: the value of a number, or its parts or text."""
    if depth > DEEPEST_LIST:
        raise ValueError("nested too deeply")
    if isinstance(value, Mapping):
        keys = [(str(name), _element_key(value[name], depth + 1)) for name in value]
        return "object", frozenset(keys)
    is_text = isinstance(value, str | bytes | bytearray)
    if isinstance(value, AbstractSet | Sequence) and not is_text:
        parts = [_element_key(part, depth + 1) for part in value]
        if isinstance(value, AbstractSet):
            return "set", frozenset(parts)
        return "list", tuple(parts)
    number = read_number(value)
    if number is not None:
        return "number", number
    return "text", normal_text("null" if value is None else str(value))


# Braces and spaces of LaTeX -> plain text.
_LATEX = {
    re.compile(r"\\(?:left|right)(?![a-zA-Z])\s*"): "",
    re.compile(r"\\[,;:! ]"): " ",
    re.compile(r"\\([{}])"): r"\1",
    re.compile(
        r"\\(?:emptyset|varnothing)(?![a-zA-Z])|∅|\A\s*(?:frozen)?set\(\)\s*\Z"
    ): "{}",
}


def _without_latex(text: str) -> str:
    """Write mathematics as plain text."""
    text = strip_delimiters(text)
    for pattern, plain in _LATEX.items():
        text = pattern.sub(plain, text)
    return text


_QUOTED = r"""(?:"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+')"""
_BRACKET = re.compile(r"[(\[{)\]}]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
# A quoted text starts an element and has no word behind it, unlike "'tis, 'twas".
_ENUMERATION_TOKEN = re.compile(
    rf"""(?<![^\s(\[{{,;、，；]) {_QUOTED} (?!\s*+(?!and\b)\w)
      | (?P<opening>[(\[{{]) | (?P<closing>[)\]}}])
      | (?P<separator>[,、，;；](?:\s*+and\b)?|\band\b)""",
    re.DOTALL | re.VERBOSE,
)


def _read_enumeration(text: str, depth: int) -> list[Key]:
    """Return the keys of the elements of an enumeration, with or without brackets."""
    places, in_brackets = find_separators(text, _ENUMERATION_TOKEN)
    if not text or depth > DEEPEST_LIST:
        raise ValueError("no enumeration")
    if in_brackets:
        text = text[1:-1].strip()
        places = find_separators(text, _ENUMERATION_TOKEN)[0]
        places = [place for place in places if place[0] != "and"]
    elements = split_at(text, _choose_separators(places)) if text else []
    if len(elements) > 1 and not elements[-1]:
        elements.pop()
    return [_text_key(element, depth) for element in elements]


def _choose_separators(places: list[re.Match[str]]) -> list[re.Match[str]]:
    """Choose semicolons or else commas as separators, with a last "and"."""
    semicolons = []
    commas = []
    ands = []
    for place in places:
        if place[0] == "and":
            ands.append(place)
        elif place[0][0] in ";；":
            semicolons.append(place)
        else:
            commas.append(place)
    chosen = semicolons or commas
    if not chosen:
        return ands
    # "1, 2 and 3", but not "Bonnie and Clyde, Romeo and Juliet".
    if len(ands) == 1 and ands[0].start() >= chosen[-1].end():
        chosen += ands
    return chosen


def _text_key(element: str, depth: int) -> Key:
    if re.fullmatch(_QUOTED, element, re.DOTALL):
        return _element_key(_ESCAPED.sub(r"\1", element[1:-1]), depth)
    element = _without_latex(element)
    in_brackets = False
    if _BRACKET.search(element):
        in_brackets = find_separators(element, _ENUMERATION_TOKEN)[1]
    if not in_brackets:
        return _element_key(element, depth)
    keys = _read_enumeration(element, depth + 1)
    if element[0] == "{":
        return "set", frozenset(keys)
    return "list", tuple(keys)


def find_separators(
    text: str, token: re.Pattern[str], *, half_open: bool = False
) -> tuple[list[re.Match[str]], bool]:
    """Find separators outside of brackets, and whether brackets enclose the text.

    The groups of `token` are "opening" and "closing", for brackets, and "separator".
    With `half_open`, a ( matches a ]. ValueError: brackets that do not match.
    """
    places: list[re.Match[str]] = []
    openings: list[str] = []
    around = False
    for match in token.finditer(text):
        if match["opening"]:
            around = around or match.start() == 0
            openings.append(match[0])
        elif match["closing"]:
            pair = openings.pop() + match[0] if openings else ""
            if not pair or (pair not in ("()", "[]", "{}") and not half_open):
                raise ValueError(f"{match[0]} closes nothing")
            if not openings and match.end() < len(text):
                around = False
        elif match["separator"] and not openings:
            places.append(match)
    if openings:
        raise ValueError(f"{openings[-1]} is not closed")
    return places, around


def split_at(text: str, places: Sequence[re.Match[str]]) -> list[str]:
    """Return the stripped texts before, between and after the separators `places`."""
    texts = []
    start = 0
    for place in places:
        texts.append(text[start : place.start()].strip())
        start = place.end()
    return [*texts, text[start:].strip()]
