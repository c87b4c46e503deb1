"""Tunix's reward functions, f(prompts, completions, **columns) -> list, and agent-tunix's, f(response, ...).

Source: `SequenceRewardManager` and the command line's `obtain_reward_fn` of Tunix 0.1.7, which takes each
public function of the file for a reward; `rewards.py` and the documentation of agent-tunix, whose documented
functions are for one response, and whose code calls `get_reward_functions()`.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.targets import plain, trl
from rewardkit.targets.adapter import Adapter, Row, alike, columns_asked, fill, required
from rewardkit.targets.calling import installed, loaded
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import Abilities, Called, Reading, Target, Written

__all__ = ["TARGET", "Function", "Rewards", "functions"]

FORM = "f(prompts, completions, **columns) -> list[float], or f(response, answer='', **kwargs) -> float"
OWN = ("metadata",)


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """A function of one response that asks for `metadata`, a dict of all that is known of it."""

    def arguments(self, rollout: Row) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The columns under the names that it asks for, and all of them as `metadata`."""
        return (), fill(self.function, rollout, {"metadata": alike(rollout)})


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """TRL's with texts, of a batch function; that of a function of one `response`."""
    reason = f"it takes completions, as texts, {trl.TOGETHER}"
    batches = [
        replace(item, target="tunix", form=FORM, reason=reason, way="")
        for item in trl.readings(value, rows)
        if item.way == "texts"
    ]
    asked = parameters(value)
    if batches or isinstance(value, type) or "response" not in asked:
        return batches
    whole = "metadata" in asked and asked["metadata"].kind is not inspect.Parameter.VAR_KEYWORD
    adapter: Adapter = (Function if whole else plain.Function)(value, needs=required(value, OWN, rows))
    mapping = columns_asked(value, OWN, rows) | ({"metadata": "all columns"} if whole else {})
    return [Reading("tunix", FORM, "it takes one response", adapter, mapping, provable=False)]


@dataclass(frozen=True, repr=False)
class Rewards(RewardHolder):
    """The reward of a batch, as numbers."""

    def __call__(self, prompts: Any, completions: Any, **columns: Any) -> list[float]:
        """Rewards, with `missing` where there is none; siblings are those of one prompt."""
        count = len(completions)
        given = {name: values for name, one in columns.items() if len(values := _listed(one)) == count}
        return self.numbers(given | {"prompt": _listed(prompts), "completion": _listed(completions)}, count)


def _listed(values: Any) -> list[Any]:
    """A column as plain values: an array's as Python's, bytes (as data pipelines give them) as text."""
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        return []
    plain_values = values.tolist() if hasattr(values, "tolist") else list(values)
    return [one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in plain_values]


def functions(reward: Reward, **options: Any) -> list[Rewards]:
    """The reward for `GRPOLearner(reward_fns=...)`: one callable; options are those of `Rewards.holding`."""
    return [Rewards.holding(reward, **options)]


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What Tunix's `SequenceRewardManager` gives for the functions that its command line would take."""
    version = installed("google-tunix", "tunix", "absl")
    _without_jax()
    from tunix.rl.algorithm_config import AlgorithmConfig
    from tunix.rl.reward_manager import SequenceRewardManager

    taken = public_functions(loaded(path))
    manager = SequenceRewardManager(reward_fns=taken, algo_config=AlgorithmConfig())
    left = dict.fromkeys(name for row in rows for name in row if name not in ("prompt", "completion"))
    found = manager(
        prompts=[row.get("prompt") for row in rows],
        completions=[row["completion"] for row in rows],
        **{name: [row.get(name) for row in rows] for name in left},
    )
    return Called(f"SequenceRewardManager of {version}", found["rewards"].tolist())


def public_functions(module: ModuleType) -> list[Callable[..., Any]]:
    """The functions that Tunix's command line takes from a file: those of its own without a leading _."""
    found = inspect.getmembers(module, inspect.isfunction)
    return [one for name, one in found if not name.startswith("_") and one.__module__ == module.__name__]


def _without_jax() -> None:
    """Let the reward manager be imported where JAX, which it does not use, is not installed."""
    spec = importlib.util.find_spec("tunix")
    if importlib.util.find_spec("jax") is not None or spec is None or "tunix.rl" in sys.modules:
        return
    for name in ("tunix", "tunix.rl"):
        package = ModuleType(name)
        package.__spec__ = ModuleSpec(name, None, is_package=True)
        inner = name.split(".")[1:]
        package.__path__ = [str(Path(place, *inner)) for place in spec.submodule_search_locations or ()]
        package.__spec__.submodule_search_locations = package.__path__
        sys.modules[name] = package


ALSO = ("Tunix adds functions up without weights: list no other function beside this one",)
ABLE = Abilities(siblings="batch", waits="together", also=ALSO)
TARGET = Target("tunix", "Tunix", "0.1.7", FORM, readings, ABLE, functions, call)
