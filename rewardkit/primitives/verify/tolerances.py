"""Numbers against a ground truth: equal, within a tolerance, or partial credit."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

from rewardkit.primitives.primitive import is_amount, one_of
from rewardkit.primitives.verify.numbers import Number, read_number


def numbers_equal(
    prediction: Any, ground_truth: Any, *, absolute: float = 0.0, relative: float = 0.0
) -> bool | None:
    """Whether two numbers, or texts of numbers, are equal, exactly or by a tolerance.

    Exact means decimals and fractions, never floats: "0.1" is not "0.10000000001". The
    relative tolerance is a share of the larger magnitude, so the order does not matter;
    of two tolerances the wider counts. See `read_number` for what counts as a number; a
    `prediction` that is none is wrong, a `ground_truth` that is none is not judged
    (``None``). ValueError: a tolerance that is negative or not finite.

    >>> numbers_equal("1,234.50", 1234.5), numbers_equal("15", "5")
    (True, False)
    >>> numbers_equal("4", "four") is None
    True
    """
    check_tolerances(absolute, relative)
    truth = read_number(ground_truth)
    if truth is None:
        return None
    number = read_number(prediction)
    return number is not None and alike(number, truth, absolute, relative)


def closeness(
    prediction: Any,
    ground_truth: Any,
    *,
    zero_at: float = 1.0,
    scale: Literal["relative", "absolute"] = "relative",
    steps: Sequence[tuple[float, float]] | None = None,
) -> float | None:
    """Return credit in [0, 1] that falls with the error, in a line or in steps.

    The line is 1 when equal and 0 from `zero_at` on. `steps` takes its place: pairs of
    (error, credit), such as ((0, 1), (0.01, 0.8), (0.1, 0.5)), of which the tightest
    that the error meets counts; beyond the last is 0.

    ``scale="relative"`` divides the error by the larger magnitude of the two, so it is
    symmetric, and defined for a truth of 0 and for negative truths: missing a truth of
    0, or its sign, earns nothing. ``"absolute"`` takes the error as it is, in the
    answer's own unit. Missing values as in `numbers_equal`. ValueError: `zero_at` not
    above 0 or not finite, errors that do not rise, credits that do not fall within [0,
    1], unknown `scale`.

    >>> closeness("9", "12"), closeness("-12", "12"), closeness("1", "0")
    (0.75, 0.0, 0.0)
    >>> closeness("99", "100", steps=((0, 1), (0.01, 0.8), (0.1, 0.5)))
    0.8
    """
    one_of("scale", scale, ("relative", "absolute"))
    _check_credit(zero_at, steps)
    truth = read_number(ground_truth)
    if truth is None:
        return None
    number = read_number(prediction)
    if number is None:
        return 0.0
    error, larger = _error(number, truth)
    if not error:
        larger = Fraction(1)
    elif scale == "absolute":
        larger = Fraction(1)
    elif not number or not truth or (number > 0) != (truth > 0):
        # The wrong sign, or a missed truth of 0, is a full error however long the line.
        return 0.0
    if steps is None:
        return 1.0 - float(min(Fraction(1), error / (larger * _exact(zero_at))))
    for limit, credit in steps:
        if error <= larger * _exact(limit):
            return float(credit)
    return 0.0


def _check_credit(zero_at: float, steps: Sequence[tuple[float, float]] | None) -> None:
    """Raise a ValueError unless the options of `closeness` say how credit falls."""
    if not (is_amount(zero_at) and zero_at):
        raise ValueError(
            f"zero_at={zero_at!r} must be above 0, and finite: the error from which on "
            "the score is 0"
        )
    if steps is None:
        return
    if zero_at != 1.0:
        raise ValueError(
            f"steps= and zero_at={zero_at!r} exclude each other: credit falls in "
            "steps or a line"
        )
    if not _are_steps(steps):
        raise ValueError(
            f"steps={steps!r} must be pairs of (error, credit) with errors that rise "
            "from 0 or above and credits that fall within [0, 1], such as "
            "((0, 1), (0.01, 0.8), (0.1, 0.5))"
        )


def _are_steps(steps: Any) -> bool:
    try:
        pairs = [(error, credit) for error, credit in steps]
    except (TypeError, ValueError):
        return False
    for error, credit in pairs:
        if not (is_amount(error) and is_amount(credit) and credit <= 1):
            return False
    for before, after in pairwise(pairs):
        if before[0] >= after[0] or before[1] <= after[1]:
            return False
    return bool(pairs)


def check_tolerances(absolute: Any, relative: Any) -> None:
    """Raise a ValueError unless both are finite and 0 or above."""
    if not (is_amount(absolute) and is_amount(relative)):
        raise ValueError(
            "tolerances must be 0 or above, and finite; got "
            f"absolute={absolute!r}, relative={relative!r}"
        )


def alike(a: Number, b: Number, absolute: float, relative: float) -> bool:
    """Whether two numbers are equal, exactly or within the wider of two tolerances."""
    if a == b or not (absolute or relative):
        return a == b
    error, larger = _error(a, b)
    return error <= max(_exact(absolute), larger * _exact(relative))


def _error(a: Number, b: Number) -> tuple[Fraction, Fraction]:
    """Return the distance and the larger magnitude of two numbers."""
    first, second = Fraction(a), Fraction(b)
    return abs(first - second), max(abs(first), abs(second))


def _exact(option: Any) -> Fraction:
    """Return an option exactly; a float counts as it prints (0.1 is 1/10)."""
    if isinstance(option, Decimal):
        return Fraction(option)
    return Fraction(str(float(option)))
