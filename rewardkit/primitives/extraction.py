"""Completion -> field: which piece of a completion is the answer, and where it stands.

Every factory here returns a small frozen callable. Called with a completion it gives the extracted text,
``None`` where nothing was found, ``""`` where the place was found but is empty (so that `first_of` does not
fall through to a number from the reasoning). `.spans(completion)` gives the ``(start, end)`` it was taken
from, on the original text, and `.occurrences(completion)` every place it could have been taken from. White
space around a value is left out. What is not a string has nothing in it: ``None``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Literal

import regex

from rewardkit.primitives.extractor import Extractor, Span, Which, trim
from rewardkit.primitives.factories import one_of
from rewardkit.primitives.structured import assistant_text, code_block, json_value
from rewardkit.primitives.tagged import boxed, tag

__all__ = [
    "Extractor",
    "Span",
    "after",
    "assistant_text",
    "boxed",
    "choice",
    "code_block",
    "first_of",
    "json_value",
    "number",
    "pattern",
    "tag",
]


_SPACE = re.compile(r"\s*")


def _space_end(text: str, start: int) -> int:
    """Where the white space that starts here ends."""
    match = _SPACE.match(text, start)
    return match.end() if match else start


@dataclass(frozen=True, repr=False)
class After(Extractor):
    marker: str
    which: Which = "last"
    until: Literal["line", "end"] = "line"
    case: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.marker, str) or not self.marker.strip():
            raise ValueError(
                f"marker={self.marker!r} is empty; give the text that stands before the answer, such as "
                "'####'"
            )
        one_of("which", self.which, ("first", "last"))
        one_of("until", self.until, ("line", "end"))

    def occurrences(self, completion: str) -> list[Span]:
        found: list[Span] = []
        end = last = -1  # of the line, and of the text in it; looked up once a line
        for match in re.finditer(re.escape(self.marker), completion, 0 if self.case else re.IGNORECASE):
            start = match.end()
            if start > end:
                line = completion.find("\n", start) if self.until == "line" else -1
                end = len(completion) if line < 0 else line
                last = trim(completion, start, end)[1]
            found.append((min(_space_end(completion, start), max(start, last)), max(start, last)))
        return found


def after(
    marker: str, *, which: Which = "last", until: Literal["line", "end"] = "line", case: bool = True
) -> After:
    r"""Text after `marker` up to the end of its line (``until="end"``: of the completion).

    By default the last marker.

    `marker` is plain text, not a pattern; ``case=False`` finds it in any case. ValueError: it is empty.

    >>> after("####")("6 * 7 = 42\n#### 42")
    '42'
    """
    return After(marker, which, until, case)


@lru_cache(maxsize=256)
def _compiled(expression: str) -> regex.Pattern[str]:
    return regex.compile(expression)


@dataclass(frozen=True, repr=False)
class Pattern(Extractor):
    expression: str
    group: int | str | None = None
    which: Which = "last"
    timeout: float = 1.0

    def __post_init__(self) -> None:
        one_of("which", self.which, ("first", "last"))
        if not self.timeout > 0:
            raise ValueError(f"timeout={self.timeout!r} is not a time; give seconds above 0")
        try:
            if not isinstance(self.expression, str):
                raise TypeError("it is no text")
            compiled = _compiled(self.expression)
        except (regex.error, TypeError) as error:
            raise ValueError(f"pattern {self.expression!r} does not compile: {error}") from None
        known = [*range(compiled.groups + 1), *compiled.groupindex]
        if self.group is not None and self.group not in known:
            raise ValueError(f"pattern {self.expression!r} has no group {self.group!r}; it has {known}")

    def occurrences(self, completion: str) -> list[Span]:
        compiled = _compiled(self.expression)
        group = self.group if self.group is not None else min(1, compiled.groups)
        matches = compiled.finditer(completion, timeout=self.timeout)
        try:
            spans = [match.span(group) for match in matches]
        except TimeoutError:
            raise TimeoutError(f"pattern {self.expression!r} took longer than {self.timeout:g} s") from None
        return [trim(completion, *span) for span in spans if span != (-1, -1)]


def pattern(
    expression: str, *, group: int | str | None = None, which: Which = "last", timeout: float = 1.0
) -> Pattern:
    r"""Text of a group of a regular expression: `group`, else the first group, else the whole match.

    By default the last.

    Runs on the `regex` engine, which gives up after `timeout` seconds: TimeoutError, so that the row's
    components end as ``error`` instead of being judged. ValueError at construction: the pattern does not
    compile or lacks the group.

    >>> pattern(r"total: (\d+)")("total: 3, total: 4")
    '4'
    """
    return Pattern(expression, group, which, timeout)


# A sign belongs to the number only where nothing it could subtract from stands before it ("9-6" holds 9 and
# 6).
_NUMBER = re.compile(
    r"""
    (?:(?<![\w)\]}])(?<!\w\.)[-+\u2212] [$€£¥]?)?   # sign, with a currency sign between it and the digits
    (?<!\w)(?<!\w\.)                              # not inside a word, a version or an address
    (?>(?:\d{1,3}(?:,\d{3})+(?!\d) | \d+) (?:\.\d+)? | (?<!\.)\.\d+)
    (?>(?:[eE][-+]?\d+)?)
    (?!\.\d)                                     # "3.14.15" is not a number
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, repr=False)
class Number(Extractor):
    which: Which = "last"

    def __post_init__(self) -> None:
        one_of("which", self.which, ("first", "last"))

    def occurrences(self, completion: str) -> list[Span]:
        return [match.span() for match in _NUMBER.finditer(completion)]


def number(*, which: Which = "last") -> Number:
    """A number as it is written: sign, thousands separators, decimals, exponent; by default the last one.

    A full stop after it is not part of it, letters after it are a unit, and dotted runs such as "3.14.15" are
    no number. Percent signs are left out and a fraction counts as two numbers. ValueError: `which` is
    unknown.

    >>> number()("It costs $1,234.50.")
    '1,234.50'
    >>> number()("9-6"), number()("so -6")
    ('6', '-6')
    """
    return Number(which)


@dataclass(frozen=True, repr=False)
class Choice(Extractor):
    options: str = "ABCD"
    which: Which = "last"

    def __post_init__(self) -> None:
        one_of("which", self.which, ("first", "last"))
        if not isinstance(self.options, str) or len(set(self.options)) < 2 or not self.options.isalnum():
            raise ValueError(
                f"options={self.options!r} are not choices; give two or more different letters or digits, "
                "such as 'ABCD'"
            )

    def occurrences(self, completion: str) -> list[Span]:
        for expression in _choice_patterns(self.options):
            found = [match.span(match.lastindex or 0) for match in expression.finditer(completion)]
            if found:
                return found
        return []


@lru_cache(maxsize=64)
def _choice_patterns(options: str) -> tuple[re.Pattern[str], ...]:
    """What marks a letter as the answer, the surest mark first."""
    letter = f"([{re.escape(options)}])"
    opened = r"\s?:?\s?[*_\"'(\[]{0,3}"
    answer = rf"\b(?i:answer(?: is)?){opened}{letter}(?![\w'’])"
    bracketed = rf"\(\s?{letter}\s?\)|\[\s?{letter}\s?\]|\b(?i:option|choice){opened}{letter}(?![\w'’])"
    lone = rf"(?<![\w'’]){letter}(?=\s*$|[.):,;!?*_\"\]}}。．，：；！？…])"
    return re.compile(answer), re.compile(bracketed), re.compile(lone, re.MULTILINE)


def choice(options: str = "ABCD", *, which: Which = "last") -> Choice:
    """The letter of a multiple-choice answer; by default the last one.

    A letter that is marked as a choice, "(B)", "[B]", "option B", "answer is B", comes before a lone one
    followed by punctuation or the end of its line, "B.", "B"; so "A" as an article is never the answer.
    Options count as they are written ("b" is none of "ABCD"). ValueError: fewer than two options.

    >>> choice()("A (small) one: 31 is larger. The answer is (B).")
    'B'
    """
    return Choice(options, which)


@dataclass(frozen=True, repr=False)
class FirstOf(Extractor):
    extractors: tuple[Extractor, ...] = field(metadata={"star": True})
    which: ClassVar[Which] = "first"  # type: ignore[misc]

    def __post_init__(self) -> None:
        wrong = [item for item in self.extractors if not isinstance(item, Extractor)]
        if wrong or not self.extractors:
            raise ValueError(f"first_of takes extractors, such as tag('answer'); got {wrong or 'none'}")

    def _finder(self, completion: str | None) -> Extractor | None:
        return next((item for item in self.extractors if item(completion) is not None), None)

    def occurrences(self, completion: str) -> list[Span]:
        finder = self._finder(completion)
        return finder.occurrences(completion) if finder else []

    def spans(self, completion: str | None) -> list[Span]:
        finder = self._finder(completion)
        return finder.spans(completion) if finder else []

    def __call__(self, completion: str | None) -> str | None:
        for item in self.extractors:
            value = item(completion)
            if value is not None:
                return value
        return None


def first_of(*extractors: Extractor) -> FirstOf:
    """The value of the first extractor that finds one.

    An empty value counts as found. ValueError: none was given.

    >>> first_of(tag("answer"), number())("I think it is 4")
    '4'
    >>> first_of(tag("answer"), number())("4? <answer></answer>")
    ''
    """
    return FirstOf(extractors)
