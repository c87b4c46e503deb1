"""Multiple choice in text: which letters are named as the answer, and how plainly."""

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
from rewardkit.primitives.primitive import NAMED
from rewardkit.primitives.texts import normal_form


def _check(options: Any, *, case: bool = True) -> None:
    """Raise a ValueError unless these are two or more different letters or digits, as they are compared."""
    different = (
        {option if case else option.lower() for option in options}
        if isinstance(options, str)
        else ()
    )
    if len(different) < 2 or len(different) < len(options) or not options.isalnum():
        raise ValueError(
            f"options={options!r} are not choices; give two or more different letters or digits, such as "
            "'ABCD'"
        )


@dataclass(frozen=True, repr=False)
class choice(Extractor):
    r"""The letter of a multiple-choice answer; by default the last one.

    A letter that is announced, "answer is B", ``\boxed{B}``, 答案是B, "B is the answer",
    comes before one that is marked as a choice, "(B)", "option B", "B is right", and
    that before one that stands alone, "B.", "So B", "**B**". `named_letters` has the
    rules, which `choice_equal` shares. "A" as an article and "I" as a pronoun are never
    the answer, nor is a letter that is denied, "not B", "B is wrong", or one of
    several, "A or B": a hedge takes back what came before it. Options count as they are
    written; with ``case=False`` an announced or marked "b" counts too (the value is
    then "b": compare with `choice_equal`). ValueError: fewer than two options, the same
    one twice, or an option is unknown.

    >>> choice()("A (small) one: 31 is larger. The answer is (B)."), choice()("A or B")
    ('B', None)
    >>> choice()("the answer is (b)"), choice(case=False)("the answer is (b)")
    (None, 'b')
    """

    options: str = field(default="ABCD", metadata=NAMED)
    _: KW_ONLY
    which: Which = "last"
    case: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(self.options, case=self.case)

    def occurrences(self, completion: str) -> list[Span]:
        named = named_letters(completion, self.options, case=self.case)
        return next((spans for spans in named if spans), [])


def read_choice(value: Any, options: str) -> str | None:
    """The option that a text names, as it stands in `options`; ``None`` where it names none, or several.

    Letters are named as `named_letters` has it, in any case, or all there is.
    ValueError: fewer than two different letters or digits.

    >>> read_choice("(b) Paris", "ABCD"), read_choice("A or B", "ABCD"), read_choice("not B", "ABCD")
    ('B', None, None)
    """
    alone = _alone(options)
    if value is None:
        return None
    text = normal_form(str(value), "NFKC")
    whole = alone.fullmatch(text)
    spans = [whole.span(1)] if whole else [*chain(*named_letters(text, options))]
    letters = {text[start] for start, _ in spans}
    named = {
        option
        for option in options
        if {option, option.lower(), option.upper()} & letters
    }
    return named.pop() if len(named) == 1 else None


@lru_cache(maxsize=64)
def _alone(options: str) -> re.Pattern[str]:
    """A text that is one of the letters; the other signs around it do not deny it."""
    _check(options, case=False)
    forms = letter_forms(options, case=False)
    return re.compile(rf"(?:(?![¬≠~!✗✘❌])[\W_])*+([{forms}])(?:(?![✗✘❌])[\W_])*+")


def named_letters(
    text: str, options: str, *, case: bool = False
) -> tuple[list[Span], ...]:
    r"""Where letters are named: those announced as the answer, those marked as a choice, those alone.

    Announced: "answer is B", "the correct option is B", ``<answer>B</answer>``,
    ``\boxed{B}``, 答案是B, 选B, "B is the answer". Marked: "(B)", "[B]", "option B",
    ``\text{B}``, "choose B", "B is right", B正确, B ✅. Alone: at the start of a line,
    behind punctuation or a word such as "so" or "is" (not a noun: "vitamin C"), and
    before punctuation, "because", "or", or the end of the line. Letters count as they
    stand in `options`; with ``case=False`` also the others, where they are announced,
    marked, or begin a line as in "b)". "A" before a word that can follow an article is
    one, "I" before a verb the pronoun.

    A letter that is denied is not named ("not B", "the wrong answer is B", "B. No,
    that's wrong", 不是B), nor are different letters with "or", "and", a comma, a slash or
    a space between them; both take back what was named before them as plainly as they
    are, or less. A list of the options, all of them or at least the first four, in
    their order, names none, but one that is called right.

    Not understood: a denial in other words ("hardly B", "B) Rome. That is wrong."), a
    question about what is wrong ("The incorrect option is B" is a denial), what a
    letter abbreviates ("C. elegans", "D. Trump").
    """
    rules = letter_rules(options, case)
    ranks: dict[int, int] = {}  # where a letter starts -> how plainly it is named
    near = _surroundings(text, rules.letter)

    def matches(pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        return chain.from_iterable(pattern.finditer(text, *span) for span in near)

    for rank, led, pattern in rules.named:
        for match in matches(pattern):
            start = match.start(match.lastindex or 0)
            if start not in ranks and (not led or is_led(text, start)):
                ranks[start] = rank
    if not ranks:  # nearly all texts of other tasks
        return [], [], []
    denials = (match.start(match.lastindex or 0) for match in matches(rules.denied))
    against = {
        start: text[start].lower() for start in denials
    }  # the letter, or "" for all of them
    for group in matches(rules.joined):
        _join(
            text,
            [match.start() for match in rules.letter.finditer(text, *group.span())],
            ranks,
            against,
        )
    shown = text.upper()
    may_list = all(
        option in shown for option in options.upper()[:4]
    )  # seldom, and quick to see
    for found in rules.listed.finditer(text) if may_list else ():
        members = [start for start, _ in found.regs[1:] if start >= 0]
        if all(ranks.get(start) != ANNOUNCED for start in members):
            for start in members:
                ranks.pop(start, None)
    return _not_taken_back(text, ranks, against)


def _surroundings(text: str, letter: re.Pattern[str]) -> list[Span]:
    """The spans of text around letters, far enough to see what is said of them; they do not overlap."""
    spans: list[Span] = []
    for match in letter.finditer(text):
        start, end = max(0, match.start() - 200), match.end() + 100
        if spans and start <= spans[-1][1]:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _join(
    text: str, starts: list[int], ranks: dict[int, int], against: dict[int, str]
) -> None:
    """Enter what letters that are joined have in common: "not A or B", "A and B are wrong", "A or B"."""
    plainest = min(ranks.get(start, ALONE) for start in starts)
    if any(start in against for start in starts):
        against.update(
            (start, text[start].lower())
            for start in starts
            if ranks.get(start) != ANNOUNCED
        )
    left = [start for start in starts if start not in against]
    if len({text[start].lower() for start in left}) > 1:
        if plainest < ALONE or all(start in ranks for start in left):
            against.update(dict.fromkeys(left, ""))
        else:  # "A and B are too small" answers nothing, and takes nothing back
            for start in left:
                ranks.pop(start, None)
    ranks.update((start, plainest) for start in starts if start in against)


def _not_taken_back(
    text: str, ranks: dict[int, int], against: dict[int, str]
) -> tuple[list[Span], ...]:
    """The letters by how plainly they are named, without those that as plain a word further on is against."""
    named: tuple[list[Span], ...] = ([], [], [])
    plainest: dict[
        str, int
    ] = {}  # letter, or "" for all of them -> the plainest word against it
    for start in sorted({*ranks, *against}, reverse=True):
        rank, letter = ranks.get(start, ALONE), text[start].lower()
        if start in against:
            plainest[against[start]] = min(rank, plainest.get(against[start], rank))
        elif rank < min(plainest.get(letter, ALONE + 1), plainest.get("", ALONE + 1)):
            named[rank].append((start, start + 1))
    return tuple(spans[::-1] for spans in named)
