"""Trials: the attempts of all probes on all subjects, scored in few passes under one budget of time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.probes.runner import Outcome, Tries
from rewardkit.probes.subjects.log import in_turn
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.strategies.strategy import Attempt, Strategy
from rewardkit.strategies.subject import Subject

PILOT = 4
"""Subjects of a part on which everything is tried, on the others what found something there, and right
answers in all notations. Our choice: a hole on a third of the prompts is met four times in five."""

AGAIN = 4
"""How often the same completions are tried to see whether they earn the same. Our choice."""


@dataclass(frozen=True)
class Trial:
    """An attempt of a probe on a subject and what its completions got; ``None`` for what was not tried."""

    probe: Strategy
    subject: Subject
    attempt: Attempt
    outcomes: tuple[Outcome | None, ...]

    @property
    def tried(self) -> bool:
        """Whether all of it was."""
        return all(outcome is not None for outcome in self.outcomes)

    @property
    def reward(self) -> float:
        """The reward that counts: of completions that must all be paid the least; NaN where one has none."""
        rewards = [
            math.nan if outcome is None else outcome.reward for outcome in self.outcomes
        ]
        return math.nan if any(map(math.isnan, rewards)) else min(rewards)

    @property
    def late(self) -> bool:
        """Whether a call did not come back."""
        return any(outcome is not None and outcome.late for outcome in self.outcomes)

    @property
    def failed(self) -> bool:
        """Whether a call raised or was late, which is told apart from what it would have earned."""
        return any(
            outcome is not None and outcome.failures for outcome in self.outcomes
        )


@dataclass(frozen=True)
class Known:
    """What a subject's reference and baseline got, and what they earned `again`, each as often."""

    reference: Outcome
    baseline: Outcome
    again: tuple[tuple[float, float], ...] = ()

    @property
    def spread(self) -> float:
        """By how much the rewards of the same completion differ at the most; NaN is left out."""
        pairs = [(self.reference.reward, self.baseline.reward), *self.again]
        every = (
            [value for value in values if not math.isnan(value)]
            for values in zip(*pairs, strict=True)
        )
        return max(
            (max(values) - min(values) for values in every if values), default=0.0
        )


def known(tries: Tries, subjects: Sequence[Subject]) -> dict[Any, Known]:
    """What the reference and the baseline of each subject got; again, where code of the user's own runs."""
    pairs: list[Any] = [
        (one, text, {}) for one in subjects for text in (one.reference, one.baseline)
    ]
    own = any(map(TimeLimit.needed, filter(callable, tries.reward.functions)))
    rounds = [iter(tries.on(pairs)) for _ in range(AGAIN if own else 1)]
    found = {}
    for subject in subjects:
        both = [(next(one), next(one)) for one in rounds]
        whole = [(a, b) for a, b in both if a is not None and b is not None]
        if whole:
            found[subject.rollout_id] = Known(
                *whole[0], tuple((a.reward, b.reward) for a, b in whole[1:])
            )
    return found


def trials(
    tries: Tries,
    subjects: Sequence[Subject],
    probes: Sequence[Strategy],
    falls: Callable[[Trial], bool],
) -> list[Trial]:
    """All attempts on the first subjects of each part, then on the others.

    `falls` says of a trial whether it found something: probes of wrong answers that found nothing on the
    first subjects are not tried on the others, nor is one of which a call was late. Attempts that the budget
    did not reach have no outcomes.
    """
    of_part: dict[str, list[Subject]] = defaultdict(list)
    for subject in subjects:
        of_part[subject.part].append(subject)
    first = [subject for some in of_part.values() for subject in some[:PILOT]]
    others = [subject for some in of_part.values() for subject in some[PILOT:]]
    made = _passes(tries, _planned(first, {part: probes for part in of_part}))
    late = {trial.probe.name for trial in made if trial.late}
    found = {
        (trial.probe.name, trial.subject.part)
        for trial in made
        if trial.tried and falls(trial)
    }
    worth = {
        part: [
            probe
            for probe in probes
            if (probe.expects == "right" or (probe.name, part) in found)
            and probe.name not in late
        ]
        for part in of_part
    }
    return made + _passes(tries, _planned(others, worth))


Plan = tuple[Strategy, Subject, Attempt]


def _planned(
    subjects: Sequence[Subject], probes: Mapping[str, Sequence[Strategy]]
) -> list[Plan]:
    """The attempts, the first of each probe before the second of one, so that a budget goes into breadth."""
    plans = [
        (probe, subject, attempt)
        for subject in subjects
        for probe in probes[subject.part]
        for attempt in probe.attempts(subject)
    ]
    return in_turn(plans, lambda plan: (plan[0].name, id(plan[1])))


def _passes(tries: Tries, plans: Sequence[Plan]) -> list[Trial]:
    """The trials of attempts; where a call was late, what is left is tried without its probe."""
    done: list[Trial] = []
    late: set[str] = set()
    while plans and tries.left > tries.each:
        made = _made(tries, plans)
        done += [trial for trial in made if trial.tried or trial.late]
        late |= {trial.probe.name for trial in made if trial.late}
        left = [
            (trial.probe, trial.subject, trial.attempt)
            for trial in made
            if not trial.tried and not trial.late
        ]
        if len(left) == len(plans):
            break
        # what has the form of an answer is less likely to end like this
        plans = [
            plan
            for plan in left
            if not late or (plan[0].name not in late and _formed(*plan[1:]))
        ]
    return done + [Trial(*plan, (None,) * len(plan[2].completions)) for plan in plans]


def _made(tries: Tries, plans: Sequence[Plan]) -> list[Trial]:
    outcomes = iter(
        tries.on(
            (subject, *row) for _, subject, attempt in plans for row in attempt.rows
        )
    )
    return [
        Trial(*plan, tuple(next(outcomes) for _ in plan[2].completions))
        for plan in plans
    ]


def _formed(subject: Subject, attempt: Attempt) -> bool:
    """Whether all completions of an attempt have the marks of an answer."""
    form = subject.format
    return all(
        form.opening in text and form.closing in text for text in attempt.completions
    )
