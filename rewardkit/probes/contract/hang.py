"""Completions that make code run long or fall over: every call has to come back."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from rewardkit.answers.marks import find_likely_mark
from rewardkit.findings import Finding
from rewardkit.probes.contract.backtracking import slow_texts
from rewardkit.probes.contract.constants import patterns_in
from rewardkit.probes.results.evidence import Observed
from rewardkit.probes.results.failures import Failure, report_failures
from rewardkit.probes.runner import NO_BUDGET, Tries
from rewardkit.probes.subjects.scales import Calibration
from rewardkit.probes.trials import Trial
from rewardkit.reasons import ReasonCode
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.strategies.strategy import (
    Attempt,
    Strategy,
    strategies_of_texts,
    strategy,
)
from rewardkit.strategies.subject import Row, Subject

VERY_LONG = 100_000  # characters: what is slow beyond is not worth a line
LONG = 40_000
"""Characters that a completion may well have: some ten thousand tokens. A hang on more
is for information."""

OFTEN_WRITTEN = 10_000
"""Characters that a policy writes often. Slow on more is for information. Our choice:
3,000 tokens."""

PATIENCE_FACTOR = 4.0
"""Times the limit that a late call gets, to be told from one that never ends."""

# --- the probes


@strategy("hang", "a completion of 100,000 characters", expects="back", needs="nothing")
def very_long(subject: Subject) -> Iterator[str]:
    yield "word " * (VERY_LONG // 5)
    yield subject.format.write("1" * VERY_LONG)


_marked = strategies_of_texts(
    "hang",
    lambda subject, text: [subject.format.write(text)],
    expects="back",
    needs="nothing",
)
MARKED_TEXTS = (
    _marked(
        "huge_powers",
        "numbers and powers that no computer counts up to",
        *("9" * 12, "9" * 18, "-1" + "0" * 15, "9**9**9", "10^10^10^10"),
        *("9^{9^{9^{9}}}", "99999999!"),
        *("1e999999999", "2**10000000000", "10**-99999999"),
    ),
    _marked(
        "long_runs",
        "a run of one sign",
        *(sign * 30_000 + "!" for sign in ("a", " ", "\n", "(", "<", "-", "1", "\\")),
        *("a" * 30 + "!", "ab" * 20 + "\n!"),
    ),
)


@strategy(
    "hang",
    "brackets and tags within one another without end",
    expects="back",
    needs="nothing",
)
def deep_nesting(subject: Subject) -> Iterator[str]:
    depth = LONG // 2
    yield subject.format.write("(" * depth + subject.kind + ")" * depth)
    yield subject.format.write("[" * depth + "]" * depth)
    yield subject.format.write('{"a":' * (LONG // 6) + "1" + "}" * (LONG // 6))
    yield subject.format.write(r"\frac{1}{" * 2000 + "1" + "}" * 2000)
    yield r"\boxed{" * (LONG // 7)
    for depth in (25, 60):
        for opening, closing in ("{}", "[]", "()"):
            yield subject.format.write(opening * depth + closing * depth)
        yield r"\boxed{" * depth + "1" + "}" * depth
    tag = f"<{subject.format.tag or 'answer'}>"
    yield tag * (LONG // len(tag))
    yield tag + "<" * LONG


@strategy(
    "hang",
    "a pattern or code of its own that takes for ever",
    expects="back",
    needs="nothing",
)
def runs_for_ever(subject: Subject) -> Iterator[str]:
    for text in (
        r"(?:.?){400}\x00",
        r"(.+)+\x00",
        "while True: pass",
        "import time; time.sleep(100000)",
    ):
        yield subject.format.write(text)
    yield "```python\nwhile True:\n    pass\n```"


@strategy(
    "hang",
    "a bracket that is never closed, or closed twice",
    expects="back",
    needs="nothing",
)
def left_open(subject: Subject) -> Iterator[str]:
    for opening, closing in ("{}", "[]", "()", "<>", '""'):
        yield subject.format.write(opening)
        yield subject.format.write(f"{opening}1{closing}{closing}")
        yield f"{subject.format.lead}{subject.format.opening}{opening}"


PATTERNS = Strategy(
    "patterns",
    "hang",
    lambda subject: (),
    "a text that a pattern in its code goes through over and over",
    expects="back",
    needs="nothing",
)
"""Its attempts depend on the reward, see `_attempt_patterns`."""


def _attempt_patterns(functions: Iterable[Any], subject: Subject) -> Iterator[Attempt]:
    """Yield texts on which patterns in functions are slow, as they are and marked."""
    for text in slow_texts(patterns_in(functions)):
        yield Attempt.of(text)
        yield Attempt.of(subject.format.write(text))


# --- trying them


def try_to_hang(
    tries: Tries, calibration: Calibration, probes: Sequence[Strategy]
) -> list[Trial]:
    """Try what may not come back, the shortest first, until one does not."""
    subject = calibration.stand_in
    if subject is None:
        return []
    if not subject.format.opening:
        likely = find_likely_mark(subject.reference).format
        subject = replace(subject, format=likely)
    plans: list[tuple[Strategy, Attempt]] = []
    for probe in probes:
        attempts: Iterable[Attempt] = probe.attempts(subject)
        if probe is PATTERNS:
            attempts = _attempt_patterns(tries.reward.functions, subject)
        plans += [(probe, attempt) for attempt in attempts]
    plans.sort(key=lambda plan: len(plan[1].completions[0]))
    rows = [
        tries.variants.of(subject.columns, attempt.completions[0])
        for _, attempt in plans
    ]
    outcomes = tries.outcomes(
        rows, [subject.siblings] * len(rows), until=lambda outcome: outcome.gone
    )
    return [
        Trial(probe, subject, attempt, (outcome,))
        for (probe, attempt), outcome in zip(plans, outcomes, strict=True)
    ]


def find_hang(
    trials: Sequence[Trial], observed: Observed, seconds: float
) -> Iterator[Finding]:
    """Find the first completion on which a call does not come back; one is enough.

    A call that comes back after all, in the `seconds` that are left, is slow: a warning
    where a policy may write such a completion.
    """
    finished = [trial for trial in trials if trial.tried]
    for trial in finished:
        outcome = trial.outcomes[0]
        if outcome is not None and outcome.gone:
            component, reason = next(iter(outcome.failures.items()))
            text = trial.attempt.completions[0]
            row = observed.variants.of(trial.subject.columns, text)
            failure = Failure(trial.probe.name, row, outcome, reason)
            took = math.inf
            if reason.code is ReasonCode.LATE:
                limit = min(PATIENCE_FACTOR * reason.seconds, seconds)
                took = _time_call(observed.reward, row, trial.subject, limit)
            yield _report_hang(
                trial.probe.says,
                failure,
                len(finished),
                observed,
                took,
                component=component,
            )
            return


def _report_hang(
    what: str,
    failure: Failure,
    tried: int,
    observed: Observed,
    took: float,
    *,
    component: str,
) -> Finding:
    """Report a call that did not come back, or that came back after `took` seconds."""
    length = len(str(failure.row["completion"]))
    code, severity, longest = failure.code, "high", LONG
    evidence: dict[str, Any] = {"length": length, "beyond_policy": length > LONG}
    if took < math.inf:
        code, severity, longest = "slow", "warn", OFTEN_WRITTEN
        evidence["took"] = took
    if length > longest:
        what, severity = f"{what}, of {length:,} characters", "info"
    return report_failures(
        code,
        tried,
        1,
        [failure],
        observed,
        severity=severity,
        component=component,
        what=what,
        **evidence,
    )


def _time_call(
    reward: Reward, row: Row, subject: Subject, most_seconds: float
) -> float:
    """Time a call in a process that has made another; infinite if it takes too long."""
    with TimeLimit(most_seconds, processes=1) as limit:
        tries, siblings = Tries(reward, limit, NO_BUDGET), [subject.siblings]
        tries.outcomes([subject.columns], siblings)
        began = time.monotonic()
        (outcome,) = tries.outcomes([row], siblings)
        if outcome is None or outcome.gone:
            return math.inf
        return time.monotonic() - began
