"""verl's compute_score(data_source, solution_str, ground_truth, extra_info).

Source: `verl.trainer.ppo.reward.get_custom_reward_fn` and the reward managers of verl
0.9.1, which call by keyword and log the keys of a dict beside its ``score``.
`RLHFDataset` makes an empty extra_info if the data set has none, and the naive manager
adds keys to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from rewardkit.rewards.component import parameters
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.columns import lists_of_columns
from rewardkit.scoring.callers import MadeColumn, RowColumns
from rewardkit.targets.adapter import Adapter, Arguments, LacksColumn
from rewardkit.targets.columns import (
    Row,
    column_of,
    reads_keywords,
    required_parameters,
    takes_anything,
    takes_argument,
    uses,
)
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.plain import score_and_details
from rewardkit.targets.target import (
    Abilities,
    Target,
    TrainerCode,
    TrainerReading,
    TrainerValues,
    require_installed,
    run_async,
)
from rewardkit.targets.truths import TruthParser

VERL_ARGUMENTS = {
    "data_source": "data_source",
    "solution_str": "completion",
    "ground_truth": "ground_truth",
    "extra_info": "extra_info",
}
"""Argument of the trainer -> its column."""


def _additions() -> dict[str, Any]:
    """Return the keys that the naive manager adds, without turns and tools."""
    return {"num_turns": None, "rollout_reward_scores": {}}


ADDED = frozenset(_additions())
"""Keys that the naive manager adds to an extra_info."""


class NaiveInfo(dict[str, Any]):
    """An extra_info with the keys `ADDED`, whose `get` ignores a None under them.

    Other managers do not add these keys, so that a reward's default applies.
    """

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value under a key, or the default for an added None."""
        value = super().get(key, default)
        return default if value is None and key in ADDED else value


class ManagerInfo(NaiveInfo):
    """An extra_info for a log without one, where other keys raise `LacksColumn`."""

    def __missing__(self, key: Any) -> Any:
        raise LacksColumn(f"extra_info[{key!r}]", "extra_info")


class Function(Adapter):
    """A function of one completion that is called by keyword."""

    result = staticmethod(score_and_details)

    def gives(self, column: str) -> bool:
        """Return whether a column is one of the trainer's own arguments."""
        return column in VERL_ARGUMENTS.values()

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the trainer's arguments, and columns for other required ones."""
        arguments = {}
        for name, column in VERL_ARGUMENTS.items():
            if takes_argument(self.function, name):
                is_read = uses(self.function, name) or reads_keywords(self.function)
                arguments[name] = _trainer_column(rows, column, is_read=is_read)
        for name in required_parameters(self.function):
            if name not in VERL_ARGUMENTS:
                column = name if name in rows else column_of(name)
                arguments[name] = rows.column(column)
        return (), arguments


class BatchFunction(Function):
    """A function that the batch manager calls with lists, here those of a group."""

    together = "batch"

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the four arguments as lists."""
        arguments = {}
        for name, column in VERL_ARGUMENTS.items():
            arguments[f"{name}s"] = _trainer_column(rows, column)
        return (), arguments


def _trainer_column(
    rows: RowColumns, name: str, *, is_read: bool = True
) -> Sequence[Any]:
    """Return the values that the trainer passes, with its additions to extra_info."""
    if name != "extra_info":
        return rows.column(name)
    if not is_read:
        return [_no_info(0)] * rows.count
    if name not in rows:
        return MadeColumn(_no_info, range(rows.count))
    return MadeColumn(_with_additions, rows[name])


def _no_info(place: int) -> ManagerInfo:
    return ManagerInfo(_additions())


def _with_additions(info: Any) -> Any:
    """Add the keys of `_additions` to an extra_info."""
    if info is None:
        info = {}
    if not isinstance(info, Mapping):
        return info
    return NaiveInfo({**_additions(), **info})


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a function of `solution_str`, or of lists of them."""
    names = parameters(value)
    takes_lists = "solution_strs" in names
    sure = takes_lists or "solution_str" in names
    if isinstance(value, type) or not (sure or takes_anything(value)):
        return []
    columns = set().union(*rows)
    mapping: dict[str, str] = {}
    needs: list[str] = []
    for argument, column in VERL_ARGUMENTS.items():
        name = f"{argument}s" if takes_lists else argument
        if sure and name not in names:
            continue
        mapping[name] = column
        if rows and column not in columns:
            mapping[name] = "no column (None)"
            if column == "extra_info":
                mapping[name] = f"no column (only {', '.join(_no_info(0))})"
        if _is_needed(value, name) and column in columns | LOGGED_COLUMNS:
            needs.append(column)
    reason = "it takes any keyword"
    if sure:
        reason = f"it takes {', '.join(filter(mapping.__contains__, names))}"
    if not takes_lists:
        for name in required_parameters(value):
            if name not in VERL_ARGUMENTS:
                mapping[name] = column_of(name, rows)
                needs.append(mapping[name])
    kind = BatchFunction if takes_lists else Function
    adapter = kind(value, needs=tuple(dict.fromkeys(needs)))
    return [TrainerReading(reason, adapter, mapping, main="score", sure=sure)]


LOGGED_COLUMNS = {"data_source", "completion", "ground_truth"}
"""Columns that only a log can provide; an extra_info always exists."""


def _is_needed(function: Any, name: str) -> bool:
    """Return whether a function reads the parameter, and its default is not None."""
    parameter = parameters(function).get(name)
    if parameter is None or parameter.default is None:
        return False
    return uses(function, name)


class _Holder(RewardHolder):
    """Base of callables whose truths may be JSON texts in the training set."""

    @cached_property
    def truths(self) -> TruthParser:
        """Return the parser of the truths."""
        return TruthParser(self.reward)


class ComputeScore(_Holder):
    """The reward as a compute_score: finite numbers, always under the same keys."""

    def __call__(
        self,
        data_source: Any = None,
        solution_str: Any = None,
        ground_truth: Any = None,
        extra_info: Any = None,
        **kwargs: Any,
    ) -> dict[str, float]:
        """Return ``score``, ``judged`` (1.0, or 0.0: no reward) and each score."""
        values = (data_source, solution_str, ground_truth, extra_info)
        return self.dicts(self.truths.parse([_columns(values, kwargs)]))[0]


def _columns(values: Sequence[Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the four arguments and the keys of `extra_info` as columns."""
    columns = dict(zip(VERL_ARGUMENTS.values(), values, strict=True))
    info = columns["extra_info"]
    if not isinstance(info, Mapping):
        info = {}
    named = {str(name): info[name] for name in info}
    return {**named, **others, **columns}


class ComputeScores(_Holder):
    """The reward as a compute_score of lists, for verl's batch manager.

    That manager passes the siblings of a group together.
    """

    def __call__(
        self,
        data_sources: Any,
        solution_strs: Any,
        ground_truths: Any,
        extra_infos: Any,
        **kwargs: Any,
    ) -> list[dict[str, float]]:
        """Return a dict per completion."""
        rows = zip(data_sources, solution_strs, ground_truths, extra_infos, strict=True)
        columns = [_columns(values, kwargs) for values in rows]
        return self.dicts(self.truths.parse(columns))


def functions(
    reward: Reward, *, batch: bool = False, **options: Any
) -> ComputeScore | ComputeScores:
    """Return the reward as a `compute_score` that can be pickled.

    ``batch=True`` gives the function of lists for the batch manager.
    """
    kind = ComputeScores if batch else ComputeScore
    return kind(reward, **options)


def call(path: Path, code: TrainerCode, rows: Sequence[Row]) -> TrainerValues:
    """Call verl's loader and its naive reward manager on the file."""
    version = require_installed("verl", "torch", "tensordict", "omegaconf", "ray")
    from omegaconf import OmegaConf
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
    from verl.trainer.ppo.reward import get_custom_reward_fn

    custom = {"path": str(path.resolve()), "name": "compute_score"}
    config = OmegaConf.create({"reward": {"custom_reward_function": custom}})
    data = protocol(rows)

    async def run() -> list[dict[str, Any]]:
        manager = NaiveRewardManager(config, Texts(rows), get_custom_reward_fn(config))
        return [await manager.run_single(data[at : at + 1]) for at in range(len(rows))]

    rewards = []
    for answer in run_async(run()):
        rewards.append({**answer["reward_extra_info"], "score": answer["reward_score"]})
    caller = f"get_custom_reward_fn and NaiveRewardManager of {version}"
    return TrainerValues.of_dicts(caller, rewards)


class Texts:
    """A stand-in for a tokenizer: a completion's only token is its row number."""

    eos_token = "<|endoftext|>"

    def __init__(self, rows: Sequence[Row]) -> None:
        self.texts = [str(row["completion"]) for row in rows]

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        """Return the text of a completion, or "" for a prompt, whose token is -1."""
        return self.texts[int(ids[0])] if int(ids[0]) >= 0 else ""


def protocol(rows: Sequence[Row]) -> Any:
    """Return the rows in the form that verl passes to a reward manager."""
    import numpy as np
    import torch
    from verl import DataProto

    columns = {}
    for name, values in lists_of_columns(list(map(training_columns, rows))).items():
        columns[name] = np.array(values, dtype=object)
    return DataProto.from_dict(tokens(len(rows), torch), non_tensors=columns)


def tokens(count: int, torch: Any) -> dict[str, Any]:
    """Return tensors with one token per prompt and per completion."""
    return {
        "prompts": -torch.ones(count, 1, dtype=torch.long),
        "responses": torch.arange(count)[:, None],
        "attention_mask": torch.ones(count, 2, dtype=torch.long),
    }


def training_columns(row: Row) -> dict[str, Any]:
    """Return the columns of a training set; other columns go into extra_info."""
    extra = dict(row)
    for name in VERL_ARGUMENTS.values():
        extra.pop(name, None)
    info = row.get("extra_info")
    if isinstance(info, Mapping):
        extra |= info
    return {
        "data_source": row.get("data_source"),
        "reward_model": {"style": "rule", "ground_truth": row.get("ground_truth")},
        "extra_info": extra,
    }


VERL = Target(
    name="verl",
    title="verl",
    versions="0.9",
    form="compute_score(data_source, solution_str, ground_truth, extra_info=None, "
    "**kwargs) -> float | dict, or of lists, compute_score(data_sources, "
    "solution_strs, ground_truths, extra_infos) -> list",
    readings=readings,
    abilities=Abilities(judged=True),
    functions=functions,
    call=call,
    none="verl puts scores into a tensor of floats, and a None there ends the training",
)
