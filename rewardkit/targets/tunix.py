"""Tunix's f(prompts, completions, **columns) -> list, agent-tunix's f(response, ...).

Source: `SequenceRewardManager` and the command line's `obtain_reward_fn` of Tunix
0.1.7, which treats each public function of the file as a reward; `rewards.py` and the
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
from rewardkit.rewards.component import parameters
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.columns import lists_of_columns
from rewardkit.scoring.callers import RowColumns
from rewardkit.targets import plain, trl
from rewardkit.targets.adapter import Adapter, Arguments
from rewardkit.targets.columns import (
    AliasedRow,
    Row,
    columns_asked,
    fill,
    required_columns,
)
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import (
    Abilities,
    Target,
    TrainerCode,
    TrainerReading,
    TrainerValues,
    import_file,
    require_installed,
)


class Function(Adapter):
    """A function of one response that asks for `metadata`, a dict of all columns."""

    gives_row = True

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the columns that the function asks for, and all as `metadata`."""
        metadata = {"metadata": rows.rows(AliasedRow)}
        return (), fill(self.function, rows, metadata)


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose TRL's reading with texts, or one of a function of one `response`."""
    batches, names = trl.read_with_texts(value, rows), parameters(value)
    if batches or isinstance(value, type) or "response" not in names:
        return batches
    arguments: dict[str, str] = {}
    kind: type[Adapter] = plain.Function
    if "metadata" in names:
        arguments, kind = {"metadata": "all columns"}, Function
    adapter = kind(value, needs=required_columns(value, arguments, rows))
    mapping = columns_asked(value, arguments, rows) | arguments
    return [TrainerReading("it takes one response", adapter, mapping, provable=False)]


class Rewards(RewardHolder):
    """The reward as a function that returns the numbers of a batch."""

    def __call__(
        self, /, prompts: Any, completions: Any, **columns: Any
    ) -> list[float]:
        """Return the rewards; siblings are the completions of one prompt."""
        batch: dict[str, list[Any]] = {}
        for name, column in columns.items():
            values = _plain_list(column)
            if len(values) == len(completions):
                batch[name] = values
        batch["prompt"] = _plain_list(prompts)
        batch["completion"] = _plain_list(completions)
        return self.numbers(batch, len(completions))


def _plain_list(column: Any) -> list[Any]:
    """Return a column as plain values, with the bytes of data pipelines as text."""
    if isinstance(column, str | bytes | Mapping) or not hasattr(column, "__len__"):
        return []
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    if not isinstance(values, list):
        return []  # an array of no dimension
    for place, value in enumerate(values):
        if isinstance(value, bytes):
            values[place] = value.decode("utf-8", "replace")
    return values


def functions(reward: Reward, **options: Any) -> list[Rewards]:
    """Return the reward for `GRPOLearner(reward_fns=...)`; options as in `Rewards`."""
    return [Rewards(reward, **options)]


def call(path: Path, code: TrainerCode, rows: Sequence[Row]) -> TrainerValues:
    """Call Tunix's `SequenceRewardManager` on the public functions of the file."""
    version = require_installed("google-tunix", "tunix", "absl")
    from tunix.rl.algorithm_config import AlgorithmConfig
    from tunix.rl.reward_manager import SequenceRewardManager

    functions = public_functions(import_file(path))
    manager = SequenceRewardManager(reward_fns=functions, algo_config=AlgorithmConfig())
    columns = lists_of_columns(rows)
    rewards = manager(
        prompts=columns.pop("prompt", [None] * len(rows)),
        completions=columns.pop("completion"),
        **columns,
    )["rewards"]
    caller = f"SequenceRewardManager of {version}"
    return TrainerValues(caller, {"reward": rewards.tolist()})


def public_functions(module: ModuleType) -> list[Callable[..., Any]]:
    """Return a file's own public functions, which Tunix's command line uses."""
    functions: list[Callable[..., Any]] = []
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if not name.startswith("_") and function.__module__ == module.__name__:
            functions.append(function)
    return functions


TUNIX = Target(
    name="tunix",
    title="Tunix",
    versions="0.1.7",
    form="f(prompts, completions, **columns) -> list[float], or f(response, answer='', "
    "**kwargs) -> float",
    readings=readings,
    abilities=Abilities(
        siblings="batch",
        waits="together",
        also=(
            "Tunix adds functions up without weights: list no other function beside "
            "this one",
        ),
    ),
    functions=functions,
    call=call,
)


# --- agent-tunix's reward functions by name: registered, or ``module.function``

Registered = TypeVar("Registered", bound=Callable[..., Any])

_REGISTERED: dict[str, Callable[..., Any]] = {}


def register_reward_function(name: str, function: Registered) -> Registered:
    """Register a reward function, or a Reward, under a name, and return it.

    A later function replaces one of the same name. RewardError: not a name, not
    callable.
    """
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise RewardError(
            f"{name!r} is not a name for a reward function; give one such as 'math'"
        )
    if not callable(function):
        raise RewardError(
            f"{preview(function)} cannot be called; register a reward function or a "
            "Reward"
        )
    _REGISTERED[name] = function
    return function


def get_reward_function(name: str) -> Callable[..., Any]:
    """Return the function registered under a name, or import ``module.function``.

    RewardError: there is no such function, or the import of its module fails.

    >>> is_long = lambda response: float(len(response) > 9)
    >>> register_reward_function("long", is_long)("2 + 2 = 4.")
    1.0
    >>> get_reward_function("long")("4")
    0.0
    """
    if name in _REGISTERED:
        return _REGISTERED[name]
    module, _, attribute = str(name).rpartition(".")
    if not re.fullmatch(r"\w+(\.\w+)*", module):
        raise RewardError(
            f"no reward function is registered as {name!r}; there are "
            f"{list(_REGISTERED)}; register it, or write module.function"
            f"{did_you_mean(str(name), _REGISTERED)}"
        )
    try:
        function = getattr(importlib.import_module(module), attribute, None)
    except CAUGHT as error:
        raise RewardError(
            f"{name!r} cannot be had: importing {module!r} failed with "
            f"{describe_error(error)}"
        ) from error
    if not callable(function):
        near = did_you_mean(attribute, dir(sys.modules[module]))
        raise RewardError(f"{module!r} has no function {attribute!r}{near}")
    return function  # type: ignore[no-any-return]
