"""EasyR1's rewards: compute_score(reward_inputs) -> [{"overall": ..., ...}], or of one dict by itself.

Source: `AutoRewardManager` in verl/workers/reward/function.py of EasyR1 (2026-07), which pays ``overall`` and
logs the other keys. REWARD_TYPE in the file says whether it takes a list ("batch", the default) or one dict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rewardkit.targets.adapter import Adapter, Row, named, plain
from rewardkit.targets.calling import loaded
from rewardkit.targets.exported import RewardHolder, finite
from rewardkit.targets.reading import Reading
from rewardkit.targets.target import Abilities, Called, Export, Target, Written
from rewardkit.targets.writing import options

__all__ = ["TARGET", "ComputeScore", "Function", "functions"]

FORM = 'compute_score(reward_inputs) -> [{"overall": float, ...}]'
LENGTH = "response_length"


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """A function of a dict with response, its length in tokens and truth."""

    def arguments(self, rollout: Row) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The dict of one rollout."""
        return [_input(rollout)], {}

    def result(self, answer: Any, rollout: Any) -> Any:
        """The dict. ValueError: it is something else, or lacks what is paid."""
        return _paid(plain(answer))


@dataclass(frozen=True, repr=False)
class Functions(Adapter):
    """A function of a list of such dicts: here of a group."""

    batch: ClassVar[bool] = True

    def arguments(self, rollout: Sequence[Row]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The dicts of the rollouts."""
        return [[_input(row) for row in rollout]], {}

    def result(self, answer: Any, rollout: Any) -> Any:
        """The dicts. ValueError: it is no list of them."""
        found = plain(answer)
        if not isinstance(found, list):
            raise ValueError(f"returned {found!r}; EasyR1 expects a list of dicts with 'overall'")
        return [_paid(one) for one in found]


def _input(row: Row) -> dict[str, Any]:
    """What the function is told of a rollout; the length in words where there is no such column."""
    text, truth = row.get("completion"), row.get("ground_truth")
    length = row[LENGTH] if LENGTH in row else len(str(text).split())
    return {"response": text, LENGTH: length, "ground_truth": deepcopy(truth)}


def _paid(one: Any) -> Mapping[str, Any]:
    if not isinstance(one, Mapping) or "overall" not in one:
        raise ValueError(f"returned {one!r} for a response; EasyR1 expects a dict with 'overall'")
    return one


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """Those of a function whose one argument is called so, or whose file has a REWARD_TYPE: both ways."""
    kind, asked = getattr(value, "__globals__", {}).get("REWARD_TYPE"), named(value)
    if (
        isinstance(value, type)
        or len(asked) != 1
        or not (kind or asked[0] in ("reward_input", "reward_inputs"))
    ):
        return []
    many = kind != "sequential" if kind else asked[0] == "reward_inputs"
    counted = LENGTH if any(LENGTH in row for row in rows) else "the words of completion"
    mapping = {"response": "completion", LENGTH: counted, "ground_truth": "ground_truth"}
    kinds = (Functions, Function) if many else (Function, Functions)
    ways: list[Adapter] = [kind(value, needs=("completion",)) for kind in kinds]
    return [
        Reading(
            "easyr1",
            FORM,
            f"it takes {asked[0]}",
            adapter,
            mapping,
            main="overall",
            sure=True,
            way="batch" if adapter.batch else "sequential",
        )
        for adapter in ways
    ]


@dataclass(frozen=True, repr=False)
class ComputeScore(RewardHolder):
    """The reward as a function of a list of dicts: finite numbers, always under the same keys."""

    def __call__(self, reward_inputs: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
        """For each ``overall``, ``judged`` (1.0, or 0.0 where there was no reward) and the scores."""
        given = {name: [one.get(name) for one in reward_inputs] for name in ("ground_truth", LENGTH)}
        given["completion"] = [one["response"] for one in reward_inputs]
        found = finite(self.rate(given, len(reward_inputs)), self.missing)
        return [one | {"overall": one.pop("score")} for one in found]


functions = ComputeScore.holding


def write(export: Export) -> Written:
    """A `compute_score` for lists, and the line that says so."""
    code = f'''REWARD_TYPE = "batch"

_score = rk.targets.easyr1.ComputeScore(_reward{options(export)})


def compute_score(reward_inputs):
    """For each response the reward as overall, judged (1, or 0 where there is none), and the scores."""
    return _score(reward_inputs)'''
    return Written(code, (), "worker.reward.reward_function={path}:compute_score", ("compute_score",))


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What the lines of `compute_reward_batch`, written again here, make of the file."""
    module = loaded(path)
    assert module.REWARD_TYPE == "batch"
    found = module.compute_score([Function(None).arguments(row)[0][0] for row in rows])
    scores = {name: [one[name] for one in found] for name in found[0] if name not in ("overall", "judged")}
    caller = "a copy in small of compute_reward_batch (EasyR1 has no wheel)"
    return Called(caller, [one["overall"] for one in found], scores)


ABLE = Abilities(waits="together", columns=("completion", "ground_truth", LENGTH))
TARGET = Target("easyr1", "EasyR1", "2026-07", FORM, readings, ABLE, functions, write, call)
