"""Extraction of Python literals, without running them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from rewardkit.primitives.extract.extractor import WHICH, Extractor, Span, Which
from rewardkit.primitives.extract.structured import Path, as_keys, as_path
from rewardkit.primitives.factories import one_of

__all__ = ["python_literal"]

LONGEST = 10_000
"""Characters of a literal, at the most. Our choice: some milliseconds of Python's parser."""

DEEPEST = 50
"""Brackets in each other, at the most. Our choice: far from where Python's parser gives up."""

WORK = 200_000
"""Characters that are parsed, at the most, in one text, from the end that is asked for."""

EACH = 100
"""What parsing a literal costs besides its characters, in characters."""

# What a literal is made of, and nothing else: no operators, names or calls, so that no text can build a deep
# tree, and no prefixes of strings. A number ends where an item does: "1-2" is none.
_TOKEN = re.compile(
    r"""(?P<space> \s++ | \#[^\n]*+ ) | (?P<open> [\[({] ) | (?P<close> [\])}] ) | (?P<comma> [,:] )
      | (?P<text> '''(?:[^'\\]++|\\.|'(?!''))*+''' | \"\"\"(?:[^"\\]++|\\.|"(?!""))*+\"\"\"
                | '(?:[^'\\\n]++|\\.)*+' | "(?:[^"\\\n]++|\\.)*+" )
      | (?P<item> (?: [-+]?(?:[0-9][0-9_]*+(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?
                    | True | False | None ) (?=\s*+[,:\])}\#]) )""",
    re.VERBOSE | re.DOTALL,
)
_OPEN = re.compile(r"(?<![\w)\]}^\\])[\[({]")  # a call, an index, LaTeX's arguments and sets are no literals
_CLOSES = {"]": "[", ")": "(", "}": "{"}
_ESCAPE = re.compile(r"\\(?:(?![4-7][0-7]{2})[\r\n\\'\"abfnrtvxNuU0-7]|(.))", re.DOTALL)


@dataclass(frozen=True, repr=False)
class PythonLiteral(Extractor):
    path: Path = field(default=None, metadata={"positional": True})
    which: Which = "last"

    def __post_init__(self) -> None:
        as_keys(self.path)
        one_of("which", self.which, WHICH)

    def occurrences(self, completion: str) -> list[Span]:
        found: list[Span] = []
        budget = WORK
        groups = _groups(completion)
        for group in groups if self.which == "first" else reversed(groups):
            end = 0  # of the last one that was read: what lies in it does not count
            for span in group:
                budget -= span[1] - span[0] + EACH if span[0] >= end else 0
                if span[0] >= end and budget >= 0 and _tree(completion[slice(*span)]):
                    found.append(span)
                    end = span[1]
        return sorted(found)

    def text_at(self, completion: str, span: Span) -> str | None:
        text = completion[slice(*span)]
        tree = _tree(text)
        return text if self.path is None or tree is None else _at_path(*tree, as_keys(self.path))


def _groups(text: str) -> list[list[Span]]:
    """What could be a literal, in text order: each outermost pair of brackets with those in it."""
    groups: list[list[Span]] = []
    for span in _bracketed(text):
        if groups and span[0] < groups[-1][0][1]:
            groups[-1].append(span)
        else:
            groups.append([span])
    return groups


def _bracketed(text: str) -> list[Span]:
    """Spans between matching brackets, by where they open, with nothing in them but tokens of literals."""
    spans: list[Span] = []
    opened: list[int] = []
    position, before = 0, ""
    while True:
        if not opened:
            start = _OPEN.search(text, position)
            if start is None:
                return sorted(spans)
            opened, position, before = [start.start()], start.end(), ""
        token = _TOKEN.match(text, position)
        kind = token.lastgroup if token else None
        joined = kind in ("open", "item", "text") and before in ("close", "item", "text")
        if (
            token is None
            or (joined and not kind == before == "text")
            or (kind == "open" and len(opened) == DEEPEST)
        ):
            opened = []  # what is open so far is no literal; what comes may open one
            continue
        position = token.end()
        if kind == "open":
            opened.append(token.start())
        elif kind == "close":
            if text[opened[-1]] == _CLOSES[token[0]]:
                spans.append((opened.pop(), position))
            else:
                opened = []
        before = before if kind == "space" else str(kind)


@lru_cache(maxsize=64)
def _tree(text: str) -> tuple[str, ast.expr] | None:
    """The text of a list, dict, tuple or set, as it was parsed, and its tree; ``None`` where it is none."""
    if len(text) > LONGEST:
        return None
    text = _ESCAPE.sub(lambda escape: escape[0] if escape[1] is None else "\\" + escape[0], text)
    try:
        node = ast.parse(text, mode="eval").body
        ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return (text, node) if isinstance(node, ast.List | ast.Dict | ast.Tuple | ast.Set) else None


def _at_path(text: str, node: ast.expr, keys: tuple[str, ...]) -> str | None:
    for key in keys:
        inner = _entries(node).get(key)
        if inner is None:
            return None
        node = inner
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ast.get_source_segment(text, node)


def _entries(node: ast.expr) -> dict[str, ast.expr]:
    """The values of a dict by their keys, of a list or tuple by their positions."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}
    return (
        {str(place): item for place, item in enumerate(node.elts)}
        if isinstance(node, ast.List | ast.Tuple)
        else {}
    )


def python_literal(
    path: str | int | Sequence[str | int] | None = None, *, which: Which = "last"
) -> PythonLiteral:
    """A Python list, dict, tuple or set anywhere in the text, as it is written, or the value at `path` in it.

    By default the last; what lies in another one does not count, nor do the brackets of a call or an index.
    It is parsed, never run: strings, numbers, True, False and None, at most 10,000 characters and 50 brackets
    deep, in the last (or first) 200,000 characters of literals. `path` as in `json_value`; a text comes
    without its quotes, others as they are written. ValueError: the path has an empty key, or `which` is
    unknown.

    >>> python_literal()("so f(1) = ['a', None]."), python_literal("b.1")("{'a': 1, 'b': (2, '3')}")
    ("['a', None]", '3')
    """
    return PythonLiteral(as_path(path), which)
