"""Read an agent's messages as turns, tool calls with results, and a final answer.

Messages have OpenAI's chat form. Calls are in `tool_calls` or the old `function_call`,
or in the text as ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>`` (or with
Llama's "parameters", or in the form that `read_function` reads). Results are in tool
messages or in ``<tool_response>``. A text is one assistant turn. No content of messages
raises an error. An assistant cannot forge a result, as results come from tool, function
and user messages only.
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
"""A predicate on the text of a result: True if its call failed."""


@dataclass(frozen=True)
class ToolCall:
    """A tool call by an assistant, with its result.

    `arguments` is a dict with sorted keys. A malformed call has no name, or arguments
    that are no JSON object: then `arguments` is their text or ``None``. `result` is
    ``None`` if the transcript has none. `failed` is then ``None`` too, except that a
    malformed call has always failed. `turn` counts the assistant's turns from 0.
    """

    name: str
    arguments: Any = field(hash=False)
    result: str | None
    failed: bool | None
    turn: int

    @property
    def malformed(self) -> bool:
        """Return whether the call lacks what a tool needs to run."""
        return not (self.name and isinstance(self.arguments, dict))

    @property
    def key(self) -> str:
        """Return name and arguments as one text, equal for identical calls."""
        return _encode([self.name, self.arguments])


@dataclass(frozen=True)
class ToolResult:
    """The text that a tool returned, with the id of its call.

    `is_flagged` says whether fields of the message report a failure.
    """

    text: str
    is_flagged: bool
    id: str | None

    def has_failed(self, test: FailureTest | None = None) -> bool:
        """Return whether the result reports a failure, by `test` or by default."""
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
    """Read the tool calls of a transcript in order, each with its result.

    Returns ``None`` if `messages` is neither a list nor a text (one turn without
    results). A result belongs to the call with its `tool_call_id` in the turn before
    it; without an id, to the next unanswered call there. If a turn has fewer results
    than calls, malformed calls get none. Calls in text are read only in messages
    without structured calls, and outside of ``<think>``. A call failed if it is
    malformed or if `failed` says so of the text of its result. The default for `failed`
    is `says_error` and the fields of the tool message.

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
    """Read the turns of a transcript: an opening one, then one per assistant message.

    The opening turn has no message; it holds results before the first assistant
    message. Returns ``None`` if `messages` is neither a list nor a text.
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

    Returns ``None`` if there is no assistant message.
    """
    if len(turns) < 2:
        return None
    text = content_text(turns[-1].message.get("content"))
    return "\n".join(_pieces_of_kind(text, _THOUGHT_OR_CALL, "text")).strip()


# Results


def _read_results(message: Mapping[str, Any], role: str) -> Iterator[ToolResult]:
    """Yield each ``<tool_response>`` of a message, or the whole of a tool's message."""
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
    """Return whether the text of a result reports a failure.

    It does if it is a JSON object with an "error" that is neither empty nor a float (a
    measurement), a true "is_error", a false "success", or a "status" of error, failed,
    failure or 400 to 599. It also does if it begins with Error, Exception, Traceback,
    or the name of an exception and a colon.

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
    """Return the structured calls of a message, or else the calls in its text."""
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
    """Read a call from a structured entry, or from the text between call tags."""
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
    """Return arguments as a dict of plain values ({} if absent), or else their text."""
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
    """Assign the results of a turn to its calls: place of the call -> result."""
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
        # A result with an unknown id cannot answer a call that has an id.
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
    """Return the pieces of a text inside the tag `wanted`, or outside all ("text").

    A tag ends where it is closed or opened again, or with the text; other tags inside
    are part of its content. Text before an unopened ``</think>`` is reasoning too, as
    the chat template wrote the opening tag.
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
