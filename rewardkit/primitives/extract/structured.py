"""Extraction of JSON, tool calls and Python literals, or of values in them."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Annotated, Any

import json_repair

from rewardkit.primitives.extract.enclosed import tag
from rewardkit.primitives.extract.extractor import Extractor, Span, Which, text_like
from rewardkit.primitives.messages import (
    NO_JSON,
    arguments_of,
    bracket_depth,
    read_function,
    read_strict_json,
)
from rewardkit.primitives.primitive import PRINTED_NAMED, note


def _check_path(option: str, path: Any) -> Any:
    """Return a path to store, "person.age" or ("person", "age"), with texts as keys."""
    if path is None:
        return None
    keys = path
    if isinstance(path, str):
        keys = path.split(".")
    elif isinstance(path, int):
        keys = [path]
    if not (isinstance(keys, Sequence) and keys and all(map(_is_key, keys))):
        raise ValueError(
            f"path={path!r} is no path, or has an empty key; write it as 'person.age' "
            "or ('person', 'age'), with positions from 0"
        )
    return path if isinstance(path, str) else tuple(map(str, keys))


def _is_key(key: Any) -> bool:
    if isinstance(key, str):
        return key != ""
    return type(key) is int and key >= 0


Path = Annotated[str | int | Sequence[str | int] | None, _check_path]
"""Path to a part of a value; ``None`` is the whole."""


class _Float(float):
    """A JSON number that keeps its text, as a float loses 0.10 and 1e400."""

    def __init__(self, text: str) -> None:
        self.text = text


def read_json(text: str) -> Any:
    """Read a strict JSON object or array, or return ``None``."""
    value = read_strict_json(text, parse_float=_Float)
    return value if isinstance(value, dict | list) else None


def value_at(value: Any, path: Any) -> Any:
    """Return the value at a checked path, or `NO_JSON` if the path leads nowhere."""
    keys = path.split(".") if isinstance(path, str) else path
    for key in keys or ():
        if isinstance(value, dict):
            names = [name for name in value if str(name) == key]
            value = value[names[0]] if names else NO_JSON
        elif isinstance(value, list | tuple) and re.fullmatch(r"[0-9]{1,9}", key):
            place = int(key)
            value = value[place] if place < len(value) else NO_JSON
        else:
            return NO_JSON
    return value


def _text_at(value: Any, path: Any) -> str | None:
    """Write the value at a path: texts bare, floats as in the source, else as JSON."""
    value = value_at(value, path)
    if isinstance(value, str):
        return value
    if isinstance(value, _Float):
        return value.text
    return _write_json(value)


def _write_json(value: Any) -> str | None:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):  # 1e999 reads as infinity
        return None


# A quote behind a letter is an apostrophe, and one behind a backslash begins no string.
# The rest of the line is searched only once for the closing quote.
_BRACKET_OR_STRING = re.compile(
    r"""(?<![\w\\]) (?: "(?:[^"\\\n]++|\\.)*+" | '(?:[^'\\\n]++|\\.)*+' )
      | [()\[\]{}]""",
    re.VERBOSE,
)
_OPENER = {"}": "{", "]": "[", ")": "("}


def bracket_pairs(text: str) -> tuple[list[Span], list[int]]:
    """Find the spans of matching brackets, and the places of unclosed ones.

    Brackets in strings and quotes outside of brackets are ignored.
    """
    pairs: list[Span] = []
    openings: list[int] = []
    position = 0
    while token := _BRACKET_OR_STRING.search(text, position):
        start, position = token.span()
        sign = text[start]
        if sign in "\"'":
            if not openings:
                position = start + 1
        elif sign not in _OPENER:
            openings.append(start)
        else:
            while openings and text[openings[-1]] != _OPENER[sign]:
                openings.pop()
            if openings:
                pairs.append((openings.pop(), position))
    return pairs, openings


def outermost(
    spans: Iterable[Span], which: Which, reads: Callable[[Span], object], work: float
) -> list[Span]:
    """Select the readable spans that are not inside another one, in text order.

    Spans are tried from the end that `which` names, until `work` characters are read.
    Overlapping spans must be nested.
    """
    ordered = sorted(spans)
    if which == "last":
        ordered.sort(key=lambda span: (-span[1], span[0]))
    selected: list[Span] = []
    for start, end in ordered:
        if selected and selected[-1][0] <= start and end <= selected[-1][1]:
            continue
        work -= end - start
        if work < 0:
            break
        if reads((start, end)):
            selected.append((start, end))
    return sorted(selected)


MOST_READINGS = 16
"""Times that a text is read in search of an object, at most: keeps the time linear."""

LONGEST_REPAIRED = 4_000
"""Characters of a text for json_repair, at most.

On some texts its time is quadratic, and one second at this length."""

DEEPEST_REPAIRED = 20
"""Nested brackets in a text for json_repair, at most."""

# The beginning of an object or array, broken or not, as opposed to brackets of LaTeX
# and prose.
_BEGINS = re.compile(
    r"""\{\s*(?: ["'“‘}] | // | /\* | [\w$-]+\s*["']?\s*: )
      | \[\s*(?: ["'“‘\[{] | // | /\* | -?\d
        | (?:true|false|null|None|True|False)\b )""",
    re.VERBOSE,
)


@dataclass(frozen=True, repr=False)
class json_value(Extractor):
    """Extract a JSON object or array as it is written, or the value at `path` in it.

    By default it is the last one. `path` is "person.age" or ("person", "age"), with
    list positions as numbers. A string value comes without its quotes, others as JSON;
    the value is ``None`` if the path leads nowhere. JSON is strict, without NaN and
    single quotes; a text or number alone is no object. Inside a broken object the last
    valid inner one counts. Spans are those of the whole object or array.

    ``repair=True`` is for texts whose JSON is broken, or valid only in a part of
    something broken. json_repair then mends the last region that begins like an object
    or array (single quotes, lost commas, a cut-off end), if it has at most 4,000
    characters and is not nested deeper than 20. The value then differs from the text of
    the span. The note "json" is "strict" or "repaired". ValueError: the path has an
    empty key, or an option is unknown.

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
        def is_json(span: Span) -> bool:
            return read_json(completion[slice(*span)]) is not None

        pairs, openings = bracket_pairs(completion)
        work = MOST_READINGS * len(completion)
        strict = outermost(pairs, self.which, is_json, work)
        if not self.repair:
            return strict

        def begins_like_json(span: Span) -> bool:
            return _BEGINS.match(completion, *span) is not None

        end = len(completion.rstrip())
        pairs += [(start, end) for start in openings]
        regions = outermost(pairs, "first", begins_like_json, math.inf)
        valid = sorted(set(strict) & set(regions))
        place = 0 if self.which == "first" else -1
        for spans in (valid, regions[place:][:1]):
            if spans and self.text_at(completion, spans[place]) is not None:
                return spans
        return strict

    def text_at(self, completion: str, span: Span) -> str | None:
        text: str | None = completion[slice(*span)]
        if self.path is None and not self.repair:
            return text
        value = read_json(text or "")
        reading = "strict"
        if value is None and self.repair:
            text = _repair(text or "")
            reading = "repaired"
            value = read_json(text or "")
        if self.path is not None:
            text = _text_at(value, self.path)
        if self.repair and text is not None:
            note("json", reading)
        return text


@lru_cache(maxsize=128)
def _repair(text: str) -> str | None:
    """Repair a broken JSON object or array with json_repair, or return ``None``."""
    if len(text) > LONGEST_REPAIRED or bracket_depth(text) > DEEPEST_REPAIRED:
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
    return _write_json(value) if value and isinstance(value, dict | list) else None


ToolName = Annotated[
    str,
    text_like(
        r"(?s).+", "is not the name of a tool; leave it out for calls of any tool"
    ),
]


def _read_call(text: str) -> dict[str, Any]:
    """Return the tool call that makes up `text`, or {}."""
    call = read_json(text) or read_function(text)
    return call if isinstance(call, dict) else {}


_CALL_TAGS = tag("tool_call")


@dataclass(frozen=True, repr=False)
class tool_call(Extractor):
    """Extract a call in ``<tool_call>{"name": ..., "arguments": ...}</tool_call>``.

    The value is the JSON of the call, or the value at `path` in it; by default of the
    last call, or of the last call of the tool `name`. Each call needs its own tag: two
    in one tag, one a line or as a list, and one in a code fence are not read (a limit
    of ours). A call is a strict JSON object with a name, or Qwen3-Coder's form
    ``<function=name><parameter=key>...``. `path` as in `json_value`, such as
    "arguments.city", even if the arguments are called "parameters" or are a JSON text.
    ValueError: `name` is empty, the path has an empty key, or `which` is unknown.

    >>> call = '{"name": "weather", "arguments": {"city": "Oslo"}}'
    >>> text = f"<tool_call>{call}</tool_call>"
    >>> tool_call("weather", "arguments.city")(text), tool_call("search")(text) is None
    ('Oslo', True)
    """

    name: ToolName | None = None
    path: Path = field(default=None, metadata=PRINTED_NAMED)
    _: KW_ONLY
    which: Which = "last"

    def occurrences(self, completion: str) -> list[Span]:
        spans = []
        for span in _CALL_TAGS.occurrences(completion):
            name = _read_call(completion[slice(*span)]).get("name")
            if isinstance(name, str) and self.name in (None, name):
                spans.append(span)
        return spans

    def text_at(self, completion: str, span: Span) -> str | None:
        text = completion[slice(*span)]
        if self.path is None:
            return text
        call = _read_call(text)
        arguments = arguments_of(call)
        if isinstance(arguments, str):  # a text of JSON
            arguments = read_json(arguments) or arguments
        if arguments is not None:
            call = {**call, "arguments": arguments}
        return _text_at(call, self.path)


LONGEST_LITERAL = 10_000
"""Characters of a literal, at most. Our choice: Python parses it in milliseconds."""

MOST_PARSED = 200_000
"""Characters of literals to parse in one text, at most, from the end of `which`."""

# All tokens of a literal. Without operators, names, calls and string prefixes no text
# can build a deep tree. A number ends with its item: "1-2" does not match.
_LITERAL_TOKENS = re.compile(
    r"""(?: \s++ | \#[^\n]*+ | [\[({\])},:]
      | '''(?:[^'\\]++|\\.|'(?!''))*+''' | \"\"\"(?:[^"\\]++|\\.|"(?!""))*+\"\"\"
      | '(?:[^'\\\n]++|\\.)*+' | "(?:[^"\\\n]++|\\.)*+"
      | (?: [-+]?(?:[0-9][0-9_]*+(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?
          | True | False | None ) (?=\s*+[,:\])}\#]) )++""",
    re.VERBOSE | re.DOTALL,
)
# Signs before the brackets of calls, indices, and LaTeX arguments and sets.
_NO_LITERAL = re.compile(r"[\w)\]}^\\]")
_ESCAPE = re.compile(r"\\(?:(?![4-7][0-7]{2})[\r\n\\'\"abfnrtvxNuU0-7]|(.))", re.DOTALL)


@dataclass(frozen=True, repr=False)
class python_literal(Extractor):
    """Extract a Python list, dict, tuple or set, or the value at `path` in it.

    By default it is the last one in the text that is not inside another one; brackets
    of calls and indices do not count. The literal is parsed and never run. It has
    strings, numbers, True, False and None, and at most 10,000 characters; the last (or
    first) 200,000 characters of literals are parsed. `path` as in `json_value`; a text
    comes without its quotes, other values as Python writes them. ValueError: the path
    has an empty key, or `which` is unknown.

    >>> python_literal()("so f(1) = ['a', None].")
    "['a', None]"
    >>> python_literal("b.1")("{'a': 1, 'b': (2, '3')}")
    '3'
    """

    path: Path = None
    _: KW_ONLY
    which: Which = "last"

    def occurrences(self, completion: str) -> list[Span]:
        def is_literal(span: Span) -> bool:
            return _read_literal(completion[slice(*span)]) is not None

        pairs = []
        for start, end in bracket_pairs(completion)[0]:
            if not start or not _NO_LITERAL.match(completion, start - 1):
                pairs.append((start, end))
        return outermost(pairs, self.which, is_literal, MOST_PARSED)

    def text_at(self, completion: str, span: Span) -> str | None:
        text = completion[slice(*span)]
        if self.path is None:
            return text
        value = value_at(_read_literal(text), self.path)
        if value is NO_JSON:
            return None
        return value if isinstance(value, str) else repr(value)


def _read_literal(text: str) -> Any:
    """Read a literal that is a list, dict, tuple or set, or return ``None``."""
    if len(text) > LONGEST_LITERAL or not _LITERAL_TOKENS.fullmatch(text):
        return None
    text = _ESCAPE.sub(_double_unknown_escape, text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, list | dict | tuple | set) else None


def _double_unknown_escape(escape: re.Match[str]) -> str:
    """Double a backslash that escapes nothing, to avoid a warning by Python."""
    return escape[0] if escape[1] is None else "\\" + escape[0]
