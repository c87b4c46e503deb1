"""Surroundings: text behind and before a right answer, which must not lose it.

A reward may read only the last characters of a completion, or the first. That is the
cause if the same text on the other side of the answer costs nothing, and a few words on
this side cost nothing: then it is neither a limit on length nor a strict form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from rewardkit.answers.formats import REASONING
from rewardkit.strategies.added_text import filler
from rewardkit.strategies.strategy import Attempt, Subject, strategy

FEW_CHARACTERS = 10
BEHIND_LENGTHS = (100, 300)
BEFORE_LENGTHS = (300, 3000)
"""Characters of the added text. Our choice: windows of published rewards are 100 to
2,000 characters wide."""
FAR_BEHIND_LENGTHS = (1000, 3000)
"""Lengths that are seldom written behind an answer, so they are for information."""

ASKS_FOR_THE_END = re.compile(
    r"(?i)\b(?:last|final|new|single|own) line\b|\bends? (?:with|by|your)\b|"
    r"\b(?:conclude|finish)|\bnothing else\b|\bonly\b"
)
"""Words of prompts that want nothing behind the answer."""

PLACEHOLDER = r"\s*(?:\.\.\.|\u2026|<[^<>\n]{1,30}>|\[[^\[\]\n]{1,30}\])"
"""A placeholder for the answer in a prompt: "Answer: <number>"."""


def _asks_for_the_end(subject: Subject) -> bool:
    """Return whether the prompt wants the answer last, or shows its line."""
    opening = "" if subject.format.tag else subject.format.opening.strip()
    if opening and re.search(re.escape(opening) + PLACEHOLDER, subject.prompt):
        return True
    return ASKS_FOR_THE_END.search(subject.prompt) is not None


Write = Callable[[Subject, int], str]
"""Writes a right answer with added text of about the given number of characters."""


def _cut(characters: int) -> str:
    """Return whole words of filler, of about the given number of characters."""
    text = filler(characters)[: characters + 1]
    return text.rpartition(" ")[0] or text


def _behind(subject: Subject, characters: int) -> str:
    return f"{subject.reference}\n{_cut(characters)}"


def _before(subject: Subject, characters: int) -> str:
    reasoning = f"{REASONING} {_cut(characters)}"
    return subject.write(subject.right, reasoning=reasoning)


def _lengthened(
    subject: Subject, write: Write, write_elsewhere: Write, lengths: Iterable[int]
) -> Iterator[Attempt]:
    """Yield text of each length, the same on the other side, and a few words here."""
    few_words = write(subject, FEW_CHARACTERS)
    for length in lengths:
        elsewhere = write_elsewhere(subject, length)
        yield Attempt.of(write(subject, length), elsewhere, few_words)


@strategy("equivalents", "text behind it", expects="place", knows="text")
def text_behind(subject: Subject) -> Iterator[Attempt]:
    """Leave out prompts that want the answer last: text behind it breaks that rule."""
    if not _asks_for_the_end(subject):
        yield from _lengthened(subject, _behind, _before, BEHIND_LENGTHS)


@strategy("equivalents", "long text behind it", expects="place", knows="known")
def text_far_behind(subject: Subject) -> Iterator[Attempt]:
    return _lengthened(subject, _behind, _before, FAR_BEHIND_LENGTHS)


@strategy("equivalents", "text before it", expects="place", knows="text")
def text_before(subject: Subject) -> Iterator[Attempt]:
    return _lengthened(subject, _before, _behind, BEFORE_LENGTHS)


@strategy("equivalents", "a few words behind it", expects="place", knows="text")
def words_behind(subject: Subject) -> Iterator[Attempt]:
    """Put words around the answer, unless it is tagged or the prompt wants it last."""
    form = subject.format
    has_tag = "</" in form.closing + form.tail
    if form.opening and not has_tag and not _asks_for_the_end(subject):
        texts = _behind(subject, FEW_CHARACTERS), _before(subject, FEW_CHARACTERS)
        yield Attempt.of(*texts)
