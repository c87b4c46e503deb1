"""JSON values: read exactly, and compared by value."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from itertools import zip_longest
from statistics import fmean
from typing import Any, Literal

from rewardkit.primitives.messages import (
    NO_JSON,
    bracket_depth,
    plain_value,
    read_strict_json,
)
from rewardkit.primitives.notes import note
from rewardkit.primitives.primitive import one_of, true_or_false
from rewardkit.primitives.texts import is_missing, normal_text

DEEPEST_JSON = 100
"""Values inside values, at most; what is nested deeper is not read."""


def json_of(value: Any) -> Any:
    """Return the value of a JSON text, or of an object; `NO_JSON` where it is none.

    Strict JSON: no NaN, no single quotes. Numbers are Decimals, exactly as written.

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

    The order of keys does not matter, numbers are equal by value (1 is 1.0, exactly,
    never by floats), true is not 1, a missing key is not null, and of a key that stands
    twice the last counts. Texts are the same characters; with ``text="matches"`` they
    are compared as `matches` does.

    ``partial=True`` gives partial credit: of two objects the mean over the keys of
    either, so that a missing and an added key cost the same, each key with the credit
    of its value; of two lists the same over positions. Notes "wrong_keys", those with
    less than full credit. A prediction that is no JSON is wrong, a truth that is none
    (or ``None``) is not judged. ValueError: `partial` is no bool, unknown `text`.

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
    """Return the keys of either, each with its values in both."""
    return {key: (a.get(key, NO_JSON), b.get(key, NO_JSON)) for key in {**a, **b}}


def _credit(
    a: Any, b: Any, folded: bool, overall: Callable[[list[float]], float]
) -> float:
    """Score keys or positions, then all or nothing by `min`, or in part by `fmean`."""
    if isinstance(a, dict) and isinstance(b, dict):
        pairs = list(_pair_values(a, b).values())
    elif isinstance(a, list) and isinstance(b, list):
        pairs = list(zip_longest(a, b, fillvalue=NO_JSON))
    elif isinstance(a, str) and isinstance(b, str):
        if folded:
            a, b = normal_text(a), normal_text(b)
        return float(a == b)
    else:
        return float(type(a) is type(b) and bool(a == b))
    credits = [_credit(x, y, folded, overall) for x, y in pairs]
    return overall(credits or [1.0])
