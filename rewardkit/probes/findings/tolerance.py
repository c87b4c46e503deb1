"""Rule on an absolute tolerance that is larger than the truths it is applied to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from rewardkit.answers.kinds import read_truth
from rewardkit.findings import Finding, Findings, rule
from rewardkit.probes.falls import FULL_MARKS
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.runner import rewards_in
from rewardkit.strategies.strategy import Completion, Subject

ERRORS = (9.0, 0.9, 0.09, 0.009, 0.0009, 0.00009, 0.000009)
"""Errors that are tried, the largest first: each just under a usual tolerance."""
TIMES_TRUTH = 2
"""Least size of an error in truths; no relative tolerance is so wide. Our choice."""
LEAST_SMALL = 2  # least prompts on which such an error is paid


@rule("absolute_tolerance")
def absolute_tolerance(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report that any number passes on prompts whose truth is small.

    There an error of several times the truth is paid in full and one ten times as large
    is not: what decides is its size alone.
    """
    numbers: list[tuple[Subject, float]] = []
    for subject in observed.subjects_with_truth:
        value = _read_number(subject.right)
        if 0 < abs(value) < ERRORS[0] / TIMES_TRUTH:  # not of NaN
            numbers.append((subject, value))
    if len(numbers) < LEAST_SMALL:
        return
    unpaid: set[Any] = set()
    for error in ERRORS:
        tried: list[Completion] = []
        for subject, value in numbers:
            if abs(value) <= error / TIMES_TRUTH:
                tried.append((subject, subject.write(_in_digits(value + error))))
        examples = []
        for (subject, text), reward in zip(
            tried, rewards_in(observed.tries.on(tried)), strict=True
        ):
            scale = observed.scale(subject)
            if not scale.gain(reward) >= FULL_MARKS:  # it may be NaN
                unpaid.add(subject.rollout_id)
            elif subject.rollout_id in unpaid:
                expected = min(scale.floor, scale.wrong), scale.wrong
                example = subject, text, reward, expected, "absolute_tolerance"
                examples.append(observed.example(*example))
        if len(examples) >= max(LEAST_SMALL, len(tried) / 2):
            truths = _truths_of_log(observed)
            yield observed.finding(
                "absolute_tolerance",
                len(tried),
                len(examples),
                examples=examples,
                gain=1.0,
                error=error,
                larger=10 * error,
                limit=error / 0.9,
                small=sum(0 < abs(truth) < error / 0.9 for truth in truths),
                prompts=len(truths),
                doubt="",
            )
            return


def _truths_of_log(observed: Observed) -> Sequence[float]:
    """Return the number of each prompt's truth; NaN of those that are none."""
    truths = {}
    for row in observed.rows:
        truth = read_truth(row.get("ground_truth"))
        truths[str(row.get("prompt"))] = _read_number(truth or "")
    return list(truths.values())


def _read_number(text: str) -> float:
    """Read a plain number, also one with an exponent; NaN of anything else."""
    try:
        return float(text.strip())
    except ValueError:
        return math.nan


def _in_digits(value: float) -> str:
    """Write a number without an exponent."""
    return f"{value:.9f}".rstrip("0")
