"""Shrinking: the smallest record that still does what a larger one does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from rewardkit.probes.search.completions import LISTING, MARK, WRONG, Record, Segment

MANY = 12
"""Words from which it is tried whether full stops in their place do as well. Our choice."""

FEW = 12
"""Repeats of which single ones may be left out in part. Our choice."""

Unit = TypeVar("Unit")


def shrunk(record: Record, holds: Callable[[Record], bool]) -> Record:
    """The smallest record that was found to hold, by delta debugging (Zeller and Hildebrandt, 2002).

    `holds` says whether a record still does what it should; where it has no calls left, that it does not.
    Left out are segments, then repeats, then words and signs of each text, and all of it again until nothing
    can be left out by itself. The same input gives the same output.
    """
    before: Record | None = None
    while record != before:
        before = record
        record = tuple(_fewest(record, lambda some: holds(tuple(some))))
        for at in range(len(record)):
            record = _smaller(record, at, holds)
    return record


def _smaller(record: Record, at: int, holds: Callable[[Record], bool]) -> Record:
    """The record with less in the segment at a place."""
    best = record[at]

    def fits(segment: Segment) -> bool:
        nonlocal best
        if holds((*record[:at], segment, *record[at + 1 :])):
            best = segment
            return True
        return False

    words = len(best.text.split()) * best.times
    if words >= MANY:
        fits(Segment(". ", words))
    least, most = 0, best.times
    while most - least > 1:  # as if more of it were never worse
        middle = 1 if least == 0 else (least + most) // 2
        least, most = (
            (least, middle) if fits(best._replace(times=middle)) else (middle, most)
        )
    if best.times <= FEW:
        best = Segment(best.text * best.times)
    for slots, simplest in ((LISTING, MARK), (LISTING, LISTING[0]), (WRONG, WRONG[0])):
        fits(best._replace(text=re.sub(f"[{slots}]", simplest, best.text)))
    for unit in (r"\s*\S+|\s+", r"(?s)."):
        _fewest(
            re.findall(unit, best.text),
            lambda some: fits(best._replace(text="".join(some))),
        )
    return (*record[:at], best, *record[at + 1 :])


def _fewest(
    units: Sequence[Unit], holds: Callable[[Sequence[Unit]], bool]
) -> Sequence[Unit]:
    """The units without those that can be left out, many at once first."""
    size = len(units)
    while size:
        at = 0
        while at < len(units):
            rest = [*units[:at], *units[at + size :]]
            if holds(rest):
                units = rest
            else:
                at += size
        size //= 2
    return units
