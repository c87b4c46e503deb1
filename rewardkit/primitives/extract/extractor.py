"""What an extractor is: a callable from a completion to a text in it, that can say where it stands."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from rewardkit.primitives.primitive import Primitive

Span = tuple[int, int]
"""Where a text starts and ends, in characters of the completion."""

Which = Literal["first", "last"]


class Match(NamedTuple):
    """A place in a completion and the value that an extractor gives it."""

    span: Span
    text: str


class Extractor(Primitive, ABC):
    """What all extractors can do; subclasses say where the occurrences are, in text order.

    Where the value of an occurrence is not what stands there, `text_at` says what it
    is.
    """

    which: Any = "last"

    @abstractmethod
    def occurrences(self, completion: str) -> list[Span]:
        """Every span that could be the value, in text order."""

    def text_at(self, completion: str, span: Span) -> str | None:
        """The value of an occurrence; ``None`` where it has none."""
        return completion[slice(*span)]

    def matches(self, completion: Any, *, every: bool = False) -> list[Match]:
        """The occurrence that counts, or every one, with its value; those without a value are left out."""
        spans = self.occurrences(completion) if isinstance(completion, str) else []
        if not every:
            spans = spans[:1] if self.which == "first" else spans[-1:]
        values = [(span, self.text_at(completion, span)) for span in spans]
        return [Match(span, value) for span, value in values if value is not None]

    def spans(self, completion: str | None) -> list[Span]:
        """The span the value is taken from: one, or none where nothing was found."""
        return [match.span for match in self.matches(completion)]

    def __call__(self, completion: str | None) -> str | None:
        """The value, or ``None`` where nothing was found."""
        return next((match.text for match in self.matches(completion)), None)


def text_like(expression: str, fault: str) -> Callable[[str, Any], Any]:
    """A rule of an option: a text that matches, else a ValueError that says the fault."""

    def check(option: str, value: Any) -> Any:
        if not isinstance(value, str) or not re.fullmatch(expression, value):
            raise ValueError(f"{option}={value!r} {fault}")
        return value

    return check


def trim(text: str, start: int, end: int) -> Span:
    """The span without the white space at its ends; one of nothing but white space is empty at its start."""
    inner = text[start:end]
    left = inner.lstrip()
    start += len(inner) - len(left) if left else 0
    return start, start + len(left.rstrip())
