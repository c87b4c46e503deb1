"""ms-swift's rewards: class R(ORM) with __call__(completions, **columns) -> list[float], named in `orms`.

Source: `swift.rewards.orm` and `compute_rewards_per_func` of ms-swift 4.6: called as TRL does, with texts and
without `prompts`; `messages` is the whole conversation. A ``None`` is added up as 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.targets import trl
from rewardkit.targets.adapter import Adapter, Row
from rewardkit.targets.calling import installed, loaded
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.making import made
from rewardkit.targets.target import Abilities, Called, Reading, Target, Written
from rewardkit.targets.turns import batch_columns, transcript

__all__ = ["TARGET", "Function", "Orm", "functions"]

FORM = "class R(ORM): __call__(self, completions, **columns) -> list[float]"
PLACED = ("prompt", "completion")


@dataclass(frozen=True, repr=False)
class Function(trl.Function):
    """TRL's function, with the whole conversation as its column `messages`."""

    def arguments(self, rollout: Sequence[Row]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The lists that TRL hands over, and the conversations."""
        return super().arguments([{**row, "messages": transcript(row)} for row in rollout])


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """That of a class whose objects are called with `completions`: TRL's of such an object, with texts."""
    if isinstance(value, type) and hasattr(value, "as_fn"):
        return []  # TRL's, as llm-finetuning writes it
    if isinstance(value, type) and "completions" in parameters(value.__call__):
        value = made(value)
    reason = "its objects take completions, as texts"
    return [
        replace(
            item, target="ms-swift", form=FORM, reason=reason, way="", adapter=_with_messages(item.adapter)
        )
        for item in trl.readings(value, rows)
        if item.way == "texts"
    ]


def _with_messages(adapter: Adapter) -> Adapter:
    """The adapter; one that makes the conversations where they are asked for."""
    if "messages" not in parameters(adapter.function):
        return adapter
    needs = tuple(name for name in adapter.needs if name != "messages")
    return Function(adapter.function, needs=("completion", *needs))


@dataclass(frozen=True, repr=False)
class Orm(RewardHolder):
    """The reward of a batch, as numbers."""

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float]:
        """Rewards, with `missing` where there is none; siblings are those of one prompt."""
        return self.numbers(batch_columns(completions, columns), len(completions))


def functions(reward: Reward, **options: Any) -> list[Orm]:
    """The reward for `reward_funcs`: a list of one callable; options are those of `Orm.holding`."""
    return [Orm.holding(reward, **options)]


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What ms-swift's `compute_rewards_per_func` gives for what the file put into `orms`."""
    version = installed("ms-swift", "torch", "swift")
    import torch
    from swift.rewards import orms
    from swift.rl_core.data import GRPOSample
    from swift.rl_core.grpo_algorithm import compute_rewards_per_func

    loaded(path)
    left = [{name: value for name, value in row.items() if name not in PLACED} for row in rows]
    samples = [
        GRPOSample.from_row({**other, "messages": transcript(row)})
        for other, row in zip(left, rows, strict=True)
    ]
    found = compute_rewards_per_func(samples, [orms[written.functions[0]]()], [None], torch.device("cpu"))
    return Called(f"compute_rewards_per_func of {version}", found[:, 0].tolist(), cast=("reward",))


ABLE = Abilities(siblings="batch", waits="together", steps=True, turns=True)
TARGET = Target("ms-swift", "ms-swift", "4.6", FORM, readings, ABLE, functions, call)
