"""Score the attempts of all probes on all subjects, in few passes and one budget."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from rewardkit.probes.runner import RowOutcome, Tries, rewards_in, runs_users_code
from rewardkit.probes.subjects.log import in_turn
from rewardkit.strategies.strategy import Attempt, Strategy, Subject

PILOT_SUBJECTS = 4
"""Subjects of a part on which everything is tried; on the others what shows a fault
there, and right answers in all notations. Our choice: a hole on a third of the prompts
is met four times in five."""

MEASURED_TIMES = 4
"""How often the same completions are scored to see whether they earn the same. Our
choice."""


@dataclass(frozen=True)
class ProbeTrial:
    """An attempt of a probe on a subject, and what its completions got.

    An outcome is None where it was not tried.
    """

    probe: Strategy
    subject: Subject
    attempt: Attempt
    outcomes: tuple[RowOutcome | None, ...]

    @property
    def is_tried(self) -> bool:
        """Whether all of it was tried."""
        return None not in self.outcomes

    @property
    def rewards(self) -> list[float]:
        """Return what each completion earned; NaN for what was not tried or judged."""
        return rewards_in(self.outcomes)

    @property
    def reward(self) -> float:
        """Return the least reward of its completions; NaN where one has none."""
        rewards = self.rewards
        return math.nan if any(map(math.isnan, rewards)) else min(rewards)

    @property
    def is_late(self) -> bool:
        """Whether a call did not come back."""
        return any(outcome is not None and outcome.is_late for outcome in self.outcomes)

    @property
    def has_failed(self) -> bool:
        """Whether a call raised or was late: what it would have earned is unknown."""
        return any(
            outcome is not None and outcome.failures for outcome in self.outcomes
        )


@dataclass(frozen=True)
class Measured:
    """What a subject's reference and baseline got, and their rewards when repeated."""

    reference: RowOutcome
    baseline: RowOutcome
    repeated: list[tuple[float, float]] = field(default_factory=list)

    @property
    def spread(self) -> float:
        """Return the largest difference between rewards of the same completion."""
        pairs = [(self.reference.reward, self.baseline.reward), *self.repeated]
        spread = 0.0
        for rewards in zip(*pairs, strict=True):
            judged = [reward for reward in rewards if not math.isnan(reward)]
            if judged:
                spread = max(spread, max(judged) - min(judged))
        return spread


def measure_subjects(tries: Tries, subjects: Sequence[Subject]) -> dict[Any, Measured]:
    """Score the reference and the baseline of each subject.

    They are scored several times where code of the user's own runs.

    Returns:
        Rollout id -> what they got, of the subjects that could be tried.
    """
    texts: list[tuple[Subject, str, Mapping[str, Any]]] = []
    for subject in subjects:
        texts.append((subject, subject.reference, {}))
        texts.append((subject, subject.baseline, {}))
    measured: dict[Any, Measured] = {}
    for _ in range(MEASURED_TIMES if runs_users_code(tries.reward) else 1):
        outcomes = tries.on(texts)
        for subject, reference, baseline in zip(
            subjects, outcomes[::2], outcomes[1::2], strict=True
        ):
            if reference is None or baseline is None:
                continue
            key = subject.rollout_id
            if key not in measured:
                measured[key] = Measured(reference, baseline)
            else:
                rewards = reference.reward, baseline.reward
                measured[key].repeated.append(rewards)
    return measured


def run_trials(
    tries: Tries,
    subjects: Sequence[Subject],
    probes: Sequence[Strategy],
    falls: Callable[[ProbeTrial], bool],
) -> list[ProbeTrial]:
    """Try all probes on the first subjects of each part, then on the others.

    Args:
        tries: The reward and the time left.
        subjects: Prompts with a known right answer.
        probes: What to try.
        falls: Whether a trial shows a fault. Probes of wrong answers that show
            none on the first subjects are not tried on the others, nor is one of which
            a call was late.

    Returns:
        The trials; those that the budget did not reach have no outcomes.
    """
    parts: dict[str, list[Subject]] = defaultdict(list)
    for subject in subjects:
        parts[subject.part].append(subject)
    first: list[Subject] = []
    others: list[Subject] = []
    for in_part in parts.values():
        first += in_part[:PILOT_SUBJECTS]
        others += in_part[PILOT_SUBJECTS:]
    trials = _run_plans(tries, _plan(first, dict.fromkeys(parts, probes)))
    late = {trial.probe.name for trial in trials if trial.is_late}
    fallen = {
        (trial.probe.name, trial.subject.part)
        for trial in trials
        if trial.is_tried and falls(trial)
    }
    promising: dict[str, list[Strategy]] = defaultdict(list)
    for part in parts:
        for probe in probes:
            is_worth_it = probe.expects == "right" or (probe.name, part) in fallen
            if is_worth_it and probe.name not in late:
                promising[part].append(probe)
    return trials + _run_plans(tries, _plan(others, promising))


Plan = tuple[Strategy, Subject, Attempt]


def _plan(
    subjects: Sequence[Subject], probes: Mapping[str, Sequence[Strategy]]
) -> list[Plan]:
    """Plan attempts: the first of each probe come first, so that a budget is spread."""
    plans: list[Plan] = []
    for subject in subjects:
        for probe in probes.get(subject.part, ()):
            plans += [(probe, subject, attempt) for attempt in probe.attempts(subject)]
    return in_turn(plans, lambda plan: (plan[0].name, id(plan[1])))


def _run_plans(tries: Tries, plans: Sequence[Plan]) -> list[ProbeTrial]:
    """Try attempts; after a late call those of its probe are left out."""
    trials: list[ProbeTrial] = []
    late: set[str] = set()
    while plans and not tries.is_over:
        pending: list[Plan] = []
        for trial in _run_once(tries, plans):
            if trial.is_tried or trial.is_late:
                trials.append(trial)
            else:
                pending.append((trial.probe, trial.subject, trial.attempt))
            if trial.is_late:
                late.add(trial.probe.name)
        if len(pending) == len(plans):
            break
        plans = pending
        if late:  # what has the form of an answer is less likely to be late, too
            plans = [
                (probe, subject, attempt)
                for probe, subject, attempt in pending
                if probe.name not in late and _has_marks(subject, attempt)
            ]
    for plan in plans:
        trials.append(ProbeTrial(*plan, (None,) * len(plan[2].completions)))
    return trials


def _run_once(tries: Tries, plans: Sequence[Plan]) -> list[ProbeTrial]:
    rows: list[tuple[Subject, str, Mapping[str, Any]]] = []
    for _, subject, attempt in plans:
        rows += [(subject, *row) for row in attempt.rows]
    outcomes = iter(tries.on(rows))
    return [
        ProbeTrial(*plan, tuple(islice(outcomes, len(plan[2].completions))))
        for plan in plans
    ]


def _has_marks(subject: Subject, attempt: Attempt) -> bool:
    """Whether all completions of an attempt have the marks of an answer."""
    form = subject.format
    return all(
        form.opening in text and form.closing in text for text in attempt.completions
    )
