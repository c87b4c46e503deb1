"""Extraction of the letter of a multiple-choice answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from rewardkit.primitives.extractor import WHICH, Extractor, Span, Which
from rewardkit.primitives.factories import one_of

__all__ = ["choice"]

# What may stand between the words that announce a choice and its letter, and it is little: "answer: **(B)**".
_OPENED = (
    r"[\s*_]{0,4}+[:：]?+[\s*_\"'“‘$(\[（【]{0,6}+"
    r"(?:\\(?:boxed|fbox|text|textbf|mathrm|mathbf)\s?\{\s?){0,2}+[(\[（【*]{0,3}+"
)
_IS = r"(?:\s(?i:is|was|should be|must be|would be|will be))?+"
_ROMAN = r"\\(?:text|textbf|mathrm|mathbf)\s?\{\s?"


@dataclass(frozen=True, repr=False)
class Choice(Extractor):
    options: str = "ABCD"
    which: Which = "last"
    case: bool = True

    def __post_init__(self) -> None:
        one_of("which", self.which, WHICH)
        one_of("case", self.case, (False, True))
        if not isinstance(self.options, str) or len(set(self.options)) < 2 or not self.options.isalnum():
            raise ValueError(
                f"options={self.options!r} are not choices; give two or more different letters or digits, "
                "such as 'ABCD'"
            )

    def occurrences(self, completion: str) -> list[Span]:
        for expression in _choice_patterns(self.options, self.case):
            found = [match.span(match.lastindex or 0) for match in expression.finditer(completion)]
            if found:
                return found
        return []


@lru_cache(maxsize=64)
def _choice_patterns(options: str, case: bool) -> tuple[re.Pattern[str], ...]:
    """What marks a letter as the answer, the surest mark first; group 1 or a later one is the letter."""
    lone = re.escape(options)
    marked = lone if case else re.escape("".join(sorted({*options, *options.lower(), *options.upper()})))
    # "I" before a word is the pronoun, "a" the article; of "A" before a word nobody can tell.
    letter = rf"(?!I\s+[a-z]|[ai]\s+\w)([{marked}])"
    word, chinese = rf"{letter}(?![\w'’])", rf"{letter}(?![A-Za-z0-9_'’])"
    answer = (
        rf"\b(?i:answer)[*_]{{0,3}}{_IS}{_OPENED}(?:(?i:option|choice){_OPENED})?+{word}",
        rf"\\(?:boxed|fbox)\s?\{{\s?(?:{_ROMAN})?+[(\[*]{{0,3}}+{letter}(?:[.):*\]}}]|\s?\}})",
        rf"(?:答案\s?(?:应该|应|應該|應)?(?:是|为|為)?|选择?|選擇?){_OPENED}{chinese}",
    )
    bracketed = (
        rf"\(\s?{letter}\s?\)|\[\s?{letter}\s?\]|（\s?{letter}\s?）|【\s?{letter}\s?】",
        rf"\b(?i:option|choice){_OPENED}{word}",
        rf"(?:选项|選項){_OPENED}{chinese}",
        rf"{_ROMAN}\(?{letter}[.)]?\s?\}}",
    )
    ends = r"(?=\s*$|[.):,;!?*_\"\]}。．，：；！？…])"
    by_itself = [rf"(?<![\w'’])(?!I)([{lone}]){ends}"]
    if "I" in options:  # as the pronoun, too, it stands before commas and stops
        by_itself.append(r"^[^\S\n]*[*_\"(\[]{0,3}(I)(?=\s*$|[.):*\]])")
    return tuple(re.compile("|".join(marks), re.MULTILINE) for marks in (answer, bracketed, by_itself))


def choice(options: str = "ABCD", *, which: Which = "last", case: bool = True) -> Choice:
    r"""The letter of a multiple-choice answer; by default the last one.

    A letter that is announced, "answer is B", ``\boxed{B}``, 答案是B, 选B, comes before one that is marked as
    a choice, "(B)", "[B]", "option B", ``\text{B}``, and that before a lone one followed by punctuation or
    the end of its line, "B.", "B)", "**B**"; so "A" as an article and "I" as a pronoun are never the answer.
    Options count as they are written; with ``case=False`` an announced or marked "b" counts too (the value
    is then "b": compare with `matches`). ValueError: fewer than two options, or an option is unknown.

    >>> choice()("A (small) one: 31 is larger. The answer is (B).")
    'B'
    >>> choice()("the answer is (b)"), choice(case=False)("the answer is (b)")
    (None, 'b')
    """
    return Choice(options, which, case)
