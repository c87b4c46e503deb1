"""siiRL's reward functions: verl's compute_score, one call at a time.

Source: `siirl.execution.scheduler.reward` and `NaiveRewardManager` of siiRL 0.2.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rewardkit.rollouts.columns import lists_of_columns
from rewardkit.targets import verl
from rewardkit.targets.columns import Row
from rewardkit.targets.target import (
    TrainerCode,
    TrainerValues,
    is_judged_key,
    require_installed,
)

functions = verl.functions


def call(path: Path, code: TrainerCode, rows: Sequence[Row]) -> TrainerValues:
    """Call siiRL's loader and naive reward manager on the file."""
    version = require_installed("siirl", "torch", "tensordict", "loguru")
    from siirl.engine.reward_manager.naive import NaiveRewardManager
    from siirl.execution.scheduler.reward import load_custom_reward_function

    custom = SimpleNamespace(
        path=str(path.resolve()), name="compute_score", reward_kwargs={}
    )
    config = SimpleNamespace(custom_reward_function=custom)
    function = load_custom_reward_function(config)
    manager = NaiveRewardManager(verl.Texts(rows), 0, function)
    rewards = manager(batch(rows), return_dict=True)
    values = {"reward": rewards["reward_tensor"][:, 0].tolist()}
    for name, scores in rewards["reward_extra_info"].items():
        if name != "score" and not is_judged_key(name):
            values[name] = scores
    caller = f"load_custom_reward_function and NaiveRewardManager of {version}"
    return TrainerValues(caller, values, cast=("reward",))


def batch(rows: Sequence[Row]) -> Any:
    """Return the rows in the form that siiRL passes to a reward manager."""
    import torch
    from tensordict import NonTensorData, NonTensorStack, TensorDict

    data = TensorDict(verl.tokens(len(rows), torch), batch_size=[len(rows)])
    columns = lists_of_columns([verl.training_columns(row) for row in rows])
    for name, values in columns.items():
        data[name] = NonTensorStack(*map(NonTensorData, values))
    return data


SIIRL = replace(
    verl.VERL, name="siirl", title="siiRL", versions="0.2", call=call, none=""
)
