"""Dates as answers: 2025-04-05, 05/04/2025, 5 April 2025, April 5th, 2025."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, datetime
from functools import lru_cache

LONGEST_DATE = 40  # characters of a text that is read as a date: our choice
NUMBERS_BY_DAY_FIRST = {True: "%d/%m/%Y", False: "%m/%d/%Y"}
OTHER_DATES = ("%Y/%m/%d", "%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y")
"""Formats of dates that are read in one way alone."""


@lru_cache(maxsize=4096)
def read_date(text: str, *, day_first: bool | None = None) -> date | None:
    """Return the date that a text is, None where it is none, or may be two.

    >>> read_date("5 April 2025.") == read_date("April 5th, 2025")
    True
    >>> print(read_date("05/04/2025", day_first=True), read_date("05/04/2025"))
    2025-04-05 None
    """
    if len(text) > LONGEST_DATE or not re.search(r"\d{4}", text):
        return None
    plain = re.sub(r"(?<=\d)(st|nd|rd|th)\b|,", "", text.strip(" .\n"))
    plain = re.sub(r"(?<=\d)[.-](?=\d)", "/", plain)
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
        readable = [
            order for order in (True, False) if read_date(text, day_first=order)
        ]
        if len(readable) == 1:
            orders.update(readable)
    return orders.pop() if len(orders) == 1 else None
