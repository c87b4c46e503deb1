"""verifiers' side: a row as the trace and the task's data of v1, and a trace as a row."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

from rewardkit.primitives.messages import assistant_text, content_text
from rewardkit.targets.adapter import Row, alike
from rewardkit.targets.turns import asked, split

__all__ = ["columns_of", "data_of", "trace_of"]


def data_of(row: Row, kind: Any = None) -> Any:
    """The data of a task: of the class `kind`, else of verifiers' loose one, else what stands for it.

    ValueError: a field of the class has no column, or one of the wrong type.
    """
    known = deepcopy(alike({name: value for name, value in row.items() if name != "messages"}))
    if kind is None and "verifiers.v1.task" in sys.modules:
        kind = sys.modules["verifiers.v1.task"].WireTaskData
        known = {name: value for name, value in known.items() if name not in kind.model_fields} | {
            name: known[name] for name in ("prompt", "system_prompt") if name in known
        }
    if kind is not None:
        fields, loose = kind.model_fields, kind.__name__ == "WireTaskData"
        optional = {name for name, one in fields.items() if not one.is_required()}
        return kind.model_validate(
            {
                name: value
                for name, value in known.items()
                if (loose or name in fields) and not (value is None and name in optional)
            }
        )
    text = "\n\n".join(content_text(turn.get("content")) for turn in asked(row))
    return SimpleNamespace(**(known | {"prompt_text": text}))


def trace_of(row: Row, data: Any, task: str = "Task") -> Any:
    """A finished trace of the logged turns; what stands for it where verifiers is not loaded."""
    before, after = split(row)
    turns = [*before, *after]
    sampled = [False] * len(before) + [turn.get("role") == "assistant" for turn in after]
    if "verifiers.v1.trace" in sys.modules:
        return _real(row, data, task, turns, sampled)
    messages = [SimpleNamespace(**{"content": None, "tool_calls": None} | turn) for turn in turns]
    replies = [message for message, own in zip(messages, sampled, strict=True) if own]
    return SimpleNamespace(
        id=str(row.get("rollout_id", "")),
        task=SimpleNamespace(type=task, data=data),
        messages=messages,
        assistant_messages=replies,
        tool_messages=[message for message in messages if message.role == "tool"],
        last_message=messages[-1],
        last_reply=content_text(replies[-1].content).strip() if replies else "",
        root_reply=None,
        num_turns=len(replies),
        transcript="\n\n".join(f"[{one.role}]\n{content_text(one.content)}" for one in messages),
        info={},
        state=SimpleNamespace(),
        rewards={},
        metrics={},
        errors=[],
        stop_condition="agent_completed",
        is_completed=True,
        is_truncated=row.get("finish_reason") == "length",
    )


def _real(row: Row, data: Any, task: str, turns: list[Any], sampled: list[bool]) -> Any:
    """The same as verifiers' own Trace."""
    trace, agent = sys.modules["verifiers.v1.trace"], sys.modules["verifiers.v1.configs.agent"]
    nodes = [
        {"parent": at - 1 if at else None, "message": _message(turn), "sampled": own}
        for at, (turn, own) in enumerate(zip(turns, sampled, strict=True))
    ]
    reason = row.get("finish_reason")
    calls = [{"node": len(nodes) - 1, "finish_reason": reason}] if reason in ("stop", "length") else []
    return trace.Trace(
        task=trace.TraceTask(type=task, data=data),
        agent=trace.AgentInfo(config=agent.WireAgentConfig()),
        nodes=nodes,
        calls=calls,
        is_completed=True,
        ok=True,
        stop_condition="agent_completed",
    )


def _message(turn: Mapping[str, Any]) -> dict[str, Any]:
    """A message in OpenAI's form as verifiers has it: calls are flat, a tool's answer names its call."""
    known = {name: value for name, value in turn.items() if value is not None}
    if known.get("tool_calls"):
        known["tool_calls"] = [_call(call, at) for at, call in enumerate(known["tool_calls"])]
    return {"tool_call_id": "", **known} if known.get("role") == "tool" else known


def _call(call: Mapping[str, Any], at: int) -> dict[str, Any]:
    inner = call.get("function", call)
    given = inner.get("arguments", "")
    text = given if isinstance(given, str) else json.dumps(given)
    return {"id": str(call.get("id", at)), "name": inner.get("name", ""), "arguments": text}


def columns_of(task: Any, trace: Any) -> dict[str, Any]:
    """A trace as a row: the fields of its task, what was said, and the last answer as the completion."""
    data = task.model_dump() if hasattr(task, "model_dump") else dict(vars(task))
    messages = [_plain(message) for message in trace.messages]
    replies = [_plain(message) for message in trace.assistant_messages]
    root = getattr(trace, "root_reply", None)
    last = root if root is not None else assistant_text(replies[-1:])
    return {**data, "messages": messages, "completion": last}


def _plain(message: Any) -> dict[str, Any]:
    """A message as a dict."""
    if hasattr(message, "model_dump"):
        found: dict[str, Any] = message.model_dump(exclude_none=True)
        return found
    return dict(vars(message))
