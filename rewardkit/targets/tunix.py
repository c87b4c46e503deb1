"""Tunix's reward functions, f(prompts, completions, **columns) -> list, and agent-tunix's, f(response, ...).

Source: `SequenceRewardManager` and the command line's `obtain_reward_fn` of Tunix
0.1.7, which takes each public function of the file for a reward; `rewards.py` and the
documentation of agent-tunix, whose documented functions are for one response, and whose
code calls `get_reward_functions()`.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from rewardkit.errors import CAUGHT, RewardError, describe_error, did_you_mean, preview
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.targets import plain, trl
from rewardkit.targets.adapter import (
    Adapter,
    Arguments,
    Row,
    alike,
    columns_asked,
    fill,
    required,
)
from rewardkit.targets.calling import installed, loaded
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import Abilities, Called, Reading, Target, Written

FORM = "f(prompts, completions, **columns) -> list[float], or f(response, answer='', **kwargs) -> float"


class Function(Adapter):
    """A function of one response that asks for `metadata`, a dict of all that is known of it."""

    def arguments(self, rollout: Row) -> Arguments:
        """The columns under the names that it asks for, and all of them as `metadata`."""
        return (), fill(self.function, rollout, {"metadata": alike(rollout)})


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """TRL's with texts, of a batch function; that of a function of one `response`."""
    batches, asked = trl.of_texts(value, rows), parameters(value)
    if batches or isinstance(value, type) or "response" not in asked:
        return batches
    whole = {"metadata": "all columns"} if "metadata" in asked else {}
    kind: type[Adapter] = Function if whole else plain.Function
    adapter = kind(value, needs=required(value, whole, rows))
    mapping = columns_asked(value, whole, rows) | whole
    return [Reading("it takes one response", adapter, mapping, provable=False)]


class Rewards(RewardHolder):
    """The reward of a batch, as numbers."""

    def __call__(self, prompts: Any, completions: Any, **columns: Any) -> list[float]:
        """Rewards, with `missing` where there is none; siblings are those of one prompt."""
        count = len(completions)
        given = {
            name: values
            for name, one in columns.items()
            if len(values := _listed(one)) == count
        }
        return self.numbers(
            given | {"prompt": _listed(prompts), "completion": _listed(completions)},
            count,
        )


def _listed(values: Any) -> list[Any]:
    """A column as plain values: an array's as Python's, bytes (as data pipelines give them) as text."""
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        return []
    plain_values = values.tolist() if hasattr(values, "tolist") else list(values)
    return [
        one.decode("utf-8", "replace") if isinstance(one, bytes) else one
        for one in plain_values
    ]


def functions(reward: Reward, **options: Any) -> list[Rewards]:
    """The reward for `GRPOLearner(reward_fns=...)`: one callable; options are those of `Rewards`."""
    return [Rewards(reward, **options)]


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What Tunix's `SequenceRewardManager` gives for the functions that its command line would take."""
    version = installed("google-tunix", "tunix", "absl")
    from tunix.rl.algorithm_config import AlgorithmConfig
    from tunix.rl.reward_manager import SequenceRewardManager

    taken = public_functions(loaded(path))
    manager = SequenceRewardManager(reward_fns=taken, algo_config=AlgorithmConfig())
    columns = {
        name: [row.get(name) for row in rows]
        for name in dict.fromkeys(n for row in rows for n in row)
    }
    found = manager(
        prompts=columns.pop("prompt", [None] * len(rows)),
        completions=columns.pop("completion"),
        **columns,
    )
    return Called(
        f"SequenceRewardManager of {version}", {"reward": found["rewards"].tolist()}
    )


def public_functions(module: ModuleType) -> list[Callable[..., Any]]:
    """The functions that Tunix's command line takes from a file: those of its own without a leading _."""
    found = inspect.getmembers(module, inspect.isfunction)
    return [
        one
        for name, one in found
        if not name.startswith("_") and one.__module__ == module.__name__
    ]


ALSO = (
    "Tunix adds functions up without weights: list no other function beside this one",
)
ABLE = Abilities(siblings="batch", waits="together", also=ALSO)
TARGET = Target("tunix", "Tunix", "0.1.7", FORM, readings, ABLE, functions, call)


# --- reward functions by name, as agent-tunix documents them: registered, or as
# ``module.function``

Registered = TypeVar("Registered", bound=Callable[..., Any])

_REGISTERED: dict[str, Callable[..., Any]] = {}


def register_reward_function(name: str, function: Registered) -> Registered:
    """Keep a reward function, or a Reward, under a name; gives it back. The last of a name counts.

    RewardError: not a name, not callable.
    """
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise RewardError(
            f"{name!r} is not a name for a reward function; give one such as 'math'"
        )
    if not callable(function):
        raise RewardError(
            f"{preview(function)} cannot be called; register a reward function or a Reward"
        )
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
