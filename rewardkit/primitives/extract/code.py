"""Extraction of code: fenced blocks, and Python literals or values in them."""

from __future__ import annotations

import ast
import re
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from rewardkit.primitives.extract.extractor import (
    Extractor,
    Span,
    Which,
    text_like,
    trim,
)
from rewardkit.primitives.extract.structured import (
    Path,
    bracket_pairs,
    outermost,
    value_at,
)
from rewardkit.primitives.messages import NO_JSON

# A fence may stand in block quotes and lists, one in the other; what stands before it
# is group "before".
_FENCE = re.compile(
    r"""^(?P<before> (?:[ ]*+>)*+ [ \t]*+ (?P<items>
      (?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+ ) )
        (?P<fence> `{3,}+ (?=[^`\n]*+$) | ~{3,}+ ) [ \t]*+
        (?P<language> \S*+ ) [^\n]*+ $""",
    re.MULTILINE | re.VERBOSE,
)


Language = Annotated[
    str,
    text_like(r"[^\s`]+", "is not the word behind a fence; give one such as 'python'"),
]


@dataclass(frozen=True, repr=False)
class code_block(Extractor):
    r"""Content of the last code block fenced by ````` ``` ````` or ``~~~``.

    Of any language, or of `language` in any case: py, py3, python3 and {python} are
    python, js is javascript, ts typescript and c++ cpp; other names count as they are
    written. What stands behind the language on the line of the fence is no code, as in
    CommonMark ("```python x=1" holds none). As in CommonMark a fence has its line to
    itself, and may stand in lists and block quotes: the quote marks and the indentation
    of the fence are then no part of the code. A closing fence that is indented four
    columns more than the opening one is code. A block that is never closed counts for
    nothing; with ``unclosed=True`` (a completion cut off at its token limit) the one
    that is still open at the end holds the rest. ValueError: `language` is no word, or
    an option is unknown.

    >>> code_block("python")("```python\nprint(1)\n```")
    'print(1)'
    >>> code_block()("1. Run\n   ```sh\n   if a; then\n     b\n   ```")
    'if a; then\n  b'
    """

    language: Language | None = None
    _: KW_ONLY
    which: Which = "last"
    unclosed: bool = False

    def occurrences(self, completion: str) -> list[Span]:
        spans: list[Span] = []
        opening: re.Match[str] | None = None
        for fence in _FENCE.finditer(completion):
            if opening is None:
                opening = fence
            elif _closes(fence, opening):
                if self._has_language(opening):
                    spans.append(trim(completion, opening.end(), fence.start()))
                opening = None
        if opening and self.unclosed and self._has_language(opening):
            spans.append(trim(completion, opening.end(), len(completion)))
        return spans

    def _has_language(self, fence: re.Match[str]) -> bool:
        if self.language is None:
            return True
        return _language_of(fence["language"]) == _language_of(self.language)

    def text_at(self, completion: str, span: Span) -> str:
        """Return the code without the quote marks and the indentation of its fence."""
        code, end = completion[slice(*span)], span[0]
        while completion[end - 1].isspace():
            end -= 1
        fence = _FENCE.match(completion, completion.rfind("\n", 0, end) + 1)
        if not (fence and fence["before"]):
            return code
        # Under the mark of a list there is white space.
        margin = re.sub(r"[^\s>]", " ", fence["before"])
        lines = []
        for line in code.split("\n"):
            if line.startswith(margin):
                lines.append(line.removeprefix(margin))
            else:
                lines.append(line.lstrip(margin))
        return "\n".join(lines).strip()


_LANGUAGES = {"py": "python", "js": "javascript", "ts": "typescript", "c++": "cpp"}


def _language_of(word: str) -> str:
    """Return the language that a word names: python for py, Python3 and {.python."""
    name = word.lower().strip("{}.,").removesuffix("3")
    return _LANGUAGES.get(name, name)


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    """Whether a fence closes another: bare, as long, and not indented far more."""
    if fence["language"] or fence["items"]:
        return False
    if not fence["fence"].startswith(opening["fence"]):
        return False
    indent = len(opening["before"].expandtabs(4))
    return len(fence["before"].expandtabs(4)) < indent + 4


LONGEST_LITERAL = 10_000
"""Characters of a literal, at most. Our choice: Python parses it in milliseconds."""

MOST_PARSED = 200_000
"""Characters that are parsed in one text, at most, from the end that is asked for."""

# What a literal is made of, and nothing else: no operators, names or calls, so that no
# text can build a deep tree, and no prefixes of strings. A number ends where an item
# does: "1-2" is none.
_LITERAL_TOKENS = re.compile(
    r"""(?: \s++ | \#[^\n]*+ | [\[({\])},:]
      | '''(?:[^'\\]++|\\.|'(?!''))*+''' | \"\"\"(?:[^"\\]++|\\.|"(?!""))*+\"\"\"
      | '(?:[^'\\\n]++|\\.)*+' | "(?:[^"\\\n]++|\\.)*+"
      | (?: [-+]?(?:[0-9][0-9_]*+(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?
          | True | False | None ) (?=\s*+[,:\])}\#]) )++""",
    re.VERBOSE | re.DOTALL,
)
# What stands before the brackets of a call, an index, LaTeX's arguments and sets.
_NO_LITERAL = re.compile(r"[\w)\]}^\\]")
_ESCAPE = re.compile(r"\\(?:(?![4-7][0-7]{2})[\r\n\\'\"abfnrtvxNuU0-7]|(.))", re.DOTALL)


@dataclass(frozen=True, repr=False)
class python_literal(Extractor):
    """A Python list, dict, tuple or set as it is written, or the value at `path` in it.

    By default the last anywhere in the text; what lies in another one does not count,
    nor do the brackets of a call or an index. It is parsed, never run: strings,
    numbers, True, False and None, at most 10,000 characters, in the last (or first)
    200,000 characters of literals. `path` as in `json_value`; a text comes without its
    quotes, others as Python writes them. ValueError: the path has an empty key, or
    `which` is unknown.

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
    """Read a text that is a list, dict, tuple or set; ``None`` where it is none."""
    if len(text) > LONGEST_LITERAL or not _LITERAL_TOKENS.fullmatch(text):
        return None
    text = _ESCAPE.sub(_double_unknown_escape, text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, list | dict | tuple | set) else None


def _double_unknown_escape(escape: re.Match[str]) -> str:
    """Keep a backslash that escapes nothing, which Python would warn of."""
    return escape[0] if escape[1] is None else "\\" + escape[0]
