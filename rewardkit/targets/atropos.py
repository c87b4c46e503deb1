"""Atropos' rewards: class R(RewardFunction), compute(completions, **kwargs), a weight.

Source: `RewardFunction` and `registry` of atroposlib 0.4, and its dataset environment,
which calls with the completions of one prompt (a list of one message each) and one
`solution`, `ground_truth`, `item` for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

from rewardkit.rewards.component import parameters
from rewardkit.rewards.load import make_object
from rewardkit.scoring.callers import MadeColumn, RowColumns
from rewardkit.targets.adapter import OF_PROMPT, Adapter, Arguments
from rewardkit.targets.columns import Row, asks_for, fill, required_columns
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import (
    Abilities,
    Target,
    TrainerCode,
    TrainerReading,
    TrainerValues,
    import_file,
    places_by_key,
    require_installed,
)
from rewardkit.targets.turns import answer_turns, batch_columns

OF_COMPLETIONS = ("completion", "rollout_id")
"""Columns that differ between siblings."""


def _group_arguments(rows: Sequence[Row]) -> tuple[list[Any], dict[str, Any]]:
    """Return the completions of a prompt as messages, and the columns of the prompt."""
    turns = [answer_turns(row.get("completion")) for row in rows]
    item = dict(rows[0])
    for name in OF_COMPLETIONS:
        item.pop(name, None)
    return turns, deepcopy(item)


def _value_at(rows: RowColumns, name: str, place: int) -> Any:
    return rows[name][place]


def _no_value(place: int) -> None:
    return None


class Function(Adapter):
    """An object whose `compute` takes the completions of a prompt, and columns.

    `compute` is called directly, as Atropos' wrapper around it turns errors into 0.
    """

    together = "batch"

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the completions, a list of one message each."""
        texts = rows.column("completion")
        turns = MadeColumn(answer_turns, texts)
        return (), fill(self.called, {}, {"completions": turns})

    @property
    def shared_columns(self) -> tuple[str, ...]:
        """Return the columns of a prompt, as each call is for one prompt."""
        return OF_PROMPT

    def gives(self, column: str) -> bool:
        """Return whether the function takes the columns of the prompt as `item`."""
        return asks_for(self.called, "item")

    def shared(self, rows: RowColumns) -> dict[str, Callable[[int], Any]]:
        """Return the columns of the prompt by name, and all of them as `item`."""
        item = rows.without(OF_COMPLETIONS)
        columns: dict[str, Callable[[int], Any]] = {}
        for name in item:
            columns[name] = partial(_value_at, item, name)
        arguments: dict[str, Callable[[int], Any]] = {
            "completions": _no_value,
            "item": lambda place: {name: item[name][place] for name in item},
            "config": _no_value,
        }
        shared = fill(self.called, columns, arguments)
        shared.pop("completions", None)
        return shared


def is_atropos(value: Any) -> bool:
    """Return whether a value is an Atropos reward, whose call turns errors into 0."""
    kind = value if isinstance(value, type) else type(value)
    bases = [base.__name__ for base in kind.__mro__]
    return "RewardFunction" in bases and hasattr(kind, "compute")


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of an object with a `compute` of completions and a weight."""
    if "completions" not in parameters(getattr(value, "compute", None)):
        return []
    if isinstance(value, type):
        value = make_object(value)
    weight = getattr(value, "weight", None)
    if not isinstance(weight, int | float):
        weight = 1.0
    needs = required_columns(value.compute, ("completions", "item", "config"), rows)
    mapping = {"completions": "completion", **{name: name for name in needs}}
    reason = f"its compute takes completions; weight {weight:g}"
    adapter = Function(value, method="compute", needs=needs)
    return [
        TrainerReading(reason, adapter, mapping, weight=weight, sure=is_atropos(value))
    ]


class Compute(RewardHolder):
    """The reward of the completions of one prompt, as numbers."""

    def __call__(self, /, completions: Sequence[Any], **columns: Any) -> list[float]:
        """Return the rewards; `item` is the row of the data set."""
        item = columns.pop("item", None)
        if isinstance(item, Mapping):
            columns = {**item, **columns}
        batch = batch_columns(completions, columns, spread=True)
        batch.setdefault("prompt_id", [0] * len(completions))
        return self.numbers(batch, len(completions))


functions = Compute


def call(path: Path, code: TrainerCode, rows: Sequence[Row]) -> TrainerValues:
    """Call an object of the file's class, made by the registry, for each prompt."""
    version = require_installed("atroposlib", "atroposlib")
    from atroposlib.envs.reward_fns import registry

    kind = getattr(import_file(path), code.functions[0])
    names = [name for name in registry.list_registered() if registry.get(name) is kind]
    reward = registry.create(names[0])
    rewards = [0.0] * len(rows)
    for places in places_by_key(repr(_group_arguments([row])[1]) for row in rows):
        turns, item = _group_arguments([rows[place] for place in places])
        truth = item.get("ground_truth")
        answer = reward(turns, solution=truth, ground_truth=truth, item=item)
        for place, value in zip(places, answer, strict=True):
            rewards[place] = value
    caller = f"RewardFunction of {version}, made by its registry"
    return TrainerValues(caller, {"reward": rewards})


ATROPOS = Target(
    name="atropos",
    title="Atropos",
    versions="0.4",
    form="class R(RewardFunction): compute(self, completions, **kwargs) -> list[float]",
    readings=readings,
    abilities=Abilities(
        siblings="group",
        waits="together",
        also=(
            "an error gives the whole group 0, as Atropos catches it: look for 'Error "
            "in reward function' in its log",
        ),
    ),
    functions=functions,
    call=call,
)
