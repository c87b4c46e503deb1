"""Multiple choice in text: which letters are named as the answer, and how clearly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any

from rewardkit.primitives.extract.extractor import Extractor, Span, Which
from rewardkit.primitives.extract.letter_rules import (
    ALONE,
    ANNOUNCED,
    is_led,
    letter_forms,
    letter_rules,
)
from rewardkit.primitives.primitive import PRINTED_NAMED
from rewardkit.primitives.texts import normal_form


def _check_options(options: Any, *, case: bool = True) -> None:
    """Raise a ValueError unless `options` are at least two different letters or digits.

    `case` counts "a" and "A" as different.
    """
    if isinstance(options, str) and options.isalnum():
        different = set(options if case else map(str.lower, options))
        if len(different) == len(options) > 1:
            return
    raise ValueError(
        f"options={options!r} are not choices; give two or more different letters or "
        "digits, such as 'ABCD'"
    )


@dataclass(frozen=True, repr=False)
class choice(Extractor):
    r"""Extract the letter of a multiple-choice answer, by default the last one.

    An announced letter ("answer is B", ``\boxed{B}``, 答案是B, "B is the answer") takes
    precedence over a letter marked as a choice ("(B)", "option B", "B is right"), and
    that over a letter alone ("B.", "So B", "**B**"). `named_letters` has the rules,
    which `choice_equal` shares. "A" as an article and "I" as a pronoun are never the
    answer, nor is a denied letter ("not B", "B is wrong") or one of several ("A or B"):
    a hedge retracts the letters before it. Options are case-sensitive; with
    ``case=False`` an announced or marked "b" counts too (the value is then "b": compare
    with `choice_equal`). ValueError: fewer than two options, the same one twice, or an
    option is unknown.

    >>> choice()("A (small) one: 31 is larger. The answer is (B)."), choice()("A or B")
    ('B', None)
    >>> choice()("the answer is (b)"), choice(case=False)("the answer is (b)")
    (None, 'b')
    """

    options: str = field(default="ABCD", metadata=PRINTED_NAMED)
    _: KW_ONLY
    which: Which = "last"
    case: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_options(self.options, case=self.case)

    def occurrences(self, completion: str) -> list[Span]:
        for spans in named_letters(completion, self.options, case=self.case):
            if spans:
                return spans
        return []


def read_choice(value: Any, options: str) -> str | None:
    """Return the only option that a text names, or ``None``.

    A letter counts in any case, by the rules of `named_letters` or as the only word.
    ValueError: fewer than two different letters or digits.

    >>> read_choice("(b) Paris", "ABCD"), read_choice("A or B", "ABCD")
    ('B', None)
    """
    lone_letter = _lone_letter(options)
    if value is None:
        return None
    text = normal_form(str(value), "NFKC")
    lone = lone_letter.fullmatch(text)
    if lone:
        letters = {lone[1]}
    else:
        spans = chain(*named_letters(text, options))
        letters = {text[start] for start, _ in spans}
    named = ""
    for option in options:
        if letters & {option, option.lower(), option.upper()}:
            named += option
    return named if len(named) == 1 else None


@lru_cache(maxsize=64)
def _lone_letter(options: str) -> re.Pattern[str]:
    """Compile a pattern of a text that is one letter, without signs that deny it."""
    _check_options(options, case=False)
    forms = letter_forms(options, case=False)
    return re.compile(rf"(?:(?![¬≠~!✗✘❌])[\W_])*+([{forms}])(?:(?![✗✘❌])[\W_])*+")


def named_letters(
    text: str, options: str, *, case: bool = False
) -> tuple[list[Span], ...]:
    r"""Find the letters that are announced as the answer, marked as a choice, or alone.

    Announced: "answer is B", "the correct option is B", ``<answer>B</answer>``,
    ``\boxed{B}``, 答案是B, 选B, "B is the answer". Marked: "(B)", "[B]", "option B",
    ``\text{B}``, "choose B", "B is right", B正确, B ✅. Alone: at the start of a line,
    behind punctuation or a word such as "so" or "is" (not a noun: "vitamin C"), and
    before punctuation, "because", "or", or the end of the line. Letters have the case
    of `options`; with ``case=False`` the other case counts too if the letter is
    announced, marked, or begins a line as in "b)". "A" before a word that can follow an
    article is an article, "I" before a verb a pronoun.

    A denied letter is not named ("not B", "the wrong answer is B", "B. No, that's
    wrong", 不是B), nor are different letters joined by "or", "and", a comma, a slash or
    a space. Both retract letters named before them at the same rank or a lower one. A
    list of all options, or of at least the first four, in their order, names none but
    an option that it calls right.

    Not understood: a denial in other words ("hardly B", "B) Rome. That is wrong."), a
    question about what is wrong ("The incorrect option is B" is a denial), what a
    letter abbreviates ("C. elegans", "D. Trump").
    """
    rules = letter_rules(options, case)
    ranks: dict[int, int] = {}  # start of a letter -> ANNOUNCED, MARKED or ALONE
    surroundings = _surroundings(text, rules.letter)

    def find(pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        return chain.from_iterable(
            pattern.finditer(text, *span) for span in surroundings
        )

    for rank, needs_lead, pattern in rules.named:
        for match in find(pattern):
            start = match.start(match.lastindex or 0)
            if start not in ranks and (not needs_lead or is_led(text, start)):
                ranks[start] = rank
    if not ranks:  # nearly all texts of other tasks
        return [], [], []
    denials: dict[int, str] = {}  # start -> the denied letter, or "" for all of them
    for match in find(rules.denied):
        start = match.start(match.lastindex or 0)
        denials[start] = text[start].lower()
    for group in find(rules.joined):
        letters = rules.letter.finditer(text, *group.span())
        _join(text, [letter.start() for letter in letters], ranks, denials)
    _drop_listed(text, options, rules.listed, ranks)
    return _not_taken_back(text, ranks, denials)


def _drop_listed(
    text: str, options: str, listed: re.Pattern[str], ranks: dict[int, int]
) -> None:
    """Remove the letters of each list of options without an announced letter."""
    capitals = text.upper()
    if not all(option in capitals for option in options.upper()[:4]):
        return  # the usual case, and cheap to detect
    for match in listed.finditer(text):
        members = [start for start, _ in match.regs[1:] if start >= 0]
        if all(ranks.get(start) != ANNOUNCED for start in members):
            for start in members:
                ranks.pop(start, None)


def _surroundings(text: str, letter: re.Pattern[str]) -> list[Span]:
    """Find disjoint spans around letters, wide enough for the phrases about them."""
    spans: list[Span] = []
    for match in letter.finditer(text):
        start = max(0, match.start() - 200)
        end = match.end() + 100
        if spans and start <= spans[-1][1]:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _join(
    text: str, starts: list[int], ranks: dict[int, int], denials: dict[int, str]
) -> None:
    """Apply denials and ranks to all of the joined letters, as in "not A or B"."""
    plainest = min(ranks.get(start, ALONE) for start in starts)
    if not denials.keys().isdisjoint(starts):
        for start in starts:
            if ranks.get(start) != ANNOUNCED:
                denials[start] = text[start].lower()
    others = [start for start in starts if start not in denials]
    if len({text[start].lower() for start in others}) > 1:
        if plainest < ALONE or ranks.keys() >= set(others):
            denials.update(dict.fromkeys(others, ""))
        else:  # "A and B are too small" neither answers nor retracts
            for start in others:
                ranks.pop(start, None)
    for start in starts:
        if start in denials:
            ranks[start] = plainest


def _not_taken_back(
    text: str, ranks: dict[int, int], denials: dict[int, str]
) -> tuple[list[Span], ...]:
    """Return the letters by rank, without those that a later denial retracts."""
    named: tuple[list[Span], ...] = ([], [], [])
    plainest: dict[str, int] = {}  # letter, or "" for all -> rank of its denials
    for start in sorted({*ranks, *denials}, reverse=True):
        rank = ranks.get(start, ALONE)
        letter = text[start].lower()
        if start in denials:
            denied = denials[start]
            plainest[denied] = min(rank, plainest.get(denied, rank))
        elif rank < min(plainest.get(letter, ALONE + 1), plainest.get("", ALONE + 1)):
            named[rank].append((start, start + 1))
    return tuple(spans[::-1] for spans in named)
