"""JSON values: read exactly, and compared by value."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from itertools import zip_longest
from statistics import fmean
from typing import Any, Literal

from rewardkit.primitives.json_text import MISSING, depth, read_json
from rewardkit.primitives.messages import plain_value
from rewardkit.primitives.notes import note
from rewardkit.primitives.primitive import one_of, true_or_false
from rewardkit.primitives.texts import is_missing, normal_text

DEEPEST = 100
"""Values inside values, at the most; what is nested deeper is not read."""


def json_of(value: Any) -> Any:
    """The value that a JSON text stands for, or that an object is; `MISSING` where it is none.

    Strict JSON: no NaN, no single quotes. Numbers are Decimals, exactly as written.

    >>> json_of('{"a": [1, 0.1]}'), json_of([1, True, None]), json_of("{'a': 1}") is MISSING
    ({'a': [Decimal('1'), Decimal('0.1')]}, [Decimal('1'), True, None], True)
    """
    try:
        text = value if isinstance(value, str) else json.dumps(plain_value(value))
    except ValueError:
        return MISSING
    return (
        MISSING
        if depth(text) > DEEPEST
        else read_json(text, parse_int=_number, parse_float=_number)
    )


def _number(text: str) -> Decimal:
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
    """1.0 if two JSON values are equal, else 0.0; each is a JSON text or an object.

    The order of keys does not matter, numbers are equal by value (1 is 1.0, exactly,
    never by floats), true is not 1, a missing key is not null, and of a key that stands
    twice the last counts. Texts are the same characters; with ``text="matches"`` they
    are compared as `matches` does.

    ``partial=True`` gives partial credit: of two objects the mean over the keys of
    either, so that a missing and an added key cost the same, each key with the credit
    of its value; of two lists the same over positions. Notes "wrong_keys", those with
    less than full credit. A prediction that is no JSON is wrong, a truth that is none
    (or ``None``) is not judged. ValueError: `partial` is no bool, unknown `text`.

    >>> json_equal('{"a": 1.0, "b": "x"}', '{"b": "x", "a": 1}'), json_equal("[true]", "[1]")
    (1.0, 0.0)
    >>> json_equal('{"a": 1, "c": 0}', {"a": 1, "b": 2}, partial=True)
    0.3333333333333333
    """
    true_or_false(partial=partial)
    one_of("text", text, ("exact", "matches"))
    truth = MISSING if is_missing(ground_truth) else json_of(ground_truth)
    if truth is MISSING:
        return None
    found = MISSING if prediction is None else json_of(prediction)
    folded = text == "matches"
    if not partial:
        return _credit(found, truth, folded, min)
    if isinstance(truth, dict):
        given = found if isinstance(found, dict) else {}
        wrong = [
            key
            for key, (a, b) in _pairs(given, truth).items()
            if not _credit(a, b, folded, min)
        ]
        note("wrong_keys", sorted(wrong))
    return _credit(found, truth, folded, fmean)


def _pairs(a: dict[str, Any], b: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The keys of either, with their values in both."""
    return {key: (a.get(key, MISSING), b.get(key, MISSING)) for key in {**a, **b}}


def _credit(
    a: Any, b: Any, folded: bool, overall: Callable[[list[float]], float]
) -> float:
    """Of the keys or positions of either, put together: all or nothing by `min`, in part by `fmean`."""
    if isinstance(a, dict) and isinstance(b, dict):
        pairs = [*_pairs(a, b).values()]
    elif isinstance(a, list) and isinstance(b, list):
        pairs = [*zip_longest(a, b, fillvalue=MISSING)]
    elif isinstance(a, str) and isinstance(b, str):
        return float(normal_text(a) == normal_text(b) if folded else a == b)
    else:
        return float(type(a) is type(b) and bool(a == b))
    return overall([_credit(x, y, folded, overall) for x, y in pairs] or [1.0])
