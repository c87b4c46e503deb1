"""Extraction of what has a structure of its own: fenced code, JSON, the messages of a transcript."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.primitives.extractor import Extractor, Span, Which, trim
from rewardkit.primitives.factories import one_of

__all__ = ["assistant_text", "code_block", "json_value"]

_FENCE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})[ \t]*+([^\s`]*+)[^\n`]*+$", re.MULTILINE)


@dataclass(frozen=True, repr=False)
class CodeBlock(Extractor):
    language: str | None = field(default=None, metadata={"positional": True})
    which: Which = "last"

    def __post_init__(self) -> None:
        one_of("which", self.which, ("first", "last"))

    def occurrences(self, completion: str) -> list[Span]:
        found: list[Span] = []
        opened: re.Match[str] | None = None
        for fence in _FENCE.finditer(completion):
            if opened is None:
                opened = fence
            elif fence[1].startswith(opened[1]) and not fence[2]:
                if self.language is None or opened[2].lower() == self.language.lower():
                    found.append(trim(completion, opened.end(), fence.start()))
                opened = None
        return found


def code_block(language: str | None = None, *, which: Which = "last") -> CodeBlock:
    r"""Content of a fenced code block, of any language or of `language` (in any case).

    By default the last one.

    A block that is never closed counts for nothing. ValueError: `which` is unknown.

    >>> code_block("python")("```python\nprint(1)\n```")
    'print(1)'
    """
    return CodeBlock(language, which)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


JSON_WORK = 16
"""How often a text is read over, at the most, in search of an object that parses: keeps time linear."""

_JSON = json.JSONDecoder(parse_constant=_refuse_constant)


@dataclass(frozen=True, repr=False)
class JsonValue(Extractor):
    path: str | tuple[str, ...] | None = field(default=None, metadata={"positional": True})
    which: Which = "last"

    def __post_init__(self) -> None:
        one_of("which", self.which, ("first", "last"))
        if self.path is not None and (not self.path or not all(self._keys)):
            raise ValueError(
                f"path={self.path!r} has an empty key; write it as 'person.age' or ('person', 'age')"
            )

    @property
    def _keys(self) -> tuple[str, ...]:
        return tuple(self.path.split(".")) if isinstance(self.path, str) else tuple(self.path or ())

    def occurrences(self, completion: str) -> list[Span]:
        found: list[Span] = []
        budget = JSON_WORK * len(completion)
        for start, end in _balanced(completion):
            if (found and start < found[-1][1]) or budget < 0:
                continue
            budget -= end - start
            try:
                _JSON.decode(completion[start:end])
            except (ValueError, RecursionError):
                continue
            found.append((start, end))
        return found

    def spans(self, completion: str | None) -> list[Span]:
        """The span of the whole object or array; none where the path leads nowhere in it."""
        found = super().spans(completion)
        if not found or self.path is None or completion is None:
            return found
        return found if self._at_path(completion[slice(*found[0])]) is not None else []

    def __call__(self, completion: str | None) -> str | None:
        text = super().__call__(completion)
        return text if text is None or self.path is None else self._at_path(text)

    def _at_path(self, text: str) -> str | None:
        value = _JSON.decode(text)
        for key in self._keys:
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and re.fullmatch(r"[0-9]{1,9}", key) and int(key) < len(value):
                value = value[int(key)]
            else:
                return None
        try:
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
        except ValueError:  # 1e999 reads as infinity, which JSON cannot write
            return None


_BRACKET = re.compile(r'["{}\[\]]')
_STRING = re.compile(r'"(?:[^"\\\n]++|\\.)*+"')
_CLOSES = {"}": "{", "]": "["}


def _balanced(text: str) -> list[Span]:
    """Spans between matching brackets, by where they open; those in JSON strings do not count."""
    spans: list[Span] = []
    opened: list[int] = []
    position = 0
    while token := _BRACKET.search(text, position):
        position = token.end()
        if token[0] == '"':
            string = _STRING.match(text, token.start()) if opened else None
            position = string.end() if string else position
        elif token[0] in "{[":
            opened.append(token.start())
        else:
            while opened and text[opened[-1]] != _CLOSES[token[0]]:
                opened.pop()
            if opened:
                spans.append((opened.pop(), token.end()))
    return sorted(spans)


def json_value(path: str | Sequence[str | int] | None = None, *, which: Which = "last") -> JsonValue:
    """A JSON object or array anywhere in the text, as it is written, or the value at `path` in it.

    By default the last.

    `path` is "person.age" or ("person", "age"), with list positions as numbers; a string value comes without
    its quotes, others as JSON; ``None`` where the path leads nowhere. Strict JSON: NaN and single quotes are
    none, and inside a broken object the last whole inner one counts. Spans are those of the whole object or
    array.

    >>> json_value("age")('Here: {"name": "Uma", "age": 59}.')
    '59'
    """
    return JsonValue(path if path is None or isinstance(path, str) else tuple(map(str, path)), which)


def _content_text(content: Any) -> str:
    """Text of a message's content: a string, or the text parts of a list of parts, one a line."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else []
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


def assistant_text(messages: Sequence[Any] | str | None) -> str | None:
    """Text of the last assistant message of a transcript (`messages` in OpenAI's form).

    A string is returned as it is. Content in parts is joined by line breaks, other parts than text are left
    out; ``None`` where no assistant speaks.

    >>> assistant_text([{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}])
    '4'
    """
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        return messages if isinstance(messages, str) else None
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "assistant":
            return _content_text(message.get("content"))
    return None
