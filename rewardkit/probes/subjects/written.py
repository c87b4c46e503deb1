"""Subjects whose answers are written from the truth, in a format that is paid."""

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
FORMAT_TRIALS = 3  # prompts on which a format is tried
MOST_OTHERS = 3  # right answers to other prompts that a subject keeps
FORMATS_AT_A_TIME = 8  # formats that are tried at a time; 2 where calls are slow
IDLE_WAVES = 3  # waves without a better format than a fully paid one, that end it
ENOUGH = 0.98
"""Share of the highest reward of the rollouts that makes a right answer fully paid."""

Drafts = Sequence[tuple[int, Subject]]
"""Subjects without a format, each with the place of its row."""


@dataclass(eq=False)
class Best:
    """The format in which right answers earn most more than wrong ones, if any.

    `rank` is by how much, and what they earn; `inverted` says that wrong answers earned
    more in a format, and `tried` whether any was tried.
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
        if math.isnan(wrong):
            wrong = min(right, 0.0)
        self.inverted |= right - wrong < -1e-9
        rank = (round(right - wrong, 6), round(right, 6))
        if not rank > self.rank:  # NaN is never better
            return False
        self.format, self.rank = option, rank
        return True


def drafts(log: Log, part: Part) -> Iterator[tuple[int, Subject]]:
    """Yield places and subjects without a format: one of each answer, then more.

    Prompts are left out whose truth states no answer, or beside which none is certain
    to be wrong.
    """
    scored = [place for place in part.places if place in log.outcomes]
    places = dict.fromkeys([*scored, *part.places])
    answers = _state_answers({place: log.rows[place] for place in places})
    others = sorted(set(answers.values()))
    writes_objects = any(sign in log.text(place) for place in scored for sign in "{[")
    stated: list[int] = []
    for place, answer in answers.items():
        # a record is no answer where no completion writes one
        if writes_objects or kind_of(answer) != "json":
            stated.append(place)
    firsts = [group[0] for group in log.by_prompt(stated).values()]
    for place in in_turn(firsts, answers.__getitem__):
        answer = answers[place]
        draft = make_draft(log, part, place, answer, kind_of(answer), others)
        if draft is not None:
            yield place, draft


def make_draft(
    log: Log, part: Part, place: int, answer: str, kind: str, others: Sequence[str]
) -> Subject | None:
    """Make a subject of a row with a right answer and no format.

    Args:
        log: The rollouts.
        part: The part of them.
        place: The row.
        answer: Its right answer.
        kind: The kind of the answer.
        others: The right answers of other prompts.

    Returns:
        The subject; None where no answer is certain to be wrong.
    """
    draft = replace(log.plain(place, part), answer=answer, kind=kind)
    wrong = wrong_answers(answer, kind, prompt=draft.prompt, others=others)
    if not wrong:
        return None
    apart = [other for other in others if normal_text(other) != normal_text(answer)]
    spread = apart[:: max(1, len(apart) // MOST_OTHERS)][:MOST_OTHERS]
    return replace(draft, wrong=wrong[:MOST_WRONG], others=tuple(spread))


def _state_answers(rows: Mapping[int, Row]) -> dict[int, str]:
    """State the answer of each truth; a whole list where completions write lists."""
    truths = {place: row.get("ground_truth") for place, row in rows.items()}
    writes_lists = any(
        states_list(str(row.get("completion")), truths[place])
        for place, row in rows.items()
    )
    answers: dict[int, str] = {}
    for place, truth in truths.items():
        if writes_lists and isinstance(truth, list):
            truth = json.dumps(truth, ensure_ascii=False)
        answer = read_truth(truth)
        if answer is not None:  # "$7$" is 7, in mathematics
            answers[place] = re.sub(r"^\$([^$]+)\$$", r"\1", answer)
    return answers


def with_format(draft: Subject, option: Format) -> Subject:
    """Return the subject with its completions written in this format."""
    return replace(
        draft,
        format=option,
        reference=option.write(draft.right),
        baseline=option.write(draft.wrong[0]),
    )


def best_format(log: Log, part: Part, drafted: Drafts, *, slow: bool) -> Best:
    """Try formats, those that the rollouts and prompts show first.

    Args:
        log: The rollouts.
        part: The part of them.
        drafted: Subjects without a format.
        slow: Whether there is no time for many tries.
    """
    best = Best()
    if not drafted:
        return best
    count, at_a_time = (1, 2) if slow else (FORMAT_TRIALS, FORMATS_AT_A_TIME)
    chosen = drafted[:count]
    texts = [log.text(place) for place in log.ranked(part.places)[:48]]
    prompts = [draft.prompt for _, draft in chosen]
    candidates = propose_formats(texts, prompts, chosen[0][1].kind)
    # where no rollout of a prompt is fully paid, a written answer need not be
    paid = np.array([_has_paid_rollout(log, part, place) for place, _ in chosen])
    if not paid.any():
        paid[:] = True
    idle = 0
    while idle < IDLE_WAVES and log.tries.seconds_left > log.tries.budget / 2:
        if best.format and log.tries.late:
            break  # unusual forms may be late as well
        wave = list(islice(candidates, at_a_time))
        if not wave:
            break
        idle += best.paid(part)
        completions: list[tuple[Subject, str]] = []
        for option in wave:
            for _, draft in chosen:
                subject = with_format(draft, option)
                completions.append((subject, subject.reference))
                completions.append((subject, subject.baseline))
        rewards = np.array(log.rewards(part, completions))
        rewards = rewards.reshape(len(wave), len(chosen), 2)
        for option, earned in zip(wave, rewards[:, paid], strict=True):
            right, wrong = _mean(earned[:, 0]), _mean(earned[:, 1])
            if best.take(option, right, wrong):
                idle = 0
    return best


def _has_paid_rollout(log: Log, part: Part, place: int) -> bool:
    """Whether a rollout of the prompt is fully paid."""
    rewards = map(log.earned, log.beside(place))
    return any(reward >= ENOUGH * part.high for reward in rewards)


def _mean(rewards: np.ndarray) -> float:
    """Return the mean of what is not NaN; NaN where nothing is."""
    judged = rewards[~np.isnan(rewards)]
    return float(judged.mean()) if len(judged) else math.nan


def skeletons(log: Log, place: int, draft: Subject) -> Iterator[Format]:
    """Yield what stands around the right answer in rollouts, the best paid first."""
    beside = log.ranked(log.beside(place))
    right = [other for other in beside if not log.labels or log.labels[other]]
    formats = [skeleton(log.text(other), draft.right) for other in right]
    for other in beside:  # an agent says it on the way
        formats.append(skeleton(log.text(other), draft.right, last=True))
    yield from filter(None, formats)
