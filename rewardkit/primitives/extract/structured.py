"""Extraction of JSON, strict or repaired, and of tool calls, or of values in them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Annotated, Any

import json_repair

from rewardkit.primitives.extract.extractor import Extractor, Span, Which, text_like
from rewardkit.primitives.extract.tagged import tag
from rewardkit.primitives.json_text import MISSING, depth
from rewardkit.primitives.json_text import read_json as read_strict
from rewardkit.primitives.messages import arguments_of, read_function
from rewardkit.primitives.notes import note
from rewardkit.primitives.primitive import NAMED


def _path(option: str, path: Any) -> Any:
    """A path as it is kept: "person.age" or ("person", "age"), list positions as texts, too."""
    if path is None:
        return None
    keys = (
        path.split(".")
        if isinstance(path, str)
        else [path]
        if isinstance(path, int)
        else path
    )
    if not (isinstance(keys, Sequence) and keys and all(map(_is_key, keys))):
        raise ValueError(
            f"path={path!r} is no path, or has an empty key; write it as 'person.age' or ('person', 'age'), "
            "with positions from 0"
        )
    return path if isinstance(path, str) else tuple(map(str, keys))


def _is_key(key: Any) -> bool:
    return key != "" if isinstance(key, str) else type(key) is int and key >= 0


Path = Annotated[str | int | Sequence[str | int] | None, _path]
"""Where in a value; ``None``: the whole."""


class _Float(float):
    """A number of JSON that knows how it was written: 0.10 and 1e400 are not what floats make of them."""

    def __init__(self, text: str) -> None:
        self.text = text


def read_json(text: str) -> Any:
    """The value of a text that is strict JSON, a dict or a list; ``None`` where it is none."""
    value = read_strict(text, parse_float=_Float)
    return value if isinstance(value, dict | list) else None


def value_at(value: Any, path: Any) -> Any:
    """The value at a path as it is kept, `MISSING` where that leads nowhere."""
    for key in path.split(".") if isinstance(path, str) else path or ():
        if isinstance(value, dict):
            value = next(
                (inner for name, inner in value.items() if str(name) == key), MISSING
            )
        elif (
            isinstance(value, list | tuple)
            and re.fullmatch(r"[0-9]{1,9}", key)
            and int(key) < len(value)
        ):
            value = value[int(key)]
        else:
            return MISSING
    return value


def _text_at(value: Any, path: Any) -> str | None:
    """Text of the value at a path: a text as it is, a number as it was written, others as JSON."""
    value = value_at(value, path)
    return (
        value
        if isinstance(value, str)
        else value.text
        if isinstance(value, _Float)
        else _written(value)
    )


def _written(value: Any) -> str | None:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (
        TypeError,
        ValueError,
        RecursionError,
    ):  # 1e999 reads as infinity, which JSON cannot write
        return None


# A quote behind a letter is an apostrophe, and one behind a backslash begins no string:
# the rest of its line is searched once for the quote that closes it.
_TOKEN = re.compile(
    r"""(?<![\w\\]) (?: "(?:[^"\\\n]++|\\.)*+" | '(?:[^'\\\n]++|\\.)*+' ) | [()\[\]{}]""",
    re.VERBOSE,
)
_OPENER = {"}": "{", "]": "[", ")": "("}


def bracket_pairs(text: str) -> tuple[list[Span], list[int]]:
    """The spans between matching brackets, and where those open that are never closed.

    Brackets in strings do not count, nor do quotes outside brackets.
    """
    closed: list[Span] = []
    opened: list[int] = []
    position = 0
    while token := _TOKEN.search(text, position):
        start, position = token.span()
        sign = text[start]
        if sign in "\"'":
            position = position if opened else start + 1
        elif sign not in _OPENER:
            opened.append(start)
        else:
            while opened and text[opened[-1]] != _OPENER[sign]:
                opened.pop()
            if opened:
                closed.append((opened.pop(), position))
    return closed, opened


def outermost(
    spans: Iterable[Span], which: Which, reads: Callable[[Span], object], work: float
) -> list[Span]:
    """The spans that can be read and lie in no other such, in text order.

    They are read from the end that is asked for, until so many characters are read. Of
    two that overlap one lies in the other.
    """
    found: list[Span] = []
    for start, end in sorted(
        spans, key=None if which == "first" else lambda span: (-span[1], span[0])
    ):
        if found and found[-1][0] <= start and end <= found[-1][1]:
            continue
        work -= end - start
        if work < 0:
            break
        if reads((start, end)):
            found.append((start, end))
    return sorted(found)


WORK = 16
"""How often a text is read over, at the most, in search of an object that parses: keeps time linear."""

REPAIR_LIMIT = 4_000
"""Characters that json_repair is given, at the most: on some texts its time grows with their square, and is a
second here."""

REPAIR_DEPTH = 20
"""Brackets in each other, at the most, in what it is given."""

# What stands behind the bracket that opens an object or array, broken or not: LaTeX and
# prose have others.
_BEGINS = re.compile(
    r"""\{\s*(?: ["'“‘}] | // | /\* | [\w$-]+\s*["']?\s*: )
      | \[\s*(?: ["'“‘\[{] | // | /\* | -?\d | (?:true|false|null|None|True|False)\b )""",
    re.VERBOSE,
)


@dataclass(frozen=True, repr=False)
class json_value(Extractor):
    """A JSON object or array anywhere in the text, as it is written, or the value at `path` in it.

    By default the last. `path` is "person.age" or ("person", "age"), with list
    positions as numbers; a string value comes without its quotes, others as JSON;
    ``None`` where the path leads nowhere. Strict JSON: NaN and single quotes are none,
    and inside a broken object the last whole inner one counts; a text or number alone
    is no object. Spans are those of the whole object or array.

    With ``repair=True``, where that finds no value but in a part of something broken,
    json_repair makes JSON of the last region that begins like an object or array
    (single quotes, lost commas, cut off at the end), if it has at most 4,000 characters
    and is not nested deeper than 20; the value is then not what stands at the span.
    Which of the two it was is noted as "json": "strict" or "repaired". ValueError: the
    path has an empty key, or an option is unknown.

    >>> json_value("age")('Here: {"name": "Uma", "age": 59}.')
    '59'
    >>> json_value("age", repair=True)("{'name': 'Uma', 'age': 59")
    '59'
    """

    path: Path = None
    _: KW_ONLY
    which: Which = "last"
    repair: bool = False

    def occurrences(self, completion: str) -> list[Span]:
        closed, unclosed = bracket_pairs(completion)
        strict = outermost(
            closed,
            self.which,
            lambda span: read_json(completion[slice(*span)]) is not None,
            WORK * len(completion),
        )
        if not self.repair:
            return strict
        end = len(completion.rstrip())
        regions = outermost(  # that begin like JSON, whole or broken
            [*closed, *((start, end) for start in unclosed)],
            "first",
            lambda span: _BEGINS.match(completion, *span),
            math.inf,
        )
        whole = sorted({*strict} & {*regions})
        at = 0 if self.which == "first" else -1
        for spans in (whole, regions[:1] if self.which == "first" else regions[-1:]):
            if spans and self.text_at(completion, spans[at]) is not None:
                return spans
        return strict

    def text_at(self, completion: str, span: Span) -> str | None:
        text: str | None = completion[slice(*span)]
        if self.path is None and not self.repair:
            return text
        value, reading = read_json(text or ""), "strict"
        if value is None and self.repair:
            text, reading = _repaired(text or ""), "repaired"
            value = read_json(text or "")
        found = text if self.path is None else _text_at(value, self.path)
        if self.repair and found is not None:
            note("json", reading)
        return found


@lru_cache(maxsize=128)
def _repaired(text: str) -> str | None:
    """A broken object or array as JSON, by json_repair; ``None`` where that makes nothing of it."""
    if len(text) > REPAIR_LIMIT or depth(text) > REPAIR_DEPTH:
        return None
    try:
        value = json_repair.loads(text, skip_json_loads=True)
    except (
        ValueError,
        RecursionError,
        AssertionError,
        LookupError,
        TypeError,
        AttributeError,
    ):
        return None
    return _written(value) if value and isinstance(value, dict | list) else None


ToolName = Annotated[
    str,
    text_like(
        r"(?s).+", "is not the name of a tool; leave it out for calls of any tool"
    ),
]


def _call(text: str) -> dict[str, Any]:
    """The call that a text is; empty where it is none."""
    call = read_json(text) or read_function(text)
    return call if isinstance(call, dict) else {}


_CALLS = tag("tool_call")


@dataclass(frozen=True, repr=False)
class tool_call(Extractor):
    """JSON of a call in ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``, or the value at `path`.

    By default of the last call, or of the last one of the tool called `name`. Each call
    has its own tag: two in one tag, one a line or as a list, and one in a code fence
    are none (a limit of ours). What is no strict JSON object with a name is no call,
    but for ``<function=name><parameter=key>...``, as Qwen3-Coder writes them. `path` as
    in `json_value`, such as "arguments.city", also where they are called "parameters"
    or are a text of JSON. ValueError: `name` is empty, the path has an empty key, or
    `which` is unknown.

    >>> text = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
    >>> tool_call("weather", "arguments.city")(text), tool_call("search")(text) is None
    ('Oslo', True)
    """

    name: ToolName | None = None
    path: Path = field(default=None, metadata=NAMED)
    _: KW_ONLY
    which: Which = "last"

    def occurrences(self, completion: str) -> list[Span]:
        spans = [
            (span, _call(completion[slice(*span)]).get("name"))
            for span in _CALLS.occurrences(completion)
        ]
        return [
            span
            for span, name in spans
            if isinstance(name, str) and self.name in (None, name)
        ]

    def text_at(self, completion: str, span: Span) -> str | None:
        text = completion[slice(*span)]
        if self.path is None:
            return text
        call = _call(text)
        arguments = arguments_of(call)
        if isinstance(arguments, str):  # a text of JSON
            arguments = read_json(arguments) or arguments
        return _text_at(
            call if arguments is None else {**call, "arguments": arguments}, self.path
        )
