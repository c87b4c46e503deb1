"""Extraction of JSON, strict or repaired, of Python literals and tool calls, or of values in them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Annotated, Any

import json_repair

from rewardkit.primitives.extract.extractor import Extractor, Found, Span, Which, trim
from rewardkit.primitives.extract.tagged import tag
from rewardkit.primitives.factories import NAMED
from rewardkit.primitives.json_text import MISSING, depth
from rewardkit.primitives.json_text import read_json as read_strict
from rewardkit.primitives.messages import arguments_of, read_function
from rewardkit.primitives.notes import note

__all__ = ["Path", "at_path", "json_value", "keys_of", "python_literal", "read_json", "tool_call", "value_at"]


def _path(option: str, path: Any) -> Any:
    """A path as it is kept: "person.age" or ("person", "age"), list positions as numbers."""
    if path is None:
        return None
    kept = (path,) if isinstance(path, int) else path
    if not isinstance(path, str):
        if not isinstance(kept, Sequence) or not all(map(_is_key, kept)):
            raise ValueError(
                f"path={path!r} is no path; write it as 'person.age' or ('person', 'age'), with positions "
                "from 0"
            )
        kept = tuple(map(str, kept))
    if not kept or not all(keys_of(kept)):
        raise ValueError(f"path={path!r} has an empty key; write it as 'person.age' or ('person', 'age')")
    return kept


def _is_key(key: Any) -> bool:
    return isinstance(key, str) or (isinstance(key, int) and not isinstance(key, bool) and key >= 0)


Path = Annotated[str | int | Sequence[str | int] | None, _path]
"""Where in a value; ``None``: the whole."""


def keys_of(path: Any) -> tuple[str, ...]:
    """The keys of a path as it is kept."""
    return tuple(path.split(".")) if isinstance(path, str) else path or ()


class _Float(float):
    """A number of JSON that knows how it was written: 0.10 and 1e400 are not what floats make of them."""

    text: str

    def __new__(cls, text: str) -> _Float:
        made = super().__new__(cls, text)
        made.text = text
        return made


def read_json(text: str) -> Any:
    """The value of a text that is strict JSON, a dict or a list; ``None`` where it is none."""
    value = read_strict(text, parse_float=_Float)
    return value if isinstance(value, dict | list) else None


def value_at(value: Any, path: Any) -> Any:
    """The value at a path, `MISSING` where that leads nowhere."""
    for key in keys_of(path):
        if isinstance(value, dict):
            value = next((held for name, held in value.items() if str(name) == key), MISSING)
        elif isinstance(value, list | tuple) and re.fullmatch(r"[0-9]{1,9}", key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return MISSING
    return value


def at_path(value: Any, path: Any) -> str | None:
    """Text of the value at a path: a text as it is, a number as it was written, others as JSON."""
    found = value_at(value, path)
    return found if isinstance(found, str) else found.text if isinstance(found, _Float) else _written(found)


def _written(value: Any) -> str | None:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):  # 1e999 reads as infinity, which JSON cannot write
        return None


_BRACKET = re.compile(r"""(?<!\w)["']|[()\[\]{}]""")
_JSON_BRACKET = re.compile(r'["{}\[\]]')
_STRINGS = {
    '"': re.compile(r'"(?:[^"\\\n]++|\\.)*+("?)'),
    "'": re.compile(r"'(?:[^'\\\n]++|\\.)*+('?)"),
}
_CLOSES = {"}": "{", "]": "[", ")": "("}


def _brackets(text: str, marks: re.Pattern[str]) -> tuple[list[Span], list[int]]:
    """Spans between matching brackets, by where they open, and the brackets that are never closed.

    Those in strings do not count.
    """
    spans: list[Span] = []
    opened: list[int] = []
    position = 0
    loose = dict.fromkeys(_STRINGS, 0)  # quotes before it begin no string: none of them is closed on its line
    while token := marks.search(text, position):
        sign, position = token[0], token.end()
        if sign in _STRINGS:
            string = _STRINGS[sign].match(text, token.start()) if opened and position > loose[sign] else None
            if string and string[1]:
                position = string.end()
            elif string:
                loose[sign] = string.end()
        elif sign not in _CLOSES:
            opened.append(token.start())
        else:
            while opened and text[opened[-1]] != _CLOSES[sign]:
                opened.pop()
            if opened:
                spans.append((opened.pop(), token.end()))
    return sorted(spans), opened


def _whole(
    spans: list[Span], which: Which, reads: Callable[[Span], bool], work: int, each: int = 0
) -> list[Span]:
    """The spans that can be read and are in no other such, from one end until the work is done.

    Reading a span takes its length and `each`.
    """
    groups: list[list[Span]] = []  # an outermost pair of brackets with those in it
    for span in spans:
        if groups and span[0] < groups[-1][0][1]:
            groups[-1].append(span)
        else:
            groups.append([span])
    found: list[Span] = []
    for group in groups if which == "first" else reversed(groups):
        end = 0
        for span in group:
            if span[0] >= end and work >= 0:
                work -= span[1] - span[0] + each
                if work >= 0 and reads(span):
                    found.append(span)
                    end = span[1]
    return sorted(found)


JSON_WORK = 16
"""How often a text is read over, at the most, in search of an object that parses: keeps time linear."""

REPAIR_LIMIT = 4_000
"""Characters that json_repair is given, at the most: on some texts its time grows with their square, and is a
second here."""

REPAIR_DEPTH = 20
"""Brackets in each other, at the most, in what it is given."""

# What stands behind the bracket that opens an object or array, broken or not: LaTeX and prose have others.
_BEGINS = re.compile(
    r"""\{\s*(?: ["'“‘}] | // | /\* | [\w$-]+\s*["']?\s*: )
      | \[\s*(?: ["'“‘\[{] | // | /\* | -?\d | (?:true|false|null|None|True|False)\b )""",
    re.VERBOSE,
)


@dataclass(frozen=True, repr=False)
class json_value(Extractor):
    """A JSON object or array anywhere in the text, as it is written, or the value at `path` in it.

    By default the last. `path` is "person.age" or ("person", "age"), with list positions as numbers; a string
    value comes without its quotes, others as JSON; ``None`` where the path leads nowhere. Strict JSON: NaN
    and single quotes are none, and inside a broken object the last whole inner one counts; a text or number
    alone is no object. Spans are those of the whole object or array.

    With ``repair=True``, where that finds no value but in a part of something broken, json_repair makes JSON
    of the last region that begins like an object or array (single quotes, lost commas, cut off at the end),
    if it has at most 4,000 characters and is not nested deeper than 20; the value is then not what stands at
    the span. Which of the two it was is noted as "json": "strict" or "repaired". ValueError: the path has
    an empty key, or an option is unknown.

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
        closed, unclosed = _brackets(completion, _JSON_BRACKET)
        strict = _whole(
            closed,
            self.which,
            lambda span: read_strict(completion[slice(*span)]) is not MISSING,
            JSON_WORK * len(completion),
        )
        if not self.repair:
            return strict
        regions: list[Span] = []  # that begin like JSON and lie in no other such
        for start, end in sorted([*closed, *((start, len(completion)) for start in unclosed)]):
            if (not regions or start >= regions[-1][1]) and _BEGINS.match(completion, start):
                regions.append(trim(completion, start, end))
        for spans in (_outside(strict, regions), regions):
            chosen = spans[:1] if self.which == "first" else spans[-1:]
            if chosen and self.text_at(completion, chosen[0]) is not None:
                return spans if spans is not regions else chosen
        return strict

    def text_at(self, completion: str, span: Span) -> str | None:
        text: str | None = completion[slice(*span)]
        if self.path is None and not self.repair:
            return text
        value = read_json(text or "")
        if value is None and self.repair:
            text = _repaired(text or "")
            value = read_json(text or "")
        return text if self.path is None else at_path(value, self.path)

    def found(self, completion: Any) -> Found | None:
        """The object or array that counts; with `repair` it notes how it was read."""
        found = super().found(completion)
        if self.repair and found:
            broken = read_json(completion[slice(*found.span)]) is None
            note("json", "repaired" if broken else "strict")
        return found


def _outside(spans: list[Span], regions: list[Span]) -> list[Span]:
    """The spans that are no part of a larger region; both in text order."""
    kept: list[Span] = []
    at = -1
    for span in spans:
        while at + 1 < len(regions) and regions[at + 1][0] <= span[0]:
            at += 1
        if at < 0 or span[1] > regions[at][1] or span == regions[at]:
            kept.append(span)
    return kept


@lru_cache(maxsize=128)
def _repaired(text: str) -> str | None:
    """A broken object or array as JSON, by json_repair; ``None`` where that makes nothing of it."""
    if len(text) > REPAIR_LIMIT or depth(text) > REPAIR_DEPTH:
        return None
    try:
        value = json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError, AssertionError, LookupError, TypeError, AttributeError):
        return None
    return _written(value) if value and isinstance(value, dict | list) else None


_CALLS = tag("tool_call")


def _tool_name(option: str, name: Any) -> Any:
    if name is not None and (not isinstance(name, str) or not name):
        raise ValueError(f"name={name!r} is not the name of a tool; leave it out for calls of any tool")
    return name


@dataclass(frozen=True, repr=False)
class tool_call(Extractor):
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

    name: Annotated[str | None, _tool_name] = None
    path: Path = field(default=None, metadata=NAMED)
    _: KW_ONLY
    which: Which = "last"

    def occurrences(self, completion: str) -> list[Span]:
        return [span for span in _CALLS.occurrences(completion) if self._is_wanted(completion[slice(*span)])]

    def _is_wanted(self, text: str) -> bool:
        call = read_json(text) or read_function(text)
        name = call.get("name") if isinstance(call, dict) else None
        return isinstance(name, str) and self.name in (None, name)

    def text_at(self, completion: str, span: Span) -> str | None:
        text = completion[slice(*span)]
        if self.path is None:
            return text
        call: Any = read_json(text) or read_function(text)
        arguments = arguments_of(call)  # an object, or a text of JSON
        read = read_json(arguments) if isinstance(arguments, str) else None
        whole = {} if arguments is None else {"arguments": arguments if read is None else read}
        return at_path({**call, **whole}, self.path)


LITERAL = 10_000
"""Characters of a Python literal, at the most. Our choice: some milliseconds of Python's parser."""

LITERAL_WORK = 200_000
"""Characters that are parsed, at the most, in one text, from the end that is asked for."""

EACH = 100
"""What parsing a literal costs besides its characters, in characters."""

# What a literal is made of, and nothing else: no operators, names or calls, so that no text can build a deep
# tree, and no prefixes of strings. A number ends where an item does: "1-2" is none.
_TOKENS = re.compile(
    r"""(?: \s++ | \#[^\n]*+ | [\[({\])},:]
      | '''(?:[^'\\]++|\\.|'(?!''))*+''' | \"\"\"(?:[^"\\]++|\\.|"(?!""))*+\"\"\"
      | '(?:[^'\\\n]++|\\.)*+' | "(?:[^"\\\n]++|\\.)*+"
      | (?: [-+]?(?:[0-9][0-9_]*+(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?
          | True | False | None ) (?=\s*+[,:\])}\#]) )++""",
    re.VERBOSE | re.DOTALL,
)
_NO_LITERAL = re.compile(r"[\w)\]}^\\]")  # before a call, an index, LaTeX's arguments and sets
_ESCAPE = re.compile(r"\\(?:(?![4-7][0-7]{2})[\r\n\\'\"abfnrtvxNuU0-7]|(.))", re.DOTALL)


@dataclass(frozen=True, repr=False)
class python_literal(Extractor):
    """A Python list, dict, tuple or set anywhere in the text, as it is written, or the value at `path` in it.

    By default the last; what lies in another one does not count, nor do the brackets of a call or an index.
    It is parsed, never run: strings, numbers, True, False and None, at most 10,000 characters, in the last
    (or first) 200,000 characters of literals. `path` as in `json_value`; a text comes without its quotes,
    others as Python writes them. ValueError: the path has an empty key, or `which` is
    unknown.

    >>> python_literal()("so f(1) = ['a', None]."), python_literal("b.1")("{'a': 1, 'b': (2, '3')}")
    ("['a', None]", '3')
    """

    path: Path = None
    _: KW_ONLY
    which: Which = "last"

    def occurrences(self, completion: str) -> list[Span]:
        spans = [
            span
            for span in _brackets(completion, _BRACKET)[0]
            if not (span[0] and _NO_LITERAL.match(completion, span[0] - 1))
        ]
        return _whole(
            spans, self.which, lambda span: _literal(completion[slice(*span)]) is not None, LITERAL_WORK, EACH
        )

    def text_at(self, completion: str, span: Span) -> str | None:
        text = completion[slice(*span)]
        if self.path is None:
            return text
        found = value_at(_literal(text), self.path)
        return found if isinstance(found, str) else None if found is MISSING else repr(found)


@lru_cache(maxsize=64)
def _literal(text: str) -> Any:
    """The list, dict, tuple or set that a text is; ``None`` where it is none."""
    if len(text) > LITERAL or not _TOKENS.fullmatch(text):
        return None
    text = _ESCAPE.sub(lambda escape: escape[0] if escape[1] is None else "\\" + escape[0], text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, list | dict | tuple | set) else None
