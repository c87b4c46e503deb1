"""Atropos' rewards: class R(RewardFunction) with compute(completions, **kwargs) -> list[float], and a weight.

Source: `RewardFunction` and `registry` of atroposlib 0.4, and its dataset environment,
which calls with the completions of one prompt (a list of one message each) and one
`solution`, `ground_truth`, `item` for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import Adapter, Arguments, Row, fill, required
from rewardkit.targets.calling import grouped, installed, loaded, made
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import Abilities, Called, Reading, Target, Written
from rewardkit.targets.turns import batch_columns

FORM = "class R(RewardFunction): compute(self, completions, **kwargs) -> list[float]"


def _handed(rows: Sequence[Row]) -> tuple[list[Any], dict[str, Any]]:
    """The completions of a prompt as messages; its columns, without those that differ between them."""
    turns = [[{"role": "assistant", "content": row.get("completion")}] for row in rows]
    item = {
        name: rows[0][name]
        for name in rows[0]
        if name not in ("completion", "rollout_id")
    }
    return turns, deepcopy(item)


class Function(Adapter):
    """An object whose `compute` gets the completions of a prompt, each a list of messages, and columns.

    That is what its class defines: the wrapper around it makes 0 of an error.
    """

    together = "batch"

    def arguments(self, rollout: Sequence[Row]) -> Arguments:
        """A list of completions; the columns of the prompt that it asks for, and all of them as `item`."""
        turns, item = _handed(rollout)
        return (), fill(
            self.called, item, {"completions": turns, "item": item, "config": None}
        )


def is_atropos(value: Any) -> bool:
    """Whether it is one of Atropos' reward functions, whose call makes 0 of an error: `compute` is read."""
    kind = value if isinstance(value, type) else type(value)
    return any(base.__name__ == "RewardFunction" for base in kind.__mro__)


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """That of a class, or an object, whose `compute` asks for completions; its weight is the component's."""
    if "completions" not in parameters(getattr(value, "compute", None)):
        return []
    value = made(value) if isinstance(value, type) else value
    weight = (
        value.weight if isinstance(getattr(value, "weight", None), int | float) else 1.0
    )
    needs = required(value.compute, ("completions", "item", "config"), rows)
    mapping = {"completions": "completion", **{name: name for name in needs}}
    reason = f"its compute takes completions; weight {weight:g}"
    adapter = Function(value, method="compute", needs=needs)
    return [Reading(reason, adapter, mapping, weight=weight, sure=is_atropos(value))]


class Compute(RewardHolder):
    """The reward of the completions of one prompt, as numbers."""

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float]:
        """Rewards, with `missing` where there is none; `item` is the data set's row."""
        item = columns.pop("item", None)
        given = {**(item if isinstance(item, Mapping) else {}), **columns}
        told = batch_columns(completions, given, spread=True)
        return self.numbers(
            {"prompt_id": [0] * len(completions), **told}, len(completions)
        )


functions = Compute


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What an object of the file's class, made by Atropos' registry, gives for the rows of a prompt."""
    version = installed("atroposlib", "atroposlib")
    from atroposlib.envs.reward_fns import registry

    kind = getattr(loaded(path), written.functions[0])
    reward = registry.create(
        next(name for name in registry.list_registered() if registry.get(name) is kind)
    )
    found = [0.0] * len(rows)
    for places in grouped(repr(_handed([row])[1]) for row in rows):
        turns, item = _handed([rows[at] for at in places])
        truth = item.get("ground_truth")
        given = reward(turns, solution=truth, ground_truth=truth, item=item)
        for at, value in zip(places, given, strict=True):
            found[at] = value
    return Called(
        f"RewardFunction of {version}, made by its registry", {"reward": found}
    )


ALSO = (
    "an error gives the whole group 0, as Atropos catches it: look for 'Error in reward function' in its log",
)
ABLE = Abilities(siblings="group", waits="together", also=ALSO)
TARGET = Target("atropos", "Atropos", "0.4", FORM, readings, ABLE, functions, call)
