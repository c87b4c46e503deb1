"""JSON values: read exactly, and compared by value."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import zip_longest
from math import fsum
from typing import Any, Literal

import numpy as np

from rewardkit.primitives.extract.structured import refuse_constant
from rewardkit.primitives.factories import one_of, true_or_false
from rewardkit.primitives.notes import note
from rewardkit.primitives.texts import is_missing, normal_text
from rewardkit.primitives.verify.numbers import read_number

__all__ = ["MISSING", "json_equal", "json_of"]

DEEPEST = 100
"""Values inside values, at the most; what is nested deeper is not read."""

MISSING = object()
"""Stands for what is no JSON."""


def json_of(value: Any) -> Any:
    """The value that a JSON text stands for, or that an object is; `MISSING` where it is none.

    Strict JSON: no NaN, no single quotes. Numbers are Decimals, exactly as written.

    >>> json_of('{"a": [1, 0.1]}'), json_of([1, True, None]), json_of("{'a': 1}") is MISSING
    ({'a': [Decimal('1'), Decimal('0.1')]}, [Decimal('1'), True, None], True)
    """
    try:
        if isinstance(value, str):
            value = _DECODER.decode(value)
        return _plain(value, 0)
    except (ValueError, RecursionError):
        return MISSING


def _number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        raise ValueError(text) from None


_DECODER = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=refuse_constant)


def _plain(value: Any, depth: int) -> Any:
    """The value in dicts, lists, texts, Decimals, bools and None. ValueError: it is no JSON."""
    if isinstance(value, str | bool | Decimal) or value is None:
        return value
    if depth == DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("a key that is no text")
        return {key: _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, np.bool_):
        return bool(value)
    if hasattr(value, "tolist") and not isinstance(value, np.generic):  # arrays
        return _plain(value.tolist(), depth + 1)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(item, depth + 1) for item in value]
    number = read_number(value)
    if number is None:
        raise ValueError(f"{type(value).__name__} is no JSON")
    return number


def json_equal(
    prediction: Any,
    ground_truth: Any,
    *,
    partial: bool = False,
    text: Literal["exact", "matches"] = "exact",
) -> float | None:
    """1.0 if two JSON values are equal, else 0.0; each is a JSON text or an object.

    The order of keys does not matter, numbers are equal by value (1 is 1.0, exactly, never by floats), true
    is not 1, a missing key is not null, and of a key that stands twice the last counts. Texts are the same
    characters; with ``text="matches"`` they are compared as `matches` does.

    ``partial=True`` gives partial credit: of two objects the mean over the keys of either, so that a missing
    and an added key cost the same, each key with the credit of its value; of two lists the same over
    positions. Notes "wrong_keys", those with less than full credit. A prediction that is no JSON is wrong, a
    truth that is none (or ``None``) is not judged. ValueError: `partial` is no bool,
    unknown `text`.

    >>> json_equal('{"a": 1.0, "b": "x"}', '{"b": "x", "a": 1}'), json_equal("[true]", "[1]")
    (1.0, 0.0)
    >>> json_equal('{"a": 1, "c": 0}', {"a": 1, "b": 2}, partial=True)
    0.3333333333333333
    """
    if partial is not False:
        true_or_false(partial=partial)
    one_of("text", text, ("exact", "matches"))
    truth = MISSING if is_missing(ground_truth) else json_of(ground_truth)
    if truth is MISSING:
        return None
    found = MISSING if prediction is None else json_of(prediction)
    folded = text == "matches"
    if not partial:
        return float(_same(found, truth, folded))
    if isinstance(truth, dict):
        given = found if isinstance(found, dict) else {}
        pairs = {key: (given.get(key, MISSING), truth.get(key, MISSING)) for key in {**truth, **given}}
        note("wrong_keys", sorted(key for key, pair in pairs.items() if not _same(*pair, folded)))
    return _credit(found, truth, folded)


def _same(a: Any, b: Any, folded: bool) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return normal_text(a) == normal_text(b) if folded else a == b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key], folded) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(x, y, folded) for x, y in zip(a, b, strict=True))
    numbers = isinstance(a, Decimal | Fraction) and isinstance(b, Decimal | Fraction)
    return (numbers or type(a) is type(b)) and bool(a == b)


def _credit(a: Any, b: Any, folded: bool) -> float:
    """The mean credit of keys or positions of either, of values in them; `fsum`, so that order is nothing."""
    if isinstance(a, dict) and isinstance(b, dict) and (a or b):
        pairs = [(a.get(key, MISSING), b.get(key, MISSING)) for key in {**a, **b}]
    elif isinstance(a, list) and isinstance(b, list) and (a or b):
        pairs = list(zip_longest(a, b, fillvalue=MISSING))
    else:
        return float(_same(a, b, folded))
    return fsum(_credit(*pair, folded) for pair in pairs) / len(pairs)
