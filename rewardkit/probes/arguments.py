"""Arguments: how long, how much and on what may be probed, or one sentence on what a value should be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import TIMEOUT_MAX
from typing import Any

from rewardkit.errors import RewardError, preview


def check_arguments(**given: Any) -> None:
    """RewardError where one of them is nothing that can be used."""
    for name, value in given.items():
        fits, wanted = WANTED[name]
        if isinstance(value, bool) or not fits(value):
            raise RewardError(f"{name}={preview(value)} cannot be used; give {wanted}")


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and value > 0


WANTED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "timeout": (
        lambda value: value is None or (_is_time(value) and value < TIMEOUT_MAX),
        "seconds above 0, or None",
    ),
    "budget": (_is_time, "seconds above 0"),
    "leakage": (
        lambda value: isinstance(value, int | float) and 0 <= value <= 1,
        "a share from 0 to 1",
    ),
    "search": (
        lambda value: isinstance(value, int) and value >= 0,
        "a number of completions, such as 400",
    ),
    "most": (
        lambda value: isinstance(value, int) and value > 0,
        "a number of rollouts, such as 2000",
    ),
    "progress": (
        lambda value: value is None or callable(value),
        "a function of the share that is done",
    ),
}
"""Name -> whether a value fits, and what does."""
