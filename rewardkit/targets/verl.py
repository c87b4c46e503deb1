"""verl's reward functions: compute_score(data_source, solution_str, ground_truth, extra_info).

Source: `verl.trainer.ppo.reward.get_custom_reward_fn` and the reward managers of verl
0.9.1, which call by keyword and keep the keys of a dict beside its ``score``.
`RLHFDataset` makes an empty extra_info where the data set has none, and the naive
manager adds to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import (
    Adapter,
    Arguments,
    LacksColumn,
    Row,
    column_of,
    fill,
    named,
    takes_anything,
    uses,
)
from rewardkit.targets.calling import awaited, installed
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import Abilities, Called, Reading, Target, Written

FORM = (
    "compute_score(data_source, solution_str, ground_truth, extra_info=None, **kwargs) -> float | dict, "
    "or of lists, compute_score(data_sources, solution_strs, ground_truths, extra_infos) -> list"
)
OWN = {
    "data_source": "data_source",
    "solution_str": "completion",
    "ground_truth": "ground_truth",
    "extra_info": "extra_info",
}
ADDED: Mapping[str, Any] = {"num_turns": None, "rollout_reward_scores": {}}
"""What the naive manager adds to each extra_info, as it is where there are no turns and no tools."""


class Added(dict[str, Any]):
    """The extra_info of a log that has none: what verl adds; LacksColumn where another key is asked for."""

    def __missing__(self, key: Any) -> Any:
        raise LacksColumn(f"extra_info[{key!r}]", "extra_info")


class Function(Adapter):
    """A function that is called by keyword, for one completion."""

    @staticmethod
    def given(rollout: Row) -> dict[str, Any]:
        """What the trainer hands over, the extra_info as a copy with what is added to it."""
        info = rollout.get("extra_info")
        if info is None:
            copied: Any = (Added if "extra_info" not in rollout else dict)(
                deepcopy(ADDED)
            )
        else:
            copied = deepcopy({**ADDED, **info} if isinstance(info, Mapping) else info)
        return {name: rollout.get(column) for name, column in OWN.items()} | {
            "extra_info": copied
        }

    def arguments(self, rollout: Row) -> Arguments:
        """The four arguments of the trainer, and columns for what else has no default."""
        others = [name for name in named(self.function) if name not in OWN]
        columns = {name: rollout.get(column_of(name, [rollout])) for name in others}
        return (), fill(self.function, {}, self.given(rollout)) | columns


class BatchFunction(Adapter):
    """A function that the batch manager calls with lists: here of a group."""

    together = "batch"

    def arguments(self, rollout: Sequence[Row]) -> Arguments:
        """The four as lists."""
        each = [Function.given(row) for row in rollout]
        return (), {f"{name}s": [row[name] for row in each] for name in OWN}


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """That of a function that asks for `solution_str`, or for lists of them."""
    asked = parameters(value)
    lists = "solution_strs" in asked
    sure = lists or "solution_str" in asked
    if isinstance(value, type) or not (sure or takes_anything(value)):
        return []
    there = {name for row in rows for name in row}
    given = {f"{name}s" if lists else name: column for name, column in OWN.items()}
    own = {name: column for name, column in given.items() if name in asked or not sure}
    used = [
        column
        for name, column in own.items()
        if _is_needed(value, name) and column in there | NEEDED
    ]
    others = (
        {}
        if lists
        else {name: column_of(name, rows) for name in named(value) if name not in OWN}
    )
    absent = {
        column: "no column (None)"
        for column in OWN.values()
        if rows and column not in there
    }
    if "extra_info" in absent:
        absent["extra_info"] = f"no column (only {', '.join(ADDED)})"
    mapping = {name: absent.get(column, column) for name, column in own.items()}
    reason = (
        f"it takes {', '.join(name for name in asked if name in own) or 'any keyword'}"
    )
    kind = BatchFunction if lists else Function
    adapter = kind(value, needs=tuple(dict.fromkeys([*used, *others.values()])))
    return [Reading(reason, adapter, mapping | others, main="score", sure=sure)]


NEEDED = {"data_source", "completion", "ground_truth"}
"""What only a log can give; an extra_info is there in any case."""


def _is_needed(function: Any, name: str) -> bool:
    """Whether it cannot be called without: it reads it, and its default is not that there is none."""
    p = parameters(function).get(name)
    return p is not None and p.default is not None and uses(function, name)


class ComputeScore(RewardHolder):
    """The reward as compute_score: a dict of finite numbers, always with the same keys."""

    def __call__(
        self,
        data_source: Any = None,
        solution_str: Any = None,
        ground_truth: Any = None,
        extra_info: Any = None,
        **kwargs: Any,
    ) -> dict[str, float]:
        """``score``, ``judged`` (1.0, or 0.0 where there was no reward) and each component's score."""
        return self.dicts(
            [_columns(data_source, solution_str, ground_truth, extra_info, kwargs)]
        )[0]


def _columns(
    source: Any, solution: Any, truth: Any, info: Any, others: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments as canonical columns; what stands in `extra_info` is a column, too."""
    inner = (
        {str(name): value for name, value in info.items()}
        if isinstance(info, Mapping)
        else {}
    )
    return {
        **inner,
        **others,
        **dict(zip(OWN.values(), (source, solution, truth, info), strict=True)),
    }


class ComputeScores(RewardHolder):
    """The same of lists, for verl's batch manager: there a group's siblings are seen."""

    def __call__(
        self,
        data_sources: Any,
        solution_strs: Any,
        ground_truths: Any,
        extra_infos: Any,
        **kwargs: Any,
    ) -> list[dict[str, float]]:
        """A dict a completion."""
        rows = zip(data_sources, solution_strs, ground_truths, extra_infos, strict=True)
        return self.dicts([_columns(*one, kwargs) for one in rows])


def functions(
    reward: Reward, *, batch: bool = False, **options: Any
) -> ComputeScore | ComputeScores:
    """The reward as a `compute_score` that can be pickled; `missing` is what is not judged.

    ``batch=True`` gives the function of lists that the batch manager calls.
    """
    return (ComputeScores if batch else ComputeScore)(reward, **options)


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What verl's loader and its naive reward manager make of the file."""
    version = installed("verl", "torch", "tensordict", "omegaconf", "ray")
    from omegaconf import OmegaConf
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
    from verl.trainer.ppo.reward import get_custom_reward_fn

    custom = {
        "custom_reward_function": {"path": str(path.resolve()), "name": "compute_score"}
    }
    config = OmegaConf.create({"reward": custom})
    data = protocol(rows)

    async def run() -> list[dict[str, Any]]:
        manager = NaiveRewardManager(config, Texts(rows), get_custom_reward_fn(config))
        return [await manager.run_single(data[at : at + 1]) for at in range(len(rows))]

    found = [
        {**one["reward_extra_info"], "score": one["reward_score"]}
        for one in awaited(run())
    ]
    return Called.of_dicts(
        f"get_custom_reward_fn and NaiveRewardManager of {version}", found
    )


class Texts:
    """In place of a tokenizer: a completion's one token is the number of its row."""

    eos_token = "<|endoftext|>"

    def __init__(self, rows: Sequence[Row]) -> None:
        self.texts = [str(row["completion"]) for row in rows]

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        """The text of a completion; a prompt is -1."""
        return self.texts[int(ids[0])] if int(ids[0]) >= 0 else ""


def protocol(rows: Sequence[Row]) -> Any:
    """The rows as verl hands them to a reward manager."""
    import numpy as np
    import torch
    from verl import DataProto

    held = [training_columns(row) for row in rows]
    others = {
        name: np.array([one[name] for one in held], dtype=object)
        for name in training_columns({})
    }
    return DataProto.from_dict(tokens(len(rows), torch), non_tensors=others)


def tokens(count: int, torch: Any) -> dict[str, Any]:
    """One token a prompt and a completion."""
    return {
        "prompts": -torch.ones(count, 1, dtype=torch.long),
        "responses": torch.arange(count)[:, None],
        "attention_mask": torch.ones(count, 2, dtype=torch.long),
    }


def training_columns(row: Row) -> dict[str, Any]:
    """What the training set would hold beside the prompt; other columns stand in extra_info."""
    info = row.get("extra_info")
    others = {name: value for name, value in row.items() if name not in OWN.values()}
    return {
        "data_source": row.get("data_source"),
        "reward_model": {"style": "rule", "ground_truth": row.get("ground_truth")},
        "extra_info": {**others, **(info if isinstance(info, Mapping) else {})},
    }


ABLE = Abilities(judged=True)
NONE = "verl puts scores into a tensor of floats, and a None there ends the training"
TARGET = Target("verl", "verl", "0.9", FORM, readings, ABLE, functions, call, none=NONE)
