"""Measures of the length of a text and of its repetition."""

from __future__ import annotations

import math
import re
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from rewardkit.primitives.primitive import OfText, Positive, note
from rewardkit.primitives.texts import bare_words, runs, words

Unit = Literal["words", "characters", "tokens"]

FALL_EXPONENT = 4.0
"""Exponent of the exponential fall. Our choice: 0.12 is left half way, not 0.5."""


class _OfSize(OfText):
    """Base of measures of the size of a text in a unit."""

    unit: Unit
    tokenizer: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.unit == "tokens") != (self.tokenizer is not None):
            raise ValueError(
                f"unit={self.unit!r} and tokenizer={self.tokenizer!r} do not go "
                "together; give unit='tokens' and a tokenizer, or neither"
            )
        if self.tokenizer is None:
            return
        if isinstance(self.tokenizer, str) or not callable(self._encode):
            raise ValueError(
                f"tokenizer={self.tokenizer!r} cannot count; give an object with "
                ".encode(text), or a function that gives a text's tokens"
            )

    @property
    def _encode(self) -> Any:
        return getattr(self.tokenizer, "encode", self.tokenizer)

    def score(self, completion: str) -> float:
        if self.unit == "tokens":
            size = len(self._encode(completion))
        elif self.unit == "words":
            size = len(words(completion))
        else:
            size = len(completion)
        note("length", size)
        return self.credit(size)

    def credit(self, size: int) -> float:
        """Return the score of a text of this size."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class length(_OfSize):
    """Score 1.0 from `full_from` to `full_until` words, 0.0 from `zero_from` on.

    The unit may also be characters or tokens. The score is 0.0 up to `zero_until`, too.
    Between the limits it changes linearly, by a ``"cosine"`` (gently at both ends) or
    by an ``"exponential"`` (the first units beyond a full limit cost most: half way
    0.12 is left). Without `full_from` short texts lose nothing; without `full_until`
    and `zero_from` long texts lose nothing.

    Words are runs without white space, tags included; in Chinese and Japanese each
    character is a word (for Thai and others without spaces use characters). Tokens come
    from ``tokenizer.encode(text)``, or ``tokenizer(text)`` for a function; its errors
    are not caught. A missing field gives ``None`` (see `measure`). Notes the length.
    ValueError: limits that do not rise or are missing, unknown unit or fall, tokens
    without a tokenizer or the reverse.

    >>> length(full_until=2, zero_from=6)("one two three")
    0.75
    >>> length(full_from=100, full_until=300, zero_from=400)("Too short.")
    0.02
    >>> length(full_from=4)("Too short."), length(full_from=4)("This is long enough.")
    (0.5, 1.0)
    """

    _: KW_ONLY
    full_until: float | None = None
    zero_from: float | None = None
    unit: Unit = "words"
    tokenizer: Any = field(default=None, hash=False)
    full_from: float = 0
    zero_until: float = 0
    fall: Literal["linear", "cosine", "exponential"] = "linear"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self._has_rising_limits():
            raise ValueError(
                "length needs 0 <= full_until < zero_from where long texts are to "
                "lose, and 0 <= zero_until < full_from <= full_until where short ones "
                f"are; got full_until={self.full_until!r}, "
                f"zero_from={self.zero_from!r}, full_from={self.full_from!r}, "
                f"zero_until={self.zero_until!r}"
            )

    def _has_rising_limits(self) -> bool:
        rises = self.zero_until < self.full_from
        if self.full_until is None and self.zero_from is None:
            return rises  # long texts lose nothing
        if self.full_until is None or self.zero_from is None:
            return False
        if not self.full_from <= self.full_until < self.zero_from:
            return False
        return rises or self.full_from == 0

    def credit(self, size: int) -> float:
        """Return the score of a size: 1.0 within the full limits, else less."""
        if size < self.full_from:
            share = (size - self.zero_until) / (self.full_from - self.zero_until)
        elif self.full_until is None or self.zero_from is None:
            return 1.0
        else:
            share = (self.zero_from - size) / (self.zero_from - self.full_until)
        share = min(1.0, max(0.0, share))
        if self.fall == "cosine":
            return (1.0 - math.cos(math.pi * share)) / 2.0
        if self.fall == "exponential":
            return math.expm1(FALL_EXPONENT * share) / math.expm1(FALL_EXPONENT)
        return share


@dataclass(frozen=True, repr=False)
class overlong(_OfSize):
    """Measure DAPO's soft overlong punishment, from 0.0 to 1.0.

    It is 0.0 up to ``limit - buffer``, grows linearly, and is 1.0 from `limit` on. This
    is the negative of equation 13 of arXiv 2503.14476, so that a weight of -1 does what
    the paper does (with a `limit` of 20,480 tokens and a `buffer` of 4,096). Units,
    tokenizer and notes as in `length`. ValueError: a buffer that is not above 0 or
    exceeds the limit.

    >>> overlong(limit=10, buffer=4)("w " * 7), overlong(limit=10, buffer=4)("w " * 11)
    (0.25, 1.0)
    """

    _: KW_ONLY
    limit: float
    buffer: Positive
    unit: Unit = "words"
    tokenizer: Any = field(default=None, hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.buffer > self.limit:
            raise ValueError(
                f"buffer={self.buffer!r} is more than limit={self.limit!r}; give at "
                "most that"
            )

    def credit(self, size: int) -> float:
        return min(1.0, max(0.0, (size - (self.limit - self.buffer)) / self.buffer))


LOOP_REPEATS = 3
"""Repeats of a loop's unit, at least. Our choice: "very, very good" is no loop."""

LOOP_SEPARATOR = 2
"""Characters that only separate rounds: a space, or a blank line."""

LOOP_CHARACTERS = 24
"""Characters of a loop, at least. Our choice: "1000" and "hahaha" have no loop."""

LONGEST_WORD = 200
"""Characters of a word, at most. Our choice: longer runs are 0.333... or Thai."""

WORD_PIECE = 6
"""Characters of a longer run that count as a word: the English mean with a space."""

SHORTEST_SENTENCE = 4
"""Words of a sentence that counts, at least: "Yes." and "}" recur without a loop."""


@dataclass(frozen=True, repr=False)
class repetition(OfText):
    """Measure the share of a text that is repetition, near 1.0 for a long loop.

    Give it a negative weight. ``kind="ngrams"`` is the share of word n-grams that
    occurred earlier in the text; four words leave out ordinary repeats ("the", a name).
    ``"loop"`` is the share of characters in a loop at the end, a unit repeated three
    times or more over at least 24 characters, as in a text cut off at its limit; it
    grows with every round. ``"sentences"`` and ``"lines"`` are the share of sentences
    or lines with an earlier twin, in any case; those of under four words do not count.

    In Chinese and Japanese each character is a word: use a larger `ngram`. In a run of
    over 200 characters without spaces ("0.333...", Thai) every six count as a word. A
    text with nothing to compare scores 0.0. Notes what is repeated. ValueError: `ngram`
    under 1 or with another kind, unknown kind.

    >>> repetition(ngram=2)("a b a b a b"), repetition()("The sum of the parts.")
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
            pieces: list[str] = []
            for word in words(completion):
                pieces += _split_word(word)
            if len(pieces) < self.ngram:
                return 0.0
            return _repeated_share("repeated_ngrams", list(runs(pieces, self.ngram)))
        if self.kind == "loop":
            return _loop_share(completion)
        ends = _SENTENCE_ENDS if self.kind == "sentences" else _LINE_ENDS
        parts = []
        for text in ends.split(completion.casefold()):
            part = tuple(words(text))
            if _is_long_enough(part):
                parts.append(part)
        return _repeated_share(f"repeated_{self.kind}", parts)


_SENTENCE_ENDS = re.compile(
    r"(?<=[.!?\u2026])\s+|(?<=[\u3002\uff01\uff1f])(?![\u3002\uff01\uff1f])|\n\s*"
)
_LINE_ENDS = re.compile(r"\n\s*")


def _split_word(word: str) -> list[str]:
    """Split a long run without spaces into pieces; keep a word whole."""
    if len(word) <= LONGEST_WORD:
        return [word]
    starts = range(0, len(word), WORD_PIECE)
    return [word[start : start + WORD_PIECE] for start in starts]


def _is_long_enough(part: tuple[str, ...]) -> bool:
    """Return whether a sentence or line has enough words with a letter or digit."""
    if len(part) < SHORTEST_SENTENCE:
        return False
    return sum(any(map(str.isalnum, word)) for word in part) >= SHORTEST_SENTENCE


def _repeated_share(name: str, parts: list[tuple[str, ...]]) -> float:
    """Return the share of parts equal to an earlier one, and note their number."""
    if not parts:
        return 0.0
    distinct = len(set(parts))
    note(name, len(parts) - distinct)
    return 1.0 - distinct / len(parts)


def _loop_share(text: str) -> float:
    """Return the length of the loop at the end as a share of the stripped text."""
    text = text.strip()
    if len(text) < LOOP_CHARACTERS:
        return 0.0
    # A loop shows the last characters three times, which few texts do: a cheap test.
    tail = text[-(LOOP_CHARACTERS // LOOP_REPEATS - LOOP_SEPARATOR) :]
    before = text.rfind(tail, 0, -1)
    if before < 0 or text.rfind(tail, 0, before + len(tail) - 1) < 0:
        return 0.0
    length, period = _longest_loop(text)
    if length:
        note("loop", {"characters": length, "unit": text[-period:][:80]})
    return length / len(text)


def _longest_loop(text: str) -> tuple[int, int]:
    """Return length and period of the longest suffix that repeats one unit, or (0, 0).

    The failure function of Knuth, Morris and Pratt on the reversed text takes one pass.
    """
    backwards = text[::-1]
    # border[i]: length of the longest proper prefix of the first i + 1 characters that
    # is also their suffix.
    border = [0] * len(backwards)
    longest = (0, 0)
    matched = 0
    for at in range(1, len(backwards)):
        while matched and backwards[at] != backwards[matched]:
            matched = border[matched - 1]
        if backwards[at] == backwards[matched]:
            matched += 1
        border[at] = matched
        period = at + 1 - matched
        if at + 1 >= max(LOOP_REPEATS * period - LOOP_SEPARATOR, LOOP_CHARACTERS):
            longest = (at + 1, period)
    return longest


@dataclass(frozen=True, repr=False)
class diversity(OfText):
    """Measure the share of different words in `window` words, mean over all windows.

    This is the moving-average type-token ratio (MATTR). Unlike the share of different
    words in a whole text, it does not fall with the length: texts of one style get
    about the same. A text of fewer words is one window, so that short texts score near
    1.0: combine it with a `length`. Words are runs of letters and digits in any case,
    in Chinese and Japanese each character; a text without words scores 0.0. Source:
    Covington and McFall 2010, "Cutting the Gordian knot"; the window of 50 is our
    choice. ValueError: `window` under 1.

    >>> diversity(window=4)("the cat and the dog and the cat")
    0.85
    """

    _: KW_ONLY
    window: int = 50

    def score(self, completion: str) -> float:
        text_words = bare_words(completion)
        if not text_words:
            return 0.0
        window = min(self.window, len(text_words))
        windows = len(text_words) - window + 1
        last: dict[str, int] = {}
        distinct = 0
        for at, word in enumerate(text_words):
            # A word counts once per window: in those that contain this place but not
            # the word's previous one.
            first = max(0, at - window + 1, last.get(word, -1) + 1)
            distinct += max(0, min(at, windows - 1) - first + 1)
            last[word] = at
        return distinct / (windows * window)
