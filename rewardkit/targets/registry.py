"""Reward functions by name, as agent-tunix documents them: registered, or as ``module.function``."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from rewardkit.errors import CAUGHT, RewardError, describe_error, did_you_mean, preview

__all__ = ["get_reward_function", "register_reward_function"]

Function = TypeVar("Function", bound=Callable[..., Any])

_REGISTERED: dict[str, Callable[..., Any]] = {}


def register_reward_function(name: str, function: Function) -> Function:
    """Keep a reward function, or a Reward, under a name; gives it back. The last of a name counts.

    RewardError: not a name, not callable.
    """
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise RewardError(f"{name!r} is not a name for a reward function; give one such as 'math'")
    if not callable(function):
        raise RewardError(f"{preview(function)} cannot be called; register a reward function or a Reward")
    _REGISTERED[name] = function
    return function


def get_reward_function(name: str) -> Callable[..., Any]:
    """The function registered under a name, or the one that ``module.function`` imports.

    RewardError: there is none, or its module fails while it is imported.

    >>> register_reward_function("long", lambda response: float(len(response) > 9))("2 + 2 = 4.")
    1.0
    >>> get_reward_function("long")("4")
    0.0
    """
    if name in _REGISTERED:
        return _REGISTERED[name]
    module, _, attribute = str(name).rpartition(".")
    if not re.fullmatch(r"\w+(\.\w+)*", module):
        raise RewardError(
            f"no reward function is registered as {name!r}; there are {list(_REGISTERED)}; register it, or "
            f"write module.function{did_you_mean(str(name), _REGISTERED)}"
        )
    try:
        function = getattr(importlib.import_module(module), attribute, None)
    except CAUGHT as error:
        raise RewardError(
            f"{name!r} cannot be had: importing {module!r} failed with {describe_error(error)}"
        ) from error
    if not callable(function):
        near = did_you_mean(attribute, dir(sys.modules[module]))
        raise RewardError(f"{module!r} has no function {attribute!r}{near}")
    found: Callable[..., Any] = function
    return found
