r"""Logged: subjects from the log, whatever their ground truth is.

The right answer is what stands in the mark of a right completion. The mark is found by trial: the first part
of right completions whose loss, and whose exchange for what stands there in the right completion of another
prompt, both lose the reward.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from rewardkit.answers.formats import Format
from rewardkit.answers.kinds import kind_of, kind_of_stated
from rewardkit.answers.marks import LOOSE_MARKS, MarkedAnswer, find_marks
from rewardkit.probes.subjects.log import Log, Part
from rewardkit.probes.subjects.written import ENOUGH, drafted, with_format
from rewardkit.strategies.subject import Subject

TRIED_ON = 4  # right completions on which marks are tried
TELLS = 0.02
"""Share of the span of all rewards by which right and wrong differ to be told apart. Our choice."""

KEPT = 0.5
"""Share of it that an answer may lose in another completion and still be paid there. Our choice."""

READ = ("number", "choice", "json")
"""Kinds whose answers are read, so that each has to be one."""

LEAST = 3  # different answers, from which what all share is no part of them: our choice


def logged(log: Log, part: Part, count: int) -> list[tuple[int, Subject]]:
    """Places and subjects of right completions, one a prompt, with the wrong answers of other prompts."""
    right = log.by_prompt(
        at for at in log.ranked(part.places) if _is_right(log, part, at)
    )
    places = [some[0] for some in right.values()][:count]
    named = {
        place: {item.format.name: item for item in find_marks(log.text(place))}
        for place in places
    }
    mark = _mark(log, part, dict(islice(named.items(), TRIED_ON)))
    found = {place: marks[mark] for place, marks in named.items() if mark in marks}
    found = _tight(found) if mark in LOOSE_MARKS else found
    answers = sorted({item.answer for item in found.values()})
    if mark is None:
        return []
    kind = kind_of_stated([item.answer for item in found.values()], mark)
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


def _tight(found: dict[int, MarkedAnswer]) -> dict[int, MarkedAnswer]:
    """What stands around all answers alike is a part of the mark: "The answer is 4. I am sure." of "4"."""
    answers = [item.answer for item in found.values()]
    before = re.sub(r"[\w.,+-]*\Z", "", _shared(answers))
    after = re.sub(r"[\w,]*\Z", "", _shared([answer[::-1] for answer in answers]))[::-1]
    if len(set(answers)) < LEAST or any(
        len(answer) <= len(before + after) for answer in answers
    ):
        return found
    return {
        place: MarkedAnswer(
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
    log: Log, part: Part, named: Mapping[int, Mapping[str, MarkedAnswer]]
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


def _unpaid(log: Log, part: Part, place: int, name: str) -> MarkedAnswer:
    """The mark of this name of a completion of the same prompt that is paid less, or else all of it."""
    enough = log.earned(place) - KEPT * (part.high - part.low)
    others = [
        log.text(at) for at in log.ranked(log.beside(place)) if log.earned(at) < enough
    ]
    marks = [
        item for text in others for item in find_marks(text) if item.format.name == name
    ]
    return (
        marks[0]
        if marks
        else MarkedAnswer(Format("bare"), others[0] if others else "none of these")
    )
