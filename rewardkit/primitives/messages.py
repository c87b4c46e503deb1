"""The parts of messages in OpenAI's form: their content as text, their tool calls; what the assistant said.

Nothing that stands in messages raises.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from rewardkit.primitives.json_text import read_json
from rewardkit.primitives.primitive import one_of, true_or_false

MAX_DEPTH = 100
"""How deep arguments may nest before a call counts as malformed. Our choice: tools' schemas end at a few."""

MAX_BITS = 4096
"""How large a whole number in them may be. Our choice, below what Python refuses to write."""


def assistant_text(
    messages: Sequence[Any] | str | None,
    *,
    turns: Literal["last", "all"] = "last",
    tool_calls: bool = False,
) -> str | None:
    """Text of the last assistant message of a transcript (`messages` in OpenAI's form), or of ``"all"``.

    Messages are joined by an empty line, content in parts by line breaks; parts that
    are no text are left out. With ``tool_calls=True`` the calls of a message follow its
    text as ``<tool_call>{...}</tool_call>``, one a line, where `tool_call` finds them.
    A string is returned as it is; ``None`` where no assistant speaks. ValueError:
    `turns` is unknown, `tool_calls` no bool.

    >>> assistant_text([{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}])
    '4'
    >>> call = {"type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
    >>> assistant_text([{"role": "assistant", "content": None, "tool_calls": [call]}], tool_calls=True)
    '<tool_call>{"name": "add", "arguments": {"a": 2}}</tool_call>'
    """
    one_of("turns", turns, ("last", "all"))
    true_or_false(tool_calls=tool_calls)
    if isinstance(messages, str):
        return messages
    spoken = [item for item in _mappings(messages) if item.get("role") == "assistant"]
    if not spoken:
        return None
    texts = [
        _message_text(message, tool_calls)
        for message in (spoken if turns == "all" else spoken[-1:])
    ]
    return "\n\n".join(text for text in texts if text)


def turns_before(messages: Any) -> str:
    """What comes before the last assistant message of a transcript, one phrase; "" without a transcript.

    >>> call = {"role": "assistant", "tool_calls": [{"function": {"name": "price"}}]}
    >>> turns_before([{"role": "user"}, *[call, {"role": "tool"}] * 6, {"role": "assistant", "content": "7"}])
    'after user, assistant calls price x6, tool x6: '
    """
    turns = _mappings(messages)
    last = max(
        (at for at, turn in enumerate(turns) if turn.get("role") == "assistant"),
        default=0,
    )
    counts: Counter[str] = Counter()
    for turn in turns[:last]:
        calls = [str(call["name"]) for call in calls_of(turn)]
        counts.update(
            [f"{turn.get('role')} calls {name}" for name in calls]
            or [str(turn.get("role"))]
        )
    told = ", ".join(
        name + (f" x{count}" if count > 1 else "") for name, count in counts.items()
    )
    return f"after {told}: " if told else ""


def as_list(value: Any) -> list[Any] | None:
    """The items of a list, tuple or array (which is how tables hold lists); ``None`` for all else."""
    items = value.tolist() if isinstance(value, np.ndarray) else value
    return list(items) if isinstance(items, list | tuple) else None


def content_text(content: Any) -> str:
    """The text of a message's content: as it is, of one part or of several, one a line; an object as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping) and not (
        isinstance(content.get("text"), str) and set(content) <= {"type", "text"}
    ):
        try:
            return json.dumps(plain_value(content), ensure_ascii=False)
        except ValueError:
            return ""
    parts = [content] if isinstance(content, Mapping) else as_list(content) or []
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


def plain_value(value: Any, depth: int = 0) -> Any:
    """The value in JSON's own types, keys sorted, 1.0 as 1; ValueError where JSON cannot hold it."""
    if isinstance(value, np.ndarray | np.generic):
        value = float(str(value)) if isinstance(value, np.floating) else value.tolist()
    if (
        isinstance(value, Mapping)
        and depth < MAX_DEPTH
        and all(isinstance(key, str) for key in value)
    ):
        return {key: plain_value(value[key], depth + 1) for key in sorted(value)}
    if isinstance(value, list | tuple) and depth < MAX_DEPTH:
        return [plain_value(inner, depth + 1) for inner in value]
    if isinstance(value, float) and math.isfinite(value):
        return int(value) if value.is_integer() else value
    if (
        value is None
        or isinstance(value, str)
        or (isinstance(value, int) and value.bit_length() < MAX_BITS)
    ):
        return value
    raise ValueError(f"{type(value).__name__} is not JSON, or too deep or too large")


def arguments_of(call: Mapping[str, Any]) -> Any:
    """What a call gives its function: its "arguments", or "parameters" as Llama has it."""
    given = call.get("arguments")
    return call.get("parameters") if given is None else given


_FUNCTION = re.compile(r"\s*<function=([^<>\n]+)>")
_PARAMETER = re.compile(
    r"<parameter=([^<>\n]+)>\n?((?:(?!</?parameter\b).)*+)</parameter>", re.DOTALL
)


def read_function(text: str) -> dict[str, Any] | None:
    """The call in ``<function=name><parameter=key>value</parameter></function>``, ``None`` where it is none.

    Qwen3-Coder writes calls so. Values are texts, as the schema that would say more is
    not there.
    """
    head = _FUNCTION.match(text)
    if head is None:
        return None
    given = {
        found[1].strip(): found[2].removesuffix("\n")
        for found in _PARAMETER.finditer(text, head.end())
    }
    return {"name": head[1].strip(), "arguments": given}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in as_list(value) or [] if isinstance(item, Mapping)]


def _message_text(message: Mapping[str, Any], tool_calls: bool) -> str:
    text = content_text(message.get("content"))
    calls = [_call_text(call) for call in calls_of(message)] if tool_calls else []
    return "\n".join([*([text] if text or not calls else []), *calls])


def calls_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The functions a message calls, in the form of today or of 2023; what is no call is left out."""
    functions = [
        call.get("function", call) for call in _mappings(message.get("tool_calls"))
    ]
    functions.append(message.get("function_call"))
    return [
        item
        for item in functions
        if isinstance(item, Mapping) and isinstance(item.get("name"), str)
    ]


def object_or_text(text: str) -> dict[str, Any] | str:
    """The object that a text of JSON holds, or the text."""
    value = read_json(text) if text.lstrip()[:1] == "{" else None
    return value if isinstance(value, dict) else text


_TAG = re.compile(
    r"<(?=/?tool_call)", re.IGNORECASE
)  # in an argument, where it would end the call


def _call_text(call: Mapping[str, Any]) -> str:
    """A call as Hermes and Qwen write it; without its arguments where these cannot be written as JSON."""
    arguments = arguments_of(call)
    arguments = object_or_text(arguments) if isinstance(arguments, str) else arguments
    record = {"name": call["name"], "arguments": {} if arguments is None else arguments}
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps({"name": call["name"]}, ensure_ascii=False)
    text = _TAG.sub(r"\\u003c", text)
    return f"<tool_call>{text}</tool_call>"
