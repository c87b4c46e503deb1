"""Extractors: callables from a completion to a text in it and its span."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from rewardkit.primitives.primitive import STAR, Primitive

Span = tuple[int, int]
"""Start and end of a text, in characters of the completion."""

Which = Literal["first", "last"]


class Match(NamedTuple):
    """A place in a completion, with the value that an extractor found there."""

    span: Span
    text: str


class Extractor(Primitive, ABC):
    """Base of all extractors; subclasses find the occurrences, in text order.

    A subclass overrides `text_at` if a value is not simply the text of its span.
    """

    which: Any = "last"

    @abstractmethod
    def occurrences(self, completion: str) -> list[Span]:
        """Return every span that could be the value, in text order."""

    def text_at(self, completion: str, span: Span) -> str | None:
        """Return the value of an occurrence, or ``None`` if it has none."""
        return completion[slice(*span)]

    def matches(self, completion: Any, *, every: bool = False) -> list[Match]:
        """Return the occurrence that counts, or every one, if it has a value."""
        if not isinstance(completion, str):
            return []
        spans = self.occurrences(completion)
        if not every:
            spans = spans[:1] if self.which == "first" else spans[-1:]
        matches = []
        for span in spans:
            text = self.text_at(completion, span)
            if text is not None:
                matches.append(Match(span, text))
        return matches

    def spans(self, completion: str | None) -> list[Span]:
        """Return the span of the value in a list, or an empty list."""
        return [match.span for match in self.matches(completion)]

    def __call__(self, completion: str | None) -> str | None:
        """Return the value, or ``None`` if there is none."""
        matches = self.matches(completion)
        return matches[0].text if matches else None


def text_like(expression: str, fault: str) -> Callable[[str, Any], Any]:
    """Make a check of an option that raises a ValueError unless its text matches."""

    def check(option: str, value: Any) -> Any:
        if not isinstance(value, str) or not re.fullmatch(expression, value):
            raise ValueError(f"{option}={value!r} {fault}")
        return value

    return check


def trim(text: str, start: int, end: int) -> Span:
    """Return a span without white space at its ends; a blank one becomes empty."""
    inner = text[start:end]
    stripped = inner.lstrip()
    if stripped:
        start += len(inner) - len(stripped)
    return start, start + len(stripped.rstrip())


class _Combination(Extractor):
    """Base of extractors made of extractors; a subclass defines `matches`."""

    def occurrences(self, completion: str) -> list[Span]:
        return [match.span for match in self.matches(completion, every=True)]

    def _check(self, *extractors: Any) -> None:
        """Raise a ValueError unless all are extractors of a single text."""
        name = self.factory
        others = [part for part in extractors if not isinstance(part, Extractor)]
        if others or not extractors:
            raise ValueError(
                f"{name} takes extractors, such as tag('answer'); "
                f"got {others or 'none'}"
            )
        for part in extractors:
            if isinstance(part, every):
                raise ValueError(
                    f"{name} takes no list; put every around it: "
                    f"every({name}(...)), not {part!r} in it"
                )


@dataclass(frozen=True, repr=False, init=False)
class first_of(_Combination):
    """Extract the value of the first extractor that finds one.

    An empty value counts as found. ValueError: no extractor.

    >>> import rewardkit as rk
    >>> find = rk.extract.first_of(rk.extract.tag("answer"), rk.extract.number())
    >>> find("I think it is 4"), find("4? <answer></answer>")
    ('4', '')
    """

    extractors: tuple[Extractor, ...] = field(metadata=STAR)

    def __init__(
        self, *args: Extractor, extractors: tuple[Extractor, ...] = ()
    ) -> None:
        self._fill(extractors=args or extractors)

    def __post_init__(self) -> None:
        self._check(*self.extractors)

    def matches(self, completion: Any, *, every: bool = False) -> list[Match]:
        for extractor in self.extractors:
            matches = extractor.matches(completion)
            if matches and every:
                return extractor.matches(completion, every=True)
            if matches:
                return matches
        return []


@dataclass(frozen=True, repr=False, init=False)
class within(_Combination):
    r"""Apply the inner extractor to the value of the outer one, and so on inwards.

    The value is ``None`` if one of them finds nothing: wrap it in `first_of` to fall
    back on the outer. Spans are those in the completion. If the value of the outer is
    not a literal part of the completion (a text at a path of JSON, repaired JSON), the
    span is that of the outer. ValueError: no extractor, or a list of `every`.

    >>> import rewardkit as rk
    >>> last_number = rk.extract.within(rk.extract.tag("answer"), rk.extract.number())
    >>> last_number("3 <answer>so **4** apples</answer> 5")
    '4'
    """

    outer: Extractor
    inner: tuple[Extractor, ...] = field(metadata=STAR)

    def __init__(
        self, outer: Extractor, *args: Extractor, inner: tuple[Extractor, ...] = ()
    ) -> None:
        self._fill(outer=outer, inner=args or inner)

    def __post_init__(self) -> None:
        self._check(self.outer)
        self._check(*self.inner)

    def matches(self, completion: Any, *, every: bool = False) -> list[Match]:
        places = self.outer.matches(completion)
        for extractor in self.inner:
            wants_every = every and extractor is self.inner[-1]
            matches = []
            for place in places:
                for match in extractor.matches(place.text, every=wants_every):
                    matches.append(_locate(completion, place, match))
            places = matches
        return places


def _locate(completion: str, place: Match, match: Match) -> Match:
    """Shift a match in the text of a place to its span in the completion.

    If that text is not the literal text of the place, the span is that of the place.
    """
    start, end = place.span
    if completion[start:end] != place.text:
        return Match(place.span, match.text)
    return Match((start + match.span[0], start + match.span[1]), match.text)


@dataclass(frozen=True, repr=False)
class every(_Combination):
    """Extract the list of the values of all occurrences, in text order.

    The list is empty without an occurrence, and ``None`` stands for it if the
    completion is no text. An occurrence without a value (a path that leads nowhere) is
    left out. ValueError: not one extractor.

    >>> import rewardkit as rk
    >>> every_source = rk.extract.every(rk.extract.citation())
    >>> every_source("Rain [Source: a], then sun [Source: b; c].")
    ['a', 'b', 'c']
    """

    extractor: Extractor

    def __post_init__(self) -> None:
        self._check(self.extractor)

    def matches(self, completion: Any, *, every: bool = True) -> list[Match]:
        return self.extractor.matches(completion, every=True)

    def __call__(self, completion: str | None) -> list[str] | None:  # type: ignore[override]
        if not isinstance(completion, str):
            return None
        return [match.text for match in self.matches(completion)]
