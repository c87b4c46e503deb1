"""Measurement of length in words, characters or tokens, with credit that falls."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from rewardkit.primitives.notes import note
from rewardkit.primitives.primitive import OfText, Positive
from rewardkit.primitives.texts import words

Unit = Literal["words", "characters", "tokens"]

FALL_EXPONENT = 4.0
"""Of the exponential fall. Our choice: half way 0.12 is left, of a line 0.5."""


class _OfSize(OfText):
    """Base of what measures the size of a text in a unit."""

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
    """1.0 from `full_from` to `full_until` words, 0.0 from `zero_from` on.

    Or characters or tokens. Also 0.0 up to `zero_until`. Between them credit changes in
    a straight line, a ``"cosine"`` (gently at both ends) or an ``"exponential"`` (the
    first steps away from full cost most: half way 0.12 is left). Short texts lose
    nothing without `full_from`, long ones nothing without `full_until` and `zero_from`.

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
        """Return the credit of a size, from 1.0 to 0.0 on the way to a limit."""
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
    """DAPO's soft overlong punishment: 0.0 up to ``limit - buffer``, 1.0 from `limit`.

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
                f"buffer={self.buffer!r} is more than limit={self.limit!r}; give at "
                "most that"
            )

    def credit(self, size: int) -> float:
        return min(1.0, max(0.0, (size - (self.limit - self.buffer)) / self.buffer))
