"""Brackets that match, and the outermost pairs that can be read: what JSON and Python literals stand in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from rewardkit.primitives.extract.extractor import Span, Which

__all__ = ["bracket_pairs", "outermost"]

# A quote behind a letter is an apostrophe, and one behind a backslash begins no string: the rest of its line
# is searched once for the quote that closes it.
_TOKEN = re.compile(
    r"""(?<![\w\\]) (?: "(?:[^"\\\n]++|\\.)*+" | '(?:[^'\\\n]++|\\.)*+' ) | [()\[\]{}]""", re.VERBOSE
)
_OPENER = {"}": "{", "]": "[", ")": "("}


def bracket_pairs(text: str) -> tuple[list[Span], list[int]]:
    """The spans between matching brackets, and where those open that are never closed.

    Brackets in strings do not count, nor do quotes outside brackets.
    """
    closed: list[Span] = []
    opened: list[int] = []
    position = 0
    while token := _TOKEN.search(text, position):
        start, position = token.span()
        sign = text[start]
        if sign in "\"'":
            position = position if opened else start + 1
        elif sign not in _OPENER:
            opened.append(start)
        else:
            while opened and text[opened[-1]] != _OPENER[sign]:
                opened.pop()
            if opened:
                closed.append((opened.pop(), position))
    return closed, opened


def outermost(
    spans: Iterable[Span], which: Which, reads: Callable[[Span], object], work: float
) -> list[Span]:
    """The spans that can be read and lie in no other such, in text order.

    They are read from the end that is asked for, until so many characters are read. Of two that overlap one
    lies in the other.
    """
    found: list[Span] = []
    for start, end in sorted(spans, key=None if which == "first" else lambda span: (-span[1], span[0])):
        if found and found[-1][0] <= start and end <= found[-1][1]:
            continue
        work -= end - start
        if work < 0:
            break
        if reads((start, end)):
            found.append((start, end))
    return sorted(found)
