"""verifiers' rewards of v1: async f(task, trace), also as methods of a Task that ``@vf.reward`` marks.

Source: `Task.score` of verifiers 0.4.0, which calls by name with those of `task`,
`trace` and `runtime` that a function asks for, and takes functions from files by its
configuration. `verifiers_rubrics.py` has what was before v1.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rewardkit.primitives.messages import assistant_text, content_text
from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import Adapter, Arguments, Row, alike, fill, named
from rewardkit.targets.calling import awaited, installed
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import Abilities, Called, Part, Reading, Target, Written
from rewardkit.targets.turns import split

FORM = "async f(task, trace) -> float | dict[str, float]"
GIVEN = {"task": "the row", "trace": "prompt and completion"}


def parts(value: Any) -> list[Part]:
    """The methods of a Task that ``@vf.reward`` or ``@vf.metric`` marks, metrics with weight 0."""
    if not isinstance(value, type):
        return []
    found = []
    for name in dict.fromkeys(name for base in value.__mro__ for name in vars(base)):
        one = inspect.getattr_static(value, name)
        paid = getattr(one, "reward", False) is True
        if callable(one) and (paid or getattr(one, "metric", False) is True):
            found.append(
                Part(
                    value, name, float(getattr(one, "_vf_weight", 1.0)) if paid else 0.0
                )
            )
    return sorted(found, key=lambda one: not one.weight)


class Function(Adapter):
    """A function of those of `task` and `trace` that it asks for; or a method of a class of tasks."""

    def arguments(self, rollout: Row) -> Arguments:
        """The task's data and a finished trace; ValueError: it asks for an agent's box."""
        if "runtime" in named(self.called):
            raise ValueError(
                "it asks for 'runtime', the box in which an agent worked, which a log does not have"
            )
        typed = (
            self.function.data_type()
            if self.method and hasattr(self.function, "data_type")
            else None
        )
        data = data_of(rollout, typed)
        name = self.function.__name__ if self.method else "Task"
        given = fill(
            self.called, {}, {"task": data, "trace": trace_of(rollout, data, name)}
        )
        return ((self.function(data),) if self.method else ()), given


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """That of a marked method, and of a function that asks for a trace."""
    if isinstance(value, Part):
        reason = (
            f"@vf.reward with weight {value.weight:g}"
            if value.weight
            else "a metric, which is not paid"
        )
        adapter, mapping = (
            Function(value.owner, method=value.name),
            {"self.data": "the row", "trace": GIVEN["trace"]},
        )
        return [Reading(reason, adapter, mapping, weight=value.weight, sure=True)]
    asked = parameters(value)
    if (
        isinstance(value, type)
        or "trace" not in asked
        or not set(named(value)) <= {*GIVEN, "runtime"}
    ):
        return []
    mapping = {name: GIVEN[name] for name in asked if name in GIVEN}
    weight = float(getattr(value, "_vf_weight", 1.0))
    return [
        Reading(
            "it takes a trace, as in v1",
            Function(value),
            mapping,
            weight=weight,
            sure=True,
        )
    ]


@dataclass(frozen=True, repr=False)
class Rewards(RewardHolder):
    """The reward of a trace as a number, or the score of one `component` before its weight."""

    component: str | None = field(default=None, kw_only=True)

    def __call__(self, task: Any, trace: Any) -> float:
        """The number, `missing` where there is none."""
        rated = self.rate_rows([columns_of(task, trace)])
        found = (
            rated.rewards if self.component is None else rated.scores[self.component]
        )[0]
        return self.missing if found is None else found


functions = Rewards


def call(path: Path, written: Written, rows: Sequence[Row]) -> Called:
    """What verifiers' `Task.score` gives for a task whose configuration names the file's functions."""
    version = installed("verifiers", "verifiers", "pydantic", "renderers")
    import verifiers.v1 as vf

    plugged = {
        name: vf.RewardFunctionConfig(fn=f"{path.resolve()}:{name}")
        for name in written.functions
    }
    config = vf.TaskConfig(rewards=plugged)

    async def run() -> list[Any]:
        traces = []
        for row in rows:
            data = data_of(row)
            traces.append(trace_of(row, data))
            await vf.Task(data, config).score(traces[-1])
        return traces

    traces = awaited(run())
    apart = {
        name: [trace.rewards[name].score for trace in traces]
        for name in written.functions
    }
    values = {"reward": [trace.reward for trace in traces]} if written.whole else apart
    return Called(f"Task.score of {version}", values)


# --- verifiers' side: a row as a task's data and as a finished trace, and a trace as a
# row


def data_of(row: Row, kind: Any = None) -> Any:
    """The data of a task: of the class `kind`, else of verifiers' loose one, else what stands for it.

    ValueError: a field of the class has no column, or one of the wrong type.
    """
    known = deepcopy(
        alike({name: value for name, value in row.items() if name != "messages"})
    )
    loose = kind is None and "verifiers.v1.task" in sys.modules
    kind = sys.modules["verifiers.v1.task"].WireTaskData if loose else kind
    if kind is None:
        return SimpleNamespace(**known)
    fields = kind.model_fields
    own = ("prompt", "system_prompt") if loose else fields
    given = {
        name: value
        for name, value in known.items()
        if name in own or (loose and name not in fields)
    }
    needed = [
        name for name in given if name not in fields or fields[name].is_required()
    ]
    return kind.model_validate(
        {n: value for n, value in given.items() if n in needed or value is not None}
    )


def trace_of(row: Row, data: Any, task: str = "Task") -> Any:
    """A finished trace of the logged turns; what stands for it where verifiers is not loaded."""
    before, after = split(row)
    turns = [*before, *after]
    sampled = [False] * len(before) + [
        turn.get("role") == "assistant" for turn in after
    ]
    if "verifiers.v1.trace" not in sys.modules:
        messages = [
            SimpleNamespace(**{"content": None, "tool_calls": None} | turn)
            for turn in turns
        ]
        replies = [
            message for message, own in zip(messages, sampled, strict=True) if own
        ]
        return SimpleNamespace(
            messages=messages,
            assistant_messages=replies,
            tool_messages=[message for message in messages if message.role == "tool"],
            last_message=messages[-1],
            last_reply=content_text(replies[-1].content).strip() if replies else "",
            root_reply=None,
            num_turns=len(replies),
            transcript="\n\n".join(
                f"[{one.role}]\n{content_text(one.content)}" for one in messages
            ),
        )
    real, agent = (
        sys.modules["verifiers.v1.trace"],
        sys.modules["verifiers.v1.configs.agent"],
    )
    nodes = [
        {"parent": at - 1 if at else None, "message": _message(turn), "sampled": own}
        for at, (turn, own) in enumerate(zip(turns, sampled, strict=True))
    ]
    reason = row.get("finish_reason")
    return real.Trace(
        task=real.TraceTask(type=task, data=data),
        agent=real.AgentInfo(config=agent.WireAgentConfig()),
        nodes=nodes,
        calls=[{"node": len(nodes) - 1, "finish_reason": reason}]
        if reason in ("stop", "length")
        else [],
        is_completed=True,
        ok=True,
        stop_condition="agent_completed",
    )


def _message(turn: Mapping[str, Any]) -> dict[str, Any]:
    """A message in OpenAI's form as verifiers has it: calls are flat, a tool's answer names its call."""
    known = {name: value for name, value in turn.items() if value is not None}
    calls = []
    for at, call in enumerate(known.pop("tool_calls", ())):
        inner = call.get("function", call)
        given = inner.get("arguments", "")
        text = given if isinstance(given, str) else json.dumps(given)
        calls.append(
            {
                "id": str(call.get("id", at)),
                "name": inner.get("name", ""),
                "arguments": text,
            }
        )
    known |= {"tool_calls": calls} if calls else {}
    return {"tool_call_id": "", **known} if known.get("role") == "tool" else known


def columns_of(task: Any, trace: Any) -> dict[str, Any]:
    """A trace as a row: the fields of its task, what was said, and the last answer as the completion."""
    root = getattr(trace, "root_reply", None)
    last = (
        root
        if root is not None
        else assistant_text([_fields(one) for one in trace.assistant_messages[-1:]])
    )
    messages = [_fields(message) for message in trace.messages]
    return {
        **_fields(task, exclude_none=False),
        "messages": messages,
        "completion": last,
    }


def _fields(held: Any, *, exclude_none: bool = True) -> dict[str, Any]:
    """What a model of pydantic's holds, or what stands for it."""
    return (
        held.model_dump(exclude_none=exclude_none)
        if hasattr(held, "model_dump")
        else dict(vars(held))
    )


ABLE = Abilities(weights="kept", siblings="none", waits="each", turns=True)
TARGET = Target(
    "verifiers", "verifiers", "0.4.0", FORM, readings, ABLE, functions, call, parts
)
