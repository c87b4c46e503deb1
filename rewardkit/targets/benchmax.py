"""benchmax's environments, whose hooks give a dict of rewards: three APIs are read, two are written.

Sources: `BaseEnv` of benchmax 0.2.5 (Python 3.12) and of its 0.1 development versions; the documentation of
0.1.2.dev36. Weights are in the training configuration there, not in the environment.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import Adapter, Row, column_of, fill, named, plain, required
from rewardkit.targets.benchmax_calling import GENERATED, call, documented, id_of, rollout_of, task_of
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.making import made
from rewardkit.targets.target import Abilities, Reading, Target
from rewardkit.targets.turns import from_messages, transcript

__all__ = ["TARGET", "Group", "Hook", "One", "Rewards", "documented", "functions", "task_of"]

FORM = "an environment with async compute_reward(self, rollout_id, messages, task) -> dict[str, float]"

VERSIONS = {"completion": "0.1 to dev22", "messages": "0.1.2.dev36", "rollout": "0.2"}
"""What a hook takes -> the versions in which it does."""
ORDER = {
    "completion": ("rollout_id", "completion", "ground_truth"),
    "messages": ("rollout_id", "messages", "task"),
    "rollout": ("rollout",),
}
"""What a hook gets by position, by what it takes."""
ONE = ("compute_reward",)
GROUP = ("compute_group_reward", "compute_group_rewards")
FROM = {
    "rollout_id": "rollout_id",
    "completion": "completion",
    "ground_truth": "ground_truth",
    "messages": "prompt and completion",
    "task": "the row",
    "example_args": "the row",
    "termination_reason": "the row",
    "rollout": "prompt, completion and the row",
}
"""What a hook takes -> what it is made of."""
LISTS = {f"{name}s": name for name in FROM} | {
    "messages_list": "messages",
    "example_args_list": "example_args",
}
"""What a group's hook takes a list of."""

UNWEIGHTED = "each of its rewards has weight 1 here, as the weights are in the training configuration"


@dataclass(frozen=True)
class Hook:
    """One of the methods of an environment (a class, or an object of it) that give rewards."""

    environment: Any
    method: str

    @property
    def __name__(self) -> str:
        return self.method


def parts(value: Any) -> list[Hook]:
    """The hooks that a class, or an object of it, has for itself and not from benchmax's base class."""
    kind = value if isinstance(value, type) else type(value)
    found = []
    for name in (*ONE, *GROUP):
        owner = next((base for base in kind.__mro__ if name in vars(base)), None)
        if owner is not None and owner.__name__ not in ("BaseEnv", "Environment"):
            found.append(Hook(value, name))
    return found


@functools.lru_cache(maxsize=8)
def _made(kind: type) -> Any:
    """An object of an environment's class, made once; what is abstract in it is not called for rewards."""
    absent = dict.fromkeys(getattr(kind, "__abstractmethods__", ()))
    return made(type(kind.__name__, (kind,), {**absent, "__module__": kind.__module__}) if absent else kind)


def takes(method: Callable[..., Any]) -> str:
    """What a hook takes of a completion: "completion", "messages" or a "rollout"."""
    asked = parameters(method)
    if {"completion", "completions"} & set(asked):
        return "completion"
    return "messages" if {"messages", "messages_list"} & set(asked) or len(named(method)) > 1 else "rollout"


@dataclass(frozen=True, repr=False)
class One(Adapter):
    """The hook for one completion, a text or (`conversational`) the turns that were generated."""

    method: str = field(default="compute_reward", kw_only=True)
    conversational: bool = field(default=False, kw_only=True)

    @property
    def called(self) -> Any:
        """The method of the environment, of an object made of it where it is a class."""
        owner = _made(self.function) if isinstance(self.function, type) else self.function
        return getattr(owner, self.method)

    def arguments(self, rollout: Row) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """A rollout, or what the hook names of one."""
        method = self.called
        if takes(method) == "rollout":
            return (rollout_of(rollout),), {}
        return _by_name(method, ORDER[takes(method)], self.own(rollout), rollout)

    def own(self, rollout: Row) -> dict[str, Any]:
        """What benchmax hands over of a completion, by name."""
        turns = transcript(rollout)
        said = turns[len(turns) - 1 :] if self.conversational else rollout.get("completion")
        return {
            "rollout_id": str(rollout.get("rollout_id", "sample")),
            "completion": said,
            "ground_truth": rollout.get("ground_truth"),
            "messages": turns,
            "task": task_of(rollout),
            "example_args": task_of(rollout),
            "termination_reason": rollout.get("termination_reason") or "finished",
        }


def _by_name(
    method: Callable[..., Any], order: Sequence[str], own: Mapping[str, Any], row: Row
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """What a hook takes by name; the documented ones by position where it calls them something else."""
    first = named(method)[: len(order)]
    filled = fill(method, row, own)
    if own.keys() >= set(first):
        return (), filled
    return [own[name] for name in order[: len(first)]], {n: v for n, v in filled.items() if n not in first}


@dataclass(frozen=True, repr=False)
class Group(One):
    """The hook for the siblings of a group."""

    siblings = True

    def arguments(self, rollout: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Rollouts, or lists of what the hook names of them."""
        method = self.called
        if takes(method) == "rollout":
            return ([rollout_of(row, at) for at, row in enumerate(rollout)],), {}
        rows = [super(Group, self).own(row) for row in rollout]
        own = {many: [row[one] for row in rows] for many, one in LISTS.items() if one != "rollout"}
        many = {one: name for name, one in LISTS.items()}
        return _by_name(method, [many[name] for name in ORDER[takes(method)]], own, {})

    def result(self, answer: Any, rollout: Any) -> Any:
        """A dict for each row, in their order. ValueError: one has none."""
        if answer is None:
            return [None] * len(rollout)
        if not isinstance(answer, Mapping):
            return plain(list(answer))
        ids = [id_of(row, at) for at, row in enumerate(rollout)]
        if missing := [name for name in ids if name not in answer]:
            raise ValueError(f"it gave no rewards for the rollouts {missing} of its group")
        return [plain(answer[name]) for name in ids]


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """Those of a hook: a completion may be handed over as text, or as messages."""
    if not isinstance(value, Hook):
        return []
    kind = Group if value.method in GROUP else One
    method = kind(value.environment, method=value.method).called
    form, asked = takes(method), named(method)
    leading = dict(zip(asked, ORDER[form], strict=False))  # these may be called something else
    known = {name: LISTS.get(name, name) for name in parameters(method) if LISTS.get(name, name) in FROM}
    others = required(method, {*known, *leading}, rows)
    truth = ["ground_truth"] if {"ground_truth", "ground_truths"} & set(asked) else []
    mapping = {name: FROM[one] for name, one in (leading | known).items()}
    mapping |= {name: column_of(name, rows) for name in others}
    texts = kind(value.environment, method=value.method, needs=tuple(dict.fromkeys([*others, *truth])))
    ways = {"": texts}
    if form == "completion":
        ways = {"texts": texts, "messages": replace(texts, conversational=True)}
    what = "messages" if form == "messages" else f"a {form}"
    reason = f"its {value.method} takes {what}, as in {VERSIONS[form]}; {UNWEIGHTED}"
    return [
        Reading("benchmax", FORM, reason, way, mapping, sure=True, way=name) for name, way in ways.items()
    ]


@dataclass(frozen=True, repr=False)
class Rewards(RewardHolder):
    """The rewards of completions: a dict ``{"reward": ...}`` each, or where `separate` one of components."""

    separate: bool = field(default=False, kw_only=True)

    def of_messages(self, messages: Sequence[Sequence[Any]], tasks: Sequence[Any]) -> list[dict[str, float]]:
        """Of transcripts and the data set's rows: the documented API's."""
        rows = [
            {**from_messages(turns), **{name: task[name] for name in task or () if name not in GENERATED}}
            for turns, task in zip(messages, tasks, strict=True)
        ]
        rewards, scores = self.rate_rows(rows).numbers(self.missing)
        return scores if self.separate else [{"reward": reward} for reward in rewards]

    def of_rollouts(self, rollouts: Sequence[Any]) -> dict[str, dict[str, float]]:
        """Of 0.2's rollouts, by their ids."""
        found = self.of_messages(
            [rollout.messages for rollout in rollouts], [rollout.example_args for rollout in rollouts]
        )
        return {rollout.rollout_id: one for rollout, one in zip(rollouts, found, strict=True)}


def functions(reward: Reward, *, separate: bool = False, **options: Any) -> Rewards:
    """The reward with `of_messages` and `of_rollouts`, to call in a hook of an environment of one's own."""
    return Rewards.holding(reward, separate=separate, **options)


ALSO = ("the weights of rewards are in the training configuration of benchmax, not in the file",)
ABLE = Abilities(weights="kept", siblings="group", waits="each", turns=True, bounds=(0.0, 1.0), also=ALSO)
TARGET = Target("benchmax", "benchmax", "0.2.5", FORM, readings, ABLE, functions, call, parts)
