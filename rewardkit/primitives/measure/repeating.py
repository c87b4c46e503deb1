"""Measurement of repetition, and of its opposite: how many different words a text has."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from rewardkit.primitives.notes import note
from rewardkit.primitives.primitive import OfText
from rewardkit.primitives.texts import bare_words, runs, words

LOOP_REPEATS = 3
"""How often, at the least, a loop's unit stands. Our choice: "very, very good" is no loop."""

BETWEEN = 2
"""Characters that stand between rounds only: a space, or a blank line, that the last round does without."""

LOOP_CHARACTERS = 24
"""How long a loop is, at the least. Our choice: "1000" and "hahaha" end in none."""

LONG = 200
"""Characters of a run without spaces that is one word. Our choice: longer ones are 0.33333... or Thai."""

WORD = 6
"""Characters of it that stand for a word, with its space; of English words it is the mean."""

SHORT = 4
"""Sentences and lines of fewer words do not count: "Yes.", "}" and "So x = 4." come again without a loop."""


@dataclass(frozen=True, repr=False)
class repetition(OfText):
    """Share of a text that repeats itself: 0.0 without loops, towards 1.0 in a long one.

    Pay it with a negative weight. ``kind="ngrams"``: the share of the runs of `ngram`
    words that stood in the text before; words that ordinarily come again ("the", a
    name) are no run of four. ``"loop"``: the share of the characters that a loop at the
    end takes, some unit three times or more and 24 characters or longer, as a text that
    was cut off at its limit has it; it grows with every round. ``"sentences"`` and
    ``"lines"``: the share that stood there before, of those with four words or more, in
    any case.

    In Chinese and Japanese each character is a word: take a larger `ngram`. Of a run of
    over 200 characters without spaces ("0.333...", a loop of Thai) every six are one. A
    text with nothing to compare repeats nothing: 0.0. Notes what is repeated.
    ValueError: `ngram` under 1 or beside another kind, unknown kind.

    >>> repetition(ngram=2)("a b a b a b"), repetition()("The sum of the parts is the sum.")
    (0.6, 0.0)
    >>> round(repetition(kind="loop")("Well. " + "I will try again. " * 16), 2)
    0.99
    """

    _: KW_ONLY
    ngram: int = 4
    kind: Literal["ngrams", "loop", "sentences", "lines"] = "ngrams"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind != "ngrams" and self.ngram != 4:
            raise ValueError(
                f"ngram={self.ngram!r} says nothing of kind={self.kind!r}; leave it out"
            )

    def score(self, completion: str) -> float:
        if self.kind == "ngrams":
            found = [piece for word in words(completion) for piece in _pieces(word)]
            size = self.ngram if len(found) >= self.ngram else 0
            return _repeated("repeated_ngrams", list(runs(found, size)))
        if self.kind == "loop":
            return _loop_share(completion)
        split = _SENTENCE_ENDS if self.kind == "sentences" else _LINE_ENDS
        pieces = [tuple(words(piece)) for piece in split.split(completion.casefold())]
        return _repeated(
            f"repeated_{self.kind}", [piece for piece in pieces if _counts(piece)]
        )


_SENTENCE_ENDS = re.compile(
    r"(?<=[.!?\u2026])\s+|(?<=[\u3002\uff01\uff1f])(?![\u3002\uff01\uff1f])|\n\s*"
)
_LINE_ENDS = re.compile(r"\n\s*")


def _pieces(word: str) -> list[str]:
    """The word; a long run without spaces in pieces."""
    return (
        [word]
        if len(word) <= LONG
        else [word[at : at + WORD] for at in range(0, len(word), WORD)]
    )


def _counts(piece: tuple[str, ...]) -> bool:
    """Whether a sentence or line is long enough; signs by themselves are no words here."""
    return (
        len(piece) >= SHORT
        and sum(any(map(str.isalnum, word)) for word in piece) >= SHORT
    )


def _repeated(name: str, items: list[tuple[str, ...]]) -> float:
    """Share of the items that stood there before; the number is noted."""
    if not items:
        return 0.0
    distinct = len(set(items))
    note(name, len(items) - distinct)
    return 1.0 - distinct / len(items)


def _loop_share(text: str) -> float:
    """Share of the text, without white space at its ends, that the loop at its end takes."""
    text = text.strip()
    if len(text) < LOOP_CHARACTERS:
        return 0.0
    tail = text[-(LOOP_CHARACTERS // LOOP_REPEATS - BETWEEN) :]
    before = text.rfind(tail, 0, -1)
    if before < 0 or text.rfind(tail, 0, before + len(tail) - 1) < 0:
        return 0.0  # three rounds would show the last characters three times: nearly always it ends here
    length, period = _longest_loop(text)
    if length:
        note("loop", {"characters": length, "unit": text[-period:][:80]})
    return length / len(text)


def _longest_loop(text: str) -> tuple[int, int]:
    """Length and period of the longest end of a text that is one unit again and again; (0, 0) if none is.

    By the failure function of Knuth, Morris and Pratt on the text backwards: one pass,
    however it is made.
    """
    backwards = text[::-1]
    border = [0] * len(
        backwards
    )  # of each beginning, the longest proper one that is its end too
    found = (0, 0)
    matched = 0
    for at in range(1, len(backwards)):
        while matched and backwards[at] != backwards[matched]:
            matched = border[matched - 1]
        if backwards[at] == backwards[matched]:
            matched += 1
        border[at] = matched
        period = at + 1 - matched
        if at + 1 >= max(LOOP_REPEATS * period - BETWEEN, LOOP_CHARACTERS):
            found = (at + 1, period)
    return found


@dataclass(frozen=True, repr=False)
class diversity(OfText):
    """Share of different words in `window` words, mean over all such windows of the text (MATTR).

    The share of different words in a whole text falls with its length by itself, this
    does not: texts of one style and any length get about the same. A text of fewer
    words is one window, so that short ones are near 1.0: pay it beside a `length`.
    Words are runs of letters and digits in any case, in Chinese and Japanese each
    character; a text without any gets 0.0. Source: Covington and McFall 2010, "Cutting
    the Gordian knot"; the window of 50 is our choice. ValueError: `window` under 1.

    >>> diversity(window=4)("the cat and the dog and the cat")
    0.85
    """

    _: KW_ONLY
    window: int = 50

    def score(self, completion: str) -> float:
        found = bare_words(completion)
        if not found:
            return 0.0
        window = min(self.window, len(found))
        windows = len(found) - window + 1
        last: dict[str, int] = {}
        distinct = 0
        for at, word in enumerate(found):
            # A word counts in the windows that hold this place and not the one where it
            # stood before.
            first = max(0, at - window + 1, last.get(word, -1) + 1)
            distinct += max(0, min(at, windows - 1) - first + 1)
            last[word] = at
        return distinct / (windows * window)
