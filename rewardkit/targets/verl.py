"""verl's reward functions: compute_score(data_source, solution_str, ground_truth, extra_info).

Source: `verl.trainer.ppo.reward.get_custom_reward_fn` and the reward managers of verl 0.9.1, which call by
keyword and keep the keys of a dict beside its ``score``. `RLHFDataset` makes an empty extra_info where the
data set has none, and the naive manager adds to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import (
    Adapter,
    LacksColumn,
    Row,
    column_of,
    named,
    takes_anything,
    uses,
)
from rewardkit.targets.calling import installed
from rewardkit.targets.exported import RewardHolder, finite
from rewardkit.targets.reading import Reading
from rewardkit.targets.target import Abilities, Called, Export, Target, Written
from rewardkit.targets.writing import answer, options, waits

__all__ = ["TARGET", "BatchFunction", "ComputeScore", "ComputeScores", "Function", "functions"]

FORM = "compute_score(data_source, solution_str, ground_truth, extra_info=None, **kwargs) -> float | dict"
FORM_LISTS = "compute_score(data_sources, solution_strs, ground_truths, extra_infos) -> list"
OWN = {
    "data_source": "data_source",
    "solution_str": "completion",
    "ground_truth": "ground_truth",
    "extra_info": "extra_info",
}
ADDED: Mapping[str, Any] = {"num_turns": None, "rollout_reward_scores": {}}
"""What the naive manager adds to each extra_info, as it is where there are no turns and no tools."""

NONE = "verl puts scores into a tensor of floats, and a None there ends the training"


class Added(dict[str, Any]):
    """The extra_info of a log that has none: what verl adds; LacksColumn where another key is asked for."""

    def __missing__(self, key: Any) -> Any:
        raise LacksColumn(f"extra_info[{key!r}]", "extra_info")


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """A function that is called by keyword, for one completion."""

    @staticmethod
    def given(rollout: Row) -> dict[str, Any]:
        """What the trainer hands over, the extra_info as a copy with what is added to it."""
        info = rollout.get("extra_info")
        if info is None:
            copied: Any = (Added if "extra_info" not in rollout else dict)(deepcopy(ADDED))
        else:
            copied = deepcopy({**ADDED, **info} if isinstance(info, Mapping) else info)
        return {name: rollout.get(column) for name, column in OWN.items()} | {"extra_info": copied}

    def arguments(self, rollout: Row) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The four arguments of the trainer, and columns for what else has no default."""
        keywords = self.given(rollout)
        asked = parameters(self.function)
        everything = any(p.kind is p.VAR_KEYWORD for p in asked.values())
        keywords = {name: value for name, value in keywords.items() if everything or name in asked}
        others = [name for name in named(self.function) if name not in OWN]
        return (), keywords | {name: rollout.get(column_of(name, [rollout])) for name in others}


LISTS = {f"{name}s": column for name, column in OWN.items()}


@dataclass(frozen=True, repr=False)
class BatchFunction(Adapter):
    """A function that the batch manager calls with lists: here of a group."""

    batch: ClassVar[bool] = True

    def arguments(self, rollout: Sequence[Row]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The four as lists."""
        each = [Function.given(row) for row in rollout]
        return (), {f"{name}s": [row[name] for row in each] for name in OWN}


def readings(value: Any, rows: Sequence[Row], target: str = "verl") -> list[Reading]:
    """That of a function that asks for `solution_str`, or for lists of them."""
    asked = parameters(value)
    none = NONE if target == "verl" else ""
    if not isinstance(value, type) and "solution_strs" in asked:
        used = [column for name, column in LISTS.items() if name in named(value) and uses(value, name)]
        used = [column for column in used if _is_there(column, rows)]
        lists = BatchFunction(value, needs=tuple(used))
        mapping = _told(LISTS, rows)
        reason = "it takes solution_strs"
        return [Reading(target, FORM_LISTS, reason, lists, mapping, main="score", sure=True, none=none)]
    sure = "solution_str" in asked
    if isinstance(value, type) or not (sure or takes_anything(value)):
        return []
    used = [column for name, column in OWN.items() if _is_needed(value, name) and _is_there(column, rows)]
    others = {name: column_of(name, rows) for name in named(value) if name not in OWN}
    own = {name: column for name, column in OWN.items() if name in asked or not sure}
    mapping = _told(own, rows) | others
    adapter = Function(value, needs=tuple(dict.fromkeys([*used, *others.values()])))
    reason = f"it takes {', '.join(name for name in asked if name in OWN) or 'any keyword'}"
    return [Reading(target, FORM, reason, adapter, mapping, main="score", sure=sure, none=none)]


def _told(own: Mapping[str, str], rows: Sequence[Row]) -> dict[str, str]:
    """Which column each argument is taken from, and what stands there where the rollouts lack it."""
    there = {name for row in rows for name in row}
    instead = {"extra_info": f"no column (only {', '.join(ADDED)})"}
    return {
        name: column if column in there or not rows else instead.get(column, "no column (None)")
        for name, column in own.items()
    }


def _is_there(column: str, rows: Sequence[Row]) -> bool:
    """Whether only a log can give it, or this one does: an extra_info is there in any case."""
    return column != "extra_info" or any(column in row for row in rows)


def _is_needed(function: Any, name: str) -> bool:
    """Whether it cannot be called without: it reads it, and its default is not that there is none."""
    p = parameters(function).get(name)
    return p is not None and p.default is not None and uses(function, name)


@dataclass(frozen=True, repr=False)
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
        return self.rate_one(columns_of(data_source, solution_str, ground_truth, extra_info, kwargs))


def columns_of(
    source: Any, solution: Any, truth: Any, info: Any, others: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments as canonical columns; what stands in `extra_info` is a column, too."""
    inner = {str(name): value for name, value in info.items()} if isinstance(info, Mapping) else {}
    own = {"data_source": source, "completion": solution, "ground_truth": truth, "extra_info": info}
    return {**inner, **others, **own}


@dataclass(frozen=True, repr=False)
class ComputeScores(RewardHolder):
    """The same of lists, for verl's batch manager: there a group's siblings are seen."""

    def __call__(
        self,
        data_sources: Any,
        solution_strs: Any,
        ground_truths: Any,
        extra_infos: Any = None,
        **kwargs: Any,
    ) -> list[dict[str, float]]:
        """A dict a completion."""
        count = len(solution_strs)
        infos = [None] * count if extra_infos is None else extra_infos
        rows = [
            columns_of(*one, kwargs)
            for one in zip(data_sources, solution_strs, ground_truths, infos, strict=True)
        ]
        names = dict.fromkeys(name for row in rows for name in row)
        return finite(
            self.rate({name: [row.get(name) for row in rows] for name in names}, count), self.missing
        )


def functions(
    reward: Reward, *, columns: Mapping[str, str] | None = None, missing: float = 0.0, batch: bool = False
) -> ComputeScore | ComputeScores:
    """The reward as a `compute_score` that can be pickled; `missing` is what is not judged.

    ``batch=True`` gives the function of lists that the batch manager calls.
    """
    made = ComputeScores if batch else ComputeScore
    return made(reward, columns=dict(columns or {}), missing=missing)


CONFIG = """reward.custom_reward_function.path={path}
reward.custom_reward_function.name=compute_score"""


def write(export: Export) -> Written:
    """A module-level `compute_score`, asynchronous where the reward has async components."""
    usage = CONFIG
    paid = {name: weight for name, weight in export.reward.weights.items() if weight}
    if len(paid) > 1:
        usage += (
            "\n# or the components one by one: algorithm.adv_estimator=gdpo\n"
            f"#   algorithm.gdpo_reward_keys={list(paid)!r}\n"
            f"#   algorithm.gdpo_reward_weights={list(paid.values())!r}"
        )
    return compute_score_file(export, "verl", usage, awaited=waits(export))


def compute_score_file(export: Export, module: str, usage: str, *, awaited: bool) -> Written:
    """A file with a `compute_score`, to which the data source need not be given where no one asks for it."""
    known = "data_source" in export.reward.needs
    others = "solution_str, ground_truth"
    asked = f"data_source, {others}" if known else f"*, {others}, data_source=None"
    call = answer("_score(data_source, solution_str, ground_truth, extra_info, **kwargs)", awaited=awaited)
    code = f'''_score = rk.targets.{module}.ComputeScore(_reward{options(export)})


{"async " if awaited else ""}def compute_score({asked}, extra_info=None, **kwargs):
    """The reward as score, judged (1, or 0 where there is none), and each component's score."""
    return {call}'''
    return Written(code, ("import asyncio",) if awaited else (), usage, ("compute_score",))


SHOWN = ("score", "judged")


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What verl's loader and its naive reward manager make of the file."""
    version = installed("verl", "torch", "tensordict", "omegaconf", "ray")
    from omegaconf import OmegaConf
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
    from verl.trainer.ppo.reward import get_custom_reward_fn

    custom = {"custom_reward_function": {"path": str(path.resolve()), "name": "compute_score"}}
    config = OmegaConf.create({"reward": custom})
    data = protocol(rows)

    async def run() -> list[dict[str, Any]]:
        manager = NaiveRewardManager(config, Texts(rows), get_custom_reward_fn(config))
        return [await manager.run_single(data[at : at + 1]) for at in range(len(rows))]

    with ThreadPoolExecutor(max_workers=1) as pool:  # a loop of its own, as a notebook's is running already
        found = pool.submit(asyncio.run, run()).result()
    extras = [one["reward_extra_info"] for one in found]
    names = [name for name in extras[0] if name not in SHOWN]
    return Called(
        f"get_custom_reward_fn and NaiveRewardManager of {version}",
        [one["reward_score"] for one in found],
        {name: [extra[name] for extra in extras] for name in names},
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

    def column(values: list[Any]) -> Any:
        filled = np.empty(len(values), dtype=object)
        filled[:] = values
        return filled

    others = {name: column([training_row(row)[name] for row in rows]) for name in TRAINING}
    return DataProto.from_dict(tokens(len(rows), torch), non_tensors=others)


def tokens(count: int, torch: Any) -> dict[str, Any]:
    """One token a prompt and a completion."""
    return {
        "prompts": -torch.ones(count, 1, dtype=torch.long),
        "responses": torch.arange(count)[:, None],
        "attention_mask": torch.ones(count, 2, dtype=torch.long),
    }


TRAINING = ("data_source", "reward_model", "extra_info")


def training_row(row: Row) -> dict[str, Any]:
    """What the training set would hold beside the prompt."""
    return {
        "data_source": row.get("data_source"),
        "reward_model": {"style": "rule", "ground_truth": row.get("ground_truth")},
        "extra_info": info_of(row),
    }


def info_of(row: Row) -> dict[str, Any]:
    """What a training set would hold in `extra_info`: the columns that have no place of their own."""
    info = row.get("extra_info")
    others = {name: value for name, value in row.items() if name not in OWN.values()}
    return {**others, **(info if isinstance(info, Mapping) else {})}


TARGET = Target("verl", "verl", "0.9", FORM, readings, Abilities(), functions, write, call)
