"""Try completions on which a call may hang: each call must return within its limit.

Among them are texts on which a regular expression of the reward takes too long.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rewardkit.answers.marks import find_likely_mark
from rewardkit.findings import Finding, Findings, rule
from rewardkit.probes.code.constants import patterns_in
from rewardkit.probes.code.patterns import slow_texts
from rewardkit.probes.findings import Failure, report_failures
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.runner import NO_BUDGET, UNTRIED, RowOutcome, Tries
from rewardkit.probes.trials import ProbeTrial
from rewardkit.reasons import ReasonCode
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.strategies.added_text import (
    LONG_COMPLETION,
    PATTERNS,
    runs_for_ever,
)
from rewardkit.strategies.strategy import Attempt, Row, Strategy, Subject

TIMES_LONGEST, LEAST_WRITTEN = 4, 8_000
"""Lengths that a policy may well write: up to this multiple of the log's longest
completion, and up to this many characters. Our choice: training makes completions
longer."""

PATIENCE_FACTOR = 4.0
"""Factor to the limit in which a slow call must end, to be told from an endless one."""
LEAST_PATIENCE = 2.0
"""The same factor once the budget is spent. Our choice."""
MOST_OTHER_TRIALS = 300
"""Most trials for other parts and kinds, about those of five. Our choice."""
ASLEEP = 0.05
"""Share of processor time below which a call just waits for something. Our choice."""


def try_to_hang(observed: Observed, probes: Sequence[Strategy]) -> list[ProbeTrial]:
    """Try completions that may hang a call, the shortest first, until one does.

    All are tried on one subject. The shorter ones are then tried for each other part of
    the log and each kind of answer, up to `MOST_OTHER_TRIALS`.
    """
    stand_in = observed.calibration.stand_in
    if stand_in is None:
        return []
    others = {(subject.part, subject.kind): subject for subject in observed.subjects}
    others.pop((stand_in.part, stand_in.kind), None)
    repeated: list[ProbeTrial] = []
    for subject in others.values():
        repeated += _plan_hangs(observed, subject, probes)
    short = [trial for trial in repeated if len(trial.text) <= LONG_COMPLETION]
    planned = sorted(_plan_hangs(observed, stand_in, probes), key=_order)
    planned += sorted(short, key=_order)[:MOST_OTHER_TRIALS]
    completions = [(trial.subject, trial.text) for trial in planned]
    outcomes = observed.tries.on(completions, until_gone=True)
    pairs = zip(planned, outcomes, strict=True)
    return [replace(trial, outcomes=(outcome,)) for trial, outcome in pairs]


def _order(trial: ProbeTrial) -> tuple[bool, int]:
    """Sort programs last: a reward may run them up to a time limit of its own."""
    return trial.probe is runs_for_ever, len(trial.text)


def _plan_hangs(
    observed: Observed, subject: Subject, probes: Sequence[Strategy]
) -> Iterator[ProbeTrial]:
    """Yield a subject's trials; a subject without a mark gets a likely one."""
    marked = subject
    if not subject.format.opening:
        likely = find_likely_mark(subject.reference).format
        marked = replace(subject, format=likely)
    for probe in probes:
        if probe.expects != "back":
            continue
        attempts = list(probe.attempts(marked))
        if probe is PATTERNS:
            for text in slow_texts(patterns_in(observed.reward.functions)):
                attempts += [Attempt.of(text), Attempt.of(marked.write(text))]
        for attempt in attempts:
            yield ProbeTrial(probe, marked, attempt, (UNTRIED,))


@rule("hang", "slow", "dies")
def hangs(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report the first completion on which a call does not come back.

    It is a hang if a policy may well write such a completion. It is slow, a warning, if
    the completion is longer, or if the call comes back in the remaining budget. It is
    for information if both are so, or if the reward ran the completion as a program and
    ended that, or if a busy machine gave the call less than its limit of work.
    """
    finished = [trial for trial in observed.trials if trial.is_tried]
    for trial in finished:
        if trial.outcomes[0].is_gone:
            yield _report_hang(trial, trial.outcomes[0], len(finished), observed)
            return


def _report_hang(
    trial: ProbeTrial, outcome: RowOutcome, n: int, observed: Observed
) -> Finding:
    """Report a call that did not come back, or took long, the last of `n` calls."""
    component, reason = next(iter(outcome.failures.items()))
    subject, text = trial.subject, trial.text
    row = observed.tries.varied(subject.columns, text)
    failure = Failure(trial.probe.name, row, outcome, reason)
    code, severity = failure.code, "high"
    length, description = len(text), trial.probe.says
    evidence = {}
    longest = max(map(len, observed.completions))
    is_usual = length <= max(LEAST_WRITTEN, TIMES_LONGEST * longest)
    if reason.code is ReasonCode.LATE:
        took, worked, limit = _time_patiently(observed, row, subject, reason.seconds)
        is_back = took < math.inf
        runs_it = trial.probe is runs_for_ever or subject.kind == "code"
        if is_back or not is_usual:
            code, severity = "slow", "warn"
            evidence = {"took": min(took, limit), "is_back": is_back}
        is_mild = is_back and (runs_it or not is_usual)  # its own limit ended it
        if is_mild or _is_starved(worked, min(took, limit), reason.seconds):
            severity = "info"
    if not is_usual:
        description = f"{description}, of {length:,} characters"
    if length > LONG_COMPLETION:
        severity = "info"
    return report_failures(
        code,
        n,
        [failure],
        observed,
        severity=severity,
        component=component,
        what=description,
        trait=trial.probe.name,
        length=length,
        **evidence,
    )


def _time_patiently(
    observed: Observed, row: Row, subject: Subject, seconds: float
) -> tuple[float, float, float]:
    """Time a late call with a longer limit, and once more if it was starved.

    Args:
        observed: What was observed of the reward.
        row: The row of the call.
        subject: The subject with the row's siblings.
        seconds: The limit that the call exceeded.

    Returns:
        The seconds that the call takes and works, see `_time_call`, and the new limit.
    """
    most_seconds = max(LEAST_PATIENCE * seconds, observed.tries.seconds_left)
    limit = min(PATIENCE_FACTOR * seconds, most_seconds)
    took, worked = _time_call(observed, row, subject, limit)
    if took == math.inf and _is_starved(worked, limit, seconds):
        limit *= PATIENCE_FACTOR
        took, worked = _time_call(observed, row, subject, limit)
    return took, worked, limit


def _is_starved(worked: float, took: float, limit: float) -> bool:
    """Return whether a call got less processor time than its limit, without waiting."""
    return ASLEEP * took < worked < limit


def _time_call(
    observed: Observed, row: Row, subject: Subject, most_seconds: float
) -> tuple[float, float]:
    """Return the seconds that a call takes in a warm process, and its processor time.

    The seconds are infinite if the call takes too long. Processor time does not count
    what other programs use on a busy machine.
    """
    warm_up = [subject.columns]
    began = _children_seconds()
    _time_last(observed, warm_up, subject, most_seconds)
    warmed = _children_seconds()
    took = _time_last(observed, [*warm_up, row], subject, most_seconds)
    both = _children_seconds() - warmed
    return took, both - (warmed - began)


def _time_last(
    observed: Observed, rows: Sequence[Row], subject: Subject, most_seconds: float
) -> float:
    """Score rows in turn in a new process; return the seconds of the last one."""
    with TimeLimit(most_seconds, processes=1) as limit:
        tries = Tries(observed.reward, limit, NO_BUDGET)
        for row in rows:
            began = time.monotonic()
            (outcome,) = tries.outcomes([row], [subject.siblings])
        is_back = outcome.is_tried and not outcome.is_gone
        return time.monotonic() - began if is_back else math.inf


def _children_seconds() -> float:
    """Return the processor time of this process's children that have ended."""
    times = os.times()
    return times.children_user + times.children_system
