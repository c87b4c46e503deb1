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
"""Share of the highest reward of the rollouts that makes a right answer fully paid."""
LOG_RIGHT = 0.6  # gain from which an answer of the log counts as right: our choice
LONGEST_LOGGED = 2000  # characters of an answer that is kept of a log

Placed = Sequence[tuple[int, Subject]]
"""Subjects, each with the place of its row."""


@dataclass(frozen=True)
class Scale:
    """What completions of a subject earn.

    `right` and `wrong` are in the same format; `plain` is a wrong answer without any
    format; `floor` is the least that anything earns; `logged` is what unpaid rows of
    the log earn, the lower median.
    """

    right: float
    wrong: float
    plain: float
    floor: float
    logged: float = -math.inf

    @property
    def openly_wrong(self) -> float:
        """Return what a wrong answer earns without a trick, however it is written.

        A confidence beside it, or no form at all, may cost it less.
        """
        return max(self.wrong, self.plain, self.logged)

    @property
    def wrong_share(self) -> float:
        """Return what a wrong answer in good form earns, as a share of full marks."""
        return (self.wrong - self.floor) / self.ceiling

    @property
    def ceiling(self) -> float:
        """Return what a right answer earns beyond the least."""
        return self.right - self.floor

    @property
    def span(self) -> float:
        """Return what being right adds."""
        return self.right - self.wrong

    def gain(self, reward: float) -> float:
        """Return a reward as a share of what being right adds.

        That is 0 for the plain wrong answer, 1 for the right one.
        """
        return (reward - self.wrong) / self.span


Measurements = Sequence[tuple[Subject, Scale]]
"""Subjects, each with what its completions earn."""


@dataclass(frozen=True)
class Calibration:
    """The subjects on which right answers earn more than wrong ones, with scales.

    `pool` are rollouts with what they earned. `modes` says of each part:

    - "truth": answers are compared with the truth;
    - "no truth": the reward does not ask for it, or the rollouts have none;
    - "deaf": the reward asks for it and pays right and wrong alike;
    - "inverted": wrong answers earn more;
    - "unknown": no right answer is paid more than a wrong one; `why` says what would
      decide;
    - "slow": the budget was over before that;
    - "constant": all completions earn the same; `constants` has what, and how many.

    `left_out` are prompts on which right and wrong answers earn the same, though they
    differ on other prompts in the same format. `labels` says of each rollout what the
    label does, by its id.
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
        """Return the mode of all parts; of several the one that tells most."""
        for mode in ("truth", "no truth", "deaf", "inverted"):
            if mode in self.modes.values():
                return mode
        return "unknown"

    @property
    def stand_in(self) -> Subject | None:
        """Return a subject for probes to which right and wrong do not matter.

        That is the first, or a rollout as it is, or None where there is neither.
        """
        if self.subjects:
            return self.subjects[0]
        return plain_subject(self.pool[0][0]) if self.pool else None

    @property
    def judged(self) -> list[tuple[Row, float]]:
        """Return the rollouts that were judged, with what they earned."""
        return [(row, out.reward) for row, out in self.pool if out.is_judged]

    @property
    def rewards(self) -> list[float]:
        """Return what the rollouts earned that were judged."""
        return [reward for _, reward in self.judged]


# --- measuring them


def compare_answers(
    part: ScoredPart, written: Placed, usual: Format | None
) -> tuple[Measurements, Measurements]:
    """Find the prompts on which right answers earn more than wrong ones.

    Each is kept in its fairest format.

    Args:
        part: Rollouts of one part of the log.
        written: Subjects; a prompt may have several, each in a format of its own.
        usual: The format in which right answers were written.

    Returns:
        The subjects of these prompts with their scales, and those of prompts on which
        right and wrong answers earn the same in the usual format, or in one in which
        they do not on other prompts.
    """
    apart: dict[int, list[tuple[Subject, Scale]]] = defaultdict(list)
    alike: list[tuple[int, Subject, Scale]] = []
    for place, subject, scale, difference in _score_answers(part, written):
        span = max(part.high - scale.floor, scale.ceiling, 1e-9)
        if difference > TELLS * span:
            apart[place].append((subject, scale))
        elif not math.isnan(difference):
            alike.append((place, subject, scale))
    subjects: list[tuple[Subject, Scale]] = []
    unpaid = []
    openings = {usual.opening} if usual else set()
    for place, options in apart.items():
        if not usual:
            openings |= {subject.format.opening for subject, _ in options}
        subject, scale = _choose_fairest(options)
        right_ones, wrong_ones = read_answers(part, place, subject.format, scale)
        subject = replace(subject, paid_answers=right_ones, unpaid_answers=wrong_ones)
        subjects.append((subject, scale))
        earned = map(part.earned, part.ranked(part.beside(place)))
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
    """Score what subjects have written; yield each with its scale.

    In the scale, what was not judged counts as the least. The last item is how much
    more the right answer earns than the wrong one, NaN where one was not judged.
    """
    subjects = [subject for _, subject in written]
    pairs = part.score_answers(subjects)
    others = np.full(pairs.shape, math.nan)
    if not part.tries.late:  # what has no form may be late as well
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
    """Choose where being right adds most; of equal ones one with neutral reasoning.

    What a rollout says besides its answer may be paid for right and wrong alike.
    """
    widest = max(scale.span for _, scale in options)
    fair = [option for option in options if option[1].span >= ENOUGH * widest]
    return max(fair, key=lambda option: (option[0].format.neutral, option[1].right))


def read_answers(
    part: ScoredPart, place: int, form: Format, scale: Scale
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read the answers of a prompt's completions in a format: paid and unpaid."""
    is_paid: dict[str, bool] = {}
    for sibling in part.beside(place):
        answer = form.read_answer(part.text(sibling))
        if answer and len(answer) <= LONGEST_LOGGED:
            gain = scale.gain(part.earned(sibling))
            is_paid[answer] = is_paid.get(answer, False) or gain >= LOG_RIGHT
    unpaid = [answer for answer in is_paid if not is_paid[answer]]
    return tuple(filter(is_paid.get, is_paid)), tuple(unpaid)
