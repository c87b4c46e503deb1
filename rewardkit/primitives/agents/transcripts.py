"""The messages of an agent's rollout as turns, tool calls with their results, and a final answer.

Messages are those of OpenAI's chat form, with `tool_calls` or the old `function_call`, or with the calls as
text, ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>`` (or Llama's "parameters", or what
`read_function` reads), and results in tool messages or in ``<tool_response>``. A text is one assistant turn.
Nothing that stands in messages raises, and nothing that an assistant writes can pass for a result: those come
from tool, function and user messages only.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.primitives.json_text import read_json
from rewardkit.primitives.messages import arguments_of, as_list, content_text, plain_value, read_function

__all__ = ["Failed", "ToolCall", "Turn", "final_answer", "read_calls", "read_turns", "says_error"]

Failed = Callable[[str], bool]
"""What says of the text of a result whether its call failed."""


@dataclass(frozen=True)
class ToolCall:
    """A call that an assistant made, and what came of it.

    `arguments` is a dict with sorted keys; of a malformed call (no name, or arguments that are no JSON
    object) it is the text that stands there instead, if any. `result` is ``None`` where none was seen.
    `failed` is then ``None`` too, but a malformed call has always failed. `turn` counts the assistant's turns
    from 0.
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
class Result:
    """What a tool gave back: its text, whether the message itself says that it failed, the id of its call."""

    text: str
    flagged: bool
    id: str | None

    def failed(self, failed: Failed | None = None) -> bool:
        """Whether it tells of a failure, by `failed` or by itself."""
        return bool(failed(self.text)) if failed else self.flagged or says_error(self.text)


@dataclass
class Turn:
    """An assistant's message and the results up to its next one."""

    message: Mapping[str, Any]
    results: list[Result] = field(default_factory=list)


@dataclass
class _Call:
    """A call whose result is still looked for."""

    call: ToolCall
    id: str | None
    result: Result | None = None

    def finished(self, failed: Failed | None) -> ToolCall:
        result = self.result
        bad = self.call.malformed or (result.failed(failed) if result else None)
        return replace(self.call, result=result.text if result else None, failed=bad)


def read_calls(messages: Any, *, failed: Failed | None = None) -> tuple[ToolCall, ...] | None:
    """The tool calls of a transcript in their order, each with its result.

    ``None`` where messages are missing: neither a list nor a text, which is one turn without results. A
    result belongs to the call of its `tool_call_id`, one without to the next unanswered call of its turn;
    malformed calls are passed over where a turn has fewer results than calls. Text calls are read in messages
    without structured ones, outside of ``<think>``, and in there only where more results came back than that
    explains. A call failed if it is malformed or `failed` says so of its result's text; by default
    `says_error` does, or the tool message's own fields.

    >>> read_calls('<tool_call>{"name": "add", "arguments": {"b": 2, "a": 1.0}}</tool_call>')
    (ToolCall(name='add', arguments={'a': 1, 'b': 2}, result=None, failed=None, turn=0),)
    """
    turns = read_turns(messages)
    if turns is None:
        return None
    calls: list[_Call] = []
    waiting: dict[str, deque[_Call]] = {}  # by id, of the latest turn that has it
    for number, turn in enumerate(turns[1:]):
        made = [_call(entry, number) for entry in _entries(turn)]
        named: dict[str, deque[_Call]] = {}
        for call in made:
            if call.id is not None:
                named.setdefault(call.id, deque()).append(call)
        waiting |= named
        _answer(made, turn.results, waiting)
        calls += made
    return tuple(call.finished(failed) for call in calls)


def read_turns(messages: Any) -> list[Turn] | None:
    """The assistant's turns, after one without a message for what comes before the first.

    ``None`` where messages are missing.
    """
    listed = [{"role": "assistant", "content": messages}] if isinstance(messages, str) else as_list(messages)
    if listed is None:
        return None
    turns = [Turn({})]
    for message in listed:
        role = message.get("role") if isinstance(message, Mapping) else None
        if not isinstance(role, str):
            continue
        if role == "assistant":
            turns.append(Turn(message))
        elif role in ("tool", "function", "user"):
            turns[-1].results += _results(message, role)
    return turns


def final_answer(turns: list[Turn]) -> str | None:
    """What is said in the last turn, without reasoning and calls; ``None`` where no assistant speaks."""
    if len(turns) < 2:
        return None
    text = content_text(turns[-1].message.get("content"))
    said = (piece for kind, piece in _segments(text, _MARKS, _opening(text)) if kind == "text")
    return "\n".join(said).strip()


# Results


def _results(message: Mapping[str, Any], role: str) -> Iterator[Result]:
    """The results in a message: its ``<tool_response>`` blocks; else, but for a user's, all its text."""
    text = content_text(message.get("content"))
    texts = [text]
    if role == "user" or text.lstrip().startswith("<tool_response>"):
        texts = [inner.strip() for kind, inner in _segments(text, _RESPONSES) if kind != "text"]
    result_id = _id(message.get("tool_call_id"))
    if result_id is not None and texts:
        texts = ["\n".join(texts)]
    for text in texts:
        yield Result(text, _reports_error(message), result_id)


_ERROR = re.compile(
    r"""[\s\[(<*\#"']*+
    (?: (?:Error|ERROR|Exception|EXCEPTION|Traceback)(?![\w-])
      | (?i:error|exception|fatal\ error)\s*+:
      | [A-Za-z_][\w.]{0,200}(?:Error|Exception)\s*+[:(] )""",
    re.VERBOSE,
)


def says_error(text: str) -> bool:
    """Whether the text of a result tells of a failure.

    It does where it is a JSON object with an "error" that is neither empty nor a measured float, a true
    "is_error", a false "success", or a "status" of error, failed, failure or 400 to 599; and where it begins
    with Error, Exception, Traceback, or an exception's name and a colon.

    >>> says_error("KeyError: 'city'"), says_error('{"success": false}'), says_error("Errors are rare.")
    (True, True, False)
    """
    if text.lstrip()[:1] != "{":
        return _ERROR.match(text) is not None
    value = read_json(text)
    return isinstance(value, dict) and _reports_error(value)


def _reports_error(record: Mapping[str, Any]) -> bool:
    error, status = record.get("error"), record.get("status")
    if isinstance(status, str):
        bad = status.strip().lower() in ("error", "failed", "failure")
    else:
        bad = isinstance(status, int) and 400 <= status < 600
    return (
        bad
        or (isinstance(error, str | int | list | Mapping) and bool(error))
        or record.get("is_error") is True
        or record.get("isError") is True
        or record.get("success") is False
    )


# Calls


def _entries(turn: Turn) -> list[Any]:
    """What the calls of a turn are written as: entries of its message, else what stands in its text."""
    structured = as_list(turn.message.get("tool_calls"))
    if structured:
        return structured
    old = turn.message.get("function_call")
    if isinstance(old, Mapping):
        return [old]
    text = content_text(turn.message.get("content"))
    if "<tool_call>" not in text:
        return []
    outside = [inner for kind, inner in _segments(text, _MARKS, _opening(text)) if kind == "tool_call"]
    if len(turn.results) > len(outside):  # then calls in the reasoning were run as well
        outside = [inner for kind, inner in _segments(text, _CALLS) if kind == "tool_call"]
    return [read_function(inner) or _object_or_text(inner.strip()) for inner in outside]


def _call(entry: Any, turn: int) -> _Call:
    """A call from a structured entry or from what stands between the tags."""
    if not isinstance(entry, Mapping):
        return _Call(ToolCall("", entry if isinstance(entry, str) else None, None, None, turn), None)
    function = entry.get("function")
    inner = function if isinstance(function, Mapping) else entry
    name, arguments = inner.get("name"), _arguments(arguments_of(inner))
    name = name.strip() if isinstance(name, str) else ""
    return _Call(ToolCall(name, arguments, None, None, turn), _id(entry.get("id")))


def _arguments(given: Any) -> Any:
    """Arguments as a dict of plain values, {} where there are none; the text of what is no JSON object."""
    text = given if isinstance(given, str) else None
    if given is None or (text is not None and not text.strip()):
        return {}
    value = given if text is None else _object_or_text(text)
    try:
        return plain_value(value) if isinstance(value, Mapping) else text
    except ValueError:
        return text


_encode = json.JSONEncoder(sort_keys=True).encode


def _object_or_text(text: str) -> dict[str, Any] | str:
    """The object that a text of JSON holds, or the text."""
    value = read_json(text) if text.lstrip()[:1] == "{" else None
    return value if isinstance(value, dict) else text


def _answer(calls: list[_Call], results: list[Result], waiting: dict[str, deque[_Call]]) -> None:
    """Give the results of one turn to the calls that they answer."""
    rest = []
    for result in results:
        same = waiting.get(result.id) if result.id is not None else None
        if same:
            same.popleft().result = result
        else:
            rest.append(result)
    named = any(result.id is not None for result in rest)  # a result of another id is not theirs
    takers = [call for call in calls if call.result is None and not (named and call.id is not None)]
    if len(rest) < len(takers):
        takers = [call for call in takers if not call.call.malformed]
    for call, result in zip(takers, rest, strict=False):
        call.result = result


def _id(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and value != "" else None


# Text

_MARKS = re.compile(r"<(/?)(think|tool_call)>")
_CALLS = re.compile(r"<(/?)(tool_call)>")
_RESPONSES = re.compile(r"<(/?)(tool_response)>")
_THINK = re.compile(r"<(/?)think>")


def _segments(text: str, marks: re.Pattern[str], kind: str = "text") -> Iterator[tuple[str, str]]:
    """The text in pieces, each with the tag it stands in or "text"; it starts in `kind`.

    A tag ends where it is closed or opened again, or with the text; other tags in it are part of it.
    """
    start = 0
    for mark in marks.finditer(text):
        closes = bool(mark[1])
        if (kind == "text" and closes) or kind not in ("text", mark[2]):
            continue
        yield kind, text[start : mark.start()]
        kind, start = "text" if closes else mark[2], mark.end()
    yield kind, text[start:]


def _opening(text: str) -> str:
    """What a turn begins in: reasoning, where the template gave ``<think>`` and only its end is written.

    Not in a call: there it is an argument.
    """
    if "</think>" in text:
        for _, piece in _segments(text, _CALLS):
            first = _THINK.search(piece)
            if first and isinstance(_object_or_text(piece.strip()), str):
                return "think" if first[1] else "text"
    return "text"
