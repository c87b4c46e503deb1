"""Marks: where a completion states its answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from rewardkit.answers.formats import CLOSING_TAG, TAG, THINKING, Format, format_around
from rewardkit.primitives import extract
from rewardkit.primitives.extract import Extractor

FORMATS_REMEMBERED = 2048  # completions: those that are read of a log
MOST_MARKED_TAGS = 3  # tags of a completion that are looked at: our choice

CLEAR_MARKS: dict[str, Extractor] = {
    "box": extract.boxed(),
    "object": extract.json_value(),
    "fence": extract.code_block(),
    "####": extract.after("####"),
    "bold": extract.pattern(r"\*\*([^*\n]+)\*\*"),
    "backticks": extract.pattern(r"(?<!`)`([^`\n]+)`(?!`)"),
    "brackets": extract.pattern(
        r"(?<![\w\]])\[{1,2}([^\[\]\n,'\"]{1,80})\]{1,2}[.\s]*\Z"
    ),
}
"""Name -> what finds an answer that is marked on purpose, beside tags."""

LOOSE_MARKS: dict[str, Extractor] = {
    # a line of JSON or of code is no answer behind its label
    "colon": extract.pattern(
        r"(?m)^(?![ \t]*(?:[{\"']|(?:async )?def |class |return ))"
        r"[^\n:]{0,40}:[ \t]*(\S[^\n]*)$"
    ),
    "number": extract.number(),
    "line": extract.pattern(r"(?m)^(\S[^\n]*)$"),
    "whole": extract.pattern(r"(?s)\S.*"),
}
"""Name -> what finds what nearly every completion has; tried last, in this order."""


@dataclass(frozen=True)
class MarkedAnswer:
    """An answer as a completion states it; `format.name` is the name of the mark."""

    format: Format
    answer: str


class MarkedPlace(NamedTuple):
    """Where an answer stands in a completion, and the name of its mark."""

    name: str
    start: int
    end: int

    def read_answer(self, completion: str) -> MarkedAnswer:
        """Return the answer with the format around it."""
        name, start, end = self
        around = Format(name, completion[:start], tail=completion[end:])
        if name not in ("number", "line", "whole", "bare"):
            around = format_around(name, completion, start, end)
        return MarkedAnswer(around, completion[start:end])


def find_marks(completion: str) -> list[MarkedAnswer]:
    r"""Return what the marks of a completion hold: clear ones first, the shorter first.

    >>> [item.format.name for item in find_marks("So:\n<answer>1, 2</answer>")]
    ['tag <answer>', 'number', 'line', 'whole']
    """
    clear = list(_find_tagged(completion))
    for name, extractor in CLEAR_MARKS.items():
        clear += _find(name, extractor, completion)
    clear.sort(key=lambda place: place.end - place.start)
    loose: list[MarkedPlace] = []
    for name, extractor in LOOSE_MARKS.items():
        loose += _find(name, extractor, completion)
    return [place.read_answer(completion) for place in clear + loose]


@lru_cache(maxsize=FORMATS_REMEMBERED)
def find_likely_place(completion: str) -> MarkedPlace:
    r"""Return the place of the likely answer.

    That is the last tag, the last box, brackets at the end, or the last line with a
    colon. Without any, all of the completion is the answer. The last completions are
    remembered, as versions of a reward are diagnosed on one log after the other.

    >>> find_likely_place("<think>so</think>\n<answer>3 + 4</answer>")
    MarkedPlace(name='tag <answer>', start=26, end=31)
    >>> find_likely_place("\\boxed{6}\nWait, that is wrong.\nAnswer: 7").name
    'colon'
    >>> find_likely_place('{\n  "city": "Oslo"\n}').name
    'bare'
    >>> find_likely_place("So I take [knight c3]")
    MarkedPlace(name='brackets', start=11, end=20)
    """
    inside = None  # a tag that holds another: <answer><b>36</b></answer>
    for place in _find_tagged(completion):
        if not CLOSING_TAG.search(completion, place.start, place.end):
            return place
        inside = inside or place
    if inside:
        return inside
    box = _find_first("box", "\\", completion)
    colon = _find_first("colon", ":", completion)
    if box and colon and box.end < colon.start:
        label = completion[completion.rfind("\n", 0, colon.start) + 1 : colon.start]
        if "answer" in label.lower():  # it takes the box back
            return colon
    first = box or _find_first("brackets", "[", completion) or colon
    return first or MarkedPlace("bare", 0, len(completion))


def _find_first(name: str, sign: str, completion: str) -> MarkedPlace | None:
    """Return the place of a mark; no extractor runs where its sign is missing."""
    if sign not in completion:
        return None
    extractor = CLEAR_MARKS.get(name) or LOOSE_MARKS[name]
    return next(_find(name, extractor, completion), None)


def find_likely_mark(completion: str) -> MarkedAnswer:
    """Return the likely answer, see `find_likely_place`, with the format around it."""
    return find_likely_place(completion).read_answer(completion)


def _find_tagged(completion: str) -> Iterator[MarkedPlace]:
    """Yield what tags hold, the last in the text first; reasoning is no answer.

    Only the last few names are looked at, as a completion may have thousands.
    """
    if "</" not in completion:
        return
    opened = set(TAG.findall(completion))
    last_first = dict.fromkeys(reversed(CLOSING_TAG.findall(completion)))
    names = [name for name in last_first if name in opened]
    answers = [name for name in names if name.lower() not in THINKING]
    for name in answers[:MOST_MARKED_TAGS]:
        yield from _find(f"tag <{name}>", _tag(name), completion)


_tag = lru_cache(maxsize=64)(extract.tag)


def _find(name: str, extractor: Extractor, completion: str) -> Iterator[MarkedPlace]:
    """Yield the place of the answer that an extractor finds, if any."""
    for start, end in extractor.spans(completion):
        if name == "colon" and end - start > 1 and completion[end - 1] == ".":
            end -= 1
        yield MarkedPlace(name, start, end)
