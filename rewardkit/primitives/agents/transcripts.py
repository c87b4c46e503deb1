"""The messages of an agent's rollout as turns, tool calls with their results, and a final answer.

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

from rewardkit.primitives.messages import read_strict_json
from rewardkit.primitives.messages import (
    arguments_of,
    as_list,
    content_text,
    object_or_text,
    plain_value,
    read_function,
)

Failed = Callable[[str], bool]
"""What says of the text of a result whether its call failed."""


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
class Result:
    """What a tool gave back: its text, whether the message itself says that it failed, the id of its call."""

    text: str
    flagged: bool
    id: str | None

    def failed(self, failed: Failed | None = None) -> bool:
        """Whether it tells of a failure, by `failed` or by itself."""
        return (
            bool(failed(self.text)) if failed else self.flagged or says_error(self.text)
        )


@dataclass
class Turn:
    """An assistant's message and the results up to its next one."""

    message: Mapping[str, Any]
    results: list[Result] = field(default_factory=list)


def read_calls(
    messages: Any, *, failed: Failed | None = None
) -> tuple[ToolCall, ...] | None:
    """The tool calls of a transcript in their order, each with its result.

    ``None`` where messages are missing: neither a list nor a text, which is one turn
    without results. A result belongs to the call of its `tool_call_id` in the turn
    before it, one without to the next unanswered call there; malformed calls are passed
    over where a turn has fewer results than calls. Text calls are read in messages
    without structured ones, outside of ``<think>``. A call failed if it is malformed or
    `failed` says so of its result's text; by default `says_error` does, or the tool
    message's own fields.

    >>> read_calls('<tool_call>{"name": "add", "arguments": {"b": 2, "a": 1.0}}</tool_call>')
    (ToolCall(name='add', arguments={'a': 1, 'b': 2}, result=None, failed=None, turn=0),)
    """
    turns = read_turns(messages)
    if turns is None:
        return None
    calls: list[ToolCall] = []
    for number, turn in enumerate(turns[1:]):
        made = [_call(entry, number) for entry in _entries(turn.message)]
        answers = _answers(made, turn.results)
        for at, (_, call) in enumerate(made):
            result = answers.get(at)
            bad = call.malformed or (result.failed(failed) if result else None)
            calls.append(
                replace(call, result=result.text if result else None, failed=bad)
            )
    return tuple(calls)


def read_turns(messages: Any) -> list[Turn] | None:
    """The assistant's turns, after one without a message for what comes before the first.

    ``None`` where messages are missing.
    """
    listed = (
        [{"role": "assistant", "content": messages}]
        if isinstance(messages, str)
        else as_list(messages)
    )
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
    return "\n".join(
        piece for kind, piece in _segments(text, _MARKS) if kind == "text"
    ).strip()


# Results


def _results(message: Mapping[str, Any], role: str) -> Iterator[Result]:
    """The results in a message: its ``<tool_response>`` blocks; else, but for a user's, all its text."""
    text = content_text(message.get("content"))
    texts = [text]
    if role == "user" or text.lstrip().startswith("<tool_response>"):
        texts = [
            inner.strip()
            for kind, inner in _segments(text, _RESPONSES)
            if kind != "text"
        ]
    for text in texts:
        yield Result(text, _reports_error(message), _id(message.get("tool_call_id")))


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

    >>> says_error("KeyError: 'city'"), says_error('{"success": false}'), says_error("Errors are rare.")
    (True, True, False)
    """
    if text.lstrip()[:1] != "{":
        return _ERROR.match(text) is not None
    value = read_strict_json(text)
    return isinstance(value, dict) and _reports_error(value)


def _reports_error(record: Mapping[str, Any]) -> bool:
    error, status = record.get("error"), record.get("status")
    return (
        (
            isinstance(status, str)
            and status.strip().lower() in ("error", "failed", "failure")
        )
        or (isinstance(status, int) and 400 <= status < 600)
        or (isinstance(error, str | int | list | Mapping) and bool(error))
        or record.get("is_error") is True
        or record.get("isError") is True
        or record.get("success") is False
    )


# Calls

_Made = tuple[str | None, ToolCall]
"""A call whose result is still looked for, with its id."""


def _entries(message: Mapping[str, Any]) -> list[Any]:
    """What the calls of a message are written as: entries in it, else what stands in its text."""
    structured, old = as_list(message.get("tool_calls")), message.get("function_call")
    if structured or isinstance(old, Mapping):
        return structured or [old]
    pieces = _segments(content_text(message.get("content")), _MARKS)
    written = [inner for kind, inner in pieces if kind == "tool_call"]
    return [read_function(inner) or object_or_text(inner.strip()) for inner in written]


def _call(entry: Any, turn: int) -> _Made:
    """A call from a structured entry or from what stands between the tags."""
    if not isinstance(entry, Mapping):
        return None, ToolCall(
            "", entry if isinstance(entry, str) else None, None, None, turn
        )
    function = entry.get("function")
    inner = function if isinstance(function, Mapping) else entry
    name = inner.get("name")
    name = name.strip() if isinstance(name, str) else ""
    return _id(entry.get("id")), ToolCall(
        name, _arguments(arguments_of(inner)), None, None, turn
    )


def _arguments(given: Any) -> Any:
    """Arguments as a dict of plain values, {} where there are none; the text of what is no JSON object."""
    text = given if isinstance(given, str) else None
    if given is None or (text is not None and not text.strip()):
        return {}
    value = given if text is None else object_or_text(text)
    try:
        return plain_value(value) if isinstance(value, Mapping) else text
    except ValueError:
        return text


_encode = json.JSONEncoder(sort_keys=True).encode


def _answers(made: list[_Made], results: list[Result]) -> dict[int, Result]:
    """The results of a turn by the positions of the calls that they answer."""
    answers: dict[int, Result] = {}
    waiting = {at: call_id for at, (call_id, _) in enumerate(made)}
    rest = []
    for result in results:
        same = next(
            (
                at
                for at in waiting
                if result.id is not None and waiting[at] == result.id
            ),
            None,
        )
        if same is None:
            rest.append(result)
        else:
            answers[same] = result
            del waiting[same]
    if any(
        result.id is not None for result in rest
    ):  # a result of another id is not theirs
        waiting = {at: call_id for at, call_id in waiting.items() if call_id is None}
    takers = [
        at for at in waiting if len(rest) >= len(waiting) or not made[at][1].malformed
    ]
    return answers | dict(zip(takers, rest, strict=False))


def _id(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and value != "" else None


# Text

_MARKS = re.compile(r"<(/?)(think|tool_call)>")
_RESPONSES = re.compile(r"<(/?)(tool_response)>")


def _segments(text: str, marks: re.Pattern[str]) -> list[tuple[str, str]]:
    """The text in pieces, each with the tag it stands in or "text".

    A tag ends where it is closed or opened again, or with the text; other tags in it
    are part of it. What stands before a ``</think>`` that nothing opened is thought,
    too: the template gave its beginning.
    """
    pieces: list[tuple[str, str]] = []
    kind, start = "text", 0
    for mark in marks.finditer(text):
        closes = bool(mark[1])
        if kind == "text" and mark[0] == "</think>":
            pieces, start = [], mark.end()
        elif kind == mark[2] or (kind == "text" and not closes):
            pieces.append((kind, text[start : mark.start()]))
            kind, start = "text" if closes else mark[2], mark.end()
    return [*pieces, (kind, text[start:])]
