"""What right and wrong completions of a subject earn, and which answers were paid."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median_low
from typing import Any

import numpy as np

from rewardkit.answers.formats import Format
from rewardkit.probes.runner import RowOutcome
from rewardkit.probes.subjects.log import ScoredPart, plain_subject
from rewardkit.strategies.strategy import Row, Subject

TELLS = 0.02
"""Share of the span of all rewards by which right and wrong must differ. Our choice."""
ENOUGH = 0.98
"""Share of the rollouts' highest reward from which a right answer is fully paid."""
LOG_RIGHT = 0.6  # gain from which an answer of the log counts as right: our choice
LONGEST_LOGGED = 2000  # characters of the longest answer that is read from a log

Placed = Sequence[tuple[int, Subject]]
"""Subjects, each with the place of its row."""


@dataclass(frozen=True)
class Scale:
    """The rewards of completions of a subject.

    `right` and `wrong` answers are in the same format. `plain` is a wrong answer
    without any format, `floor` the least that anything earns, `logged` the lower median
    of unpaid rows of the log.
    """

    right: float
    wrong: float
    plain: float
    floor: float
    logged: float = -math.inf

    @property
    def openly_wrong(self) -> float:
        """Return the most that a wrong answer earns without a trick.

        It may earn more without any format, or with a low stated confidence.
        """
        return max(self.wrong, self.plain, self.logged)

    @property
    def wrong_share(self) -> float:
        """Return the wrong answer's reward above the floor as a share of full marks."""
        return (self.wrong - self.floor) / self.ceiling

    @property
    def ceiling(self) -> float:
        """Return the reward of a right answer above the floor."""
        return self.right - self.floor

    @property
    def span(self) -> float:
        """Return the reward that being right adds."""
        return self.right - self.wrong

    def gain(self, reward: float) -> float:
        """Return a reward as a share of the span: 0 is wrong, 1 is right."""
        return (reward - self.wrong) / self.span


Measurements = Sequence[tuple[Subject, Scale]]
"""Subjects, each with its scale."""


@dataclass(frozen=True)
class Calibration:
    """The subjects on which right answers earn more than wrong ones, with scales.

    Attributes:
        subjects: The subjects.
        scales: Rollout id of a subject -> its scale.
        pool: Rollouts of the log with their outcomes.
        modes: Part of the log -> how it is paid:

            - "truth": answers are compared with the truth;
            - "no truth": the reward does not read it, or the rollouts have none;
            - "deaf": the reward reads it and pays right and wrong alike;
            - "inverted": wrong answers earn more;
            - "unknown": no right answer is paid more than a wrong one;
            - "slow": the budget was over before that was known;
            - "constant": all completions earn the same.
        why: Part -> why it could not be probed, and what would help.
        left_out: Prompts on which right and wrong answers earn the same, though they
            differ on other prompts in the same format.
        constants: Part in the mode "constant" -> the reward, and the number of
            completions that earn it.
        labels: Rollout id -> whether the label calls it right.
    """

    subjects: tuple[Subject, ...]
    scales: Mapping[Any, Scale]
    pool: tuple[tuple[Row, RowOutcome], ...]
    modes: Mapping[str, str]
    why: Mapping[str, str] = field(default_factory=dict)
    left_out: Measurements = ()
    constants: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    labels: Mapping[Any, bool | None] = field(default_factory=dict)

    def of(self, part: str) -> Calibration:
        """Return the calibration with the prompts of one part alone."""
        subjects = [subject for subject in self.subjects if subject.part == part]
        left_out = [pair for pair in self.left_out if pair[0].part == part]
        return replace(self, subjects=tuple(subjects), left_out=left_out)

    @property
    def mode(self) -> str:
        """Return the most informative mode of all parts."""
        for mode in ("truth", "no truth", "deaf", "inverted"):
            if mode in self.modes.values():
                return mode
        return "unknown"

    @property
    def stand_in(self) -> Subject | None:
        """Return a subject for probes that need no known answer.

        That is the first subject, else the first rollout as it is, else None.
        """
        if self.subjects:
            return self.subjects[0]
        return plain_subject(self.pool[0][0]) if self.pool else None

    @property
    def judged(self) -> list[tuple[Row, float]]:
        """Return the rollouts that were judged, with their rewards."""
        return [(row, out.reward) for row, out in self.pool if out.is_judged]

    @property
    def rewards(self) -> list[float]:
        """Return the rewards of the rollouts that were judged."""
        return [reward for _, reward in self.judged]


# --- measuring them


def compare_answers(
    part: ScoredPart, written: Placed, usual: Format | None
) -> tuple[Measurements, Measurements]:
    """Find the prompts on which right answers earn more than wrong ones.

    A prompt with several such subjects keeps the one in the fairest format.

    Args:
        part: Rollouts of one part of the log.
        written: Subjects; a prompt may have several, each in a different format.
        usual: The format in which right answers were written.

    Returns:
        The subjects of these prompts with their scales, and the subjects of prompts on
        which right and wrong answers earn the same: in the usual format, or in a format
        in which they differ on other prompts.
    """
    apart = defaultdict(list)
    alike = []
    for place, subject, scale, difference in _score_answers(part, written):
        span = max(part.high - scale.floor, scale.ceiling, 1e-9)
        if difference > TELLS * span:
            apart[place].append((subject, scale))
        elif not math.isnan(difference):
            alike.append((place, subject, scale))
    subjects = []
    unpaid = []
    openings = {usual.opening} if usual else set()
    for place, options in apart.items():
        if not usual:
            openings |= {subject.format.opening for subject, _ in options}
        subject, scale = _choose_fairest(options)
        right_ones, wrong_ones = read_answers(part, place, subject.format, scale)
        subject = replace(subject, paid_answers=right_ones, unpaid_answers=wrong_ones)
        subjects.append((subject, scale))
        earned = map(part.earned, part.ranked(part.group(place)))
        unpaid += [reward for reward in earned if scale.gain(reward) < LOG_RIGHT]
    logged = median_low(unpaid or [-math.inf])
    subjects = [(subject, replace(scale, logged=logged)) for subject, scale in subjects]
    left_out: dict[int, tuple[Subject, Scale]] = {}
    for place, subject, scale in alike:
        if subjects and subject.format.opening in openings and place not in apart:
            left_out.setdefault(place, (subject, scale))
    return subjects, list(left_out.values())


def _score_answers(
    part: ScoredPart, written: Placed
) -> Iterator[tuple[int, Subject, Scale, float]]:
    """Score the right and wrong answers of subjects; yield each with its scale.

    In the scale, a completion that was not judged counts as the least. The last item is
    the right answer's reward less the wrong one's, NaN if one was not judged.
    """
    subjects = [subject for _, subject in written]
    pairs = part.score_answers(subjects)
    others = np.full(pairs.shape, math.nan)
    if not part.tries.late:  # a completion without a format may be late as well
        others = part.score_answers(
            replace(subject, reference=f"It is {subject.wrong[0]}.", baseline="")
            for subject in subjects
        )
    rewards = np.column_stack((pairs, others))
    least_rewards = np.fmin.reduce(rewards[:, 1:], axis=1)  # but for the right answer
    floors = np.fmin(least_rewards, part.low)
    filled = np.where(np.isnan(rewards), floors[:, None], rewards)
    for at, (place, subject) in enumerate(written):
        right, wrong = pairs[at].tolist()
        _, least, plain, _ = filled[at].tolist()
        scale = Scale(right, least, plain, float(floors[at]))
        yield place, subject, scale, right - wrong


def _choose_fairest(options: Measurements) -> tuple[Subject, Scale]:
    """Choose the format in which being right adds most; of equal ones a neutral one.

    The reasoning of a rollout may be paid for by itself, right or wrong.
    """
    widest = max(scale.span for _, scale in options)
    fair = [option for option in options if option[1].span >= ENOUGH * widest]
    return max(fair, key=lambda option: (option[0].format.neutral, option[1].right))


def read_answers(
    part: ScoredPart, place: int, form: Format, scale: Scale
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read the paid and the unpaid answers of a prompt's completions in a format."""
    is_paid: dict[str, bool] = {}
    for sibling in part.group(place):
        answer = form.read_answer(part.text(sibling))
        if answer and len(answer) <= LONGEST_LOGGED:
            gain = scale.gain(part.earned(sibling))
            is_paid[answer] = is_paid.get(answer, False) or gain >= LOG_RIGHT
    unpaid = [answer for answer in is_paid if not is_paid[answer]]
    return tuple(filter(is_paid.get, is_paid)), tuple(unpaid)
