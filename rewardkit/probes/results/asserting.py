"""assert_holds(): probing as a test, for pytest and for notebooks that nbval runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from rewardkit.errors import InputError
from rewardkit.findings import SEVERITIES, Finding
from rewardkit.html.excerpts import one_line
from rewardkit.probes.probe import ProbeResult, probe
from rewardkit.probes.results.baseline import ALONE, Baseline
from rewardkit.probes.results.rendering import finding_text
from rewardkit.probes.results.summary import alarms_in_words, ran, tried, undecided
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts

ALARMING = ("warn", "high")
"""Severities that a test can fail on."""


def assert_holds(
    reward: Reward,
    rollouts: Rollouts | str | Path | pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    severity: Literal["warn", "high"] = "warn",
    baseline: Baseline | str | Path | None = None,
    **options: Any,
) -> None:
    """Raise an AssertionError that lists each finding of this severity or above that is not accepted.

    Each with its sentence, examples, the lines that show it and what to do next. `baseline` is a file of
    accepted findings; `options` are those of `probe`. A reward of which nothing could be probed does not hold
    either: the error says what is needed. InputError: an unknown severity, and as `probe`.

    >>> rows = [{"prompt": "6 * 7?", "completion": "42", "ground_truth": "42"}]
    >>> def paid(completion, ground_truth): return ground_truth in completion
    >>> from rewardkit.rewards.component import Component
    >>> try:
    ...     assert_holds(Reward("in", components=[Component("paid", paid)]), rows, timeout=None)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0].partition(" (")[0])
    reward 'in' does not hold: 1 hole
    """
    if severity not in ALARMING:
        raise InputError(
            f"severity={severity!r} is none that fails; use one of {', '.join(ALARMING)}"
        )
    result = probe(reward, rollouts, baseline=baseline, **options)
    name = repr(one_line(reward.name))
    if failing := met(result, severity):
        head = f"reward {name} does not hold: {alarms_in_words(failing)} in {tried(result)}"
        raise AssertionError(
            "\n\n".join([head, *(finding_text(item, reward) for item in failing)])
        )
    open_ = not ran(result) or undecided(result)
    if (
        result.probes
        and open_
        and not any(item.code in ALONE for item in result.findings)
    ):
        why = (
            "; ".join(one_line(item.why, 600) for item in result.inconclusive)
            or "there was nothing to try"
        )
        raise AssertionError(
            f"reward {name} was not probed, so nothing says that it holds: {why}"
        )


def met(result: ProbeResult, severity: str) -> list[Finding]:
    """The alarms of this severity or above."""
    worst = SEVERITIES.index(severity)
    return [item for item in result.alarms if SEVERITIES.index(item.severity) <= worst]
