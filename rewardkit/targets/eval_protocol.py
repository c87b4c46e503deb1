"""eval-protocol's f(messages, ground_truth=None, **kwargs) -> EvaluateResult.

Source: `reward_function` of eval-protocol 0.3.33 and its `EvaluateResult`: a score,
whether it is valid, and metrics by name. Functions in its "batch" mode are not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rewardkit.rewards.component import parameters
from rewardkit.scoring.callers import RowColumns
from rewardkit.targets.adapter import Adapter, Arguments, plain_values
from rewardkit.targets.columns import (
    Row,
    fill,
    keywords_name,
    required_columns,
    required_parameters,
)
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import (
    Abilities,
    Target,
    TrainerCode,
    TrainerReading,
    TrainerValues,
    import_file,
    require_installed,
    run_async,
)
from rewardkit.targets.turns import from_messages, transcripts


class Function(Adapter):
    """A function of a conversation."""

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the conversation, and the columns that the function asks for."""
        messages = {"messages": transcripts(rows)}
        return (), fill(self.function, rows.without({"messages"}), messages)

    def result(self, answer: Any) -> Any:
        """Return the score and the metrics, with ``None`` for invalid ones.

        ValueError: `answer` has no score.
        """
        answer = plain_values(answer)
        if not isinstance(answer, Mapping) or "score" not in answer:
            raise ValueError(
                f"returned {answer!r}; eval-protocol expects an EvaluateResult"
            )
        metrics = {**(answer.get("metrics") or {}), "score": answer}
        scores = {}
        for name, metric in metrics.items():
            is_valid = metric.get("is_score_valid", True)
            scores[name] = metric["score"] if is_valid else None
        return scores


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a function of messages and keywords, or a decorated one."""
    mode = getattr(value, "_reward_function_mode", None)
    if isinstance(value, type) or mode == "batch":
        return []
    has_keywords = keywords_name(value) is not None
    if required_parameters(value)[:1] != ["messages"] or not has_keywords:
        return []
    needs = required_columns(value, ("messages",), rows)
    mapping = {"messages": "prompt and completion"}
    if "ground_truth" in parameters(value):
        mapping["ground_truth"] = "ground_truth"
    reason = "it is a @reward_function" if mode else "it takes messages and keywords"
    adapter = Function(value, needs=("completion", *needs))
    return [
        TrainerReading(reason, adapter, mapping, main="score", sure=mode is not None)
    ]


class Evaluate(RewardHolder):
    """The reward of a conversation as the fields of an `EvaluateResult`."""

    def __call__(
        self, messages: Sequence[Any], ground_truth: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Return score and metrics, marked as not valid if they are not judged."""
        turns = []
        for message in messages:
            if hasattr(message, "model_dump"):
                message = message.model_dump(exclude_none=True)
            turns.append(message)
        row = {**kwargs, "ground_truth": ground_truth, **from_messages(turns)}
        rated = self.rate_rows([row])
        metrics = {}
        for name, scores in rated.scores.items():
            metrics[name] = self._metric(scores[0])
        return {**self._metric(rated.rewards[0]), "metrics": metrics}

    def _metric(self, score: float | None) -> dict[str, Any]:
        if score is None:
            return {
                "score": self.missing,
                "is_score_valid": False,
                "reason": "not judged",
            }
        return {"score": score, "is_score_valid": True, "reason": ""}


functions = Evaluate


def call(path: Path, code: TrainerCode, rows: Sequence[Row]) -> TrainerValues:
    """Call the file's function through eval-protocol's own decorator."""
    version = require_installed("eval-protocol", "eval_protocol")
    function = Function(getattr(import_file(path), code.functions[0]))

    async def run() -> list[dict[str, float]]:
        answers = list(map(function, rows))
        return await asyncio.gather(*answers) if function.is_async else answers

    return TrainerValues.of_dicts(f"reward_function of {version}", run_async(run()))


EVAL_PROTOCOL = Target(
    name="eval-protocol",
    title="eval-protocol",
    versions="0.3",
    form="f(messages, ground_truth=None, **kwargs) -> EvaluateResult",
    readings=readings,
    abilities=Abilities(missing="None", turns=True),
    functions=functions,
    call=call,
)
