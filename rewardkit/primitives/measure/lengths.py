"""Measurement of length: in words, characters or tokens, with credit that falls on either side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from rewardkit.primitives.notes import note
from rewardkit.primitives.primitive import OfText, Positive
from rewardkit.primitives.texts import words

Unit = Literal["words", "characters", "tokens"]

EXPONENT = 4.0
"""Of the exponential fall. Our choice: half way down 0.12 is left, of a straight line 0.5."""

FALLS: dict[str, Callable[[float], float]] = {
    "linear": lambda left: left,
    "cosine": lambda left: (1.0 - math.cos(math.pi * left)) / 2.0,
    "exponential": lambda left: math.expm1(EXPONENT * left) / math.expm1(EXPONENT),
}
"""From how much of the way is left (1 at full credit, 0 at none) to the credit."""


class _Counting(OfText):
    """What counts in a unit."""

    unit: Unit
    tokenizer: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.unit == "tokens") != (self.tokenizer is not None):
            raise ValueError(
                f"unit={self.unit!r} and tokenizer={self.tokenizer!r} do not go together; give "
                "unit='tokens' and a tokenizer, or neither"
            )
        if isinstance(self.tokenizer, str) or (
            self.tokenizer is not None and not callable(self._encode)
        ):
            raise ValueError(
                f"tokenizer={self.tokenizer!r} cannot count; give an object with .encode(text), or a "
                "function that gives a text's tokens"
            )

    @property
    def _encode(self) -> Any:
        return getattr(self.tokenizer, "encode", self.tokenizer)

    def score(self, completion: str) -> float:
        if self.unit == "tokens":
            size = len(self._encode(completion))
        else:
            size = len(words(completion) if self.unit == "words" else completion)
        note("length", size)
        return self.credit(size)

    def credit(self, size: int) -> float:
        """The score of a text that is so long."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class length(_Counting):
    """1.0 from `full_from` to `full_until` words, characters or tokens, 0.0 from `zero_from` on.

    Also 0.0 up to `zero_until`. Between them credit changes in a straight line, a
    ``"cosine"`` (gently at both ends) or an ``"exponential"`` (the first steps away
    from full cost most: half way 0.12 is left). Short texts lose nothing without
    `full_from`, long ones nothing without `full_until` and `zero_from`.

    Words are runs without white space, tags included; in Chinese and Japanese each
    character is one (of Thai and others without spaces count characters). Tokens are
    what ``tokenizer.encode(text)``, or ``tokenizer(text)`` for a function, gives; what
    it raises is raised. A field that was not found is no text: ``None`` (see
    `measure`). Notes the length. ValueError: limits that do not rise or are none,
    unknown unit or fall, tokens without a tokenizer or the reverse.

    >>> length(full_until=2, zero_from=6)("one two three")
    0.75
    >>> length(full_from=100, full_until=300, zero_from=400)("Too short.")
    0.02
    >>> length(full_from=4)("Too short."), length(full_from=4)("This is long enough, however it goes on.")
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
        rises = self.zero_until < self.full_from
        if (
            self.full_until is None and self.zero_from is None
        ):  # long texts lose nothing
            fits = rises
        elif self.full_until is None or self.zero_from is None:
            fits = False
        else:
            fits = self.full_from <= self.full_until < self.zero_from and (
                rises or self.full_from == 0
            )
        if not fits:
            raise ValueError(
                "length needs 0 <= full_until < zero_from where long texts are to lose, and 0 <= zero_until "
                f"< full_from <= full_until where short ones are; got full_until={self.full_until!r}, "
                f"zero_from={self.zero_from!r}, full_from={self.full_from!r}, zero_until={self.zero_until!r}"
            )

    def credit(self, size: int) -> float:
        if size < self.full_from:
            left = (size - self.zero_until) / (self.full_from - self.zero_until)
        elif self.full_until is None or self.zero_from is None:
            left = 1.0
        else:
            left = (self.zero_from - size) / (self.zero_from - self.full_until)
        return FALLS[self.fall](min(1.0, max(0.0, left)))


@dataclass(frozen=True, repr=False)
class overlong(_Counting):
    """DAPO's soft overlong punishment as a share: 0.0 up to ``limit - buffer``, 1.0 from `limit` on.

    In between it grows in a straight line. It is the negative of equation 13 of arXiv
    2503.14476, where it runs from 0 to -1: pay it with a weight of -1 for what the
    paper does (there `limit` is 20,480 tokens and `buffer` 4,096). Units, tokenizer and
    notes as in `length`. ValueError: a buffer that is not above 0 or exceeds the limit.

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
                f"buffer={self.buffer!r} is more than limit={self.limit!r}; give at most that"
            )

    def credit(self, size: int) -> float:
        return min(1.0, max(0.0, (size - (self.limit - self.buffer)) / self.buffer))
