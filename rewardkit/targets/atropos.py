"""Atropos' rewards: class R(RewardFunction) with compute(completions, **kwargs) -> list[float], and a weight.

Source: `RewardFunction` and `registry` of atroposlib 0.4, and its dataset environment, which calls with the
completions of one prompt (a list of one message each) and one `solution`, `ground_truth`, `item` for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import Adapter, Row, fill, is_atropos, required
from rewardkit.targets.calling import installed, loaded
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.making import made
from rewardkit.targets.target import Abilities, Called, Reading, Target, Written
from rewardkit.targets.turns import batch_columns

__all__ = ["TARGET", "Compute", "Function", "functions"]

FORM = "class R(RewardFunction): compute(self, completions, **kwargs) -> list[float]"
EACH = ("completion", "rollout_id")  # columns that differ between the completions of a prompt


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """An object whose `compute` gets the completions of a prompt, each a list of messages, and columns."""

    batch: ClassVar[bool] = True

    @property
    def called(self) -> Any:
        """What its class defines: the wrapper around it makes 0 of an error."""
        return self.function.compute

    def arguments(self, rollout: Sequence[Row]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """A list of completions; the columns of the prompt that it asks for, and all of them as `item`."""
        turns = [[{"role": "assistant", "content": row.get("completion")}] for row in rollout]
        item = {name: deepcopy(value) for name, value in rollout[0].items() if name not in EACH}
        return (), fill(self.called, item, {"completions": turns, "item": item, "config": None})


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """That of a class, or an object, whose `compute` asks for completions; its weight is the component's."""
    if "completions" not in parameters(getattr(value, "compute", None)):
        return []
    value = made(value) if isinstance(value, type) else value
    weight = value.weight if isinstance(getattr(value, "weight", None), int | float) else 1.0
    needs = required(value.compute, ("completions", "item", "config"), rows)
    mapping = {"completions": "completion", **{name: name for name in needs}}
    reason = f"its compute takes completions; weight {weight:g}"
    sure = is_atropos(value)
    return [Reading("atropos", FORM, reason, Function(value, needs=needs), mapping, weight=weight, sure=sure)]


@dataclass(frozen=True, repr=False)
class Compute(RewardHolder):
    """The reward of the completions of one prompt, as numbers."""

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float]:
        """Rewards, with `missing` where there is none; `item` is the data set's row."""
        item = columns.pop("item", None)
        given = {**(item if isinstance(item, Mapping) else {}), **columns}
        told = batch_columns(completions, given, spread=True)
        return self.numbers({"prompt_id": [0] * len(completions), **told}, len(completions))


functions = Compute.holding


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What an object of the file's class, made by Atropos' registry, gives for the rows of a prompt."""
    version = installed("atroposlib", "atroposlib")
    from atroposlib.envs.reward_fns import registry

    kind = getattr(loaded(path), written.functions[0])
    reward = registry.create(next(name for name in registry.list_registered() if registry.get(name) is kind))
    groups: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        groups.setdefault(repr({**row, **dict.fromkeys(EACH)}), []).append(at)
    found = [0.0] * len(rows)
    for places in groups.values():
        item = {name: value for name, value in rows[places[0]].items() if name not in EACH}
        texts = [[{"role": "assistant", "content": rows[at]["completion"]}] for at in places]
        truth = item.get("ground_truth")
        for at, value in zip(
            places, reward(texts, solution=truth, ground_truth=truth, item=item), strict=True
        ):
            found[at] = value
    return Called(f"RewardFunction of {version}, made by its registry", found)


ALSO = (
    "an error gives the whole group 0, as Atropos catches it: look for 'Error in reward function' in its log",
)
ABLE = Abilities(siblings="group", waits="together", also=ALSO)
TARGET = Target("atropos", "Atropos", "0.4", FORM, readings, ABLE, functions, call)
