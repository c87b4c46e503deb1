r"""Subjects from the log, whatever their ground truth is.

The right answer is what stands in the mark of a right completion. The mark is found by
trial: the first part of right completions whose loss, and whose exchange for what
stands there in the right completion of another prompt, both lose the reward.
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
from rewardkit.probes.subjects.written import ENOUGH, make_draft, with_format
from rewardkit.strategies.subject import Subject

MARK_TRIALS = 4  # right completions on which marks are tried

TELLS = 0.02
"""Share of the span of all rewards by which right and wrong must differ. Our choice."""

MAY_LOSE = 0.5
"""Share of it that an answer may lose in another completion and still be paid. Our
choice."""

READ_KINDS = ("number", "choice", "json")
"""Kinds whose answers are read, so that each has to be one."""

LEAST_ANSWERS = 3  # different answers, of which what all share is no part: our choice


def logged(log: Log, part: Part, count: int) -> list[tuple[int, Subject]]:
    """Make subjects of right completions, with the wrong answers of other prompts.

    Args:
        log: The rollouts.
        part: The part of them.
        count: Prompts, at most.

    Returns:
        Places and subjects; for each prompt with neutral reasoning and as it is.
    """
    right = log.by_prompt(
        place for place in log.ranked(part.places) if _is_right(log, part, place)
    )
    marks: dict[int, dict[str, MarkedAnswer]] = {}
    for group in list(right.values())[:count]:
        found = find_marks(log.text(group[0]))
        marks[group[0]] = {mark.format.name: mark for mark in found}
    name = _find_mark(log, part, dict(islice(marks.items(), MARK_TRIALS)))
    if name is None:
        return []
    stated = {place: named[name] for place, named in marks.items() if name in named}
    if name in LOOSE_MARKS:
        stated = _tighten(stated)
    kind = kind_of_stated([mark.answer for mark in stated.values()], name)
    answers = sorted({mark.answer for mark in stated.values()})
    subjects: list[tuple[int, Subject]] = []
    for place, mark in stated.items():
        if kind in READ_KINDS and kind_of(mark.answer) != kind:
            continue  # "none" among numbers is no number
        draft = make_draft(log, part, place, mark.answer, kind, answers)
        if draft is not None:
            worse = _find_unpaid(log, part, place, name).format
            for form in dict.fromkeys((mark.format.neutralized(), mark.format)):
                subjects.append((place, replace(with_format(draft, form), worse=worse)))
    return subjects


def _tighten(stated: dict[int, MarkedAnswer]) -> dict[int, MarkedAnswer]:
    """Move what all answers share into the mark: "4. I am sure." is the answer "4"."""
    answers = [mark.answer for mark in stated.values()]
    if len(set(answers)) < LEAST_ANSWERS:
        return stated
    before = re.sub(r"[\w.,+-]*\Z", "", _shared_start(answers))
    ends = [answer[::-1] for answer in answers]
    after = re.sub(r"[\w,]*\Z", "", _shared_start(ends))[::-1]
    if min(map(len, answers)) <= len(before + after):
        return stated
    tight: dict[int, MarkedAnswer] = {}
    for place, mark in stated.items():
        form = replace(
            mark.format,
            opening=mark.format.opening + before,
            closing=after + mark.format.closing,
        )
        answer = mark.answer[len(before) : len(mark.answer) - len(after)]
        tight[place] = MarkedAnswer(form, answer)
    return tight


def _shared_start(texts: Sequence[str]) -> str:
    """Return what all texts begin with."""
    first, last = min(texts), max(texts)
    length = 0
    for character, other in zip(first, last, strict=False):
        if character != other:
            return first[:length]
        length += 1
    return first


def _is_right(log: Log, part: Part, place: int) -> bool:
    """Whether a label says so; else whether it has a truth and earns the most."""
    if log.labels:
        return log.labels[place] is True
    span = part.high - part.low
    if not log.truth(place) or span * ENOUGH <= 1e-9:
        return False
    return log.earned(place) - part.low >= ENOUGH * span


MarkTrial = tuple[int, str, bool]
"""Place of a row, a completion for it, whether it must lose the reward."""


def _find_mark(
    log: Log, part: Part, marks: Mapping[int, Mapping[str, MarkedAnswer]]
) -> str | None:
    """Find the first mark of right completions that carries their reward.

    Without what stands in it the reward is lost; so it is with what a partner has
    there: the right completion of another prompt, or one of its own that is paid less.
    And what stood there is paid in the mark of the one that is paid less. If there is
    no such mark, one will do where only the exchange fails (another prompt's answer is
    paid, which is a fault), else one where only the last fails.

    Args:
        log: The rollouts.
        part: The part of them.
        marks: Place of a right completion -> its marks by name.
    """
    trials: dict[str, list[MarkTrial]] = {}
    for name in dict.fromkeys(name for named in marks.values() for name in named):
        known = {place: named[name] for place, named in marks.items() if name in named}
        if len(known) >= max(min(2, len(marks)), len(marks) - 1):
            trials[name] = _plan_mark_trials(log, part, name, known)
    completions = [
        (log.plain(place, part), text)
        for plan in trials.values()
        for place, text, _ in plan
    ]
    rewards = iter(log.rewards(part, completions))
    span = part.high - part.low
    second_best: dict[int, str] = {}
    for name, plan in trials.items():
        holds: list[bool] = []
        for place, _, must_lose in plan:
            loss = log.earned(place) - next(rewards)
            limit = (TELLS if must_lose else MAY_LOSE) * span
            is_lost = not loss <= limit  # what was not judged, NaN, is lost
            holds.append(is_lost is must_lose)
        count = len(plan) // 3
        is_needed = sum(holds[0::3]) >= count - 1
        is_exchanged = sum(holds[1::3]) >= count - 1
        is_carried = sum(holds[2::3]) >= count
        if is_needed and is_exchanged and is_carried:
            return name
        if is_needed and is_carried:
            second_best.setdefault(1, name)
        elif is_needed and is_exchanged:
            second_best.setdefault(2, name)
    return second_best[min(second_best)] if second_best else None


def _plan_mark_trials(
    log: Log, part: Part, name: str, known: Mapping[int, MarkedAnswer]
) -> list[MarkTrial]:
    """Plan three trials of a mark for each row: empty, exchanged, carried elsewhere."""
    marks = list(known.values())
    worse = [_find_unpaid(log, part, place, name) for place in known]
    partners = [*marks[1:], marks[0]]
    if len({partner.answer for partner in partners}) < 2:
        partners = worse
    trials: list[MarkTrial] = []
    for (place, mark), partner, unpaid in zip(
        known.items(), partners, worse, strict=True
    ):
        elsewhere = unpaid if unpaid.format.name == name else partner
        trials.append((place, mark.format.write(""), True))
        trials.append((place, mark.format.write(partner.answer), True))
        trials.append((place, elsewhere.format.write(mark.answer), False))
    return trials


def _find_unpaid(log: Log, part: Part, place: int, name: str) -> MarkedAnswer:
    """Find this mark in a completion of the prompt that is paid less, or take all."""
    enough = log.earned(place) - MAY_LOSE * (part.high - part.low)
    unpaid = [
        log.text(other)
        for other in log.ranked(log.beside(place))
        if log.earned(other) < enough
    ]
    for text in unpaid:
        for mark in find_marks(text):
            if mark.format.name == name:
                return mark
    return MarkedAnswer(Format("bare"), unpaid[0] if unpaid else "none of these")
