r"""Logged: subjects from the log, whatever their ground truth is.

The right answer is what stands in the mark of a right completion. The mark is found by trial: the first part
of right completions whose loss, and whose exchange for what stands there in the right completion of another
prompt, both lose the reward.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from rewardkit.primitives.extract.structured import read_json
from rewardkit.probes.subjects.answers import kind_of
from rewardkit.probes.subjects.formats import THINKING, Format
from rewardkit.probes.subjects.log import Log, Part
from rewardkit.probes.subjects.subject import Subject
from rewardkit.probes.subjects.written import ENOUGH, drafted, with_format

TRIED_ON = 4  # right completions on which marks are tried
TELLS = 0.02
"""Share of the span of all rewards by which right and wrong differ to be told apart. Our choice."""

KEPT = 0.5
"""Share of it that an answer may lose in another completion and still be paid there. Our choice."""

READ = ("number", "choice", "json")
"""Kinds whose answers are read, so that each has to be one."""

LEAST = 3  # different answers, from which what all share is no part of them: our choice

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


def logged(log: Log, part: Part, count: int) -> list[tuple[int, Subject]]:
    """Places and subjects of right completions, one a prompt, with the wrong answers of other prompts."""
    right = log.by_prompt(
        at for at in log.ranked(part.places) if _is_right(log, part, at)
    )
    places = [some[0] for some in right.values()][:count]
    named = {
        place: {item.format.name: item for item in marks_in(log.text(place))}
        for place in places
    }
    mark = _mark(log, part, dict(islice(named.items(), TRIED_ON)))
    found = {place: marks[mark] for place, marks in named.items() if mark in marks}
    found = _tight(found) if mark in LOOSE else found
    answers = sorted({item.answer for item in found.values()})
    if mark is None:
        return []
    kind = answers_kind([item.answer for item in found.values()], mark)
    return [
        (
            place,
            replace(
                with_format(draft, form), worse=_unpaid(log, part, place, mark).format
            ),
        )
        for place, item in found.items()
        if kind not in READ
        or kind_of(item.answer) == kind  # "none" among numbers is no number
        if (draft := drafted(log, part, place, item.answer, kind, answers))
        for form in dict.fromkeys((item.format.neutralized(), item.format))
    ]


def _tight(found: dict[int, Marked]) -> dict[int, Marked]:
    """What stands around all answers alike is a part of the mark: "The answer is 4. I am sure." of "4"."""
    answers = [item.answer for item in found.values()]
    before = re.sub(r"[\w.,+-]*\Z", "", _shared(answers))
    after = re.sub(r"[\w,]*\Z", "", _shared([answer[::-1] for answer in answers]))[::-1]
    if len(set(answers)) < LEAST or any(
        len(answer) <= len(before + after) for answer in answers
    ):
        return found
    return {
        place: Marked(
            replace(
                item.format,
                opening=item.format.opening + before,
                closing=after + item.format.closing,
            ),
            item.answer[len(before) : len(item.answer) - len(after)],
        )
        for place, item in found.items()
    }


def _shared(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    first, last = min(texts), max(texts)
    same = (
        at
        for at, (one, other) in enumerate(zip(first, last, strict=False))
        if one != other
    )
    return first[: next(same, len(first))]


def _is_right(log: Log, part: Part, place: int) -> bool:
    """Whether a label says so; without one, whether it has a truth, earns the most, and others less."""
    if log.labels:
        return log.labels[place] is True
    return (
        bool(log.truth(place))
        and log.earned(place) - part.low >= ENOUGH * (part.high - part.low) > 1e-9
    )


def _mark(
    log: Log, part: Part, named: Mapping[int, Mapping[str, Marked]]
) -> str | None:
    """The first of the marks of right completions that carries their reward; ``None`` where none does.

    `named` are the marks by name, of each completion by its place. Without what stands in the mark the reward
    is lost, with what its partner has there as well: the right completion of another prompt, or else one of
    its own that is paid less; and what stood there is paid in the mark of the one that is paid less. Where
    there is none of which all this holds, one of which it holds but for the exchange (another prompt's answer
    is paid, which is a fault), else but for the last.
    """
    plans: dict[
        str, list[tuple[int, str, bool]]
    ] = {}  # places, completions, and whether they must lose
    for name in dict.fromkeys(name for marks in named.values() for name in marks):
        known = [
            (place, marks[name]) for place, marks in named.items() if name in marks
        ]
        if len(known) >= max(min(2, len(named)), len(named) - 1):
            partners = [item for _, item in [*known[1:], known[0]]]
            worse = [_unpaid(log, part, place, name) for place, _ in known]
            if len({item.answer for item in partners}) < 2:
                partners = worse
            plans[name] = [
                plan
                for (place, item), other, own in zip(
                    known, partners, worse, strict=True
                )
                for plan in (
                    (place, item.format.write(""), True),
                    (place, item.format.write(other.answer), True),
                    (
                        place,
                        (own if own.format.name == name else other).format.write(
                            item.answer
                        ),
                        False,
                    ),
                )
            ]
    every = [
        (log.plain(place, part), text)
        for plan in plans.values()
        for place, text, _ in plan
    ]
    rewards = iter(log.rewards(part, every))
    ranked: dict[int, str] = {}
    for name, plan in plans.items():
        held = []
        for place, _, loses in plan:
            loss = log.earned(place) - next(
                rewards
            )  # NaN where it was not judged, which is a loss
            least = TELLS if loses else KEPT
            held.append((not loss <= least * (part.high - part.low)) is loses)
        without, exchanged, carried = (
            sum(held[at::3]) >= len(plan) // 3 - (at < 2) for at in range(3)
        )
        if without and exchanged and carried:
            return name
        if without and (exchanged or carried):
            ranked.setdefault(1 if carried else 2, name)
    return ranked[min(ranked)] if ranked else None


def _unpaid(log: Log, part: Part, place: int, name: str) -> Marked:
    """The mark of this name of a completion of the same prompt that is paid less, or else all of it."""
    enough = log.earned(place) - KEPT * (part.high - part.low)
    others = [
        log.text(at) for at in log.ranked(log.beside(place)) if log.earned(at) < enough
    ]
    marks = [
        item for text in others for item in marks_in(text) if item.format.name == name
    ]
    return (
        marks[0]
        if marks
        else Marked(Format("bare"), others[0] if others else "none of these")
    )


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
