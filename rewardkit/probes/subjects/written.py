"""Written: subjects whose answers are written from the truth, in the format in which right ones are paid."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from rewardkit.answers.formats import Format, propose_formats, skeleton
from rewardkit.answers.kinds import kind_of, read_truth, states_list
from rewardkit.primitives.texts import normal_text
from rewardkit.probes.subjects.log import Log, Part, in_turn
from rewardkit.strategies.subject import Row, Subject
from rewardkit.strategies.wrong_answers import wrong_answers

MOST_WRONG = 6  # wrong answers of a subject
TRIED_ON = 3  # prompts on which a format is tried
OTHERS = 3  # right answers to other prompts that a subject keeps
WAVE = 8  # formats that are tried at a time
IDLE = 3  # waves without a better format than one in which right answers are fully paid
ENOUGH = 0.98
"""Share of the highest reward of the rollouts that a right answer earns to be taken for a fully paid one."""

Drafts = Sequence[tuple[int, Subject]]  # with the places of their rows


@dataclass(eq=False)
class Best:
    """The format in which right answers earn most more than wrong ones; ``None`` where there is none.

    `rank` is by how much, and what they earn; `inverted` says that wrong answers earned more in a format, and
    `tried` whether any was tried.
    """

    format: Format | None = None
    rank: tuple[float, float] = (1e-9, 0.0)
    inverted: bool = False
    tried: bool = False

    def paid(self, part: Part) -> bool:
        """Whether right answers earn as much as the best rollouts."""
        return self.format is not None and self.rank[1] >= ENOUGH * part.high

    def take(self, option: Format, right: float, wrong: float) -> bool:
        """Keep a format if it is better than the best so far."""
        self.tried |= not math.isnan(right)
        wrong = min(right, 0.0) if math.isnan(wrong) else wrong
        rank = (round(right - wrong, 6), round(right, 6))
        self.inverted |= right - wrong < -1e-9
        better = rank > self.rank
        if better:
            self.format, self.rank = option, rank
        return better


def drafts(log: Log, part: Part) -> Iterator[tuple[int, Subject]]:
    """Places of rows and subjects with no format yet: first one of each answer, then more prompts of them.

    Prompts whose truth states no answer, or beside which none is certain to be wrong, are left out.
    """
    scored = [place for place in part.places if place in log.outcomes]
    answers = _answers(
        {place: log.rows[place] for place in dict.fromkeys([*scored, *part.places])}
    )
    others = sorted(set(answers.values()))
    objects = any(mark in log.text(place) for place in scored for mark in "{[")
    # a record is no answer where no completion writes one
    stated = [
        place for place in answers if objects or kind_of(answers[place]) != "json"
    ]
    for place in in_turn(
        [some[0] for some in log.by_prompt(stated).values()], answers.__getitem__
    ):
        if draft := drafted(
            log, part, place, answers[place], kind_of(answers[place]), others
        ):
            yield place, draft


def drafted(
    log: Log, part: Part, place: int, answer: str, kind: str, others: Sequence[str]
) -> Subject | None:
    """A row as a subject with this right answer and no format; ``None`` where none is certain to be wrong.

    `others` are the right answers of other prompts.
    """
    draft = replace(log.plain(place, part), answer=answer, kind=kind)
    wrong = wrong_answers(answer, kind, prompt=draft.prompt, others=others)[:MOST_WRONG]
    apart = [other for other in others if normal_text(other) != normal_text(answer)]
    return (
        replace(
            draft,
            wrong=wrong,
            others=tuple(apart[:: max(1, len(apart) // OTHERS)][:OTHERS]),
        )
        if wrong
        else None
    )


def _answers(rows: Mapping[int, Row]) -> dict[int, str]:
    """The answer that each truth states; of a list the whole of it, where completions write lists."""
    truths = {place: row.get("ground_truth") for place, row in rows.items()}
    if any(
        states_list(str(row.get("completion")), truths[place])
        for place, row in rows.items()
    ):
        truths = {
            place: json.dumps(truth, ensure_ascii=False)
            if isinstance(truth, list)
            else truth
            for place, truth in truths.items()
        }
    stated = {place: read_truth(truth) for place, truth in truths.items()}
    # "$7$" is 7, in mathematics
    return {
        at: re.sub(r"^\$([^$]+)\$$", r"\1", text)
        for at, text in stated.items()
        if text is not None
    }


def with_format(draft: Subject, option: Format) -> Subject:
    """The subject with its completions written in this format."""
    return replace(
        draft,
        format=option,
        reference=option.write(draft.right),
        baseline=option.write(draft.wrong[0]),
    )


def best_format(log: Log, part: Part, given: Drafts, *, slow: bool) -> Best:
    """The best format; those that the rollouts and prompts show are tried first."""
    best = Best()
    if not given:
        return best
    some, wave_of = (given[:1], 2) if slow else (given[:TRIED_ON], WAVE)
    shown = [log.text(place) for place in log.ranked(part.places)[:48]]
    prompts = [draft.prompt for _, draft in some]
    candidates = propose_formats(shown, prompts, some[0][1].kind)
    # where no rollout of a prompt is fully paid, a written answer need not be
    full = [
        any(log.earned(at) >= ENOUGH * part.high for at in log.beside(place))
        for place, _ in some
    ]
    asked = np.array(full if any(full) else [True] * len(some))
    idle = 0
    while (
        idle < IDLE
        and not (
            best.format and log.tries.late
        )  # where one was late, unusual forms may be late as well
        and log.tries.left > log.tries.budget / 2
        and (wave := list(islice(candidates, wave_of)))
    ):
        idle += best.paid(part)
        subjects = [with_format(draft, option) for option in wave for _, draft in some]
        pairs = [
            (one, text) for one in subjects for text in (one.reference, one.baseline)
        ]
        rewards = np.array(log.rewards(part, pairs)).reshape(len(wave), len(some), 2)
        for option, earned in zip(wave, rewards[:, asked], strict=True):
            if best.take(option, _mean(earned[:, 0]), _mean(earned[:, 1])):
                idle = 0
    return best


def _mean(values: np.ndarray) -> float:
    """Mean of what is not NaN; NaN where nothing is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def skeletons(log: Log, place: int, draft: Subject) -> Iterator[Format]:
    """What stands around the right answer in the prompt's own rollouts, of those that earn most first."""
    beside = log.ranked(log.beside(place))
    right = [at for at in beside if not log.labels or log.labels[at]]
    found = [skeleton(log.text(at), draft.right) for at in right]
    found += [
        skeleton(log.text(at), draft.right, last=True) for at in beside
    ]  # an agent says it on the way
    yield from (item for item in found if item)
