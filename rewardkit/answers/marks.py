"""Marks: where completions state their answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewardkit.answers.formats import THINKING, Format
from rewardkit.answers.kinds import kind_of
from rewardkit.primitives.extract.structured import read_json

JOINTS = ("\n", "; ", ", ", " > ")


LISTS = 0.8
"""Share of the answers that must be lists for the kind of all to be one. Our choice."""


@dataclass(frozen=True)
class Marked:
    """A completion as its format and what stands in its mark; `format.name` is that of the mark."""

    format: Format
    answer: str


MARKS = {
    "box": r"(?s)\\boxed\{(?P<answer>(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}",
    "tag": r"(?s)<(?P<tag>[A-Za-z_][\w.:-]{0,30})>\s*(?P<answer>[^<>]*?)\s*</(?P=tag)>",
    "outer tag": r"(?s)<(?P<tag>[A-Za-z_][\w.:-]{0,30})>\s*(?P<answer>.*?)\s*</(?P=tag)>",
    "fence": r"(?s)```[\w-]*\n(?P<answer>.*?)\n?```",
    "####": r"####[ \t]*(?P<answer>[^\n]+)",
    "bold": r"\*\*(?P<answer>[^*\n]+)\*\*",
    "colon": r"(?m)^[^\n:]{0,40}:[ \t]*(?P<answer>\S[^\n]*?)\.?[ \t]*$",
    "number": r"(?P<answer>[-−]?\d(?:[\d,.]*\d)?)",
    "line": r"(?m)^(?P<answer>\S[^\n]*?)[ \t]*$",
    "whole": r"(?s)\A\s*(?P<answer>\S.*?)\s*\Z",
}
"""Marks that are usual -> an expression for them; the last place counts."""


LOOSE = ("colon", "number", "line", "whole")
"""Marks that a completion has without meaning it: looked at after the others, in this order."""


def marks_in(completion: str) -> Iterator[Marked]:
    r"""The marks of a completion with what stands in them: of the usual ones the shorter first.

    >>> [item.format.name for item in marks_in("So:\n<answer>1, 2</answer>")]
    ['tag <answer>', 'outer tag <answer>', 'number', 'line', 'whole']
    """
    found = [item for name in MARKS for item in _last(name, completion)]
    start, end = completion.find("{"), completion.rfind("}") + 1
    if 0 <= start < end and read_json(completion[start:end]) is not None:
        found.append(_marked("object", completion, (start, end), (start, end)))
    return iter(sorted(found, key=_rank))


def likely_mark(completion: str) -> Marked:
    r"""What a completion whose answer is not known may have it in: its last tag, box, or line with a colon.

    >>> likely_mark("<think>so</think>\n<answer>3 + 4</answer>").answer, likely_mark("Six.\nAnswer: 6").answer
    ('3 + 4', '6')
    """
    found = (
        item for name in ("tag", "box", "colon") for item in _last(name, completion)
    )
    return next(found, Marked(Format("bare"), completion))


def _last(name: str, completion: str) -> Iterator[Marked]:
    """The last mark of a name, if there is one."""
    every = re.finditer(MARKS[name], completion)
    for last in [item for item in every if item.groupdict().get("tag") not in THINKING][
        -1:
    ]:
        shown = f"{name} <{last['tag']}>" if "tag" in last.re.groupindex else name
        yield _marked(shown, completion, last.span(), last.span("answer"))


def _rank(item: Marked) -> tuple[int, int]:
    loose = item.format.name in LOOSE
    return (1 + LOOSE.index(item.format.name), 0) if loose else (0, len(item.answer))


def _marked(
    name: str, text: str, mark: tuple[int, int], answer: tuple[int, int]
) -> Marked:
    (start, end), (begin, finish) = mark, answer
    form = Format(name, text[:start], text[start:begin], text[finish:end], text[end:])
    return Marked(form, text[begin:finish])


def split(answer: str) -> tuple[list[str], str]:
    r"""The items of a list that is no JSON, and what stands between them; of anything else it alone, and "".

    >>> split("(1) Ava is a knight\n(2) Ben is a knave"), split("Oslo")
    ((['(1) Ava is a knight', '(2) Ben is a knave'], '\n'), (['Oslo'], ''))
    """
    for joint in JOINTS:
        items = [item.strip() for item in answer.split(joint.strip(" "))]
        if len(items) > 1 + (">" in joint) and all(items):  # "x > 3" is no list
            return items, joint
    return [answer], ""


def answers_kind(answers: Sequence[str], mark: str) -> str:
    """The kind of most answers; "list" where most have several items, "prose" where they are whole texts."""
    kinds = [kind_of(answer) for answer in answers]
    most = max(dict.fromkeys(kinds), key=kinds.count)
    lists = sum(len(split(answer)[0]) > 1 for answer in answers)
    if most == "text" and mark in ("line", "whole"):
        return "prose"
    return (
        "list"
        if most in ("text", "number", "choice") and lists >= LISTS * len(answers)
        else most
    )
