"""What an extractor is: a callable from a completion to a text in it, that can say where it stands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

from rewardkit.primitives.factories import Made

Span = tuple[int, int]
"""Where a text starts and ends, in characters of the completion."""

Which = Literal["first", "last"]


class Extractor(Made, ABC):
    """What all extractors can do; subclasses say where the occurrences are, in text order."""

    which: Which

    @abstractmethod
    def occurrences(self, completion: str) -> list[Span]:
        """Every span that could be the value, in text order."""

    def spans(self, completion: str | None) -> list[Span]:
        """The span the value is taken from: one, or none where nothing was found."""
        if not isinstance(completion, str):
            return []
        found = self.occurrences(completion)
        return [found[0 if self.which == "first" else -1]] if found else []

    def __call__(self, completion: str | None) -> str | None:
        """The value, or ``None`` where nothing was found."""
        for start, end in self.spans(completion):
            assert completion is not None
            return completion[start:end]
        return None


def trim(text: str, start: int, end: int) -> Span:
    """The span without the white space at its ends; one of nothing but white space is empty at its start."""
    inner = text[start:end]
    left = inner.lstrip()
    start += len(inner) - len(left) if left else 0
    return start, start + len(left.rstrip())
