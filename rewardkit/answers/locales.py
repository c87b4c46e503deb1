"""Locales: how the answers of a log write numbers, amounts and dates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache

from rewardkit.primitives.verify.numbers import Number, as_decimal, read_number

THOUSANDS = re.compile(
    r"(?<=\d)(?:[\u00a0\u2009\u202f'\u2019_]|\{,\}|\\[,!])(?=\d{3}(?!\d))"
)
"""What stands between thousands and is no point, comma or plain space."""
NUMBER = re.compile(
    r"(?<![\d.,A-Za-z_])(?<!\d[\u00a0\u2009\u202f])(?<!\d\{,\})(?<!\d\\!)"
    r"(?!(?<=\d['\u2019])\d{3}(?!\d))[-+−]?[$€£]?"  # begins within no other number
    rf"\d(?:(?:[\d.,\u00a0\u2009\u202f]|{THOUSANDS.pattern}){{0,200}}\d)?+"
    r"(?![\dA-Za-z_])"
)
NAMED_BY_NUMBER = re.compile(r"(?<![A-Za-z])(?![a-z]?m[23](?!\w))[A-Za-z]{1,3}\d")
"""The start of a name with a number in it, T20, which is no square metre."""
DECIMAL_COMMA = re.compile(
    r"[-+−]?(\d+,(\d{1,2}|\d{4,})|\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}"
    r"|\d{1,3}([\u00a0\u2009\u202f]\d{3})+,\d+)"
)
"""What is written only where a comma stands before decimals."""
DECIMAL_POINT = re.compile(
    r"[-+−]?(\d+\.(\d{1,2}|\d{4,})|\d{1,3}(,\d{3})+\.\d+|\d{1,3}(,\d{3}){2,}"
    r"|\d{1,3}([\u00a0\u2009\u202f'\u2019_]\d{3})+\.\d+)"
)
"""What is written only where a point stands before decimals."""
FEW_OF_OTHER_LOCALE = 0.1
"""Share of the numbers of a log that may be slips into another locale. Our choice."""

MAGNITUDES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
"""Word behind a number -> how many zeros it stands for."""
AMOUNT = re.compile(
    rf"(?i)\s*([-+−]?[$€£]?\d[\d.,]*)[\s-]*({'|'.join(MAGNITUDES)})s?\b(.*)"
)
"""A number that begins an answer, its magnitude, and what follows, such as a unit."""

LONGEST_DATE = 40  # characters of a text that is read as a date: our choice
NUMBERS_BY_DAY_FIRST = {True: "%d/%m/%Y", False: "%m/%d/%Y"}
OTHER_DATES = ("%Y/%m/%d", "%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y")
"""Formats of dates that are read in one way alone."""


@dataclass(frozen=True)
class Locale:
    """How the answers of a part of a log are written.

    `decimal_comma` says whether a comma stands before decimals, `day_first` whether a
    date of numbers begins with the day; None where that is open, as a log may mix both.
    `has_counts` says that all truths are whole numbers: what is counted is not measured
    within a tolerance.
    """

    decimal_comma: bool | None = False
    day_first: bool | None = None
    has_counts: bool = False


USUAL_LOCALE = Locale()


def find_locale(answers: Sequence[str]) -> Locale:
    """Return the locale in which alone nearly all these answers can be read.

    >>> find_locale(["38.705", "77,5"]), find_locale(["28/02/2025"]).day_first
    (Locale(decimal_comma=True, day_first=None, has_counts=False), True)
    >>> find_locale(["38.705", "77,5", "77.5"]).decimal_comma is None
    True
    """
    texts = [answer.strip() for answer in answers]
    commas = len(list(filter(DECIMAL_COMMA.fullmatch, texts)))
    points = len(list(filter(DECIMAL_POINT.fullmatch, texts)))
    is_mixed = min(commas, points) > FEW_OF_OTHER_LOCALE * max(commas, points)
    return Locale(None if is_mixed else commas > points, find_day_first(answers))


def read_local(answer: str, locale: Locale = USUAL_LOCALE) -> Number | None:
    """Read the number of an answer, or the only number in it."""
    number = None if locale.decimal_comma else read_number(answer)
    numbers = NUMBER.findall(answer)
    if number is not None or len(numbers) != 1 or NAMED_BY_NUMBER.search(answer):
        return number
    text = THOUSANDS.sub("", numbers[0])
    if locale.decimal_comma:
        text = text.translate({ord("."): None, ord(","): "."})
    return read_number(text)


def spell_out(answer: str, locale: Locale = USUAL_LOCALE) -> str:
    """Write an amount that begins an answer in digits; else return the answer.

    >>> spell_out("$2.5 million"), spell_out("5 million dollars"), spell_out("5 mg")
    ('2500000', '5000000 dollars', '5 mg')
    """
    amount = AMOUNT.fullmatch(answer)
    number = read_local(amount[1], locale) if amount else None
    if amount is None or number is None:
        return answer
    value = as_decimal(number).scaleb(MAGNITUDES[amount[2].lower()])
    return f"{value.normalize():f}{amount[3]}"


_NO_PART_OF_DATE = re.compile(
    r"(?i)\b(?:the|of|on|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
)


@lru_cache(maxsize=4096)
def read_date(text: str, *, day_first: bool | None = None) -> date | None:
    """Return the date that a text is, None where it is none, or may be two.

    >>> texts = "5 April 2025.", "April 5th, 2025", "Saturday, the 5th of April 2025"
    >>> {str(read_date(text)) for text in texts}
    {'2025-04-05'}
    >>> print(read_date("05/04/2025", day_first=True), read_date("05/04/2025"))
    2025-04-05 None
    """
    if len(text) > LONGEST_DATE or not re.search(r"\d{4}", text):
        return None
    plain = re.sub(r"(?<=\d)(st|nd|rd|th)\b|,", "", _NO_PART_OF_DATE.sub("", text))
    plain = re.sub(r"(?<=\d)[.-](?=\d)", "/", plain.strip(" .\n"))
    formats = [*NUMBERS_BY_DAY_FIRST.values(), *OTHER_DATES]
    if day_first is not None:
        formats.remove(NUMBERS_BY_DAY_FIRST[not day_first])
    days: set[date] = set()
    for date_format in formats:
        with suppress(ValueError):
            days.add(datetime.strptime(plain, date_format).date())
    return days.pop() if len(days) == 1 else None


def find_day_first(texts: Iterable[str]) -> bool | None:
    """Return whether dates of numbers begin with the day; None where that is open.

    >>> find_day_first(["28/02/2025", "05/04/2025"]), find_day_first(["05/04/2025"])
    (True, None)
    """
    orders: set[bool] = set()
    for text in texts:
        can_be_first = read_date(text, day_first=True) is not None
        if can_be_first != (read_date(text, day_first=False) is not None):
            orders.add(can_be_first)
    return orders.pop() if len(orders) == 1 else None
