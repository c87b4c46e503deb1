"""Enumerations in text: the separators that are in no bracket, and what stands between them."""

from __future__ import annotations

import re
from collections.abc import Sequence


def separators(
    text: str, token: re.Pattern[str], *, half_open: bool = False
) -> tuple[list[re.Match[str]], bool]:
    """The separators outside of brackets, and whether one pair of brackets is around all of the text.

    A token is an "opening" or a "closing" bracket or a "separator", by the groups of
    the pattern. ValueError: brackets that do not match; `half_open` lets ( match ].
    """
    places: list[re.Match[str]] = []
    opened: list[str] = []
    around = False
    for found in token.finditer(text):
        if found["opening"]:
            around = around or found.start() == 0
            opened.append(found[0])
        elif found["closing"]:
            if not opened or (
                opened.pop() + found[0] not in ("()", "[]", "{}") and not half_open
            ):
                raise ValueError(f"{found[0]} closes nothing")
            around = around and (bool(opened) or found.end() == len(text))
        elif found["separator"] and not opened:
            places.append(found)
    if opened:
        raise ValueError(f"{opened[-1]} is not closed")
    return places, around


def between(text: str, places: Sequence[re.Match[str]]) -> list[str]:
    """What stands before, between and behind some places, without the white space around it."""
    edges = [0, *(edge for place in places for edge in place.span()), len(text)]
    return [
        text[start:end].strip()
        for start, end in zip(edges[::2], edges[1::2], strict=True)
    ]
