"""Apply --baseline, --accept, --finding and --until to the findings of a command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import rewardkit as rk
from rewardkit.cli.command import Options
from rewardkit.errors import did_you_mean
from rewardkit.findings import Finding, Findings, counted
from rewardkit.history.baseline import AcceptsFindings, accept, check_reason

Result = TypeVar("Result", bound=AcceptsFindings)


def baseline_before(options: Options) -> str | None:
    """Return the baseline for a command; None if --accept will create the file.

    Call it before the work. InputError: --accept has no reason.
    """
    baseline: str | None = options.baseline
    if options.accept is not None:
        check_reason(options.accept)
        if not Path(options.baseline).exists():
            return None
    return baseline


def accept_alarms(
    options: Options, results: Sequence[Result]
) -> tuple[list[Result], dict[str, int], list[str]]:
    """Add alarms of one reward's results to the baseline if --accept asks for it.

    These are the alarms that --finding names, else all that are not yet accepted. An
    accepted alarm that is named gets the new reason and day.

    Returns:
        The results under the new baseline, entries for the JSON record, and lines for
        the text.

    Raises:
        InputError: --finding names no alarm.
    """
    if options.accept is None:
        return list(results), {}, []
    alarms = []
    for result in results:
        alarms += [item for item in result.findings if item.severity != "info"]
    count = accept(
        options.baseline,
        _named_alarms(alarms, options.findings),
        options.accept,
        reward=results[0].reward_name,
        until=options.until or "",
    )
    note = f"{counted(count, 'finding')} accepted in {options.baseline}"
    accepted = [result.under_baseline(options.baseline) for result in results]
    return accepted, {"accepted": count}, [note]


def _named_alarms(alarms: Findings, names: Sequence[str]) -> list[Finding]:
    """Return the alarms with these names, CODE or CODE:COMPONENT.

    Without names: all that are not accepted.
    """
    if not names:
        return [alarm for alarm in alarms if not alarm.accepted]
    chosen: list[Finding] = []
    for name in names:
        matches = [alarm for alarm in alarms if name in _names_of(alarm)]
        if not matches:
            alarm_names = [_names_of(alarm)[-1] for alarm in alarms]
            listed = ", ".join(dict.fromkeys(alarm_names)) or "none"
            raise rk.InputError(
                f"--finding {name}: no alarm is called so; there are {listed}"
                f"{did_you_mean(name, alarm_names)}"
            )
        chosen += matches
    return chosen


def _names_of(alarm: Finding) -> list[str]:
    names = [alarm.code]
    if alarm.component:
        names.append(f"{alarm.code}:{alarm.component}")
    return names
