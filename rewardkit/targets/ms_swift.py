"""ms-swift's rewards: class R(ORM) with __call__(completions, **columns) -> list[float], named in `orms`.

Source: `swift.rewards.orm` and `compute_rewards_per_func` of ms-swift 4.6: called as
TRL does, with texts and without `prompts`; `messages` is the whole conversation. A
``None`` is added up as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.targets import trl
from rewardkit.targets.adapter import Arguments, Row
from rewardkit.targets.calling import installed, loaded, made
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import Abilities, Called, Reading, Target, Written
from rewardkit.targets.turns import batch_columns, transcript

FORM = "class R(ORM): __call__(self, completions, **columns) -> list[float]"
PLACED = ("prompt", "completion")


class Function(trl.Function):
    """TRL's function of texts, with the whole conversation as its column `messages`."""

    def arguments(self, rollout: Sequence[Row]) -> Arguments:
        """The lists that TRL hands over, and the conversations."""
        return super().arguments(
            [{**row, "messages": transcript(row)} for row in rollout]
        )


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """That of a class whose objects are called with `completions`, but for TRL's of llm-finetuning."""
    asked = parameters(value.__call__) if isinstance(value, type) else {}
    if "completions" not in asked or hasattr(value, "as_fn"):
        return []
    found, reason = (
        trl.of_texts(made(value), rows),
        "its objects take completions, as texts",
    )
    needs = tuple(
        name for one in found for name in one.adapter.needs if name != "messages"
    )
    return [
        replace(one, reason=reason, adapter=Function(made(value), needs=needs))
        for one in found
    ]


class Orm(RewardHolder):
    """The reward of a batch, as numbers."""

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float]:
        """Rewards, with `missing` where there is none; siblings are those of one prompt."""
        return self.numbers(batch_columns(completions, columns), len(completions))


def functions(reward: Reward, **options: Any) -> list[Orm]:
    """The reward for `reward_funcs`: a list of one callable; options are those of `Orm`."""
    return [Orm(reward, **options)]


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What ms-swift's `compute_rewards_per_func` gives for what the file put into `orms`."""
    version = installed("ms-swift", "torch", "swift")
    import torch
    from swift.rewards import orms
    from swift.rl_core.data import GRPOSample
    from swift.rl_core.grpo_algorithm import compute_rewards_per_func

    loaded(path)
    left = [
        {name: value for name, value in row.items() if name not in PLACED}
        for row in rows
    ]
    samples = [
        GRPOSample.from_row({**other, "messages": transcript(row)})
        for other, row in zip(left, rows, strict=True)
    ]
    found = compute_rewards_per_func(
        samples, [orms[written.functions[0]]()], [None], torch.device("cpu")
    )
    return Called(
        f"compute_rewards_per_func of {version}",
        {"reward": found[:, 0].tolist()},
        cast=("reward",),
    )


ABLE = Abilities(siblings="batch", waits="together", steps=True, turns=True)
TARGET = Target("ms-swift", "ms-swift", "4.6", FORM, readings, ABLE, functions, call)
