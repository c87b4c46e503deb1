"""eval-protocol's reward functions: f(messages, ground_truth=None, **kwargs) -> EvaluateResult.

Source: `reward_function` of eval-protocol 0.3.33 and its `EvaluateResult`: a score,
whether it is valid, and metrics by name. Functions in its "batch" mode are not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import (
    Adapter,
    Arguments,
    Row,
    fill,
    named,
    required,
    takes_all,
)
from rewardkit.targets.calling import awaited, installed, loaded
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import Abilities, Called, Reading, Target, Written
from rewardkit.targets.turns import from_messages, transcript

FORM = "f(messages, ground_truth=None, **kwargs) -> EvaluateResult"


class Function(Adapter):
    """A function of a conversation."""

    def arguments(self, rollout: Row) -> Arguments:
        """The conversation, and the columns it asks for."""
        row = {
            name: value
            for name, value in deepcopy(dict(rollout)).items()
            if name != "messages"
        }
        return (), fill(self.function, row, {"messages": deepcopy(transcript(rollout))})

    def result(self, answer: Any, rollout: Any) -> Any:
        """The score and the metrics, ``None`` where they are not valid. ValueError: it is no such result."""
        found = answer.model_dump() if hasattr(answer, "model_dump") else answer
        if not isinstance(found, Mapping) or "score" not in found:
            raise ValueError(
                f"returned {found!r}; eval-protocol expects an EvaluateResult"
            )
        found = {**(found.get("metrics") or {}), "score": found}
        return {
            name: one["score"] if one.get("is_score_valid", True) else None
            for name, one in found.items()
        }


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """That of a function that is decorated, or asks for messages and takes what else there is."""
    asked, mode = parameters(value), getattr(value, "_reward_function_mode", None)
    takes = named(value)[:1] == ["messages"] and takes_all(value)
    if isinstance(value, type) or not takes or mode == "batch":
        return []
    needs = required(value, ("messages",), rows)
    mapping = {"messages": "prompt and completion", "ground_truth": "ground_truth"}
    mapping = {name: column for name, column in mapping.items() if name in asked}
    reason = "it is a @reward_function" if mode else "it takes messages and keywords"
    adapter = Function(value, needs=("completion", *needs))
    return [Reading(reason, adapter, mapping, main="score", sure=mode is not None)]


class Evaluate(RewardHolder):
    """The reward of a conversation as the fields of an `EvaluateResult`."""

    def __call__(
        self, messages: Sequence[Any], ground_truth: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Score and metrics; what is not judged is marked as not valid."""
        turns = [
            one.model_dump(exclude_none=True) if hasattr(one, "model_dump") else one
            for one in messages
        ]
        given = {**kwargs, "ground_truth": ground_truth, **from_messages(turns)}
        rated = self.rate_rows([given])
        metrics = {
            name: self._result(scores[0]) for name, scores in rated.scores.items()
        }
        return {**self._result(rated.rewards[0]), "metrics": metrics}

    def _result(self, score: float | None) -> dict[str, Any]:
        judged = score is not None
        reason = "" if judged else "not judged"
        return {
            "score": score if judged else self.missing,
            "is_score_valid": judged,
            "reason": reason,
        }


functions = Evaluate


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What the file's function gives, behind eval-protocol's own decorator."""
    version = installed("eval-protocol", "eval_protocol")
    function = Function(getattr(loaded(path), written.functions[0]))

    async def run() -> list[dict[str, float]]:
        return [await one if function.is_async else one for one in map(function, rows)]

    return Called.of_dicts(f"reward_function of {version}", awaited(run()))


ABLE = Abilities(missing="None", turns=True)
TARGET = Target(
    "eval-protocol", "eval-protocol", "0.3", FORM, readings, ABLE, functions, call
)
