"""Marks: where completions state their answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rewardkit.answers.formats import (
    CLOSING_TAG,
    TAG,
    THINKING,
    Format,
    format_around,
)
from rewardkit.primitives import extract
from rewardkit.primitives.extract import Extractor

MOST_MARKED_TAGS = 3  # tags of a completion that are looked at: our choice

CLEAR_MARKS: dict[str, Extractor] = {
    "box": extract.boxed(),
    "object": extract.json_value(),
    "fence": extract.code_block(),
    "####": extract.after("####"),
    "bold": extract.pattern(r"\*\*([^*\n]+)\*\*"),
}
"""Name -> what finds an answer that is marked on purpose, beside tags."""

LOOSE_MARKS: dict[str, Extractor] = {
    "colon": extract.pattern(r"(?m)^[^\n:]{0,40}:[ \t]*(\S[^\n]*)$"),
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


def find_marks(completion: str) -> list[MarkedAnswer]:
    r"""Return what the marks of a completion hold: clear ones first, the shorter first.

    >>> [item.format.name for item in find_marks("So:\n<answer>1, 2</answer>")]
    ['tag <answer>', 'number', 'line', 'whole']
    """
    clear = list(_find_tagged(completion))
    for name, extractor in CLEAR_MARKS.items():
        clear += _find(name, extractor, completion)
    clear.sort(key=lambda marked: len(marked.answer))
    loose: list[MarkedAnswer] = []
    for name, extractor in LOOSE_MARKS.items():
        loose += _find(name, extractor, completion)
    return clear + loose


def find_likely_mark(completion: str) -> MarkedAnswer:
    r"""Return the likely answer: that of the last tag, box, or line with a colon.

    Without any, all of the completion is the answer.

    >>> find_likely_mark("<think>so</think>\n<answer>3 + 4</answer>").answer
    '3 + 4'
    >>> find_likely_mark("Six.\nAnswer: 6").answer
    '6'
    """
    tagged = sorted(_find_tagged(completion), key=_holds_a_tag)
    if tagged:
        return tagged[0]
    for name in ("box", "colon"):
        extractor = CLEAR_MARKS.get(name) or LOOSE_MARKS[name]
        for marked in _find(name, extractor, completion):
            return marked
    return MarkedAnswer(Format("bare"), completion)


def _holds_a_tag(marked: MarkedAnswer) -> bool:
    """Whether a tag in it holds the answer: <answer><b>36</b></answer>."""
    return CLOSING_TAG.search(marked.answer) is not None


def _find_tagged(completion: str) -> Iterator[MarkedAnswer]:
    """Yield what tags hold, the last in the text first; reasoning is no answer.

    Only the last few names are looked at, as a completion may have thousands.
    """
    opened = set(TAG.findall(completion))
    last_first = dict.fromkeys(reversed(CLOSING_TAG.findall(completion)))
    names = [name for name in last_first if name in opened]
    answers = [name for name in names if name.lower() not in THINKING]
    for name in answers[:MOST_MARKED_TAGS]:
        yield from _find(f"tag <{name}>", extract.tag(name), completion)


def _find(name: str, extractor: Extractor, completion: str) -> Iterator[MarkedAnswer]:
    """Yield the answer that an extractor finds, if any, with the format around it."""
    for start, end in extractor.spans(completion):
        if name == "colon" and end - start > 1 and completion[end - 1] == ".":
            end -= 1
        if name in ("number", "line", "whole"):
            around = Format(name, completion[:start], tail=completion[end:])
        else:
            around = format_around(name, completion, start, end)
        yield MarkedAnswer(around, completion[start:end])
