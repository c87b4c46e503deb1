"""Trials: score the attempts of all probes in few passes within the budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rewardkit.probes.runner import UNTRIED, RowOutcome, Tries, rewards_in
from rewardkit.probes.subjects.log import in_turn
from rewardkit.strategies.strategy import Attempt, Strategy, Subject

PILOT_SUBJECTS = 4
"""Subjects of a part on which all probes are tried. On the others only probes that show
a fault there and right answers are tried. Our choice: a hole on a third of the prompts
is found four times in five."""


@dataclass(frozen=True, eq=False)
class ProbeTrial:
    """An attempt of a probe on a subject, with the outcomes of its completions."""

    probe: Strategy
    subject: Subject
    attempt: Attempt
    outcomes: tuple[RowOutcome, ...]

    @property
    def key(self) -> tuple[str, str]:
        """Return the name of the probe, and the part of the log."""
        return self.probe.name, self.subject.part

    @property
    def text(self) -> str:
        """Return the first completion."""
        return self.attempt.completions[0]

    @property
    def is_tried(self) -> bool:
        """Return whether all completions were tried."""
        return all(outcome.is_tried for outcome in self.outcomes)

    @property
    def is_begun(self) -> bool:
        """Return whether a completion was tried."""
        return any(outcome.is_tried for outcome in self.outcomes)

    @property
    def rewards(self) -> list[float]:
        """Return the rewards; NaN for a completion that was not tried or judged."""
        return rewards_in(self.outcomes)

    @property
    def reward(self) -> float:
        """Return the least reward of the completions; NaN if one has none."""
        return float(np.min(self.rewards))

    @property
    def is_late(self) -> bool:
        """Return whether a call did not come back."""
        return any(outcome.is_late for outcome in self.outcomes)

    @property
    def has_failed(self) -> bool:
        """Return whether a call raised or was late, so that its reward is unknown."""
        return any(outcome.is_lost for outcome in self.outcomes)


def run_trials(
    tries: Tries,
    subjects: Sequence[Subject],
    probes: Sequence[Strategy],
    falls: Callable[[ProbeTrial], bool],
) -> list[ProbeTrial]:
    """Try each probe on the first subjects of a part that it fits, then on the others.

    Args:
        tries: The reward and the time left.
        subjects: The prompts to probe.
        probes: The probes to try.
        falls: Whether a trial shows a fault. A probe of wrong answers without a fault
            on the first subjects is not tried on the others, nor is a probe with a late
            call.

    Returns:
        The trials. Those that the budget did not reach have the outcome `UNTRIED`.
    """
    counts: Counter[tuple[str, str]] = Counter()
    pilots: list[ProbeTrial] = []
    others: list[ProbeTrial] = []
    for subject in subjects:
        for probe in probes:
            planned = [
                ProbeTrial(probe, subject, attempt, (UNTRIED,) * len(attempt.rows))
                for attempt in probe.attempts(subject)
            ]
            if planned:
                key = planned[0].key
                counts[key] += 1
                (pilots if counts[key] <= PILOT_SUBJECTS else others).extend(planned)
    trials = _run(tries, pilots)
    late = {trial.probe.name for trial in trials if trial.is_late}
    fallen = {trial.key for trial in trials if trial.is_tried and falls(trial)}
    promising = [
        trial
        for trial in others
        if trial.probe.expects == "right" or trial.key in fallen
    ]
    on_time = [trial for trial in promising if trial.probe.name not in late]
    return trials + _run(tries, on_time)


def _run(tries: Tries, planned: Sequence[ProbeTrial]) -> list[ProbeTrial]:
    """Try the first attempt of each probe on each subject, then the second, and so on.

    That spreads the budget. After a late call the other attempts of its probe are left
    out.
    """
    waiting = in_turn(planned, lambda trial: (trial.probe.name, id(trial.subject)))
    trials = []
    late = set()
    while waiting and not tries.is_over:
        pending = []
        for trial in _score_trials(tries, waiting):
            if trial.is_late:
                late.add(trial.probe.name)
            if trial.is_tried or trial.is_late:
                trials.append(trial)
            else:
                pending.append(trial)
        if len(pending) == len(waiting):
            break
        waiting = pending
        if late:  # completions in the form of answers are less likely to be late
            on_time = [trial for trial in pending if trial.probe.name not in late]
            waiting = list(filter(_has_marks, on_time))
    return trials + waiting


def _score_trials(tries: Tries, trials: Iterable[ProbeTrial]) -> Iterator[ProbeTrial]:
    """Score trials; a completion that several trials share is scored once."""
    completions = {}
    plans = []
    for trial in trials:
        keys: list[tuple[int, str]] = []
        plans.append((trial, keys))
        for text, columns in trial.attempt.rows:
            subject = trial.subject
            if columns:
                changed = tries.varied(subject.columns, **columns)
                subject = replace(subject, columns=changed)
            completions[id(subject), text] = subject, text
            keys.append((id(subject), text))
    outcomes = dict(zip(completions, tries.on(completions.values()), strict=True))
    for trial, keys in plans:
        yield replace(trial, outcomes=tuple(outcomes[key] for key in keys))


def _has_marks(trial: ProbeTrial) -> bool:
    """Return whether all completions of a trial have the marks of an answer."""
    form = trial.subject.format
    return all(
        form.opening in text and form.closing in text
        for text in trial.attempt.completions
    )
