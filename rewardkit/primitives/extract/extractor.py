"""What an extractor is: a callable from a completion to a text in it, that can say where it stands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, NamedTuple

from rewardkit.primitives.factories import Primitive

Span = tuple[int, int]
"""Where a text starts and ends, in characters of the completion."""

Which = Literal["first", "last"]


class Found(NamedTuple):
    """A place in a completion and what it says: what stands there, unless its extractor says otherwise."""

    span: Span
    text: str


class Extractor(Primitive, ABC):
    """What all extractors can do; subclasses say where the occurrences are, in text order.

    Where the value of an occurrence is not what stands there, `text_at` says what it is.
    """

    which: Any = "last"

    @abstractmethod
    def occurrences(self, completion: str) -> list[Span]:
        """Every span that could be the value, in text order."""

    def text_at(self, completion: str, span: Span) -> str | None:
        """The value of an occurrence; ``None`` where it has none."""
        return completion[span[0] : span[1]]

    def found(self, completion: Any) -> Found | None:
        """The occurrence that counts and its value; ``None`` where there is none."""
        places = self.occurrences(completion) if isinstance(completion, str) else None
        if not places:
            return None
        span = places[0 if self.which == "first" else -1]
        text = self.text_at(completion, span)
        return None if text is None else Found(span, text)

    def all_found(self, completion: Any) -> list[Found]:
        """Every occurrence that has a value, in text order."""
        places = self.occurrences(completion) if isinstance(completion, str) else []
        texts = [(span, self.text_at(completion, span)) for span in places]
        return [Found(span, text) for span, text in texts if text is not None]

    def spans(self, completion: str | None) -> list[Span]:
        """The span the value is taken from: one, or none where nothing was found."""
        found = self.found(completion)
        return [found.span] if found else []

    def __call__(self, completion: str | None) -> str | None:
        """The value, or ``None`` where nothing was found."""
        found = self.found(completion)
        return found.text if found else None


def trim(text: str, start: int, end: int) -> Span:
    """The span without the white space at its ends; one of nothing but white space is empty at its start."""
    inner = text[start:end]
    left = inner.lstrip()
    start += len(inner) - len(left) if left else 0
    return start, start + len(left.rstrip())
