"""Field against ground truth.

Plain functions of ``(prediction, ground_truth)``, usable as components as they are.

They share one rule for what is missing: a `prediction` of ``None`` is judged wrong; a `ground_truth` that is
missing or cannot be read as what the function compares is not judged: ``None``. Options are keyword-only;
bind them with `functools.partial`.
"""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from threading import current_thread, main_thread
from typing import Any, Literal

from rewardkit.primitives.factories import one_of
from rewardkit.primitives.numbers import CONTEXT, as_decimal, distance, read_number

__all__ = ["closeness", "matches", "math_equal", "numbers_equal", "read_number"]


def numbers_equal(
    prediction: Any, ground_truth: Any, *, absolute: float = 0.0, relative: float = 0.0
) -> bool | None:
    """Whether two numbers, as text or numbers, are equal: exactly, or within a tolerance that is asked for.

    Exact means decimals and fractions, never floats: "0.1" is not "0.10000000001". The relative tolerance is
    a share of the larger magnitude, so the order does not matter. See `read_number` for what counts as a
    number; a `prediction` that is none is wrong, a `ground_truth` that is none is not judged (``None``).
    ValueError: a negative tolerance.

    >>> numbers_equal("1,234.50", 1234.5), numbers_equal("15", "5"), numbers_equal("4", "four")
    (True, False, None)
    """
    if not (absolute >= 0 and relative >= 0):
        raise ValueError(f"tolerances must be 0 or above; got absolute={absolute!r}, relative={relative!r}")
    truth = read_number(ground_truth)
    if truth is None:
        return None
    number = read_number(prediction)
    if number is None:
        return False
    if number == truth:
        return True
    if not absolute and not relative:
        return False
    larger = max(abs(as_decimal(number)), abs(as_decimal(truth)))
    allowed = max(Decimal(repr(float(absolute))), CONTEXT.multiply(Decimal(repr(float(relative))), larger))
    return distance(number, truth) <= allowed


def closeness(
    prediction: Any,
    ground_truth: Any,
    *,
    zero_at: float = 1.0,
    scale: Literal["relative", "absolute"] = "relative",
) -> float | None:
    """Partial credit in [0, 1] that falls in a straight line with the error.

    1 when equal, 0 from `zero_at` on.

    ``scale="relative"`` divides the error by the larger magnitude of the two, so it is defined for a truth of
    0 (everything else is then a full error) and for negative truths (the wrong sign is a full error or more);
    it is symmetric and falls with the error. ``scale="absolute"`` takes the error as it is, in the answer's
    own unit. Missing values as in `numbers_equal`. ValueError: `zero_at` not above 0, unknown `scale`.

    >>> closeness("9", "12"), closeness("-12", "12"), closeness("1", "0")
    (0.75, 0.0, 0.0)
    """
    if not zero_at > 0:
        raise ValueError(f"zero_at={zero_at!r} must be above 0: the error from which on the score is 0")
    one_of("scale", scale, ("relative", "absolute"))
    truth = read_number(ground_truth)
    if truth is None:
        return None
    number = read_number(prediction)
    if number is None:
        return 0.0
    if number == truth:
        return 1.0
    error = distance(number, truth)
    if scale == "relative":
        if not number or not truth or (as_decimal(number) > 0) != (as_decimal(truth) > 0):
            return 0.0  # the wrong sign, or a missed truth of 0, is a full error however long the line
        error = CONTEXT.divide(error, max(abs(as_decimal(number)), abs(as_decimal(truth))))
    return max(0.0, 1.0 - float(error) / zero_at)


def matches(
    prediction: Any,
    ground_truth: Any,
    *,
    case: bool = False,
    white_space: bool = False,
    punctuation: bool = False,
    unicode_form: Literal["NFC", "NFKC", None] = "NFC",
) -> bool | None:
    """Whether two texts are the same after normalisation; each option says that the difference *counts*.

    By default case, white space (runs become one space) and punctuation at the ends do not count, and
    composed and decomposed letters are the same; ``unicode_form="NFKC"`` also folds full-width forms. A
    prediction of ``None`` is wrong, a missing truth is not judged. ValueError: unknown `unicode_form`.

    >>> matches(" Paris. ", "paris"), matches("Paris", "paris", case=True), matches("in Paris", "Paris")
    (True, False, False)
    """
    one_of("unicode_form", unicode_form, ("NFC", "NFKC", None))
    if is_missing(ground_truth):
        return None
    if prediction is None:
        return False

    def normal(value: Any) -> str:
        text = str(value)
        text = unicodedata.normalize(unicode_form, text) if unicode_form else text
        text = text if case else text.casefold()
        text = text if punctuation else _strip_punctuation(text, spaces=not white_space)
        return text if white_space else " ".join(text.split())

    return normal(prediction) == normal(ground_truth)


def is_missing(value: Any) -> bool:
    """None, or the NaN that tables write for it."""
    return value is None or (isinstance(value, float) and value != value)


def _strip_punctuation(text: str, *, spaces: bool) -> str:
    """Without punctuation and white space at its ends, unless nothing else is there.

    Signs and currency are symbols: kept.
    """

    def outer(character: str) -> bool:
        if character.isspace():
            return spaces
        return unicodedata.category(character)[0] == "P" and character not in "-%"

    start, end = 0, len(text)
    while start < end and outer(text[start]):
        start += 1
    while end > start and outer(text[end - 1]):
        end -= 1
    return text[start:end] or text


def math_equal(prediction: Any, ground_truth: Any) -> bool | None:
    r"""Whether two mathematical expressions are equal.

    Plain numbers by `numbers_equal`, all else by math-verify.

    Expressions may be LaTeX with or without ``$`` or ``\boxed{}``. A prediction that math-verify cannot read
    or compare is wrong, a truth that it cannot read is not judged. math-verify stops after 5 s by a signal,
    which only the main thread has: in other threads bound the call from outside where completions are
    hostile.

    >>> math_equal(r"\frac{1}{2}", "0.5"), math_equal("0.1", "0.10000000001")
    (True, False)
    """
    if is_missing(ground_truth):
        return None
    plain_truth, plain_prediction = read_number(ground_truth), read_number(prediction)
    if plain_truth is not None and (prediction is None or plain_prediction is not None):
        return plain_prediction is not None and plain_prediction == plain_truth
    from math_verify import parse, verify  # not at the top: sympy takes a second to import

    seconds = 5 if current_thread() is main_thread() else None
    truth = parse(_as_latex(str(ground_truth)), parsing_timeout=seconds)
    if not truth:
        return None
    if prediction is None:
        return False
    read = parse(_as_latex(str(prediction)), parsing_timeout=seconds)
    return bool(read) and bool(verify(truth, read, timeout_seconds=seconds))


def _as_latex(text: str) -> str:
    """Bare LaTeX in dollars, so that math-verify sees an expression in it."""
    bare = "$" not in text and "\\boxed" not in text and any(character.isalnum() for character in text)
    return f"${text}$" if bare else text
