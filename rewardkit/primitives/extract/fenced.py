"""Extraction of fenced code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from rewardkit.primitives.extract.extractor import WHICH, Extractor, Found, Span, Which, trim
from rewardkit.primitives.factories import one_of, true_or_false

__all__ = ["code_block"]

# A fence may stand in block quotes and lists, one in the other; what stands before it is group "before".
_FENCE = re.compile(
    r"""^(?P<before> (?P<quotes> (?:[ ]*+>)*+ ) [ \t]*+ (?P<items> (?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+ ) )
        (?P<fence> `{3,}+ (?=[^`\n]*+$) | ~{3,}+ ) [ \t]*+ (?P<language> \S*+ ) [^\n]*+ $""",
    re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True, repr=False)
class CodeBlock(Extractor):
    language: str | None = field(default=None, metadata={"positional": True})
    which: Which = "last"
    unclosed: bool = False

    def __post_init__(self) -> None:
        one_of("which", self.which, WHICH)
        true_or_false(unclosed=self.unclosed)
        if self.language is not None and not re.fullmatch(r"[^\s`]+", str(self.language)):
            raise ValueError(
                f"language={self.language!r} is not what stands behind a fence; give one word, such as "
                "'python', or nothing for any language"
            )

    def occurrences(self, completion: str) -> list[Span]:
        return [span for span, _ in self._blocks(completion)]

    def found(self, completion: Any) -> Found | None:
        """The block that counts and its code."""
        blocks = self._blocks(completion) if isinstance(completion, str) else None
        if not blocks:
            return None
        span, before = blocks[0 if self.which == "first" else -1]
        return Found(span, _without(before, completion, span))

    def all_found(self, completion: Any) -> list[Found]:
        """All blocks and their code."""
        blocks = self._blocks(completion) if isinstance(completion, str) else []
        return [Found(span, _without(before, completion, span)) for span, before in blocks]

    def _blocks(self, completion: str) -> list[tuple[Span, str]]:
        """The span of each block, with what stands before its opening fence."""
        found: list[tuple[Span, str]] = []
        opened: re.Match[str] | None = None
        for fence in _FENCE.finditer(completion):
            if opened is not None and _closes(fence, opened):
                if self._is_wanted(opened):
                    found.append((trim(completion, opened.end(), fence.start()), opened["before"]))
                opened = None
            elif opened is None or fence["quotes"].count(">") < opened["quotes"].count(">"):
                opened = fence  # the quote in which another one was open has ended
        if self.unclosed and opened is not None and self._is_wanted(opened):
            found.append((trim(completion, opened.end(), len(completion)), opened["before"]))
        return found

    def _is_wanted(self, fence: re.Match[str]) -> bool:
        return self.language is None or _language(fence["language"]) == _language(self.language)


_SHORT_NAMES = {
    **dict.fromkeys(("py", "py3", "python3"), "python"),
    **{"js": "javascript", "ts": "typescript", "c++": "cpp"},
}


def _language(word: str) -> str:
    """The language that the word behind a fence names: python for py, Python3, {python} and {.python,."""
    name = word.lower()
    name = name.strip("{}.,") if name.startswith("{") else name
    return _SHORT_NAMES.get(name, name)


def _closes(fence: re.Match[str], opened: re.Match[str]) -> bool:
    """Whether a fence closes another: bare, as long, in the same quote, and not indented far more."""
    return (
        fence["fence"].startswith(opened["fence"])
        and not (fence["language"] or fence["items"])
        and fence["quotes"].count(">") == opened["quotes"].count(">")
        and len(fence["before"].expandtabs(4)) < len(opened["before"].expandtabs(4)) + 4
    )


def _without(before: str, text: str, span: Span) -> str:
    """The code without the quote marks and the indentation of its fence."""
    code = text[slice(*span)]
    if not before:
        return code
    margin = re.sub(r"[^\s>]", " ", before)  # under the mark of a list there is white space
    return "\n".join(line[_alike(line, margin) :] for line in code.split("\n")).strip()


def _alike(line: str, margin: str) -> int:
    """How many characters of the margin a line begins with."""
    pairs = zip(line, margin, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(line), len(margin)))


def code_block(language: str | None = None, *, which: Which = "last", unclosed: bool = False) -> CodeBlock:
    r"""Content of a code block fenced by ````` ``` ````` or ``~~~``; by default of the last one.

    Of any language, or of `language` in any case: py, py3, python3 and {python} are python, js is javascript,
    ts typescript and c++ cpp; other names count as they are written. What stands behind the language on the
    line of the fence is no code, as in CommonMark ("```python x=1" holds none). As in CommonMark a fence has
    its line to itself, and may stand in lists and block quotes: the quote marks and the indentation of the
    fence are then no part of the code. A closing fence that is indented four columns more than the opening
    one is code. A block that is never closed counts for nothing; with ``unclosed=True`` (a completion cut off
    at its token limit) the one that is still open at the end holds the rest. ValueError: `language` is no
    word, or an option is unknown.

    >>> code_block("python")("```python\nprint(1)\n```")
    'print(1)'
    >>> code_block()("1. Run\n   ```sh\n   if a; then\n     b\n   ```")
    'if a; then\n  b'
    """
    return CodeBlock(language, which, unclosed)
