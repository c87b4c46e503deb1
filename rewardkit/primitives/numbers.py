"""Numbers in text: what they are, exactly."""

from __future__ import annotations

import re
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

__all__ = ["CONTEXT", "Number", "as_decimal", "distance", "read_number"]

Number = Decimal | Fraction

_PLAIN = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:[eE][+-]?\d{1,6})?")
_CURRENCY = re.compile(r"^([+-]?)\s?\\?[$€£¥]\s?")
CONTEXT = Context(prec=60, Emax=10**9, Emin=-(10**9))
_LONGEST_NUMBER = 1000  # characters; a longer run of digits is not an answer that a person would grade


def read_number(value: Any) -> Number | None:
    """The exact number a text or number stands for, or ``None``: a Decimal, for "1/3" a Fraction.

    Reads thousands separators, a currency sign, a trailing full stop, an exponent, a unicode minus and `a/b`.
    Floats are read as they print (0.1 is 1/10); bools, NaN, infinities and text over 1,000 characters are no
    numbers.

    >>> read_number("$1,234.50."), read_number("2/4")
    (Decimal('1234.50'), Fraction(1, 2))
    """
    if isinstance(value, str):
        return _read_text(value)
    if isinstance(value, bool | np.bool_) or value is None:
        return None
    if isinstance(value, Rational):  # int, numpy integers, Fraction: exact
        exact = Fraction(int(value.numerator), int(value.denominator))
        return Decimal(exact.numerator) if exact.denominator == 1 else exact
    try:
        number = Decimal(value) if isinstance(value, int | Decimal) else Decimal(repr(float(value)))
    except (TypeError, ValueError, OverflowError, InvalidOperation):
        return None
    return number if number.is_finite() else None


def _read_text(text: str) -> Number | None:
    if len(text) > _LONGEST_NUMBER:
        return None
    text = text.strip().replace("\u2212", "-").rstrip(".").rstrip()
    text = _CURRENCY.sub(r"\1", text)
    above, slash, below = text.partition("/")
    numerator = _read_plain(above.strip())
    if not slash or numerator is None:
        return numerator
    denominator = _read_plain(below.strip())
    if not denominator or max(abs(numerator.adjusted()), abs(denominator.adjusted())) > _LONGEST_NUMBER:
        return None
    return Fraction(numerator) / Fraction(denominator)


def _read_plain(text: str) -> Decimal | None:
    if not _PLAIN.fullmatch(text):
        return None
    try:
        return Decimal(text.replace(",", ""))
    except InvalidOperation:  # no digit in it
        return None


def distance(a: Number, b: Number) -> Decimal:
    """|a - b| to 60 digits."""
    return CONTEXT.abs(CONTEXT.subtract(as_decimal(a), as_decimal(b)))


def as_decimal(number: Number) -> Decimal:
    """The number in decimal, to 60 digits where it does not end."""
    if isinstance(number, Decimal):
        return number
    return CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))
