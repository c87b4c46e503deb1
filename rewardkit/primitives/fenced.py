"""Extraction of fenced code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rewardkit.primitives.extractor import WHICH, Extractor, Span, Which, trim
from rewardkit.primitives.factories import one_of

__all__ = ["code_block"]

_FENCE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})[ \t]*+([^\s`]*+)[^\n`]*+$", re.MULTILINE)


@dataclass(frozen=True, repr=False)
class CodeBlock(Extractor):
    language: str | None = field(default=None, metadata={"positional": True})
    which: Which = "last"
    unclosed: bool = False

    def __post_init__(self) -> None:
        one_of("which", self.which, WHICH)
        one_of("unclosed", self.unclosed, (False, True))
        if self.language is not None and not re.fullmatch(r"[^\s`]+", str(self.language)):
            raise ValueError(
                f"language={self.language!r} is not what stands behind a fence; give one word, such as "
                "'python', or nothing for any language"
            )

    def occurrences(self, completion: str) -> list[Span]:
        found: list[Span] = []
        opened: re.Match[str] | None = None
        for fence in _FENCE.finditer(completion):
            if opened is None:
                opened = fence
            elif fence[1].startswith(opened[1]) and not fence[2]:
                if self._is_wanted(opened):
                    found.append(trim(completion, opened.end(), fence.start()))
                opened = None
        if self.unclosed and opened is not None and self._is_wanted(opened):
            found.append(trim(completion, opened.end(), len(completion)))
        return found

    def _is_wanted(self, fence: re.Match[str]) -> bool:
        return self.language is None or fence[2].lower() == self.language.lower()


def code_block(language: str | None = None, *, which: Which = "last", unclosed: bool = False) -> CodeBlock:
    r"""Content of a code block fenced by ````` ``` ````` or ``~~~``; by default of the last one.

    Of any language, or of `language` in any case and as it is written: "py" is not "python"; write
    ``first_of(code_block("python"), code_block("py"))`` for both. A block that is never closed counts for
    nothing; with ``unclosed=True`` (a completion cut off at its token limit) the one that is still open at
    the end holds the rest. ValueError: `language` is no word, or an option is unknown.

    >>> code_block("python")("```python\nprint(1)\n```")
    'print(1)'
    """
    return CodeBlock(language, which, unclosed)
