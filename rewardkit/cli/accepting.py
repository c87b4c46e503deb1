"""What --baseline, --accept and --until do, in each command that has findings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import rewardkit as rk
from rewardkit.cli.command import Options
from rewardkit.findings import Finding, counted
from rewardkit.history.baseline import accept


class HasFindings(Protocol):
    """A result that can be held against a baseline."""

    @property
    def alarms(self) -> Sequence[Finding]:
        """Return the findings that are not for information, and not accepted."""

    def under_baseline(self, baseline: str | Path) -> Any:
        """Return it with what the baseline accepts marked."""


Result = TypeVar("Result", bound=HasFindings)


def baseline_before(options: Options) -> str | None:
    """Return the baseline to hold findings against; None where --accept makes it."""
    if options.accept is not None and not Path(options.baseline).exists():
        return None
    baseline: str | None = options.baseline
    return baseline


def accept_alarms(
    options: Options, result: Result, reward: rk.Reward
) -> tuple[Result, dict[str, int], list[str]]:
    """Add the alarms of a result to the baseline, where --accept asks for it.

    Returns:
        The result under the baseline; what JSON and a person are told of it.
    """
    if options.accept is None:
        return result, {}, []
    count = accept(
        options.baseline,
        result.alarms,
        options.accept,
        reward=reward.name,
        until=str(options.until.date()) if options.until else "",
    )
    note = f"{counted(count, 'finding')} accepted in {options.baseline}"
    return result.under_baseline(options.baseline), {"accepted": count}, [note]
