"""What the assistant wrote in a transcript, as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from rewardkit.primitives.factories import one_of

__all__ = ["assistant_text"]


def assistant_text(
    messages: Sequence[Any] | str | None,
    *,
    turns: Literal["last", "all"] = "last",
    tool_calls: bool = False,
) -> str | None:
    """Text of the last assistant message of a transcript (`messages` in OpenAI's form), or of ``"all"``.

    Messages are joined by an empty line, content in parts by line breaks; parts that are no text are left
    out. With ``tool_calls=True`` the calls of a message follow its text as ``<tool_call>{...}</tool_call>``,
    one a line, where `tool_call` finds them. A string is returned as it is; ``None`` where no assistant
    speaks. ValueError: `turns` is unknown.

    >>> assistant_text([{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}])
    '4'
    >>> call = {"type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
    >>> assistant_text([{"role": "assistant", "content": None, "tool_calls": [call]}], tool_calls=True)
    '<tool_call>{"name": "add", "arguments": {"a": 2}}</tool_call>'
    """
    one_of("turns", turns, ("last", "all"))
    if isinstance(messages, str):
        return messages
    spoken = [item for item in _mappings(messages) if item.get("role") == "assistant"]
    if not spoken:
        return None
    texts = [_message_text(message, tool_calls) for message in (spoken if turns == "all" else spoken[-1:])]
    return "\n\n".join(text for text in texts if text)


def _items(value: Any) -> list[Any]:
    """The items of a list, a tuple or an array; of nothing else."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else []


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in _items(value) if isinstance(item, Mapping)]


def _message_text(message: Mapping[str, Any], tool_calls: bool) -> str:
    text = _content_text(message.get("content"))
    calls = [_call_text(call) for call in _calls(message)] if tool_calls else []
    return "\n".join([*([text] if text or not calls else []), *calls])


def _content_text(content: Any) -> str:
    """Text of a message's content: a string, or the text parts of a list of parts, one a line."""
    if isinstance(content, str):
        return content
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in _items(content)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The functions a message calls, in the form of today or of 2023; what is no call is left out."""
    functions = [call.get("function", call) for call in _mappings(message.get("tool_calls"))]
    functions.append(message.get("function_call"))
    return [item for item in functions if isinstance(item, Mapping) and isinstance(item.get("name"), str)]


def _call_text(call: Mapping[str, Any]) -> str:
    """A call as Hermes and Qwen write it; without its arguments where these cannot be written as JSON."""
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        try:
            read = json.loads(arguments)
        except (ValueError, RecursionError):
            read = None
        arguments = read if isinstance(read, dict) else arguments
    record = {"name": call["name"]}
    try:
        text = json.dumps({**record, "arguments": {} if arguments is None else arguments}, **_PLAIN)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(record, ensure_ascii=False)
    return f"<tool_call>{_TAG.sub(_ESCAPED, text)}</tool_call>"


_PLAIN: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False}
_TAG = re.compile(r"<(?=/?tool_call)", re.IGNORECASE)  # in an argument, where it would end the call
_ESCAPED = r"\\u003c"
