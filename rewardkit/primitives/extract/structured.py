"""Extraction of JSON, strict or repaired, and of the value at a path in it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import json_repair

from rewardkit.primitives.extract.extractor import WHICH, Extractor, Found, Span, Which, trim
from rewardkit.primitives.factories import one_of, true_or_false
from rewardkit.primitives.notes import note

__all__ = ["Path", "as_keys", "as_path", "at_path", "json_value", "read_json", "refuse_constant"]

Path = str | tuple[str, ...] | None
"""Where in a value: "person.age" or ("person", "age"), list positions as numbers; ``None``: the whole."""

JSON_WORK = 16
"""How often a text is read over, at the most, in search of an object that parses: keeps time linear."""


class _Float(float):
    """A number of JSON that knows how it was written: 0.10 and 1e400 are not what floats make of them."""

    text: str

    def __new__(cls, text: str) -> _Float:
        made = super().__new__(cls, text)
        made.text = text
        return made


def refuse_constant(name: str) -> Any:
    """Raise a ValueError: NaN and infinities are no JSON, whatever Python reads."""
    raise ValueError(f"{name} is not JSON")


_JSON = json.JSONDecoder(parse_constant=refuse_constant)
_EXACT = json.JSONDecoder(parse_constant=refuse_constant, parse_float=_Float)
_NOTHING = object()


def read_json(text: str) -> Any:
    """The value of a text that is strict JSON, a dict or a list; ``None`` where it is none."""
    try:
        value = _EXACT.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def as_path(path: str | int | Sequence[str | int] | None) -> Path:
    """A path as a caller writes it -> as an extractor keeps it; ValueError where it is none."""
    if path is None or isinstance(path, str):
        return path
    keys = (path,) if isinstance(path, int) else path
    if not isinstance(keys, Sequence) or not all(_is_key(key) for key in keys):
        raise ValueError(
            f"path={path!r} is no path; write it as 'person.age' or ('person', 'age'), with positions from 0"
        )
    return tuple(map(str, keys))


def _is_key(key: Any) -> bool:
    return isinstance(key, str) or (isinstance(key, int) and not isinstance(key, bool) and key >= 0)


def as_keys(path: Path) -> tuple[str, ...]:
    """The keys of a path; ValueError where one is empty."""
    keys = tuple(path.split(".")) if isinstance(path, str) else tuple(path or ())
    if path is not None and (not keys or not all(keys)):
        raise ValueError(f"path={path!r} has an empty key; write it as 'person.age' or ('person', 'age')")
    return keys


def at_path(value: Any, keys: tuple[str, ...]) -> str | None:
    """Text of the value at the keys: a text as it is, a number as it was written, others as JSON."""
    for key in keys:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and re.fullmatch(r"[0-9]{1,9}", key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value if isinstance(value, str) else value.text if isinstance(value, _Float) else _written(value)


def _written(value: Any) -> str | None:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):  # 1e999 reads as infinity, which JSON cannot write
        return None


@dataclass(frozen=True, repr=False)
class JsonValue(Extractor):
    path: Path = field(default=None, metadata={"positional": True})
    which: Which = "last"
    repair: bool = False

    def __post_init__(self) -> None:
        one_of("which", self.which, WHICH)
        true_or_false(repair=self.repair)
        as_keys(self.path)

    def occurrences(self, completion: str) -> list[Span]:
        closed, unclosed = _brackets(completion)
        strict = _strict(completion, closed)
        if not self.repair:
            return strict
        regions = _regions(completion, [*closed, *((start, len(completion)) for start in unclosed)])
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
        return text if self.path is None else at_path(value, as_keys(self.path))

    def found(self, completion: Any) -> Found | None:
        """The object or array that counts; with `repair` it notes how it was read."""
        found = super().found(completion)
        if self.repair and found:
            note("json", self._how(completion, found))
        return found

    def reading(self, completion: str | None) -> Literal["strict", "repaired"] | None:
        """How the value was read: as it stands, or repaired; ``None`` where there is none."""
        found = super().found(completion)
        return self._how(completion, found) if found and completion is not None else None

    @staticmethod
    def _how(completion: str, found: Found) -> Literal["strict", "repaired"]:
        return "repaired" if read_json(completion[slice(*found.span)]) is None else "strict"


def _strict(text: str, brackets: list[Span]) -> list[Span]:
    """Every object and array that is strict JSON and not inside another one."""
    found: list[Span] = []
    budget = JSON_WORK * len(text)
    for start, end in brackets:
        if (found and start < found[-1][1]) or budget < 0:
            continue
        budget -= end - start
        try:
            _JSON.decode(text[start:end])
        except (ValueError, RecursionError):
            continue
        found.append((start, end))
    return found


_BRACKET = re.compile(r'["{}\[\]]')
_STRING = re.compile(r'"(?:[^"\\\n]++|\\.)*+("?)')
_CLOSES = {"}": "{", "]": "["}


def _brackets(text: str) -> tuple[list[Span], list[int]]:
    """Spans between matching brackets, by where they open, and the brackets that are never closed.

    Those in JSON strings do not count.
    """
    spans: list[Span] = []
    opened: list[int] = []
    position = loose = 0  # quotes before `loose` begin no string: none of them is closed on its line
    while token := _BRACKET.search(text, position):
        position = token.end()
        if token[0] == '"':
            string = _STRING.match(text, token.start()) if opened and position > loose else None
            if string and string[1]:
                position = string.end()
            elif string:
                loose = string.end()
        elif token[0] in "{[":
            opened.append(token.start())
        else:
            while opened and text[opened[-1]] != _CLOSES[token[0]]:
                opened.pop()
            if opened:
                spans.append((opened.pop(), token.end()))
    return sorted(spans), opened


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


def _regions(text: str, brackets: list[Span]) -> list[Span]:
    """The brackets that begin like JSON and lie in no other such."""
    regions: list[Span] = []
    for start, end in sorted(brackets):
        if (not regions or start >= regions[-1][1]) and _BEGINS.match(text, start):
            regions.append(trim(text, start, end))
    return regions


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
    if len(text) > REPAIR_LIMIT or _depth(text) > REPAIR_DEPTH:
        return None
    try:
        value = json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError, AssertionError, LookupError, TypeError, AttributeError):
        return None
    return _written(value) if value and isinstance(value, dict | list) else None


def _depth(text: str) -> int:
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def json_value(
    path: str | int | Sequence[str | int] | None = None, *, which: Which = "last", repair: bool = False
) -> JsonValue:
    """A JSON object or array anywhere in the text, as it is written, or the value at `path` in it.

    By default the last. `path` is "person.age" or ("person", "age"), with list positions as numbers; a string
    value comes without its quotes, others as JSON; ``None`` where the path leads nowhere. Strict JSON: NaN
    and single quotes are none, and inside a broken object the last whole inner one counts; a text or number
    alone is no object. Spans are those of the whole object or array.

    With ``repair=True``, where that finds no value but in a part of something broken, json_repair makes JSON
    of the last region that begins like an object or array (single quotes, lost commas, cut off at the end),
    if it has at most 4,000 characters and is not nested deeper than 20; the value is then not what stands at
    the span. Which of the two it was is noted as "json": "strict" or "repaired", and `.reading(completion)`
    says it too. ValueError: the path has an empty key, or an option is unknown.

    >>> json_value("age")('Here: {"name": "Uma", "age": 59}.')
    '59'
    >>> json_value("age", repair=True)("{'name': 'Uma', 'age': 59")
    '59'
    """
    return JsonValue(as_path(path), which, repair)
