"""benchmax's environments, whose hooks give a dict of rewards: three APIs are read, two are written.

Sources: `BaseEnv` of benchmax 0.2.5 (Python 3.12) and of its 0.1 development versions;
the documentation of 0.1.2.dev36. Weights are in the training configuration there, not
in the environment.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rewardkit.rewards.signature import parameters
from rewardkit.rollouts.columns import ALIASES
from rewardkit.targets.adapter import (
    Adapter,
    Arguments,
    Row,
    alike,
    column_of,
    fill,
    named,
    plain,
    required,
)
from rewardkit.targets.calling import awaited, grouped, installed, loaded, made
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import Abilities, Called, Part, Reading, Target, Written
from rewardkit.targets.turns import from_messages, transcript

FORM = "an environment with async compute_reward(self, rollout_id, messages, task) -> dict[str, float]"
VERSIONS = {"completion": "0.1 to dev22", "messages": "0.1.2.dev36", "rollout": "0.2"}
"""What a hook takes -> the versions in which it does."""
ORDER = {
    "completion": ("rollout_id", "completion", "ground_truth"),
    "messages": ("rollout_id", "messages", "task"),
    "rollout": ("rollout",),
}
"""What a hook gets by position, by what it takes."""
GROUP = ("compute_group_reward", "compute_group_rewards")
FROM = {
    "rollout_id": "rollout_id",
    "completion": "completion",
    "ground_truth": "ground_truth",
}
FROM |= {
    "messages": "prompt and completion",
    "rollout": "prompt, completion and the row",
}
FROM |= dict.fromkeys(("task", "example_args", "termination_reason"), "the row")
"""What a hook takes -> what it is made of."""
LISTS = {f"{name}s": name for name in FROM}
LISTS |= {f"{name}_list": name for name in ("messages", "example_args")}
"""What a group's hook takes a list of."""
GENERATED = {*ALIASES["completion"], *ALIASES["messages"], *ALIASES["rollout_id"]}


def parts(value: Any) -> list[Part]:
    """The hooks that a class, or an object of it, has for itself and not from benchmax's base class."""
    kind = value if isinstance(value, type) else type(value)
    owners = {
        name: next(
            (base.__name__ for base in kind.__mro__ if name in vars(base)), "BaseEnv"
        )
        for name in ("compute_reward", *GROUP)
    }
    return [
        Part(value, name)
        for name, owner in owners.items()
        if owner not in ("BaseEnv", "Environment")
    ]


def form_of(method: Callable[..., Any]) -> str:
    """What a hook takes of a completion: "completion", "messages" or a "rollout"."""
    asked = parameters(method).keys()
    if asked & {"completion", "completions"}:
        return "completion"
    return (
        "messages"
        if asked & {"messages", "messages_list"} or len(named(method)) > 1
        else "rollout"
    )


@dataclass(frozen=True, repr=False)
class One(Adapter):
    """The hook for one completion, a text or (`conversational`) the turns that were generated."""

    conversational: bool = field(default=False, kw_only=True)

    @property
    def called(self) -> Any:
        """The method of the environment, of an object made of it where it is a class."""
        owner = (
            made(self.function) if isinstance(self.function, type) else self.function
        )
        return getattr(owner, self.method)

    @property
    def takes(self) -> dict[str, str]:
        """What the hook's parameters get: by their names, else the documented ones by position."""
        names = LISTS if self.together else dict(zip(FROM, FROM, strict=True))
        known = {name: names[name] for name in parameters(self.called) if name in names}
        return (
            dict(zip(named(self.called), ORDER[form_of(self.called)], strict=False))
            | known
        )

    def arguments(self, rollout: Row) -> Arguments:
        """What the hook takes of a completion."""
        own = self.own(rollout)
        return (), fill(
            self.called, rollout, {name: own[one] for name, one in self.takes.items()}
        )

    def own(self, row: Row, at: int = 0) -> dict[str, Any]:
        """What benchmax hands over of a completion, by name."""
        told = told_of(row, at)
        said = told["messages"][-1:] if self.conversational else row.get("completion")
        other = {
            "completion": said,
            "ground_truth": row.get("ground_truth"),
            "task": told["example_args"],
        }
        whole = (
            {"rollout": rollout_of(told)} if "rollout" in self.takes.values() else {}
        )
        return {**told, **other, **whole}


class Group(One):
    """The hook for the siblings of a group."""

    together = "group"

    def arguments(self, rollout: Any) -> Arguments:
        """Lists of what the hook takes of the completions."""
        rows = [self.own(row, at) for at, row in enumerate(rollout)]
        lists = {name: [row[one] for row in rows] for name, one in self.takes.items()}
        return (), fill(self.called, {}, lists)

    def result(self, answer: Any, rollout: Any) -> Any:
        """A dict for each row, in their order. ValueError: one has none."""
        if not isinstance(answer, Mapping):
            return [None] * len(rollout) if answer is None else plain(list(answer))
        ids = [told_of(row, at)["rollout_id"] for at, row in enumerate(rollout)]
        if missing := [name for name in ids if name not in answer]:
            raise ValueError(
                f"it gave no rewards for the rollouts {missing} of its group"
            )
        return [plain(answer[name]) for name in ids]


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """Those of a hook: a completion may be handed over as text, or as messages."""
    if not isinstance(value, Part):
        return []
    hook = (Group if value.name in GROUP else One)(value.owner, method=value.name)
    form, takes = form_of(hook.called), hook.takes
    needs = required(hook.called, takes, rows)
    truth = (
        ("ground_truth",)
        if {"ground_truth", "ground_truths"} & {*named(hook.called)}
        else ()
    )
    columns = {name: column_of(name, rows) for name in needs}
    mapping = {name: FROM[one] for name, one in takes.items()} | columns
    texts = replace(hook, needs=tuple(dict.fromkeys((*needs, *truth))))
    ways = {"": texts}
    if form == "completion":
        ways = {"texts": texts, "messages": replace(texts, conversational=True)}
    what = "messages" if form == "messages" else f"a {form}"
    reason = f"its {value.name} takes {what}, as in {VERSIONS[form]}; {UNWEIGHTED}"
    return [
        Reading(reason, way, mapping, sure=True, way=name) for name, way in ways.items()
    ]


UNWEIGHTED = "each of its rewards has weight 1 here, as the weights are in the training configuration"


@dataclass(frozen=True, repr=False)
class Rewards(RewardHolder):
    """The rewards of completions: a dict ``{"reward": ...}`` each, or where `separate` one of components."""

    separate: bool = field(default=False, kw_only=True)

    def of_messages(
        self, messages: Sequence[Sequence[Any]], tasks: Sequence[Any]
    ) -> list[dict[str, float]]:
        """Of transcripts and the data set's rows: the documented API's."""
        rows = [
            {
                **from_messages(turns),
                **{name: task[name] for name in task or () if name not in GENERATED},
            }
            for turns, task in zip(messages, tasks, strict=True)
        ]
        rewards, scores = self.rate_rows(rows).numbers(self.missing)
        return scores if self.separate else [{"reward": reward} for reward in rewards]

    def of_rollouts(self, rollouts: Sequence[Any]) -> dict[str, dict[str, float]]:
        """Of 0.2's rollouts, by their ids."""
        found = self.of_messages(
            [one.messages for one in rollouts], [one.example_args for one in rollouts]
        )
        return {
            rollout.rollout_id: one
            for rollout, one in zip(rollouts, found, strict=True)
        }


functions = Rewards

# --- benchmax's side: a row as it has it, and its own scoring of rows that were sampled
# before


def task_of(row: Row) -> dict[str, Any]:
    """The example that a completion answers: the row without what was generated, under all usual names."""
    left = deepcopy(
        {name: value for name, value in row.items() if name not in GENERATED}
    )
    return {name: value for name, value in alike(left).items() if name not in GENERATED}


def told_of(row: Row, at: int = 0) -> dict[str, Any]:
    """What benchmax tells of a rollout; by its place where the row has no id."""
    reason, name = (
        row.get("termination_reason") or "finished",
        str(row.get("rollout_id", f"sample-{at}")),
    )
    told = {
        "rollout_id": name,
        "messages": transcript(row),
        "example_args": task_of(row),
        "split": "train",
    }
    return {**told, "termination_reason": reason, "rewards": None, "error": None}


def rollout_of(told: Mapping[str, Any]) -> Any:
    """The same as 0.2's BaseRollout; as what looks like one where benchmax is not loaded."""
    return getattr(
        sys.modules.get("benchmax.envs.base"), "BaseRollout", SimpleNamespace
    )(**told)


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What benchmax 0.2's `run_group` makes of the file."""
    version = installed("benchmax", "benchmax", "openai")
    found = awaited(rewards_of(loaded(path).RolloutReward, rows))
    names = (
        ["reward"]
        if written.whole
        else list(dict.fromkeys(name for one in found for name in one))
    )
    values = {name: [one.get(name, math.nan) for one in found] for name in names}
    return Called(
        f"Environment.run_group of {version}, with the logged turns in place of a model",
        values,
    )


async def rewards_of(mixin: type, rows: Sequence[Row]) -> list[Mapping[str, float]]:
    """The rewards that benchmax gives to the groups of an environment whose rollouts are those of the log."""
    from benchmax.auth import StaticBearerAuth
    from benchmax.envs import BaseEnv, Example, RolloutRequest

    async def replayed(environment: Any, request: Any) -> Any:
        told = {
            **told_of(rows[int(request.rollout_id)]),
            "rollout_id": request.rollout_id,
        }
        return rollout_of(
            {**told, "rewards": await environment.compute_reward(rollout_of(told))}
        )

    methods = {"create_dataset": None, "run_rollout": replayed}
    environment = type("Environment", (mixin, BaseEnv), methods)()
    found: list[Mapping[str, float]] = [{} for _ in rows]
    keys = [
        repr([row.get("prompt_id", row.get("prompt")), row.get("data_source")])
        for row in rows
    ]
    for places in grouped(keys):
        shared = Example(id="-", payload={}), "-", "http://-", StaticBearerAuth("-")
        group = [RolloutRequest(str(at), *shared) for at in places]
        for name, outcome in (await environment.run_group(group)).items():
            found[int(name)] = outcome.rewards
    return found


ALSO = (
    "the weights of rewards are in the training configuration of benchmax, not in the file",
)
ABLE = Abilities(
    weights="kept",
    siblings="group",
    waits="each",
    turns=True,
    bounds=(0.0, 1.0),
    also=ALSO,
)
TARGET = Target(
    "benchmax", "benchmax", "0.2.5", FORM, readings, ABLE, functions, call, parts
)
