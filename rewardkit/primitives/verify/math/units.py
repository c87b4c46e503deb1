r"""Read units of measure behind a value, and convert one unit into another.

The normal form of a unit is ``\unit{1/100|m^1}``: its factor, a fraction, and the
powers of its base units in alphabetical order. Counted things, which no table lists,
have words in place of a factor: ``\unit{|apple|red}``.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from typing import Final

# One unit per line: names, factor, base units. Names with "~" take prefixes.
_TABLE = """
~m ~meter ~metre = 1 m^1
in inch inche = 127/5000 m^1
ft foot feet = 381/1250 m^1
yd yard = 1143/1250 m^1
mi mile = 201168/125 m^1
km/h kph kmh = 5/18 m^1 s^-1
mph = 1397/3125 m^1 s^-1
acre = 316160658/78125 m^2
ha hectare = 10000 m^2
~L ~l ~liter ~litre = 1/1000 m^3
cc = 1/1000000 m^3
gal gallon = 473176473/125000000000 m^3
qt quart = 473176473/500000000000 m^3
pint = 473176473/1000000000000 m^3
cup = 473176473/2000000000000 m^3
tbsp tablespoon = 473176473/32000000000000 m^3
tsp teaspoon = 473176473/96000000000000 m^3
~g ~gram = 1/1000 kg^1
mcg = 1/1000000000 kg^1
ton tonne = 1000 kg^1
lb pound = 45359237/100000000 kg^1
oz ounce = 45359237/1600000000 kg^1
~s sec ~second = 1 s^1
min minute = 60 s^1
h hr hour = 3600 s^1
d day = 86400 s^1
wk week = 604800 s^1
fortnight = 1209600 s^1
mo month = 1 month^1
yr year = 12 month^1
decade = 120 month^1
century = 1200 month^1
~Hz ~hertz = 1 s^-1
~N ~newton = 1 kg^1 m^1 s^-2
~J ~joule = 1 kg^1 m^2 s^-2
~W ~watt = 1 kg^1 m^2 s^-3
~Pa ~pascal = 1 kg^1 m^-1 s^-2
~V ~volt = 1 A^-1 kg^1 m^2 s^-3
~A ~amp ~ampere = 1 A^1
~C ~coulomb = 1 A^1 s^1
~eV = 1 eV^1
~cal ~calorie = 1 calorie^1
~mol ~mole = 1 mol^1
K kelvin = 1 K^1
celsius = 1 celsius^1
fahrenheit = 1 fahrenheit^1
rad radian = 1 rad^1
dollar usd = 1 dollar^1
cent penny = 1/100 dollar^1
euro eur = 1 euro^1
sterling gbp quid = 1 sterling^1
yen jpy yuan cny rmb renminbi = 1 yen^1
rupee inr = 1 rupee^1
unit = 1 unit^1
bit = 1 bit^1
kbit kb kilobit = 1000 bit^1
Mbit Mb megabit = 1000000 bit^1
Gbit Gb gigabit = 1000000000 bit^1
kbps = 1000 bit^1 s^-1
Mbps = 1000000 bit^1 s^-1
Gbps = 1000000000 bit^1 s^-1
B byte = 8 bit^1
kB KB kilobyte = 8000 bit^1
MB megabyte = 8000000 bit^1
GB gigabyte = 8000000000 bit^1
TB terabyte = 8000000000000 bit^1
KiB kibibyte = 8192 bit^1
MiB mebibyte = 8388608 bit^1
GiB gibibyte = 8589934592 bit^1
TiB tebibyte = 8796093022208 bit^1
"""
TEMPERATURES: Final = {
    "1|K^1": (Fraction(1), Fraction(0)),
    "1|celsius^1": (Fraction(1), Fraction("273.15")),
    "1|fahrenheit^1": (Fraction(5, 9), Fraction("459.67") * 5 / 9),
}
"""Unit -> kelvins per degree, and kelvins at 0 degrees."""
_PREFIXES = {
    "": 0,
    **dict(zip("pnumcdkMGT", (-12, -9, -6, -3, -2, -1, 3, 6, 9, 12), strict=True)),
    **{"nano": -9, "micro": -6, "milli": -3, "centi": -2, "kilo": 3, "mega": 6},
}

Parts = tuple[Fraction, Counter[str]]
"""The factor of a unit, and the power of each base unit."""

Conversion = tuple[Fraction, Fraction]
"""The factor of a value, and the shift to add then."""

UNCHANGED: Final[Conversion] = (Fraction(1), Fraction(0))
"""The conversion of a unit into itself."""


def _read_table() -> dict[str, Parts]:
    """Return the parts of each unit by its name, with and without prefixes."""
    units: dict[str, Parts] = {}
    for line in _TABLE.strip().splitlines():
        names, meaning = line.split(" = ")
        factor, *parts = meaning.split()
        powers: Counter[str] = Counter()
        for part in parts:
            base, _, power = part.partition("^")
            powers[base] = int(power)
        for name in names.split():
            plain = name.removeprefix("~")
            units[plain] = Fraction(factor), powers
            for prefix, exponent in _PREFIXES.items():
                is_long = len(prefix) > 1
                if name != plain and prefix and is_long == (len(plain) > 3):
                    scale = Fraction(factor) * Fraction(10) ** exponent
                    units.setdefault(prefix + plain, (scale, powers))
    return units


_UNITS = _read_table()
_POWER_WORDS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_SET_AS_TEXT = r"\\(?:text[a-z]{0,6}|mathrm|mbox)\s*\{"
_UNIT = re.compile(
    rf"""(?: [\s(-] | \\cdot | {_SET_AS_TEXT} )*
    (?P<under> / | (?<![^\W\d_]) per (?![^\W\d_]) )? (?: [\s(] | {_SET_AS_TEXT} )*
    (?: (?P<raised> (?i:square|sq|cubic|cu) ) (?![^\W\d_]) \.?\s* )?
    (?P<word> [^\W\d_]+ ) (?: \s*\}} )?
    (?: \s*\^\s*\{{?\s* (?P<power> -?\d ) \s*\}}? )? \}}?""",
    re.VERBOSE,
)
_PLURAL = re.compile(r"(?:(?<=[sxz])|(?<=[cs]h))es$|(?<=\w\w)s$")
_DESCRIBES = frozenset(
    "total all altogether each every exactly only left more remaining away long high"
    " wide deep old of the on average a an for".split()
)
"""Words that end a unit: "dollars each" are dollars."""


def _find_unit(word: str) -> Parts | None:
    """Look up a unit by its word, also in the singular and in lower case."""
    for name in (word, word.lower(), _singular(word), _singular(word.lower())):
        if name in _UNITS and (len(name) > 2 or name in (word, word.removesuffix("s"))):
            return _UNITS[name]
    return None


def _singular(word: str) -> str:
    return _PLURAL.sub("", re.sub(r"ies$", "y", word))


def read_unit(text: str, start: int = 0) -> tuple[str, int]:
    r"""Return the unit at `start` in normal form, "" if there is none, and its end.

    A known unit is written as its factor and its base units, any other as the words for
    the counted things. Words that only describe are left out: "dollars each day" are
    dollars.

    >>> read_unit("km/h"), read_unit("dollars each day"), read_unit("red apples")
    (('5/18|m^1|s^-1', 4), ('1|dollar^1', 7), ('|apple|red', 10))
    """
    factor = Fraction(1)
    powers: Counter[str] = Counter()
    counted: set[str] = set()
    end = start
    part = _UNIT.match(text, start)
    while part and not _is_description(part):
        unit = _find_unit(part["word"])
        if counted or not (unit or powers):
            counted.add(_singular(part["word"].lower()))
        elif unit is None:
            break
        else:
            exponent = int(part["power"] or 1)
            exponent *= _POWER_WORDS.get((part["raised"] or "").lower(), 1)
            if part["under"]:
                exponent = -exponent
            factor *= unit[0] ** exponent
            for base, times in unit[1].items():
                powers[base] += times * exponent
        end = part.end()
        part = _UNIT.match(text, end)
    if powers:
        parts = [f"{base}^{power}" for base, power in sorted(powers.items()) if power]
        return "|".join((str(factor), *parts)), end
    return "|".join(("", *sorted(counted))), end


def _is_description(part: re.Match[str]) -> bool:
    """Return whether a word is no unit, as "in" of "5 in all" (but not of "5 in")."""
    if part["word"] == "in":
        return part.string[part.end("word") :].lstrip()[:1].isalpha()
    return part["word"].lower() in _DESCRIBES


# The factor has to be a fraction, as a text may contain its own \unit{...}.
_UNIT_AT_END = re.compile(r"\\unit\{((?:[1-9]\d*(?:/[1-9]\d*)?)?(?:\|[^|{}]+)*)\}\Z")


def split_unit(text: str) -> tuple[str, str]:
    """Split a normal form into its value and its unit, which may be ""."""
    unit = _UNIT_AT_END.search(text)
    return (text[: unit.start()], unit[1]) if unit else (text, "")


def split_letters(text: str, other: str = "") -> tuple[str, str]:
    """Split a number from letters behind it that are a unit.

    They are a unit if they convert into `other`. Without `other`, only known units of
    two letters or more count, as ``5 m`` may be 5 times m.

    >>> split_letters("5000 g", "1|kg^1"), split_letters("5 g"), split_letters("5 GB")
    (('5000', '1/1000|kg^1'), ('5 g', ''), ('5', '8000000000|bit^1'))
    """
    match = _NUMBER_AND_LETTERS.fullmatch(text)
    if match:
        letters = match[2]
        unit, end = read_unit(letters)
        is_unit = unit[:1].isdigit() and len(letters) > 1
        if other:
            is_unit = conversion(unit, other) is not None
        if is_unit and end == len(letters):
            return match[1], unit
    return text, ""


def split_units(first: str, second: str) -> tuple[tuple[str, str], tuple[str, str]]:
    r"""Split two normal forms into values and units.

    Bare letters are a unit if they convert into the unit of the other side.

    >>> split_units("5000 g", r"5\unit{1|kg^1}")
    (('5000', '1/1000|kg^1'), ('5', '1|kg^1'))
    """
    value, unit = split_unit(first)
    other_value, other_unit = split_unit(second)
    if not (unit or other_unit):
        other_value, other_unit = split_letters(second)
        if not other_unit or not split_letters(first, other_unit)[1]:
            return (first, ""), (second, "")
    if not unit:
        value, unit = split_letters(value, other_unit)
    elif not other_unit:
        other_value, other_unit = split_letters(other_value, unit)
    return (value, unit), (other_value, other_unit)


def conversion(unit: str, other: str) -> Conversion | None:
    """Return the conversion of `unit` into `other`, or ``None`` if they differ in kind.

    Counted things agree if they share a word.

    >>> conversion("1/100|m^1", "1|m^1")
    (Fraction(1, 100), Fraction(0, 1))
    """
    if unit in TEMPERATURES and other in TEMPERATURES:
        degree, zero = TEMPERATURES[unit]
        other_degree, other_zero = TEMPERATURES[other]
        return degree / other_degree, (zero - other_zero) / other_degree
    factor, *parts = unit.split("|")
    other_factor, *other_parts = other.split("|")
    if factor and other_factor and parts == other_parts:
        return Fraction(factor) / Fraction(other_factor), Fraction(0)
    is_shared = not (factor or other_factor) and set(parts) & set(other_parts)
    if is_shared or {unit, other} == {POUND, STERLING}:  # one word is both
        return Fraction(1), Fraction(0)
    return None


_NUMBER_AND_LETTERS = re.compile(r"(-?\d[\d.]*)\s*([A-Za-z][A-Za-z\d^{}/ -]{0,20})")
POUND: Final = "45359237/100000000|kg^1"
STERLING: Final = "1|sterling^1"

_TEXT = re.compile(rf"{_SET_AS_TEXT}([^{{}}]*)\}}")
_AMOUNT = re.compile(
    r"(?P<number>\d{1,9}(?:\.\d{1,9})?)\s*(?:\\unit\{(?P<unit>[^{}]*)\})?"
)
_UNIT_GAP = re.compile(r"\.?\s*")
_SHORT_FORMS = [
    (re.compile(pattern), spelling)
    for pattern, spelling in (
        (r"(-?\d{1,9})['\u2032] ?([\d.]{1,9})(?:\"|''|\u2033)", r"\1 feet \2 inches"),
        (r"(-?\d{1,9})h ?(\d\d?)m", r"\1 hours \2 minutes"),
        (r"(-?\d{1,9})m ?(\d\d?)s", r"\1 minutes \2 seconds"),
        (r"(-?\d{1,9})h ?(\d\d?)m ?(\d\d?)s", r"\1 hours \2 minutes \3 seconds"),
    )
]
"""Patterns of amounts such as 5'6" or 2h30m, and their spelling in words."""
_JOINED_UNIT_GAP = re.compile(r"[\s.]*(?:,\s*)?(?:and\s+)?")


def add_amounts(text: str, *, is_joined: bool = False) -> str:
    r"""Convert an amount in several units to its last unit, or return "".

    Each unit must be smaller than the one before it, and each amount less than one of
    the unit before it. The last amount may have decimals, and its unit may be in normal
    form. `is_joined` allows "and" and commas between amounts, as in a list.

    >>> add_amounts("2 h 30 min"), add_amounts("2 h 90 min")
    ('150\\unit{60|s^1}', '')
    """
    text = _TEXT.sub(r" \1 ", text).strip()
    for short_form, spelling in _SHORT_FORMS:
        short = short_form.fullmatch(text)
        if short:
            text = short.expand(spelling)
    gap = _JOINED_UNIT_GAP if is_joined else _UNIT_GAP
    sign = "-" if text.startswith("-") else ""
    end = len(sign)
    units: list[str] = []
    total = Fraction(0)
    while end < len(text):
        amount = _AMOUNT.match(text, end)
        if amount is None or total.denominator > 1:
            return ""
        unit, end = amount["unit"], amount.end()
        if unit is None:
            unit, end = read_unit(text, end)
        if not unit[:1].isdigit():
            return ""
        number = Fraction(amount["number"])
        if units:
            converted = conversion(units[-1], unit)
            if converted is None or number >= converted[0]:
                return ""
            number += total * converted[0]
        total = number
        units.append(unit)
        gap_behind = gap.match(text, end)
        end = gap_behind.end() if gap_behind else end
    # letters alone, as in "2 h 5 s", may be a product
    if len(units) < 2 or not re.search(r"[^\W\d_]{2}", text):
        return ""
    return rf"{sign}{total}\unit{{{units[-1]}}}"


RADIANS: Final = "1|rad^1"
