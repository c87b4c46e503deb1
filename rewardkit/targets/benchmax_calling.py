"""benchmax's side: a row as it has it; its own loop over rows that were sampled, and the one it documents."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rewardkit.errors import RewardError
from rewardkit.rollouts.columns import ALIASES
from rewardkit.targets.adapter import Row, alike
from rewardkit.targets.calling import awaited, installed, loaded
from rewardkit.targets.target import Called, Written
from rewardkit.targets.turns import transcript

__all__ = ["GENERATED", "call", "documented", "id_of", "rollout_of", "task_of"]


def task_of(row: Row) -> dict[str, Any]:
    """The example that a completion answers: the row without what was generated, under all usual names."""
    left = deepcopy({name: value for name, value in row.items() if name not in GENERATED})
    return {name: value for name, value in alike(left).items() if name not in GENERATED}


GENERATED = {*ALIASES["completion"], *ALIASES["messages"], *ALIASES["rollout_id"]}


def id_of(row: Row, at: int) -> str:
    """The id of a rollout; by its place where the row has none."""
    return str(row.get("rollout_id", f"sample-{at}"))


def rollout_of(row: Row, at: int = 0) -> Any:
    """A row as 0.2's BaseRollout; as what looks like one where benchmax is not loaded."""
    base = sys.modules.get("benchmax.envs.base")
    kind = getattr(base, "BaseRollout", SimpleNamespace)
    turns, reason = transcript(row), row.get("termination_reason") or "finished"
    rollout = kind(
        rollout_id=id_of(row, at), termination_reason=reason, messages=turns, example_args=task_of(row)
    )
    if kind is SimpleNamespace:
        rollout.split, rollout.rewards, rollout.error = "train", None, None
    return rollout


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What benchmax 0.2's `run_group` makes of the file; without it, a caller of ours."""
    try:
        version = installed("benchmax", "benchmax", "openai")
    except RewardError:
        return documented(path, written, rows)
    caller = f"Environment.run_group of {version}, with the completions in place of a model"
    return _called(caller, written, awaited(_run_groups(loaded(path).RolloutReward, rows)))


def documented(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What a small caller of ours, in the form of 0.1.2.dev36's documentation, makes of the file."""
    environment = loaded(path).MessagesReward()

    async def run() -> list[dict[str, float]]:
        found: list[dict[str, float]] = [{} for _ in rows]
        for places in _groups(rows):
            turns, tasks = [transcript(rows[at]) for at in places], [task_of(rows[at]) for at in places]
            ids = [str(at) for at in places]
            given = zip(ids, turns, tasks, strict=True)
            each = await asyncio.gather(*(environment.compute_reward(*one) for one in given))
            hook = getattr(environment, "compute_group_reward", None)
            group = await hook(ids, turns, tasks) if hook else [{} for _ in places]
            for at, one, more in zip(places, each, group, strict=True):
                found[at] = {**one, **more}
        return found

    caller = "a caller of ours in the form that benchmax 0.1.2.dev36 documents (not its own code)"
    return _called(caller, written, awaited(run()))


def _called(caller: str, written: Written, found: Sequence[Mapping[str, float]]) -> Called:
    names = dict.fromkeys(name for one in found for name in one) or {"reward": None}
    values = {name: [one.get(name, float("nan")) for one in found] for name in names}
    return Called(caller, values["reward"]) if written.whole else Called(caller, [], values)


def _groups(rows: Sequence[Row]) -> list[list[int]]:
    """The places of the rows of each group: of one prompt."""
    found: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        key = [row.get(name) for name in ("prompt_id", "prompt") if name in row][:1]
        found.setdefault(repr([*key, row.get("data_source")]), []).append(at)
    return list(found.values())


def _speaks(turn: Mapping[str, Any]) -> bool:
    """Whether a turn is an answer of the assistant in words."""
    return turn.get("role") == "assistant" and not turn.get("tool_calls")


async def _run_groups(mixin: type, rows: Sequence[Row]) -> list[Mapping[str, float]]:
    """The rewards that benchmax's own loop gives to an environment whose model says what was logged."""
    import httpx
    from benchmax.auth import StaticBearerAuth
    from benchmax.envs import BaseEnv, Example, RolloutRequest
    from benchmax.envs.base import env as loop
    from openai import BadRequestError
    from openai.types.chat import ChatCompletion

    async def no_data(*_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def said(*, request: Any, **_: Any) -> ChatCompletion:
        last = transcript(rows[int(request.rollout_id)])[-1]
        if not _speaks(last):  # nothing was said last: as where the context was full
            response: Any = httpx.Response(400, request=httpx.Request("POST", request.base_url))
            raise BadRequestError("full", response=response, body={"code": "context_budget_exceeded"})
        text = last["content"]
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        whole = {"id": "x", "created": 0, "model": "m", "object": "chat.completion", "choices": [choice]}
        return ChatCompletion.model_validate(whole)

    environment = type("Environment", (mixin, BaseEnv), {"create_dataset": no_data})(max_turns=1)
    found: list[Mapping[str, float]] = [{} for _ in rows]
    real = loop._create_chat_completion, loop._model_client
    loop._create_chat_completion, loop._model_client = said, lambda request: nullcontext()
    try:
        for places in _groups(rows):
            requests = []
            for at in places:
                # a group is of one example there; what differs between siblings in a log is kept all the same
                turns = transcript(rows[at])
                before = turns[:-1] if _speaks(turns[-1]) else turns
                messages = before or [{"role": "user", "content": ""}]  # a prompt was not logged
                payload = {**task_of(rows[at]), "prompt_messages": messages}
                example = Example(id=str(places[0]), payload=payload)
                auth = StaticBearerAuth("none")
                requests.append(
                    RolloutRequest(
                        rollout_id=str(at), example=example, model="m", base_url="http://x", model_auth=auth
                    )
                )
            for name, outcome in (await environment.run_group(requests)).items():
                found[int(name)] = outcome.rewards
    finally:
        loop._create_chat_completion, loop._model_client = real
    return found
