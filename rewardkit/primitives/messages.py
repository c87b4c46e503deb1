"""Read the text and the tool calls of messages in OpenAI's form, and strict JSON.

No content of messages raises an error.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from rewardkit.primitives.primitive import one_of, true_or_false

DEEPEST_ARGUMENTS = 100
"""Nesting from which a call counts as malformed. Our choice: schemas end at a few."""

MOST_BITS = 4096
"""Bits of an integer in arguments. Our choice: Python refuses to print many more."""

NO_JSON = object()
"""Stands for the value of a text that is not JSON."""


def read_strict_json(text: str, **numbers: Any) -> Any:
    """Parse strict JSON (no NaN, no single quotes), or return `NO_JSON`.

    `numbers` are the options `parse_int` and `parse_float` of `json.loads`.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant, **numbers)
    except (ValueError, RecursionError):
        return NO_JSON


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_ANY_BRACKET = re.compile(r"[\[\]{}]")


def bracket_depth(text: str) -> int:
    """Return the greatest depth of nested square and curly brackets in a text."""
    depth = deepest = 0
    for bracket in _ANY_BRACKET.findall(text):
        depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def assistant_text(
    messages: Sequence[Any] | str | None,
    *,
    turns: Literal["last", "all"] = "last",
    tool_calls: bool = False,
) -> str | None:
    """Return the text of the assistant's messages in a transcript.

    Messages are joined by an empty line, the text parts of one message by line breaks;
    other parts are left out.

    Args:
        messages: A transcript in OpenAI's form; a string is returned unchanged.
        turns: The "last" assistant message, or "all" of them.
        tool_calls: Whether to append the calls of a message to its text, one a line, as
            ``<tool_call>{...}</tool_call>``, the form that `tool_call` extracts.

    Returns:
        The text, or ``None`` if there is no assistant message.

    Raises:
        ValueError: `turns` is unknown, or `tool_calls` is not a bool.

    >>> question = {"role": "user", "content": "2+2?"}
    >>> assistant_text([question, {"role": "assistant", "content": "4"}])
    '4'
    >>> function = {"name": "add", "arguments": '{"a": 2}'}
    >>> call = {"type": "function", "function": function}
    >>> message = {"role": "assistant", "content": None, "tool_calls": [call]}
    >>> assistant_text([message], tool_calls=True)
    '<tool_call>{"name": "add", "arguments": {"a": 2}}</tool_call>'
    """
    one_of("turns", turns, ("last", "all"))
    true_or_false(tool_calls=tool_calls)
    if isinstance(messages, str):
        return messages
    spoken = [turn for turn in _mappings(messages) if turn.get("role") == "assistant"]
    if not spoken:
        return None
    if turns == "last":
        spoken = spoken[-1:]
    texts = [_message_text(message, tool_calls) for message in spoken]
    return "\n\n".join(filter(None, texts))


def opening_turns(messages: Any) -> list[Mapping[str, Any]]:
    """Return the messages of a transcript before the assistant's first one, if any.

    >>> question, answer = {"role": "user"}, {"role": "assistant"}
    >>> opening_turns([question, answer, question])
    [{'role': 'user'}]
    """
    turns = _mappings(messages)
    roles = [turn.get("role") for turn in turns]
    return turns[: [*roles, "assistant"].index("assistant")]


def turns_before(messages: Any) -> str:
    """Describe the messages before the last assistant message of a transcript.

    >>> call = {"role": "assistant", "tool_calls": [{"function": {"name": "price"}}]}
    >>> answer = {"role": "assistant", "content": "7"}
    >>> turns_before([{"role": "user"}, *[call, {"role": "tool"}] * 6, answer])
    'after user, assistant calls price x6, tool x6: '
    """
    turns = _mappings(messages)
    while turns and turns[-1].get("role") != "assistant":
        turns.pop()
    counts: Counter[str] = Counter()
    for turn in turns[:-1]:
        role = str(turn.get("role"))
        calls = [f"{role} calls {call['name']}" for call in calls_of(turn)]
        counts.update(calls or [role])
    phrases = []
    for phrase, count in counts.items():
        if count > 1:
            phrase += f" x{count}"
        phrases.append(phrase)
    return f"after {', '.join(phrases)}: " if phrases else ""


def as_list(value: Any) -> list[Any] | None:
    """Return the items of a list, tuple or array (a list in a table), else None."""
    items = value.tolist() if isinstance(value, np.ndarray) else value
    return list(items) if isinstance(items, list | tuple) else None


def content_text(content: Any) -> str:
    """Return the content of a message as text: parts one a line, an object as JSON."""
    if isinstance(content, str):
        return content
    parts = as_list(content) or []
    if isinstance(content, Mapping):
        has_text = isinstance(content.get("text"), str)
        if not has_text or not set(content) <= {"type", "text"}:
            try:
                return json.dumps(plain_value(content), ensure_ascii=False)
            except ValueError:
                return ""
        parts = [content]
    texts = []
    for part in parts:
        if isinstance(part, Mapping):
            part = part.get("text")
        if isinstance(part, str):
            texts.append(part)
    return "\n".join(texts)


def prompt_text(prompt: Any) -> str:
    """Return a prompt as text: for chat messages, the content of the last one."""
    if isinstance(prompt, Sequence) and not isinstance(prompt, str) and prompt:
        last = prompt[-1]
        content = last.get("content") if isinstance(last, dict) else last
        return content if isinstance(content, str) else content_text(content)
    return "" if prompt is None else str(prompt)


def plain_value(value: Any, depth: int = 0) -> Any:
    """Convert a value to JSON types, with sorted keys and whole floats as ints.

    Raises:
        ValueError: JSON cannot hold `value`, or it is too deep or too large.
    """
    if isinstance(value, np.floating):
        value = float(str(value))
    elif isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if depth < DEEPEST_ARGUMENTS:
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {key: plain_value(value[key], depth + 1) for key in sorted(value)}
        if isinstance(value, list | tuple):
            return [plain_value(inner, depth + 1) for inner in value]
    if isinstance(value, float) and math.isfinite(value):
        return int(value) if value.is_integer() else value
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and value.bit_length() < MOST_BITS:
        return value
    raise ValueError(f"{type(value).__name__} is not JSON, or too deep or too large")


def arguments_of(call: Mapping[str, Any]) -> Any:
    """Return the "arguments" of a call, or Llama's "parameters"."""
    arguments = call.get("arguments")
    return call.get("parameters") if arguments is None else arguments


_FUNCTION = re.compile(r"\s*<function=([^<>\n]+)>")
_PARAMETER = re.compile(
    r"<parameter=([^<>\n]+)>\n?((?:(?!</?parameter\b).)*+)</parameter>", re.DOTALL
)


def read_function(text: str) -> dict[str, Any] | None:
    """Read ``<function=name><parameter=key>value</parameter></function>`` as a call.

    This is the form of Qwen3-Coder. Values stay texts, as the schema with their types
    is not at hand. Returns ``None`` if the text is no such call.
    """
    head = _FUNCTION.match(text)
    if head is None:
        return None
    arguments = {}
    for parameter in _PARAMETER.finditer(text, head.end()):
        arguments[parameter[1].strip()] = parameter[2].removesuffix("\n")
    return {"name": head[1].strip(), "arguments": arguments}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in as_list(value) or () if isinstance(entry, Mapping)]


def _message_text(message: Mapping[str, Any], tool_calls: bool) -> str:
    text = content_text(message.get("content"))
    if not tool_calls:
        return text
    calls = [_format_call(call) for call in calls_of(message)]
    if text or not calls:
        calls.insert(0, text)
    return "\n".join(calls)


def calls_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the functions called in `tool_calls` and in the older `function_call`."""
    entries = _mappings(message.get("tool_calls"))
    functions = [entry.get("function", entry) for entry in entries]
    functions.append(message.get("function_call"))
    calls = _mappings(functions)
    return [call for call in calls if isinstance(call.get("name"), str)]


def object_or_text(text: str) -> dict[str, Any] | str:
    """Parse a text that is a JSON object; return any other text unchanged."""
    if not text.lstrip().startswith("{"):
        return text
    value = read_strict_json(text)
    return value if isinstance(value, dict) else text


# Inside an argument, such a tag would end the call.
_CALL_TAG = re.compile(r"<(?=/?tool_call)", re.IGNORECASE)


def _format_call(call: Mapping[str, Any]) -> str:
    """Write a call as Hermes and Qwen do, without arguments that JSON cannot hold."""
    arguments = arguments_of(call)
    if isinstance(arguments, str):
        arguments = object_or_text(arguments)
    if arguments is None:
        arguments = {}
    record = {"name": call["name"], "arguments": arguments}
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps({"name": call["name"]}, ensure_ascii=False)
    text = _CALL_TAG.sub(r"\\u003c", text)
    return f"<tool_call>{text}</tool_call>"
