"""Default limits of a probing, and the check of its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import TIMEOUT_MAX
from typing import Any

from rewardkit.errors import InputError, RewardError, did_you_mean, preview
from rewardkit.strategies import STRATEGIES
from rewardkit.strategies.strategy import Strategy

CALL_TIMEOUT = 5.0
"""Seconds that one call may take. Our choice: most take a thousandth of that."""

BUDGET = 60.0
"""Seconds for a whole run. Our choice."""

LEAKAGE = 0.5
"""Share of the ceiling that a wrong answer in good form may earn. Our choice."""

SEARCH_CALLS = 400
"""Completions that a search tries. Our choice: a second where a call is fast."""

FAMILIES = (
    "calibration",
    *dict.fromkeys(probe.family for probe in STRATEGIES),
    "search",
    "contract",
)
"""Families of findings: those of the strategies, and of the other steps."""

EXPECTED_ARGUMENTS = {
    "timeout": "seconds above 0, or None",
    "budget": "seconds above 0",
    "leakage": "a share from 0 to 1",
    "search": "a number of completions, such as 400",
    "most": "a number of rollouts, such as 2000",
    "progress": "a function of the share that is done",
}


def check_arguments(**arguments: Any) -> None:
    """Raise RewardError for the first argument that cannot be used."""
    for name, value in arguments.items():
        if isinstance(value, bool) or not _is_usable(name, value):
            expected = EXPECTED_ARGUMENTS[name]
            raise RewardError(
                f"{name}={preview(value)} cannot be used; give {expected}"
            )


def _is_usable(name: str, value: Any) -> bool:
    is_number = isinstance(value, int | float)
    match name:
        case "timeout":
            return value is None or (is_number and 0 < value < TIMEOUT_MAX)
        case "budget":
            return is_number and value > 0
        case "leakage":
            return is_number and 0 <= value <= 1
        case "search":
            return isinstance(value, int) and value >= 0
        case "most":
            return isinstance(value, int) and value > 0
        case _:
            return value is None or callable(value)


def choose_probes(
    only: Sequence[str] | str | None,
) -> tuple[tuple[Strategy, ...], frozenset[str]]:
    """Choose probes by name or family.

    Args:
        only: Names of families or single probes; None for all.

    Returns:
        The probes, and the families that their findings may have.

    Raises:
        InputError: A name that is none.
    """
    if not only:
        return STRATEGIES, frozenset(FAMILIES)
    names = [only]
    if isinstance(only, Iterable) and not isinstance(only, str):
        names = list(only)
    all_names = [*FAMILIES, *(probe.name for probe in STRATEGIES)]
    for name in names:
        if name not in all_names:
            raise InputError(
                f"there is no probe and no family {name!r}"
                f"{did_you_mean(str(name), all_names)}; families: {', '.join(FAMILIES)}"
            )
    probes = tuple(
        probe for probe in STRATEGIES if probe.name in names or probe.family in names
    )
    families = {name for name in names if name in FAMILIES}
    return probes, frozenset(families | {probe.family for probe in probes})
