"""Extraction of Python literals, or of values in them."""

from __future__ import annotations

import ast
import re
from dataclasses import KW_ONLY, dataclass
from typing import Any

from rewardkit.primitives.extract.extractor import Extractor, Span, Which
from rewardkit.primitives.extract.structured import (
    Path,
    bracket_pairs,
    outermost,
    value_at,
)
from rewardkit.primitives.json_text import MISSING

LITERAL = 10_000
"""Characters of a Python literal, at the most. Our choice: some milliseconds of Python's parser."""

WORK = 200_000
"""Characters that are parsed, at the most, in one text, from the end that is asked for."""

# What a literal is made of, and nothing else: no operators, names or calls, so that no
# text can build a deep tree, and no prefixes of strings. A number ends where an item
# does: "1-2" is none.
_TOKENS = re.compile(
    r"""(?: \s++ | \#[^\n]*+ | [\[({\])},:]
      | '''(?:[^'\\]++|\\.|'(?!''))*+''' | \"\"\"(?:[^"\\]++|\\.|"(?!""))*+\"\"\"
      | '(?:[^'\\\n]++|\\.)*+' | "(?:[^"\\\n]++|\\.)*+"
      | (?: [-+]?(?:[0-9][0-9_]*+(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?
          | True | False | None ) (?=\s*+[,:\])}\#]) )++""",
    re.VERBOSE | re.DOTALL,
)
_NO_LITERAL = re.compile(
    r"[\w)\]}^\\]"
)  # before a call, an index, LaTeX's arguments and sets
_ESCAPE = re.compile(r"\\(?:(?![4-7][0-7]{2})[\r\n\\'\"abfnrtvxNuU0-7]|(.))", re.DOTALL)


@dataclass(frozen=True, repr=False)
class python_literal(Extractor):
    """A Python list, dict, tuple or set anywhere in the text, as it is written, or the value at `path` in it.

    By default the last; what lies in another one does not count, nor do the brackets of
    a call or an index. It is parsed, never run: strings, numbers, True, False and None,
    at most 10,000 characters, in the last (or first) 200,000 characters of literals.
    `path` as in `json_value`; a text comes without its quotes, others as Python writes
    them. ValueError: the path has an empty key, or `which` is unknown.

    >>> python_literal()("so f(1) = ['a', None]."), python_literal("b.1")("{'a': 1, 'b': (2, '3')}")
    ("['a', None]", '3')
    """

    path: Path = None
    _: KW_ONLY
    which: Which = "last"

    def occurrences(self, completion: str) -> list[Span]:
        pairs = [
            span
            for span in bracket_pairs(completion)[0]
            if not (span[0] and _NO_LITERAL.match(completion, span[0] - 1))
        ]
        return outermost(
            pairs,
            self.which,
            lambda span: _literal(completion[slice(*span)]) is not None,
            WORK,
        )

    def text_at(self, completion: str, span: Span) -> str | None:
        text = completion[slice(*span)]
        if self.path is None:
            return text
        value = value_at(_literal(text), self.path)
        return (
            value
            if isinstance(value, str)
            else None
            if value is MISSING
            else repr(value)
        )


def _literal(text: str) -> Any:
    """The list, dict, tuple or set that a text is; ``None`` where it is none."""
    if len(text) > LITERAL or not _TOKENS.fullmatch(text):
        return None
    text = _ESCAPE.sub(
        lambda escape: escape[0] if escape[1] is None else "\\" + escape[0], text
    )
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, list | dict | tuple | set) else None
