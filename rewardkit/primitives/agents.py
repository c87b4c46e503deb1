"""An agent's messages as turns, tool calls with their results, and a final answer.

Messages are those of OpenAI's chat form, with `tool_calls` or the old `function_call`,
or with the calls as text, ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``
(or Llama's "parameters", or what `read_function` reads), and results in tool messages
or in ``<tool_response>``. A text is one assistant turn. Nothing that stands in messages
raises, and nothing that an assistant writes can pass for a result: those come from
tool, function and user messages only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.primitives.messages import (
    arguments_of,
    as_list,
    content_text,
    object_or_text,
    plain_value,
    read_function,
    read_strict_json,
)

FailureTest = Callable[[str], bool]
"""A test of the text of a result: whether its call failed."""


@dataclass(frozen=True)
class ToolCall:
    """A call that an assistant made, and what came of it.

    `arguments` is a dict with sorted keys; of a malformed call (no name, or arguments
    that are no JSON object) it is the text that stands there instead, if any. `result`
    is ``None`` where none was seen. `failed` is then ``None`` too, but a malformed call
    has always failed. `turn` counts the assistant's turns from 0.
    """

    name: str
    arguments: Any = field(hash=False)
    result: str | None
    failed: bool | None
    turn: int

    @property
    def malformed(self) -> bool:
        """Whether no tool could be run with it."""
        return not (self.name and isinstance(self.arguments, dict))

    @property
    def key(self) -> str:
        """Name and arguments as one text: equal for two calls that ask for the same."""
        return _encode([self.name, self.arguments])


@dataclass(frozen=True)
class ToolResult:
    """The text that a tool gave back, and the id of its call.

    `is_flagged` says whether the message itself tells of a failure.
    """

    text: str
    is_flagged: bool
    id: str | None

    def has_failed(self, test: FailureTest | None = None) -> bool:
        """Whether it tells of a failure, by `test` or by itself."""
        if test is not None:
            return bool(test(self.text))
        return self.is_flagged or says_error(self.text)


@dataclass
class Turn:
    """An assistant's message and the results up to its next one."""

    message: Mapping[str, Any]
    results: list[ToolResult] = field(default_factory=list)


def read_calls(
    messages: Any, *, failed: FailureTest | None = None
) -> tuple[ToolCall, ...] | None:
    """Read the tool calls of a transcript in their order, each with its result.

    ``None`` where messages are missing: neither a list nor a text, which is one turn
    without results. A result belongs to the call of its `tool_call_id` in the turn
    before it, one without to the next unanswered call there; malformed calls are passed
    over where a turn has fewer results than calls. Text calls are read in messages
    without structured ones, outside of ``<think>``. A call failed if it is malformed or
    `failed` says so of its result's text; by default `says_error` does, or the tool
    message's own fields.

    >>> text = '<tool_call>{"name": "add", "arguments": {"b": 2, "a": 1.0}}</tool_call>'
    >>> (call,) = read_calls(text)
    >>> call.name, call.arguments, call.result, call.failed, call.turn
    ('add', {'a': 1, 'b': 2}, None, None, 0)
    """
    turns = read_turns(messages)
    if turns is None:
        return None
    calls: list[ToolCall] = []
    for number, turn in enumerate(turns[1:]):
        pending = [_read_call(entry, number) for entry in _call_entries(turn.message)]
        results = _match_results(pending, turn.results)
        for place, (_, call) in enumerate(pending):
            result = results.get(place)
            if result:
                has_failed = call.malformed or result.has_failed(failed)
                call = replace(call, result=result.text, failed=has_failed)
            elif call.malformed:
                call = replace(call, failed=True)
            calls.append(call)
    return tuple(calls)


def read_turns(messages: Any) -> list[Turn] | None:
    """Read the assistant's turns, after one for what comes before the first.

    That one has no message. ``None`` where messages are missing.
    """
    if isinstance(messages, str):
        messages = [{"role": "assistant", "content": messages}]
    transcript = as_list(messages)
    if transcript is None:
        return None
    turns = [Turn({})]
    for message in transcript:
        role = message.get("role") if isinstance(message, Mapping) else None
        if not isinstance(role, str):
            continue
        if role == "assistant":
            turns.append(Turn(message))
        elif role in ("tool", "function", "user"):
            turns[-1].results += _read_results(message, role)
    return turns


def final_answer(turns: list[Turn]) -> str | None:
    """Return the text of the last turn without reasoning and calls.

    ``None`` where no assistant speaks.
    """
    if len(turns) < 2:
        return None
    text = content_text(turns[-1].message.get("content"))
    return "\n".join(_pieces_of_kind(text, _THOUGHT_OR_CALL, "text")).strip()


# Results


def _read_results(message: Mapping[str, Any], role: str) -> Iterator[ToolResult]:
    """Read the ``<tool_response>`` blocks of a message, or else all of a tool's."""
    text = content_text(message.get("content"))
    texts = [text]
    if role == "user" or text.lstrip().startswith("<tool_response>"):
        texts = _pieces_of_kind(text, _RESPONSE, "tool_response")
        texts = [text.strip() for text in texts]
    for text in texts:
        call_id = _read_id(message.get("tool_call_id"))
        yield ToolResult(text, _reports_error(message), call_id)


_ERROR = re.compile(
    r"""[\s\[(<*\#"']*+
    (?: (?:Error|ERROR|Exception|EXCEPTION|Traceback)(?![\w-])
      | (?i:error|exception|fatal\ error)\s*+:
      | [A-Za-z_][\w.]{0,200}(?:Error|Exception)\s*+[:(] )""",
    re.VERBOSE,
)


def says_error(text: str) -> bool:
    """Whether the text of a result tells of a failure.

    It does where it is a JSON object with an "error" that is neither empty nor a
    measured float, a true "is_error", a false "success", or a "status" of error,
    failed, failure or 400 to 599; and where it begins with Error, Exception, Traceback,
    or an exception's name and a colon.

    >>> says_error("KeyError: 'city'"), says_error('{"success": false}')
    (True, True)
    >>> says_error("Errors are rare.")
    False
    """
    if not text.lstrip().startswith("{"):
        return _ERROR.match(text) is not None
    value = read_strict_json(text)
    return isinstance(value, dict) and _reports_error(value)


def _reports_error(record: Mapping[str, Any]) -> bool:
    error = record.get("error")
    status = record.get("status")
    if isinstance(error, str | int | list | Mapping) and error:
        return True
    if isinstance(status, str):
        if status.strip().lower() in ("error", "failed", "failure"):
            return True
    elif isinstance(status, int) and 400 <= status < 600:
        return True
    if record.get("is_error") is True or record.get("isError") is True:
        return True
    return record.get("success") is False


# Calls

_PendingCall = tuple[str | None, ToolCall]
"""The id of a call, and the call without its result."""


def _call_entries(message: Mapping[str, Any]) -> list[Any]:
    """Return the entries of a message's calls, or the calls in its text."""
    entries = as_list(message.get("tool_calls"))
    if entries:
        return entries
    old_entry = message.get("function_call")
    if isinstance(old_entry, Mapping):
        return [old_entry]
    text = content_text(message.get("content"))
    calls = _pieces_of_kind(text, _THOUGHT_OR_CALL, "tool_call")
    return [read_function(call) or object_or_text(call.strip()) for call in calls]


def _read_call(entry: Any, turn: int) -> _PendingCall:
    """Read a call from an entry or from the text between the tags."""
    if not isinstance(entry, Mapping):
        text = entry if isinstance(entry, str) else None
        return None, ToolCall("", text, None, None, turn)
    function = entry.get("function")
    if not isinstance(function, Mapping):
        function = entry
    name = function.get("name")
    name = name.strip() if isinstance(name, str) else ""
    arguments = _read_arguments(arguments_of(function))
    return _read_id(entry.get("id")), ToolCall(name, arguments, None, None, turn)


def _read_arguments(arguments: Any) -> Any:
    """Return a dict of plain values, {} for none; the text of what is no object."""
    text = arguments if isinstance(arguments, str) else None
    if arguments is None or (text is not None and not text.strip()):
        return {}
    value = arguments if text is None else object_or_text(text)
    if not isinstance(value, Mapping):
        return text
    try:
        return plain_value(value)
    except ValueError:
        return text


_encode = json.JSONEncoder(sort_keys=True).encode


def _match_results(
    calls: list[_PendingCall], results: list[ToolResult]
) -> dict[int, ToolResult]:
    """Return the results of a turn by the places of the calls that they answer."""
    matched: dict[int, ToolResult] = {}
    waiting = {place: call_id for place, (call_id, _) in enumerate(calls)}
    others: list[ToolResult] = []
    for result in results:
        places = [place for place in waiting if waiting[place] == result.id]
        if result.id is None or not places:
            others.append(result)
        else:
            matched[places[0]] = result
            del waiting[places[0]]
    takers = list(waiting)
    if any(result.id is not None for result in others):
        # A result with another id is not that of a call with one.
        takers = [place for place in takers if waiting[place] is None]
    if len(others) < len(takers):
        takers = [place for place in takers if not calls[place][1].malformed]
    return matched | dict(zip(takers, others, strict=False))


def _read_id(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and value != "" else None


# Text

_THOUGHT_OR_CALL = re.compile(r"<(/?)(think|tool_call)>")
_RESPONSE = re.compile(r"<(/?)(tool_response)>")


def _pieces_of_kind(text: str, tags: re.Pattern[str], wanted: str) -> list[str]:
    """Return the pieces of a text in the tag `wanted`, or in no tag ("text").

    A tag ends where it is closed or opened again, or with the text; other tags in it
    are part of it. What stands before a ``</think>`` that nothing opened is thought,
    too: the template gave its beginning.
    """
    pieces: list[tuple[str, str]] = []
    kind = "text"
    start = 0
    for tag in tags.finditer(text):
        is_closing = bool(tag[1])
        if kind == "text" and tag[0] == "</think>":
            pieces = []
            start = tag.end()
        elif kind == tag[2] or (kind == "text" and not is_closing):
            pieces.append((kind, text[start : tag.start()]))
            kind = "text" if is_closing else tag[2]
            start = tag.end()
    pieces.append((kind, text[start:]))
    return [piece for kind, piece in pieces if kind == wanted]
