"""siiRL's reward functions: verl's compute_score, called without waiting, one completion at a time.

Source: `siirl.execution.scheduler.reward` and `NaiveRewardManager` of siiRL 0.2.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rewardkit.targets import verl
from rewardkit.targets.adapter import Row
from rewardkit.targets.calling import installed
from rewardkit.targets.target import JUDGED, Called, Target, Written
from rewardkit.targets.verl import functions


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What siiRL's loader and naive reward manager make of the file."""
    version = installed("siirl", "torch", "tensordict", "loguru")
    from siirl.engine.reward_manager.naive import NaiveRewardManager
    from siirl.execution.scheduler.reward import load_custom_reward_function

    custom = SimpleNamespace(
        path=str(path.resolve()), name="compute_score", reward_kwargs={}
    )
    function = load_custom_reward_function(
        SimpleNamespace(custom_reward_function=custom)
    )
    found = NaiveRewardManager(verl.Texts(rows), 0, function)(
        batch(rows), return_dict=True
    )
    extras = {
        name: one
        for name, one in found["reward_extra_info"].items()
        if name not in ("score", JUDGED)
    }
    caller = f"load_custom_reward_function and NaiveRewardManager of {version}"
    return Called(
        caller,
        {"reward": found["reward_tensor"][:, 0].tolist(), **extras},
        cast=("reward",),
    )


def batch(rows: Sequence[Row]) -> Any:
    """The rows as siiRL hands them to a reward manager."""
    import torch
    from tensordict import NonTensorData, NonTensorStack, TensorDict

    data = TensorDict(verl.tokens(len(rows), torch), batch_size=[len(rows)])
    for name in verl.training_columns({}):
        data[name] = NonTensorStack(
            *[NonTensorData(verl.training_columns(row)[name]) for row in rows]
        )
    return data


TARGET = Target(
    "siirl", "siiRL", "0.2", verl.FORM, verl.readings, verl.ABLE, functions, call
)
