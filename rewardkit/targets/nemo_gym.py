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
from rewardkit.targets.turns import answer_turns, prompt_turns, split

REQUEST_KEYS = frozenset(
    "rollout_id prompt_id step _ng_task_index _ng_rollout_index".split()
)
"""Numbers of a request, which servers send back beside their scores."""


def _make_body(row: dict[str, Any]) -> ObjectRow:
    """Return the request that NeMo Gym would send for a rollout."""
    text = row.get("completion")
    turns = answer_turns(text)
    if isinstance(row.get("messages"), list):
        turns = split(row)[1]
    output: list[dict[str, Any]] = []
    for turn in turns:
        output += _items_of(turn)
    return ObjectRow(
        row,
        responses_create_params={"input": prompt_turns(row)},
        response={"output": output, "output_text": text},
    )


def _items_of(turn: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a chat message as items of OpenAI's Responses."""
    text = turn.get("content")
    if turn.get("role") == "tool":
        return [{"type": "function_call_output", "output": text}]
    calls = []
    for call in turn.get("tool_calls") or ():
        if isinstance(call, Mapping):
            function = call.get("function")
            named = function if isinstance(function, Mapping) else call
            calls.append({**named, "type": "function_call"})
    if calls and not text:
        return calls
    content = [{"type": "output_text", "text": text}]
    return [{"type": "message", "role": "assistant", "content": content}, *calls]


class Function(Adapter):
    """A function of a request, or a server's method, called for one completion."""

    gives_row = True
    makers = (_make_body,)

    def result(self, answer: Any) -> Any:
        """Return the answer, in plain values. ValueError: it has no "reward"."""
        scores = plain_values(answer)
        if not isinstance(scores, Mapping) or "reward" not in scores:
            raise ValueError(f"returned {scores!r}; NeMo Gym expects a 'reward' in it")
        return {key: scores[key] for key in scores if key not in REQUEST_KEYS}


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a function of `body`, or of a server that verifies it."""
    method = ""
    reason = "it takes body"
    function = value
    if isinstance(value, type):
        method = "verify"
        reason = "it is a class with verify(body)"
        function = getattr(value, method, None)
    names = required_parameters(function) if callable(function) else []
    if names != [*["self"] * bool(method), "body"]:
        return []
    adapter = Function(value, needs=("completion",), method=method)
    mapping = {"body": "prompt, completion and the other columns"}
    return [TrainerReading(reason, adapter, mapping, main="reward", sure=True)]


NEMO_GYM = Target(
    name="nemo-gym",
    title="NeMo Gym",
    versions="2026-06",
    form='verify(body) -> {"reward": float, ...}',
    readings=readings,
)
