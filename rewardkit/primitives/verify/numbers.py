"""Read numbers in text exactly, and compare them with a truth within a tolerance."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, Literal

import numpy as np

from rewardkit.primitives.primitive import is_amount, one_of

Number = Decimal | Fraction

CONTEXT = Context(prec=60, Emax=10**9, Emin=-(10**9))
LONGEST_NUMBER = 1000
"""Characters of a number, at most: nobody would grade a longer run of digits."""


def read_number(value: Any) -> Number | None:
    r"""Read a text or number exactly, as a Decimal or Fraction, else return ``None``.

    Reads signs, thousands separators (1,234, ``1{,}234``, ``1\,234``, spaces as in 1
    234 and 250 000, but "128 256" is two numbers: all groups have three digits, and
    none is 000; India's 1,00,000), "10." and ".5", 6.02e23, ``6.02 \times 10^{23}`` and
    ``10^{5}``, a percent sign (50% is 1/2), 3/4, 1 1/2, ½, ``\frac{3}{4}``, a currency
    sign or 负 before a number, digits of all scripts, ``$...$`` around it and a full
    stop behind it. Floats have their printed value (0.1 is 1/10). Bools, NaN,
    infinities, other words or units, misplaced separators, endless decimals (0.333...),
    text over 1,000 characters, and numbers with more than 1,000 digits on either side
    of the point are not numbers.

    >>> read_number("$1,234.50."), read_number("50%"), read_number("1 1/2")
    (Decimal('1234.50'), Decimal('0.50'), Fraction(3, 2))
    >>> read_number("1,23") is None
    True
    """
    if isinstance(value, bool | np.bool_ | bytes | bytearray) or value is None:
        return None
    try:
        if not isinstance(value, str | Real | Decimal):
            value = float(value)
        number = _read_text(str(value))
    except (TypeError, ValueError, OverflowError):
        return None
    if isinstance(number, Decimal):
        if not number.is_finite() or abs(number.adjusted()) > LONGEST_NUMBER:
            return None
    return number


# Plain spaces separate thousands, too, unless all groups have three digits and none is
# 000: then they separate numbers.
_SPACED = r"(?:[1-9][0-9]?|[1-9][0-9]{2}(?=(?:[ ][0-9]{3})*?[ ]000))(?:[ ][0-9]{3})+"
_DIGITS = (
    rf"(?:[1-9][0-9]{{0,2}}(?:(?:,[0-9]{{3}})+|(?:\u2009[0-9]{{3}})+)|{_SPACED}"
    r"|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}|[0-9]+)"
)
_PLAIN_NUMBER = rf"(?:{_DIGITS}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{{1,6}})?"
_BRACED = rf"\{{\s*[-+]?{_PLAIN_NUMBER}\s*\}}|[0-9]"
_SIMPLE = re.compile(r"[-+]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?")
_WRITTEN = re.compile(
    rf"""
    (?: (?P<sign>[-+]?) \s? \\?[$£¥\u20a0-\u20cf] \s? (?P<inner>[-+]?)
      | (?P<bare>[-+]?) )
    (?: (?P<whole>{_DIGITS}) [ \u2009] (?!0[0-9]{{2}}) (?P<part>[0-9]+)/(?P<of>[0-9]+)
      | (?P<mixed>{_DIGITS})? \s* \\[dtc]?frac \s* (?P<over>{_BRACED}) \s*
        (?P<under>{_BRACED})
      | (?P<above>{_PLAIN_NUMBER}) (?: \s*/\s* (?P<below>[-+]?{_PLAIN_NUMBER}) )? )
    (?P<percent> \s*\\?% )?
    """,
    re.VERBOSE,
)


def _read_text(text: str) -> Number | None:
    if len(text) > LONGEST_NUMBER:
        return None
    if _SIMPLE.fullmatch(text):  # the usual case
        return Decimal(text.replace(",", ""))
    parts = _WRITTEN.fullmatch(_in_ascii(text))
    if parts is None or (parts["sign"] and parts["inner"]):
        return None
    is_negative = "-" in (parts["sign"], parts["inner"], parts["bare"])
    if parts["of"] or parts["under"] or parts["below"]:
        value = _read_fraction(parts)
        if value is None:
            return None
        if parts["percent"]:
            value /= 100
        return -value if is_negative else value
    sign = "-" if is_negative else ""
    shift = -2 if parts["percent"] else 0
    return _decimal(sign + parts["above"], shift)


def _read_fraction(parts: re.Match[str]) -> Fraction | None:
    above = _decimal(parts["part"] or parts["over"] or parts["above"])
    below = _decimal(parts["of"] or parts["under"] or parts["below"])
    if not below or max(abs(above.adjusted()), abs(below.adjusted())) > LONGEST_NUMBER:
        return None
    value = Fraction(above) / Fraction(below)
    integer = parts["whole"] or parts["mixed"]
    if not integer:
        return value
    if not 0 <= value < 1:  # 1 3/2 is no number
        return None
    return value + Fraction(_decimal(integer))


def _decimal(text: str, shift: int = 0) -> Decimal:
    """Read a plain number and multiply it by 10 to the power of `shift`."""
    mantissa, _, exponent = re.sub(r"[,\s{}]", "", text).lower().partition("e")
    return Decimal(f"{mantissa}e{int(exponent or 0) + shift}")


_FULL_STOPS = ".。．"
_MATHEMATICS = re.compile(
    r"\$\$((?:[^$\\]|\\.)*)\$\$|\$((?:[^$\\]|\\.)*)\$|\\\((.*)\\\)|\\\[(.*)\\\]",
    re.DOTALL,
)
_FROM_SUPERSCRIPT = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_VULGAR_FRACTIONS = {}
for _sign in "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞↉":
    _above, _below = unicodedata.normalize("NFKC", _sign).split("\u2044")
    _VULGAR_FRACTIONS[_sign] = rf"\frac{{{_above}}}{{{_below}}}"
PLAIN_SIGNS = str.maketrans(
    _VULGAR_FRACTIONS
    | dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\ufe63\uff0d负", "-")
    | dict.fromkeys("\ufe62\uff0b", "+")
    | dict.fromkeys("\uff0c\u066c", ",")
    | dict.fromkeys("\uff0e\u066b", ".")
    | dict.fromkeys("\u00a0\u202f\u2007", "\u2009")
    | dict.fromkeys("\uff05\ufe6a\u066a", "%")
    | dict.fromkeys("\u2044\u2215\uff0f", "/")
    | dict.fromkeys("×·⋅∙", "*")
    | {"\uff04": "$", "\ufe69": "$", "\uffe1": "£", "\uffe5": "¥"}
)
"""Signs in numbers -> the sign of a keyboard with the same meaning."""

_RAISED_POWER = re.compile(r"(?<=10)[⁺⁻]?[⁰¹²³⁴-⁹]+")
_LATEX_SEPARATOR = re.compile(r"(?<=[0-9])(?:(\{,\}|,\\!)|\\,)(?=[0-9]{3})")
_TIMES_POWER = re.compile(
    r"(?P<times>\s*(?:\\times|\\cdot|[*x])\s*)?(?<![0-9.])10\s?\^"
    r"(?:\{\s*([-+]?[0-9]{1,6})\s*\}|([-+]?[0-9]{1,6}))"
)


def _in_ascii(text: str) -> str:
    r"""Write a number in ASCII: 2½ as 2\frac{1}{2}, ``3 \times 10^{5}`` as 3e5."""
    text = strip_delimiters(text)
    if not text.isascii():
        text = _RAISED_POWER.sub(_lower_power, text).translate(PLAIN_SIGNS)
        text = "".join(str(unicodedata.decimal(sign, sign)) for sign in text)
    text = _LATEX_SEPARATOR.sub(_plain_separator, text)
    if "^" in text and "/" not in text:
        text = _TIMES_POWER.sub(_exponent_form, text)
    return text


def _lower_power(power: re.Match[str]) -> str:
    return "^" + power[0].translate(_FROM_SUPERSCRIPT)


def _plain_separator(separator: re.Match[str]) -> str:
    return "," if separator[1] else "\u2009"


def _exponent_form(power: re.Match[str]) -> str:
    mantissa = "" if power["times"] else "1"
    return f"{mantissa}e{power[2] or power[3]}"


def strip_delimiters(text: str) -> str:
    """Strip math delimiters and full stops, but not the dots of 0.333..."""
    for _ in range(2):
        text = text.strip()
        stripped = text.rstrip(_FULL_STOPS).rstrip()
        if not text.endswith("..") or "." not in stripped:
            text = stripped
        formula = _MATHEMATICS.fullmatch(text)
        if formula:
            text = formula[formula.lastindex or 0]
    return text


def distance(a: Number, b: Number) -> Decimal:
    """Return |a - b| to 60 digits."""
    return CONTEXT.abs(CONTEXT.subtract(as_decimal(a), as_decimal(b)))


def as_decimal(number: Number) -> Decimal:
    """Return a number as a Decimal, rounded to 60 digits if it is periodic."""
    if isinstance(number, Decimal):
        return number
    return CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))


def read_decimal(value: Any) -> Decimal | None:
    """Read a text or number as a Decimal, see `read_number` and `as_decimal`."""
    number = read_number(value)
    return None if number is None else as_decimal(number)


def numbers_equal(
    prediction: Any, ground_truth: Any, *, absolute: float = 0.0, relative: float = 0.0
) -> bool | None:
    """Return whether two numbers, or texts of numbers, are equal within a tolerance.

    By default they must be equal exactly, as decimals and fractions, never floats:
    "0.1" is not "0.10000000001". The relative tolerance is a share of the larger
    magnitude, so the order does not matter; the wider of two tolerances counts.
    `read_number` defines what a number is. A `prediction` that is not a number is
    wrong, a `ground_truth` that is not a number is not judged (``None``). ValueError: a
    tolerance that is negative or not finite.

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
    """Return credit in [0, 1] that falls with the error, linearly or in steps.

    Linear credit is 1 for equal numbers and 0 from an error of `zero_at` on. `steps`
    replaces it by pairs of (error, credit), such as ((0, 1), (0.01, 0.8), (0.1, 0.5)):
    the tightest pair that the error meets counts; beyond the last the credit is 0.

    ``scale="relative"`` divides the error by the larger magnitude of the two numbers.
    So it is symmetric, and defined for a truth of 0 and for negative truths; another
    sign, or any error at a truth of 0, earns nothing. ``"absolute"`` is the error in
    the unit of the answer. Missing values as in `numbers_equal`. ValueError: `zero_at`
    not above 0 or not finite, errors that do not rise, credits that do not fall within
    [0, 1], unknown `scale`.

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
    if not error or scale == "absolute":
        larger = Fraction(1)
    elif not number or not truth or (number > 0) != (truth > 0):
        # The wrong sign, or a missed truth of 0, is a full error whatever `zero_at` is.
        return 0.0
    if steps is None:
        return 1.0 - float(min(Fraction(1), error / (larger * _exact(zero_at))))
    for limit, credit in steps:
        if error <= larger * _exact(limit):
            return float(credit)
    return 0.0


def _check_credit(zero_at: float, steps: Sequence[tuple[float, float]] | None) -> None:
    """Raise a ValueError unless the options of `closeness` fit together."""
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
        errors, credits = map(list, zip(*steps, strict=True))
    except (TypeError, ValueError):
        return False
    if not all(map(is_amount, errors + credits)):
        return False
    is_rising = errors == sorted(set(errors))
    is_falling = credits == sorted(set(credits), reverse=True)
    return is_rising and is_falling and credits[0] <= 1


def check_tolerances(absolute: Any, relative: Any) -> None:
    """Raise a ValueError unless both are finite and 0 or above."""
    if not (is_amount(absolute) and is_amount(relative)):
        raise ValueError(
            "tolerances must be 0 or above, and finite; got "
            f"absolute={absolute!r}, relative={relative!r}"
        )


def alike(a: Number, b: Number, absolute: float, relative: float) -> bool:
    """Return whether two numbers are equal within the wider of two tolerances."""
    if a == b or not (absolute or relative):
        return a == b
    error, larger = _error(a, b)
    return error <= max(_exact(absolute), larger * _exact(relative))


def _error(a: Number, b: Number) -> tuple[Fraction, Fraction]:
    """Return the distance and the larger magnitude of two numbers."""
    first = Fraction(a)
    second = Fraction(b)
    return abs(first - second), max(abs(first), abs(second))


def _exact(option: Any) -> Fraction:
    """Return an option exactly, a float by its printed value (0.1 is 1/10)."""
    if isinstance(option, Decimal):
        return Fraction(option)
    return Fraction(str(float(option)))
