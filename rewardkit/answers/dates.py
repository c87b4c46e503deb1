"""Dates as answers: 2025-04-05, 05/04/2025, 5 April 2025, April 5, 2025."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
"""Beginnings of the months' names."""

ISO_DATE = re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})")
WORDED_DATES = (
    re.compile(
        r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\s(?P<month>[A-Za-z]{3,9})\.?,?\s"
        r"(?P<year>\d{4})"
    ),
    re.compile(
        r"(?P<month>[A-Za-z]{3,9})\.?\s(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s"
        r"(?P<year>\d{4})"
    ),
)
NUMERIC_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
"""A date of numbers, of which the day or the month stands first."""


def read_date(text: str, *, day_first: bool | None = None) -> date | None:
    """Return the date that a text is, None where it is none, or may be two.

    >>> read_date("5 April 2025") == read_date("April 5th, 2025")
    True
    >>> print(read_date("05/04/2025", day_first=True), read_date("05/04/2025"))
    2025-04-05 None
    """
    text = text.strip(" .\n")
    numbers = NUMERIC_DATE.fullmatch(text)
    if numbers:
        first, second, year = int(numbers[1]), int(numbers[3]), int(numbers[4])
        if day_first is None and first != second:
            return None
        return (
            _make_date(year, second, first)
            if day_first
            else _make_date(year, first, second)
        )
    match = ISO_DATE.fullmatch(text)
    for pattern in WORDED_DATES:
        match = match or pattern.fullmatch(text)
    if match is None:
        return None
    month = match["month"]
    if month.isalpha():
        name = month[:3].lower()
        month = str(MONTHS.index(name) + 1) if name in MONTHS else "0"
    return _make_date(int(match["year"]), int(month), int(match["day"]))


def find_day_first(texts: Iterable[str]) -> bool | None:
    """Return whether dates of numbers begin with the day; None where that is open.

    >>> find_day_first(["28/02/2025", "05/04/2025"]), find_day_first(["05/04/2025"])
    (True, None)
    """
    orders: set[bool] = set()
    for text in texts:
        numbers = NUMERIC_DATE.fullmatch(text.strip(" .\n"))
        if numbers and int(numbers[1]) > 12:
            orders.add(True)
        elif numbers and int(numbers[3]) > 12:
            orders.add(False)
    return orders.pop() if len(orders) == 1 else None


def _make_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
