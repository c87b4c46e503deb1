"""Numbers in text: what they are, exactly."""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np

__all__ = [
    "CONTEXT",
    "LONGEST",
    "Number",
    "alike",
    "as_decimal",
    "check_tolerances",
    "distance",
    "error_of",
    "exact",
    "is_amount",
    "read_number",
]

Number = Decimal | Fraction

CONTEXT = Context(prec=60, Emax=10**9, Emin=-(10**9))
LONGEST = 1000
"""Characters of a number, at the most: a longer run of digits is not an answer that a person would grade."""


def read_number(value: Any) -> Number | None:
    r"""The exact number a text or number stands for, or ``None``: a Decimal, for a fraction a Fraction.

    Reads signs, thousands separators (1,234, ``1{,}234``, ``1\,234``, spaces as in 1 234 and 250 000, but
    "128 256" is two numbers: all groups have three digits, and none is 000; India's 1,00,000), "10." and
    ".5", 6.02e23, ``6.02 \times 10^{23}`` and ``10^{5}``, a percent sign (50% is 1/2), 3/4, 1 1/2, ½,
    ``\frac{3}{4}``, a currency sign or 负 in front, digits of all scripts, ``$...$`` around it and a full
    stop behind it. Floats are read as they print (0.1 is 1/10). Bools, NaN, infinities, other words or units,
    misplaced separators, decimals that go on (0.333...), text over 1,000 characters and what has more digits
    on either side of its point are no numbers.

    >>> read_number("$1,234.50."), read_number("50%"), read_number("1 1/2"), read_number("1,23")
    (Decimal('1234.50'), Decimal('0.50'), Fraction(3, 2), None)
    """
    if isinstance(value, str):
        number = _read_text(value)
    elif isinstance(value, bool | np.bool_ | bytes | bytearray) or value is None:
        return None
    elif isinstance(value, Rational):  # int, numpy integers, Fraction
        number = Fraction(int(value.numerator), int(value.denominator))
        number = Decimal(number.numerator) if number.denominator == 1 else number
    else:
        try:
            written = value if isinstance(value, Decimal | np.floating) else float(value)
            number = Decimal(str(written))
        except (TypeError, ValueError, OverflowError, InvalidOperation):
            return None
    if isinstance(number, Decimal) and (not number.is_finite() or abs(number.adjusted()) > LONGEST):
        return None
    return number


# Plain spaces part thousands, too; but where all groups have three digits and none is 000, they list.
_SPACED = r"(?:[1-9][0-9]?|[1-9][0-9]{2}(?=(?:[ ][0-9]{3})*?[ ]000))(?:[ ][0-9]{3})+"
_DIGITS = (
    rf"(?:[1-9][0-9]{{0,2}}(?:(?:,[0-9]{{3}})+|(?:\u2009[0-9]{{3}})+)|{_SPACED}"
    r"|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}|[0-9]+)"
)
_PLAIN = rf"(?:{_DIGITS}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{{1,6}})?"
_SIMPLE = re.compile(r"[-+]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?")
_WRITTEN = re.compile(
    rf"""
    (?: (?P<sign>[-+]?) \s? \\?[$£¥\u20a0-\u20cf] \s? (?P<inner>[-+]?) | (?P<bare>[-+]?) )
    (?: (?P<whole>{_DIGITS}) [ \u2009] (?!0[0-9]{{2}}) (?P<part>[0-9]+)/(?P<of>[0-9]+)
      | (?P<above>{_PLAIN}) (?: \s*/\s* (?P<below>[-+]?{_PLAIN}) )? )
    (?P<percent> \s*\\?% )?
    """,
    re.VERBOSE,
)


def _read_text(text: str) -> Number | None:
    if len(text) > LONGEST:
        return None
    if _SIMPLE.fullmatch(text):  # nearly all that there are
        return Decimal(text.replace(",", ""))
    found = _WRITTEN.fullmatch(_plainly(text))
    if found is None or (found["sign"] and found["inner"]):
        return None
    sign = "-" if "-" in (found["sign"], found["inner"], found["bare"]) else ""
    shift = -2 if found["percent"] else 0
    if not found["whole"] and not found["below"]:
        return _decimal(sign + found["above"], shift)
    value = _mixed(found) if found["whole"] else _ratio(_decimal(found["above"]), _decimal(found["below"]))
    if value is None:
        return None
    value = -value if sign else value
    return value / 100 if shift else value


def _decimal(text: str, shift: int = 0) -> Decimal:
    """A plain number, its exponent moved by `shift`."""
    mantissa, _, exponent = (
        text.replace(",", "").replace("\u2009", "").replace(" ", "").lower().partition("e")
    )
    return Decimal(f"{mantissa}e{int(exponent or 0) + shift}")


def _ratio(above: Decimal, below: Decimal) -> Fraction | None:
    if not below or max(abs(above.adjusted()), abs(below.adjusted())) > LONGEST:
        return None
    (a, b), (c, d) = above.as_integer_ratio(), below.as_integer_ratio()
    return Fraction(a * d, b * c)


def _mixed(found: re.Match[str]) -> Fraction | None:
    """1 1/2 is one and a half; 1 3/2 is no number."""
    part, of = int(found["part"]), int(found["of"])
    return Fraction(_decimal(found["whole"])) + Fraction(part, of) if part < of else None


_STOPS = ".。．"
_MATHEMATICS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))
_RAISED = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_PLAIN_SIGNS = {
    "-": "\u2212\u2010\u2011\u2012\u2013\ufe63\uff0d负",
    "+": "\ufe62\uff0b",
    ",": "\uff0c\u066c",
    ".": "\uff0e\u066b",
    "\u2009": "\u00a0\u202f\u2007",
    "%": "\uff05\ufe6a\u066a",
    "/": "\u2044\u2215\uff0f",
    "*": "×·⋅∙",
    "$": "\uff04\ufe69",
    "£": "\uffe1",
    "¥": "\uffe5",
}
_VULGAR = {sign: unicodedata.normalize("NFKC", sign).split("\u2044") for sign in "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞↉"}
_ALIKE = str.maketrans(
    {sign: plain for plain, signs in _PLAIN_SIGNS.items() for sign in signs}
    | {sign: rf"\frac{{{above}}}{{{below}}}" for sign, (above, below) in _VULGAR.items()}
)
_RAISED_POWER = re.compile(r"(?<=10)[⁺⁻]?[⁰¹²³⁴-⁹]+")
_SEPARATOR = re.compile(r"(?<=[0-9])(?:(\{,\}|,\\!)|\\,)(?=[0-9]{3})")
_FRACTION = re.compile(  # behind a whole number, a sign or nothing; what could run into it is not allowed
    r"(?:(?P<mixed>(?<=[0-9])\s*)|(?<![^-+\s$£¥\u20a0-\u20cf]))\\[dtc]?frac"
    r"(?:\s*\{\s*(?P<above>[-+]?(?:[0-9.,\u2009]|(?<=[0-9])[ ](?=[0-9]))+)\s*\}|\s*(?P<a>[0-9]))"
    r"(?:\s*\{\s*(?P<below>[-+]?(?:[0-9.,\u2009]|(?<=[0-9])[ ](?=[0-9]))+)\s*\}|\s*(?P<b>[0-9]))(?![0-9.,eE])"
)
_GAPS = re.compile("[ \u2009]")
_GROUPS = re.compile(r"[-+]?[0-9]{1,3}(?:[ \u2009][0-9]{3})+(?:\.[0-9]*)?")
_POWER = re.compile(
    r"(?P<times>\s*(?:\\times|\\cdot|[*x])\s*)?(?<![0-9.])10\s?\^"
    r"(?:\{\s*([-+]?[0-9]{1,6})\s*\}|([-+]?[0-9]{1,6}))"
)


def _plainly(text: str) -> str:
    r"""A number as it is written -> the same in plain ASCII: 2½ as 2 1/2, ``3 \times 10^{5}`` as 3e5."""
    text = _without_stop(text)
    for left, right in _MATHEMATICS:
        if text.startswith(left) and text.endswith(right) and len(text) > len(left + right):
            text = _without_stop(text[len(left) : -len(right)])
            break
    if not text.isascii():
        text = _RAISED_POWER.sub(lambda found: "^" + found[0].translate(_RAISED), text).translate(_ALIKE)
        text = "".join(str(unicodedata.decimal(sign, sign)) for sign in text)
    if "\\" in text or "{" in text:
        text = _SEPARATOR.sub(lambda found: "," if found[1] else "\u2009", text)
        text = _FRACTION.sub(_with_slash, text)
    if "^" in text and "/" not in text:
        text = _POWER.sub(lambda found: f"{'' if found['times'] else '1'}e{found[2] or found[3]}", text)
    return text


def _without_stop(text: str) -> str:
    """The text without a full stop behind it; 0.333... goes on, and is no number as it stands."""
    text = text.strip()
    kept = text.rstrip(_STOPS).rstrip()
    return text if text.endswith("..") and "." in kept else kept


def _with_slash(fraction: re.Match[str]) -> str:
    above, below = fraction["above"] or fraction["a"], fraction["below"] or fraction["b"]
    above, below = (_GAPS.sub("", side) if _GROUPS.fullmatch(side) else side for side in (above, below))
    if _GAPS.search(above + below):  # 1 2 is none, and would be read as the whole of a mixed number
        return fraction[0]
    if above[0] in "+-":  # one sign, and that below: there may be another in front
        below = ("-" if (above[0] == "-") != (below[0] == "-") else "") + below.lstrip("+-")
        above = above[1:]
    return f"{above}/{below}" if fraction["mixed"] is None else f" {above}/{below}"


def distance(a: Number, b: Number) -> Decimal:
    """|a - b| to 60 digits."""
    return CONTEXT.abs(CONTEXT.subtract(as_decimal(a), as_decimal(b)))


def as_decimal(number: Number) -> Decimal:
    """The number in decimal, to 60 digits where it does not end."""
    if isinstance(number, Decimal):
        return number
    return CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))


def check_tolerances(absolute: Any, relative: Any) -> None:
    """Raise a ValueError unless both are finite and 0 or above."""
    if not (is_amount(absolute) and is_amount(relative)):
        raise ValueError(
            f"tolerances must be 0 or above, and finite; got absolute={absolute!r}, relative={relative!r}"
        )


def alike(a: Number, b: Number, absolute: float, relative: float) -> bool:
    """Whether two numbers are equal, exactly or within the wider of two tolerances."""
    if a == b or not (absolute or relative):
        return a == b
    error, larger = error_of(a, b)
    return error <= max(exact(absolute), larger * exact(relative))


def is_amount(value: Any) -> bool:
    """Whether an option is a number from 0 on that is not infinite."""
    is_number = isinstance(value, int | float | Real | Decimal) and not isinstance(value, bool)
    return is_number and 0 <= float(value) < math.inf


def error_of(a: Number, b: Number) -> tuple[Fraction, Fraction]:
    """Distance and larger magnitude of two numbers."""
    one, other = Fraction(a), Fraction(b)
    return abs(one - other), max(abs(one), abs(other))


def exact(option: Any) -> Fraction:
    """A number that is an option, of which a float counts as it prints (0.1 is 1/10)."""
    return Fraction(option if isinstance(option, Decimal) else str(float(option)))
