"""assert_holds(): probing as a test, for pytest and for notebooks that nbval runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from rewardkit.errors import InputError
from rewardkit.findings import SEVERITIES, Finding
from rewardkit.html.excerpts import one_line
from rewardkit.html.pages import Page
from rewardkit.probes.baseline import Baseline
from rewardkit.probes.points import probe_point
from rewardkit.probes.probe import probe
from rewardkit.probes.result import ProbeResult, count_alarms
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts

FAILING_SEVERITIES = ("warn", "high")
"""Severities that a test can fail on."""


def assert_holds(
    reward: Reward,
    rollouts: Rollouts | str | Path | pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    severity: Literal["warn", "high"] = "warn",
    baseline: Baseline | str | Path | None = None,
    **options: Any,
) -> None:
    """Probe a reward, and fail on findings that are not accepted.

    Args:
        reward: The reward.
        rollouts: As in `probe`.
        severity: The mildest severity that fails.
        baseline: Accepted findings, or a file of them.
        options: Those of `probe`.

    Raises:
        AssertionError: It lists each finding with its sentence, examples, the line that
            shows it and what to do next. A reward of which nothing could be probed does
            not hold either.
        InputError: An unknown severity, and as in `probe`.

    >>> rows = [{"prompt": "6 * 7?", "completion": "42", "ground_truth": "42"}]
    >>> def paid(completion, ground_truth): return ground_truth in completion
    >>> from rewardkit.rewards.component import Component
    >>> try:
    ...     reward = Reward("in", components=[Component("paid", paid)])
    ...     assert_holds(reward, rows, timeout=None)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0].partition(" (")[0])
    reward 'in' does not hold: 1 hole
    """
    if severity not in FAILING_SEVERITIES:
        raise InputError(
            f"severity={severity!r} is none that fails; use one of "
            f"{', '.join(FAILING_SEVERITIES)}"
        )
    result = probe(reward, rollouts, baseline=baseline, **options)
    name = repr(one_line(reward.name))
    failing = alarms_from(result, severity)
    if failing:
        head = f"reward {name} does not hold: {count_alarms(failing)}"
        points = [probe_point(finding, reward) for finding in failing]
        page = Page(f"{head} in {result.effort}", points)
        raise AssertionError(page.text(verbose=True))
    is_open = not result.tried_probes or result.is_undecided
    if result.probes and is_open and not result.says_all:
        notes = [one_line(note.why, 600) for note in result.inconclusive]
        why = "; ".join(notes) or "there was nothing to try"
        raise AssertionError(
            f"reward {name} was not probed, so nothing says that it holds: {why}"
        )


def alarms_from(result: ProbeResult, severity: str) -> list[Finding]:
    """Return the alarms of this severity or above."""
    mildest = SEVERITIES.index(severity)
    return [
        alarm for alarm in result.alarms if SEVERITIES.index(alarm.severity) <= mildest
    ]
