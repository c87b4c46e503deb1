"""Extractor: a callable from a completion to a text in it and its span."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from rewardkit.primitives.primitive import STAR, Primitive

Span = tuple[int, int]
"""Where a text starts and ends, in characters of the completion."""

Which = Literal["first", "last"]


class Match(NamedTuple):
    """A place in a completion and the value that an extractor gives it."""

    span: Span
    text: str


class Extractor(Primitive, ABC):
    """Base of all extractors; subclasses find the occurrences, in text order.

    Where the value of an occurrence is not what stands there, `text_at` says what it
    is.
    """

    which: Any = "last"

    @abstractmethod
    def occurrences(self, completion: str) -> list[Span]:
        """Every span that could be the value, in text order."""

    def text_at(self, completion: str, span: Span) -> str | None:
        """Return the value of an occurrence; ``None`` where it has none."""
        return completion[slice(*span)]

    def matches(self, completion: Any, *, every: bool = False) -> list[Match]:
        """Return the occurrence that counts, or every one, that has a value."""
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
        """Return the span that the value is taken from, or an empty list."""
        return [match.span for match in self.matches(completion)]

    def __call__(self, completion: str | None) -> str | None:
        """Return the value, or ``None`` where there is none."""
        matches = self.matches(completion)
        return matches[0].text if matches else None


def text_like(expression: str, fault: str) -> Callable[[str, Any], Any]:
    """Make the rule of an option: a text that matches, else a ValueError of `fault`."""

    def check(option: str, value: Any) -> Any:
        if not isinstance(value, str) or not re.fullmatch(expression, value):
            raise ValueError(f"{option}={value!r} {fault}")
        return value

    return check


def trim(text: str, start: int, end: int) -> Span:
    """Return the span without white space at its ends; empty at its start if all is."""
    inner = text[start:end]
    stripped = inner.lstrip()
    if stripped:
        start += len(inner) - len(stripped)
    return start, start + len(stripped.rstrip())


class _Combination(Extractor):
    """An extractor made of extractors; a subclass says what its matches are."""

    def occurrences(self, completion: str) -> list[Span]:
        return [match.span for match in self.matches(completion, every=True)]

    def _check(self, *extractors: Any) -> None:
        """Raise a ValueError unless all are extractors of one text each."""
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
    """The value of the first extractor that finds one.

    An empty value counts as found. ValueError: none was given.

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
    r"""What the inner extractor finds in the value of the outer one, and so on inwards.

    ``None`` where one of them finds nothing: wrap it in `first_of` to fall back on the
    outer. Spans are those in the completion; in a value that does not stand there as it
    is (a text at a path of JSON, what was repaired), that of the outer. ValueError: no
    extractor, or a list of `every`.

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
    """Return a match in the text of a place with its span in the completion.

    Where that text is not what stands at the place, the span is that of the place.
    """
    start, end = place.span
    if completion[start:end] != place.text:
        return Match(place.span, match.text)
    return Match((start + match.span[0], start + match.span[1]), match.text)


@dataclass(frozen=True, repr=False)
class every(_Combination):
    """List of the values of all occurrences, in text order; empty where there are none.

    ``None`` where the completion is no text. An occurrence without a value (a path that
    leads nowhere) is left out. ValueError: not one extractor.

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
