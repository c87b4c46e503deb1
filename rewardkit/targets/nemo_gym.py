"""NeMo Gym's verify(body) -> {"reward": ..., ...}, as a function.

Source: `SimpleResourcesServer.verify` and `BaseVerifyRequest` in
nemo_gym/base_resources_server.py (2026-06): the body has the conversation in
``responses_create_params``, the model's output in ``response``, in the form of OpenAI's
Responses API, and the columns of the data set. It is only read so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.targets.adapter import Adapter, plain_values
from rewardkit.targets.columns import ObjectRow, Row, required_parameters
from rewardkit.targets.target import Target, TrainerReading
from rewardkit.targets.turns import prompt_turns


def _make_body(row: dict[str, Any]) -> ObjectRow:
    """Return the request that NeMo Gym would send for a rollout."""
    text = row.get("completion")
    content = [{"type": "output_text", "text": text}]
    message = {"type": "message", "role": "assistant", "content": content}
    return ObjectRow(
        row,
        responses_create_params={"input": prompt_turns(row)},
        response={"output": [message], "output_text": text},
    )


class Function(Adapter):
    """A function of a request, called for one completion."""

    gives_row = True
    makers = (_make_body,)

    def result(self, answer: Any) -> Any:
        """Return the answer, in plain values. ValueError: it has no "reward"."""
        scores = plain_values(answer)
        if not isinstance(scores, Mapping) or "reward" not in scores:
            raise ValueError(f"returned {scores!r}; NeMo Gym expects a 'reward' in it")
        return scores


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a function whose only required parameter is `body`."""
    if isinstance(value, type) or required_parameters(value) != ["body"]:
        return []
    adapter = Function(value, needs=("completion",))
    mapping = {"body": "prompt, completion and the other columns"}
    return [TrainerReading("it takes body", adapter, mapping, main="reward", sure=True)]


NEMO_GYM = Target(
    name="nemo-gym",
    title="NeMo Gym",
    versions="2026-06",
    form='verify(body) -> {"reward": float, ...}',
    readings=readings,
)
