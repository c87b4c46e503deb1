"""EasyR1's rewards: compute_score(reward_inputs) -> [{"overall": ..., ...}], or of one dict by itself.

Source: `AutoRewardManager` in verl/workers/reward/function.py of EasyR1 (2026-07),
which pays ``overall`` and logs the other keys. REWARD_TYPE in the file says whether it
takes a list ("batch", the default) or one dict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from rewardkit.targets.adapter import Adapter, Arguments, Row, named, plain
from rewardkit.targets.calling import loaded
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import Abilities, Called, Reading, Target, Written

FORM = 'compute_score(reward_inputs) -> [{"overall": float, ...}]'
LENGTH = "response_length"


class Function(Adapter):
    """A function of a dict with response, its length in tokens and truth."""

    def arguments(self, rollout: Row) -> Arguments:
        """The dict of one rollout."""
        return [_input(rollout)], {}

    def result(self, answer: Any, rollout: Any) -> Any:
        """The dict. ValueError: it is something else, or lacks what is paid."""
        found = plain(answer)
        if not isinstance(found, Mapping) or "overall" not in found:
            raise ValueError(
                f"returned {found!r} for a response; EasyR1 expects a dict with 'overall'"
            )
        return found


class Functions(Function):
    """A function of a list of such dicts: here of a group."""

    together = "batch"

    def arguments(self, rollout: Any) -> Arguments:
        """The dicts of the rollouts."""
        return [[_input(row) for row in rollout]], {}

    def result(self, answer: Any, rollout: Any) -> Any:
        """The dicts. ValueError: it is no list of them."""
        if not isinstance(answer, list):
            raise ValueError(
                f"returned {answer!r}; EasyR1 expects a list of dicts with 'overall'"
            )
        return [super(Functions, self).result(one, rollout) for one in answer]


def _input(row: Row) -> dict[str, Any]:
    """What the function is told of a rollout; the length in words where there is no such column."""
    text, truth = row.get("completion"), row.get("ground_truth")
    length = row[LENGTH] if LENGTH in row else len(str(text).split())
    return {"response": text, LENGTH: length, "ground_truth": deepcopy(truth)}


WAYS = {"batch": Functions, "sequential": Function}
KINDS = {"reward_inputs": "batch", "reward_input": "sequential"}
"""The name of the one argument -> how the function is called, where its file has no REWARD_TYPE."""


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """Those of a function whose one argument is called so, or whose file has a REWARD_TYPE: both ways."""
    kind, asked = getattr(value, "__globals__", {}).get("REWARD_TYPE"), named(value)
    if isinstance(value, type) or len(asked) != 1 or not (kind or asked[0] in KINDS):
        return []
    counted = (
        LENGTH if any(LENGTH in row for row in rows) else "the words of completion"
    )
    mapping = {
        "response": "completion",
        LENGTH: counted,
        "ground_truth": "ground_truth",
    }
    likely, reason = (
        kind if kind in WAYS else KINDS.get(asked[0], "batch"),
        f"it takes {asked[0]}",
    )
    return [
        Reading(
            reason,
            WAYS[way](value, needs=("completion",)),
            mapping,
            main="overall",
            sure=True,
            way=way,
        )
        for way in sorted(WAYS, key=lambda way: way != likely)
    ]


class ComputeScore(RewardHolder):
    """The reward as a function of a list of dicts: finite numbers, always under the same keys."""

    def __call__(
        self, reward_inputs: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, float]]:
        """For each ``overall``, ``judged`` (1.0, or 0.0 where there was no reward) and the scores."""
        known = ("ground_truth", LENGTH)
        rows = [
            {"completion": one["response"], **{n: one.get(n) for n in known}}
            for one in reward_inputs
        ]
        return [one | {"overall": one.pop("score")} for one in self.dicts(rows)]


functions = ComputeScore


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What the lines of `compute_reward_batch`, written again here, make of the file."""
    caller = "a copy in small of compute_reward_batch (EasyR1 has no wheel)"
    return Called.of_dicts(
        caller, loaded(path).compute_score([_input(row) for row in rows]), "overall"
    )


ABLE = Abilities(
    judged=True, waits="together", columns=("completion", "ground_truth", LENGTH)
)
TARGET = Target("easyr1", "EasyR1", "2026-07", FORM, readings, ABLE, functions, call)
