"""benchmax's environments, whose hooks return rewards: three APIs read, two written.

Sources: `BaseEnv` of benchmax 0.2.5 (Python 3.12) and of its 0.1 development versions;
the documentation of 0.1.2.dev36. Weights are in the training configuration there, not
in the environment.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any

from rewardkit.rewards.component import parameters
from rewardkit.rollouts.columns import lists_of_columns
from rewardkit.scoring.callers import MadeColumn, RowColumns
from rewardkit.scoring.calls import Calls
from rewardkit.targets.adapter import Adapter, Arguments, cut, plain_values
from rewardkit.targets.columns import (
    GENERATED,
    AliasedRow,
    Row,
    column_of,
    fill,
    required_columns,
    required_parameters,
)
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import (
    Abilities,
    RewardPart,
    Target,
    TrainerCode,
    TrainerReading,
    TrainerValues,
    import_file,
    places_by_key,
    require_installed,
    run_async,
)
from rewardkit.targets.turns import from_messages, transcript, transcripts

HOOK_VERSIONS = {
    "completion": "0.1 to dev22",
    "messages": "0.1.2.dev36",
    "rollout": "0.2",
}
"""Form of a hook, by its argument -> the versions with this form."""
HOOK_POSITIONS = {
    "completion": ("rollout_id", "completion", "ground_truth"),
    "messages": ("rollout_id", "messages", "task"),
    "rollout": ("rollout",),
}
"""Form of a hook -> its positional arguments."""
GROUP_HOOKS = ("compute_group_reward", "compute_group_rewards")
HOOK_ARGUMENTS = {
    "rollout_id": "rollout_id",
    "completion": "completion",
    "ground_truth": "ground_truth",
    "messages": "prompt and completion",
    "rollout": "prompt, completion and the row",
    "task": "the row",
    "example_args": "the row",
    "termination_reason": "the row",
}
"""Argument of a hook -> the columns that it is made of."""
GROUP_ARGUMENT_OF = {"messages_list": "messages", "example_args_list": "example_args"}
"""Argument of a hook for a group -> the argument for one completion in that list."""
for hook_argument in HOOK_ARGUMENTS:
    GROUP_ARGUMENT_OF[f"{hook_argument}s"] = hook_argument


def parts(value: Any) -> list[RewardPart]:
    """Return the hooks that a class, or its object, overrides."""
    if _is_bare_hook(value):
        return [RewardPart(value, value.__name__)]
    kind = value if isinstance(value, type) else type(value)
    hooks = []
    for name in ("compute_reward", *GROUP_HOOKS):
        for base in kind.__mro__:
            if name in vars(base):
                if base.__name__ not in ("BaseEnv", "Environment"):
                    hooks.append(RewardPart(value, name))
                break
    return hooks


def _is_bare_hook(value: Any) -> bool:
    """Return whether a value is a method outside of a class, as guides print it."""
    if not isinstance(value, FunctionType):
        return False
    is_hook = value.__name__ in ("compute_reward", *GROUP_HOOKS)
    return is_hook and required_parameters(value)[:1] == ["self"]


class Environment:
    """A stand-in for the object of a method without a class."""


def form_of(method: Callable[..., Any]) -> str:
    """Return the form of a hook: "completion", "messages" or "rollout"."""
    names = parameters(method).keys()
    if names & {"completion", "completions"}:
        return "completion"
    if names & {"messages", "messages_list"} or len(required_parameters(method)) > 1:
        return "messages"
    return "rollout"


@dataclass(frozen=True, repr=False)
class One(Adapter):
    """The hook for one completion, a text or the turns (`conversational`)."""

    conversational: bool = field(default=False, kw_only=True)

    @property
    def called(self) -> Any:
        """Return the method of the environment, or of an object of its class."""
        if _is_bare_hook(self.function):
            return MethodType(self.function, Environment())
        return super().called

    @property
    def hook_arguments(self) -> dict[str, str]:
        """Return parameter -> argument, by name, else by the documented position."""
        positions = HOOK_POSITIONS[form_of(self.called)]
        arguments = dict(zip(required_parameters(self.called), positions, strict=False))
        for name in parameters(self.called):
            if self.together and name in GROUP_ARGUMENT_OF:
                arguments[name] = GROUP_ARGUMENT_OF[name]
            elif not self.together and name in HOOK_ARGUMENTS:
                arguments[name] = name
        return arguments

    def gives(self, column: str) -> bool:
        """Return whether the hook takes the example, alone or in a rollout."""
        return not {"task", "example_args", "rollout"}.isdisjoint(
            self.hook_arguments.values()
        )

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the arguments for each completion, to be listed for a group."""
        arguments = {}
        for name, argument in self.hook_arguments.items():
            arguments[name] = self.values_of(rows, argument)
        return (), fill(self.called, {} if self.together else rows, arguments)

    def values_of(self, rows: RowColumns, argument: str) -> Sequence[Any]:
        """Return the values that benchmax passes as this argument."""
        if argument == "completion" and self.conversational:
            return MadeColumn(lambda turns: turns[-1:], transcripts(rows))
        if argument in ("completion", "ground_truth"):
            return rows.column(argument)
        if argument == "messages":
            return transcripts(rows)
        if argument in ("task", "example_args"):
            return tasks_of(rows)
        if argument == "rollout_id" and argument in rows:
            return MadeColumn(str, rows[argument])
        places: Sequence[int] = [0] * rows.count
        if self.together:
            places = range(rows.count)
        fields = MadeColumn(rollout_fields, rows.rows(), places)
        if argument == "rollout":
            return MadeColumn(rollout_of, fields)
        return MadeColumn(itemgetter(argument), fields)


class Group(One):
    """The hook for the siblings of a group."""

    together = "group"

    def bind_columns(self, rows: RowColumns, sizes: Sequence[int]) -> Calls:
        """Return the calls, with the rollout ids of each for its result."""
        bound = super().bind_columns(rows, sizes)
        ids = cut(self.values_of(rows, "rollout_id"), sizes)
        return replace(bound, result_arguments=[ids])

    def result(self, answer: Any, rollout_ids: Sequence[str] = ()) -> Any:
        """Return a dict per row, in order. ValueError: a row has none."""
        if answer is None:
            return [None] * len(rollout_ids)
        if not isinstance(answer, Mapping):
            return plain_values(list(answer))
        missing = [name for name in rollout_ids if name not in answer]
        if missing:
            raise ValueError(
                f"it gave no rewards for the rollouts {missing} of its group"
            )
        return [plain_values(answer[name]) for name in rollout_ids]


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose readings of a hook, with completions as texts or as messages."""
    if not isinstance(value, RewardPart):
        return []
    kind = Group if value.name in GROUP_HOOKS else One
    hook = kind(value.owner, method=value.name)
    form, arguments = form_of(hook.called), hook.hook_arguments
    needs = required_columns(hook.called, arguments, rows)
    mapping = {name: HOOK_ARGUMENTS[argument] for name, argument in arguments.items()}
    mapping |= {name: column_of(name, rows) for name in needs}
    if not {"ground_truth", "ground_truths"}.isdisjoint(
        required_parameters(hook.called)
    ):
        needs = (*needs, "ground_truth")
    texts = replace(hook, needs=tuple(dict.fromkeys(needs)))
    ways = {"": texts}
    if form == "completion":
        ways = {"texts": texts, "messages": replace(texts, conversational=True)}
    noun = "messages" if form == "messages" else f"a {form}"
    reason = (
        f"its {value.name} takes {noun}, as in {HOOK_VERSIONS[form]}; each of its "
        "rewards has weight 1 here, as the weights are in the training configuration"
    )
    proposals = []
    for way, adapter in ways.items():
        proposals.append(TrainerReading(reason, adapter, mapping, sure=True, way=way))
    return proposals


@dataclass(frozen=True, repr=False)
class Rewards(RewardHolder):
    """The reward as a function that returns a dict per completion.

    With `separate` the dict has the scores of the components.
    """

    separate: bool = field(default=False, kw_only=True)

    def of_messages(
        self, messages: Sequence[Sequence[Any]], tasks: Sequence[Any]
    ) -> list[dict[str, float]]:
        """Score transcripts with rows of the data set, by the documented API."""
        rows = []
        for turns, task in zip(messages, tasks, strict=True):
            row = from_messages(turns)
            for name in task or ():
                if name not in GENERATED:
                    row[name] = task[name]
            rows.append(row)
        rewards, scores = self.rate_rows(rows).numbers(self.missing)
        return scores if self.separate else [{"reward": reward} for reward in rewards]

    def of_rollouts(self, rollouts: Sequence[Any]) -> dict[str, dict[str, float]]:
        """Score rollouts of benchmax 0.2: rollout id -> scores."""
        ids = [rollout.rollout_id for rollout in rollouts]
        messages = [rollout.messages for rollout in rollouts]
        tasks = [rollout.example_args for rollout in rollouts]
        return dict(zip(ids, self.of_messages(messages, tasks), strict=True))


functions = Rewards

# --- benchmax's side: a row in its form, and its own scoring of logged rows


def task_of(row: Row) -> dict[str, Any]:
    """Return the example of a row, see `tasks_of`."""
    return tasks_of(RowColumns.of([row]))[0]


def tasks_of(rows: RowColumns) -> Sequence[dict[str, Any]]:
    """Return the example of each row: its columns that were not generated."""
    return rows.without(GENERATED).rows(AliasedRow)


def rollout_fields(row: Row, place: int = 0) -> dict[str, Any]:
    """Return the fields of a rollout; the place stands for a missing id."""
    return {
        "rollout_id": str(row.get("rollout_id", f"sample-{place}")),
        "messages": transcript(row),
        "example_args": task_of(row),
        "split": "train",
        "termination_reason": row.get("termination_reason") or "finished",
        "rewards": None,
        "error": None,
    }


def rollout_of(fields: Mapping[str, Any]) -> Any:
    """Return a BaseRollout of 0.2, or a stand-in if benchmax is not loaded."""
    module = sys.modules.get("benchmax.envs.base")
    return getattr(module, "BaseRollout", SimpleNamespace)(**fields)


def call(path: Path, code: TrainerCode, rows: Sequence[Row]) -> TrainerValues:
    """Call benchmax 0.2's `run_group` on the file."""
    version = require_installed("benchmax", "benchmax", "openai")
    rewards = run_async(rewards_of(import_file(path).RolloutReward, rows))
    columns = lists_of_columns(rewards)
    if code.combined:
        columns = {"reward": columns["reward"]}
    values = {}
    for name, column in columns.items():
        values[name] = [math.nan if value is None else value for value in column]
    caller = (
        f"Environment.run_group of {version}, with the logged turns in place of a model"
    )
    return TrainerValues(caller, values)


async def rewards_of(mixin: type, rows: Sequence[Row]) -> list[Mapping[str, float]]:
    """Return benchmax's rewards of groups, with the rollouts of the log."""
    from benchmax.auth import StaticBearerAuth
    from benchmax.envs import BaseEnv, Example, RolloutRequest

    async def replayed(environment: Any, request: Any) -> Any:
        fields = rollout_fields(rows[int(request.rollout_id)])
        fields["rollout_id"] = request.rollout_id
        fields["rewards"] = await environment.compute_reward(rollout_of(fields))
        return rollout_of(fields)

    methods = {"create_dataset": None, "run_rollout": replayed}
    environment = type("Environment", (mixin, BaseEnv), methods)()
    rewards: list[Mapping[str, float]] = [{} for _ in rows]
    keys = []
    for row in rows:
        prompt = row.get("prompt_id", row.get("prompt"))
        keys.append(repr([prompt, row.get("data_source")]))
    shared = Example(id="-", payload={}), "-", "http://-", StaticBearerAuth("-")
    for places in places_by_key(keys):
        group = [RolloutRequest(str(place), *shared) for place in places]
        for name, outcome in (await environment.run_group(group)).items():
            rewards[int(name)] = outcome.rewards
    return rewards


BENCHMAX = Target(
    name="benchmax",
    title="benchmax",
    versions="0.2.5",
    form="an environment with async compute_reward(self, rollout_id, messages, task) "
    "-> dict[str, float]",
    readings=readings,
    abilities=Abilities(
        weights="kept",
        siblings="group",
        waits="each",
        turns=True,
        bounds=(0.0, 1.0),
        also=(
            "the weights of rewards are in the training configuration of benchmax, not "
            "in the file",
        ),
    ),
    functions=functions,
    call=call,
    parts=parts,
)
