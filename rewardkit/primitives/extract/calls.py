"""Extraction of the tool calls that a completion writes as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.primitives.extract.extractor import WHICH, Extractor, Span, Which
from rewardkit.primitives.extract.structured import Path, as_keys, as_path, at_path, read_json
from rewardkit.primitives.extract.tagged import Tag
from rewardkit.primitives.factories import one_of
from rewardkit.primitives.messages import arguments_of, read_function

__all__ = ["tool_call"]

_TAG = Tag("tool_call")


@dataclass(frozen=True, repr=False)
class ToolCall(Extractor):
    name: str | None = field(default=None, metadata={"positional": True})
    path: Path = None
    which: Which = "last"

    def __post_init__(self) -> None:
        if self.name is not None and (not isinstance(self.name, str) or not self.name):
            raise ValueError(
                f"name={self.name!r} is not the name of a tool; leave it out for calls of any tool"
            )
        as_keys(self.path)
        one_of("which", self.which, WHICH)

    def occurrences(self, completion: str) -> list[Span]:
        return [span for span in _TAG.occurrences(completion) if self._is_wanted(completion[slice(*span)])]

    def _is_wanted(self, text: str) -> bool:
        call = read_json(text) or read_function(text)
        name = call.get("name") if isinstance(call, dict) else None
        return isinstance(name, str) and self.name in (None, name)

    def text_at(self, completion: str, span: Span) -> str | None:
        text = completion[slice(*span)]
        if self.path is None:
            return text
        return at_path(_with_arguments(read_json(text) or read_function(text)), as_keys(self.path))


def _with_arguments(call: Any) -> Any:
    """The call with its arguments under that name, as an object where it has them as a text of JSON."""
    arguments = arguments_of(call)
    read = read_json(arguments) if isinstance(arguments, str) else None
    return call if arguments is None else {**call, "arguments": arguments if read is None else read}


def tool_call(
    name: str | None = None, path: str | int | Sequence[str | int] | None = None, *, which: Which = "last"
) -> ToolCall:
    """JSON of a call in ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``, or the value at `path`.

    By default of the last call, or of the last one of the tool called `name`. Each call has its own tag: two
    in one tag, one a line or as a list, and one in a code fence are none (a limit of ours). What is no strict
    JSON object with a name is no call, but for ``<function=name><parameter=key>...``, as Qwen3-Coder writes
    them. `path` as in `json_value`, such as "arguments.city", also where they are called "parameters" or are
    a text of JSON. ValueError: `name` is empty, the path has an empty key, or `which` is unknown.

    >>> text = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
    >>> tool_call("weather", "arguments.city")(text), tool_call("search")(text) is None
    ('Oslo', True)
    """
    return ToolCall(name, as_path(path), which)
