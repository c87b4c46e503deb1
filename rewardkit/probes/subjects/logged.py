r"""Logged: subjects from the log, whatever their ground truth is.

The right answer is what stands in the mark of a right completion. The mark is found by trial: the first part
of right completions whose loss, and whose exchange for what stands there in the right completion of another
prompt, both lose the reward.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rewardkit.primitives.extract.structured import read_json
from rewardkit.probes.subjects.answers import WRONG, kind_of, wrong_answers
from rewardkit.probes.subjects.formats import THINKING, Format
from rewardkit.probes.subjects.log import Log, Part, prompt_text
from rewardkit.probes.subjects.subject import Subject
from rewardkit.probes.subjects.written import ENOUGH, with_format

__all__ = ["TELLS", "answers_kind", "logged", "marks_in", "split"]

TRIED_ON = 4  # right completions on which marks are tried
TELLS = 0.02
"""Share of the span of all rewards by which right and wrong differ to be told apart. Our choice."""

JOINTS = ("\n", "; ", ", ", " | ", " ")
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
    found: list[Marked] = []
    for name, expression in MARKS.items():
        places = [item for item in re.finditer(expression, completion) if not _thinks(item)]
        if places:
            last = places[-1]
            shown = f"{name} <{last['tag']}>" if "tag" in last.re.groupindex else name
            found.append(_marked(shown, completion, last.span(), last.span("answer")))
    start, end = completion.find("{"), completion.rfind("}") + 1
    if 0 <= start < end and read_json(completion[start:end]) is not None:
        found.append(_marked("object", completion, (start, end), (start, end)))
    return iter(sorted(found, key=_rank))


def _rank(item: Marked) -> tuple[int, int]:
    loose = item.format.name in LOOSE
    return (1 + LOOSE.index(item.format.name), 0) if loose else (0, len(item.answer))


def _thinks(found: re.Match[str]) -> bool:
    return "tag" in found.re.groupindex and found["tag"] in THINKING


def _marked(name: str, text: str, mark: tuple[int, int], answer: tuple[int, int]) -> Marked:
    (start, end), (begin, finish) = mark, answer
    form = Format(name, text[:start], text[start:begin], text[finish:end], text[end:])
    return Marked(form, text[begin:finish])


def logged(log: Log, part: Part, count: int) -> list[tuple[int, Subject]]:
    """Places and subjects of right completions, one a prompt, with the wrong answers of other prompts."""
    right: dict[int, int] = {}
    for place in log.ranked(part.places):
        if _is_right(log, part, place):
            right.setdefault(int(log.groups[place]), place)
    places = list(right.values())[:count]
    mark = _mark(log, part, places)
    found = {
        place: item for place in places for item in marks_in(log.text(place)) if item.format.name == mark
    }
    answers = [item.answer for item in found.values()]
    if len(set(answers)) < 2:
        return []
    kind, subjects = answers_kind(answers, str(mark)), []
    for place, item in found.items():
        form, prompt = item.format, prompt_text(log.rows[place].get("prompt"))
        wrong = wrong_answers(item.answer, kind, prompt=prompt, others=sorted(set(answers)))[:WRONG]
        if wrong:
            draft = replace(log.plain(place, part), answer=item.answer, kind=kind, wrong=wrong)
            subjects += [
                (place, with_format(draft, one)) for one in dict.fromkeys((form.neutralized(), form))
            ]
    return subjects


def _is_right(log: Log, part: Part, place: int) -> bool:
    """Whether a label says so; without one, whether it has a truth, earns the most, and others less."""
    if log.label:
        return bool(log.rows[place].get(log.label))
    return bool(log.truth(place)) and log.earned(place) - part.low >= ENOUGH * (part.high - part.low) > 1e-9


def _mark(log: Log, part: Part, places: Sequence[int]) -> str | None:
    """The name of the first mark of right completions that carries their reward; ``None`` where none does.

    It is lost without what stands in the mark, and with what another right completion has there.
    """
    some = places[:TRIED_ON]
    named = [{item.format.name: item for item in marks_in(log.text(place))} for place in some]
    plans: dict[str, list[tuple[int, str]]] = {}
    for name in dict.fromkeys(name for marks in named for name in marks):
        known = [(place, marks[name]) for place, marks in zip(some, named, strict=True) if name in marks]
        if len(known) >= max(2, len(some) - 1):
            plans[name] = [
                (place, text)
                for (place, item), (_, other) in zip(known, [*known[1:], known[0]], strict=True)
                for text in (item.format.write(""), item.format.write(other.answer))
            ]
    every = [(log.plain(place, part), text) for plan in plans.values() for place, text in plan]
    rewards = iter(log.rewards(part, every))
    for name, plan in plans.items():
        left = [next(rewards) for _ in plan]
        lost = [
            not log.earned(place) - reward <= TELLS * (part.high - part.low)  # what is not judged is lost
            for (place, _), reward in zip(plan, left, strict=True)
        ]
        if sum(lost) >= len(lost) - 1:
            return name
    return None


def split(answer: str, joints: Sequence[str] = JOINTS[:-2]) -> tuple[list[str], str] | None:
    r"""The items of a list that is no JSON, and what stands between them; ``None`` where it is none.

    >>> split("(1) Ava is a knight\n(2) Ben is a knave")
    (['(1) Ava is a knight', '(2) Ben is a knave'], '\n')
    """
    for joint in joints:
        items = [item.strip() for item in answer.split(joint.strip(" ") or joint)]
        if len(items) > 1 and all(items):
            return items, joint
    return None


def answers_kind(answers: Sequence[str], mark: str) -> str:
    """The kind of most answers; "list" where most have several items, "prose" where they are whole texts."""
    kinds = [kind_of(answer) for answer in answers]
    most = max(dict.fromkeys(kinds), key=kinds.count)
    lists = sum(split(answer) is not None for answer in answers)
    if most == "text" and mark in ("line", "whole"):
        return "prose"
    return "list" if most in ("text", "number", "choice") and lists >= LISTS * len(answers) else most
