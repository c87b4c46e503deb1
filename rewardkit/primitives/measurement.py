"""What can be said of a text by itself: format, length, repetition, keywords, similarity.

Every factory here returns a small frozen callable that gives a score in [0, 1]. A missing text is not judged:
``None``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from rapidfuzz import fuzz

from rewardkit.primitives.factories import Made, one_of
from rewardkit.primitives.tagged import check_tag_name, tag_tokens
from rewardkit.primitives.verification import is_missing
from rewardkit.trace import note

__all__ = ["keywords", "length", "repetition", "similarity", "tags"]

Unit = Literal["words", "characters"]


@dataclass(frozen=True, repr=False)
class Tags(Made):
    names: tuple[str, ...] = field(metadata={"star": True})
    partial: bool = False

    def __post_init__(self) -> None:
        if not self.names or len({name.lower() for name in self.names if isinstance(name, str)}) < len(
            self.names
        ):
            raise ValueError(
                f"tags takes one or more different names, such as tags('think', 'answer'); got {self.names!r}"
            )
        for name in self.names:
            check_tag_name(name)

    def __call__(self, completion: str | None) -> float | None:
        if completion is None:
            return None
        kept, position, faults = 0, 0, []
        for name in self.names:
            fault, end = self._pair(completion, name, position)
            if fault:
                faults.append(f"<{name}> {fault}")
            else:
                kept, position = kept + 1, end
        note("tags", faults or "as asked for")
        return kept / len(self.names) if self.partial else float(not faults)

    @staticmethod
    def _pair(completion: str, name: str, position: int) -> tuple[str, int]:
        """What is wrong with the one pair called `name`, and where it ends.

        It must start at `position` or later.
        """
        tokens = list(tag_tokens(name).finditer(completion))
        opening = [token for token in tokens if not token[1]]
        closing = [token for token in tokens if token[1]]
        if not tokens:
            return "is missing", position
        if len(opening) != 1 or len(closing) != 1:
            return f"is opened {len(opening)} times and closed {len(closing)} times", position
        if opening[0].start() > closing[0].start():
            return "is closed before it is opened", position
        if opening[0].start() < position:
            return "does not follow the tag before it", position
        return "", closing[0].end()


def tags(*names: str, partial: bool = False) -> Tags:
    """1.0 if every name stands as exactly one pair.

    One after the other in this order and none inside another, else 0.0.

    Text outside the tags is allowed, case does not matter. ``partial=True`` gives the share of the names of
    which that holds instead. Notes what is wrong. ValueError: no name, the same name twice, or one that
    cannot be a tag.

    >>> tags("think", "answer")("<think>2+2</think> <answer>4</answer>")
    1.0
    >>> tags("think", "answer", partial=True)("<think>2+2 <answer>4</answer>")
    0.5
    """
    return Tags(names, partial)


@dataclass(frozen=True, repr=False)
class Length(Made):
    full_until: float = field(kw_only=True)
    zero_from: float = field(kw_only=True)
    unit: Unit = field(kw_only=True, default="words")

    def __post_init__(self) -> None:
        one_of("unit", self.unit, ("words", "characters"))
        if not 0 <= self.full_until < self.zero_from < math.inf:
            raise ValueError(
                f"length needs 0 <= full_until < zero_from; got full_until={self.full_until!r}, "
                f"zero_from={self.zero_from!r}"
            )

    def __call__(self, completion: str | None) -> float | None:
        if completion is None:
            return None
        size = len(completion.split()) if self.unit == "words" else len(completion)
        note("length", size)
        return min(1.0, max(0.0, (self.zero_from - size) / (self.zero_from - self.full_until)))


def length(*, full_until: float, zero_from: float, unit: Unit = "words") -> Length:
    """1.0 up to `full_until` words or characters, then falling in a straight line to 0.0 at `zero_from`.

    Words are runs without white space, tags included. Notes the length. ValueError: limits that do not rise,
    unknown unit.

    >>> length(full_until=2, zero_from=6)("one two three")
    0.75
    """
    return Length(full_until=full_until, zero_from=zero_from, unit=unit)


@dataclass(frozen=True, repr=False)
class Repetition(Made):
    ngram: int = field(kw_only=True, default=4)

    def __post_init__(self) -> None:
        if not isinstance(self.ngram, int) or self.ngram < 1:
            raise ValueError(f"ngram={self.ngram!r} is not a number of words; give a whole number from 1")

    def __call__(self, completion: str | None) -> float | None:
        if completion is None:
            return None
        words = completion.split()
        total = len(words) - self.ngram + 1
        if total < 1:
            return 0.0
        distinct = set(zip(*(words[start:] for start in range(self.ngram)), strict=False))
        note("repeated_ngrams", total - len(distinct))
        return 1.0 - len(distinct) / total


def repetition(*, ngram: int = 4) -> Repetition:
    """Share of the runs of `ngram` words that stood in the text before.

    0.0 without loops, towards 1.0 in a long one.

    A text of fewer words repeats nothing: 0.0. Pay it with a negative weight. ValueError: `ngram` under 1.

    >>> repetition(ngram=2)("a b a b a b")
    0.6
    """
    return Repetition(ngram=ngram)


@lru_cache(maxsize=256)
def _word_pattern(word: str, case: bool) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", 0 if case else re.IGNORECASE)


@dataclass(frozen=True, repr=False)
class Keywords(Made):
    words: tuple[str, ...] = field(metadata={"star": True})
    mode: Literal["share", "all", "any"] = field(kw_only=True, default="share")
    case: bool = field(kw_only=True, default=False)

    def __post_init__(self) -> None:
        one_of("mode", self.mode, ("share", "all", "any"))
        if not self.words or not all(isinstance(word, str) and word.strip() for word in self.words):
            raise ValueError(
                "keywords takes one or more words, such as keywords('because', 'therefore'); got "
                f"{self.words!r}"
            )

    def __call__(self, completion: str | None) -> float | None:
        if completion is None:
            return None
        found = [word for word in self.words if _word_pattern(word, self.case).search(completion)]
        note("keywords", found)
        if self.mode == "any":
            return float(bool(found))
        share = len(found) / len(self.words)
        return share if self.mode == "share" else float(share == 1.0)


def keywords(*words: str, mode: Literal["share", "all", "any"] = "share", case: bool = False) -> Keywords:
    """Share of the words that occur as whole words, or 1.0 when all or any do.

    How often each occurs does not count.

    Words may hold spaces; case does not matter unless ``case=True``. Notes those found. ValueError: no word,
    unknown mode.

    >>> keywords("first", "then", "so")("First this, then that; also those")
    0.6666666666666666
    """
    return Keywords(words, mode=mode, case=case)


_METHODS: dict[str, Callable[..., float]] = {
    "ratio": fuzz.ratio,
    "partial": fuzz.partial_ratio,
    "token_sort": fuzz.token_sort_ratio,
    "token_set": fuzz.token_set_ratio,
}


@dataclass(frozen=True, repr=False)
class Similarity(Made):
    method: Literal["ratio", "partial", "token_sort", "token_set"] = "ratio"

    def __post_init__(self) -> None:
        one_of("method", self.method, tuple(_METHODS))

    def __call__(self, prediction: Any, ground_truth: Any) -> float | None:
        if is_missing(ground_truth):
            return None
        if prediction is None:
            return 0.0
        a, b = str(prediction), str(ground_truth)
        return 1.0 if a == b else _METHODS[self.method](a, b) / 100.0


def similarity(method: Literal["ratio", "partial", "token_sort", "token_set"] = "ratio") -> Similarity:
    """Likeness of prediction and ground truth by rapidfuzz.

    1.0 when the texts (or their sets of words) are the same.

    "ratio" compares the texts, "token_sort" their words in any order, "token_set" the sets of words,
    "partial" the best-fitting piece: the last two are 1.0 for any text that contains the truth, a hole a
    policy finds. A prediction of ``None`` is 0.0, a missing truth is not judged. ValueError: unknown method.

    >>> similarity()("kitten", "sitten")
    0.8333333333333335
    """
    return Similarity(method)
