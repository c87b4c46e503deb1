"""Extraction of fenced code."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from rewardkit.primitives.extract.extractor import (
    Extractor,
    Span,
    Which,
    text_like,
    trim,
)

# A fence may stand in block quotes and lists, one in the other; what stands before it
# is group "before".
_FENCE = re.compile(
    r"""^(?P<before> (?:[ ]*+>)*+ [ \t]*+ (?P<items> (?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+ ) )
        (?P<fence> `{3,}+ (?=[^`\n]*+$) | ~{3,}+ ) [ \t]*+ (?P<language> \S*+ ) [^\n]*+ $""",
    re.MULTILINE | re.VERBOSE,
)


Language = Annotated[
    str,
    text_like(r"[^\s`]+", "is not the word behind a fence; give one such as 'python'"),
]


@dataclass(frozen=True, repr=False)
class code_block(Extractor):
    r"""Content of a code block fenced by ````` ``` ````` or ``~~~``; by default of the last one.

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
        blocks: list[
            tuple[re.Match[str], int]
        ] = []  # the fence that opens one, and where its content ends
        opened: re.Match[str] | None = None
        for fence in _FENCE.finditer(completion):
            if opened and _closes(fence, opened):
                blocks.append((opened, fence.start()))
                opened = None
            elif opened is None:
                opened = fence
        if opened and self.unclosed:
            blocks.append((opened, len(completion)))
        return [
            trim(completion, fence.end(), end)
            for fence, end in blocks
            if self.language is None
            or _language(fence["language"]) == _language(self.language)
        ]

    def text_at(self, completion: str, span: Span) -> str:
        """The code without the quote marks and the indentation of its fence."""
        code, end = completion[slice(*span)], span[0]
        while completion[end - 1].isspace():
            end -= 1
        fence = _FENCE.match(completion, completion.rfind("\n", 0, end) + 1)
        if not (fence and fence["before"]):
            return code
        margin = re.sub(
            r"[^\s>]", " ", fence["before"]
        )  # under the mark of a list there is white space
        lines = [
            line[len(margin) :] if line.startswith(margin) else line.lstrip(margin)
            for line in code.split("\n")
        ]
        return "\n".join(lines).strip()


_LANGUAGES = {"py": "python", "js": "javascript", "ts": "typescript", "c++": "cpp"}


def _language(word: str) -> str:
    """The language that the word behind a fence names: python for py, Python3, {python} and {.python."""
    name = word.lower().strip("{}.,").removesuffix("3")
    return _LANGUAGES.get(name, name)


def _closes(fence: re.Match[str], opened: re.Match[str]) -> bool:
    """Whether a fence closes another: bare, as long, and not indented far more."""
    return (
        fence["fence"].startswith(opened["fence"])
        and not (fence["language"] or fence["items"])
        and len(fence["before"].expandtabs(4)) < len(opened["before"].expandtabs(4)) + 4
    )
