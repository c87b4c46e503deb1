"""Measurement of keywords: how many of some words a text holds, or how often."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from rewardkit.primitives.notes import note
from rewardkit.primitives.primitive import STAR, OfText, Texts
from rewardkit.primitives.texts import normal_form, places_of_word, plain_quotes

Mode = Literal["share", "all", "any", "count"]


@dataclass(frozen=True, repr=False, init=False)
class keywords(OfText):
    """Share of the words that occur as whole words; 1.0 or 0.0 with ``mode="all"`` or ``"any"``.

    How often each occurs does not count, except with ``mode="count"``: all occurrences
    together, 1.0 at `full_at`; saying one word again and again earns that too.

    Words may hold spaces; case (unless ``case=True``), the kind of white space and the
    shape of quotes do not matter. Chinese and Japanese have no borders of words: such a
    word counts anywhere, also inside a longer one or behind a "not" (不正确 holds 正确).
    Numbers count whole ("5" is not in "5.2"). Notes those found. ValueError: no word,
    the same twice, unknown mode, `full_at` without ``mode="count"`` or the reverse,
    `case` no bool.

    >>> keywords("first", "then", "so")("First this, then that; also those")
    0.6666666666666666
    >>> keywords("because", mode="count", full_at=4)("Because it is. Because I say so.")
    0.5
    """

    words: Texts = field(metadata=STAR)
    _: KW_ONLY
    mode: Mode = "share"
    full_at: int | None = None
    case: bool = False

    def __init__(
        self,
        *args: str,
        words: tuple[str, ...] = (),
        mode: Mode = "share",
        full_at: int | None = None,
        case: bool = False,
    ) -> None:
        self._fill(words=args or words, mode=mode, full_at=full_at, case=case)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.words:
            raise ValueError(
                "keywords takes one or more words, such as keywords('because', 'therefore')"
            )
        if (self.mode == "count") != (self.full_at is not None):
            raise ValueError(
                f"mode={self.mode!r} and full_at={self.full_at!r} do not go together; mode='count' needs "
                "full_at, the number of occurrences that earns 1.0, and no other mode has one"
            )

    def _normal(self, text: str) -> str:
        text = " ".join(plain_quotes(normal_form(text, "NFC")).split())
        return text if self.case else text.casefold()

    def score(self, completion: str) -> float:
        text = self._normal(completion)
        places = {word: places_of_word(self._normal(word), text) for word in self.words}
        if self.full_at is not None:
            counts = {word: sum(1 for _ in found) for word, found in places.items()}
            note("keywords", counts)
            return min(1.0, sum(counts.values()) / self.full_at)
        there = [
            word for word, found in places.items() if next(found, None) is not None
        ]
        note("keywords", there)
        if self.mode == "any":
            return float(bool(there))
        share = len(there) / len(self.words)
        return share if self.mode == "share" else float(share == 1.0)
