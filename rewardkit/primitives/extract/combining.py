"""Extractors made of extractors: the first that finds something, one inside another, all occurrences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from rewardkit.primitives.extract.extractor import Extractor, Found, Span
from rewardkit.primitives.factories import STAR

__all__ = ["every", "first_of", "within"]


def _check(name: str, extractors: tuple[Any, ...]) -> None:
    """Raise a ValueError unless all are extractors of one text each."""
    wrong = [item for item in extractors if not isinstance(item, Extractor)]
    if wrong or not extractors:
        raise ValueError(f"{name} takes extractors, such as tag('answer'); got {wrong or 'none'}")
    lists = [item for item in extractors if isinstance(item, every)]
    if lists:
        raise ValueError(
            f"{name} takes no list; put every around it: every({name}(...)), not {lists[0]!r} in it"
        )


@dataclass(frozen=True, repr=False, init=False)
class first_of(Extractor):
    """The value of the first extractor that finds one.

    An empty value counts as found. ValueError: none was given.

    >>> import rewardkit as rk
    >>> rk.extract.first_of(rk.extract.tag("answer"), rk.extract.number())("I think it is 4")
    '4'
    >>> rk.extract.first_of(rk.extract.tag("answer"), rk.extract.number())("4? <answer></answer>")
    ''
    """

    extractors: tuple[Extractor, ...] = field(metadata=STAR)

    def __init__(self, *extractors: Extractor) -> None:
        self._fill(extractors=extractors)

    def __post_init__(self) -> None:
        _check("first_of", self.extractors)

    def found(self, completion: Any) -> Found | None:
        found = (item.found(completion) for item in self.extractors)
        return next((one for one in found if one is not None), None)

    def _finder(self, completion: Any) -> Extractor:
        found = (item for item in self.extractors if item.found(completion) is not None)
        return next(found, self.extractors[0])

    def all_found(self, completion: Any) -> list[Found]:
        return self._finder(completion).all_found(completion)

    def occurrences(self, completion: str) -> list[Span]:
        return self._finder(completion).occurrences(completion)


@dataclass(frozen=True, repr=False, init=False)
class within(Extractor):
    r"""What the inner extractor finds in the value of the outer one, and so on inwards.

    ``None`` where one of them finds nothing: wrap it in `first_of` to fall back on the outer. Spans are those
    in the completion; in a value that does not stand there as it is (a text at a path of JSON, what was
    repaired), that of the outer. ValueError: no extractor, or a list of `every`.

    >>> import rewardkit as rk
    >>> last_number = rk.extract.within(rk.extract.tag("answer"), rk.extract.number())
    >>> last_number("3 <answer>so **4** apples</answer> 5")
    '4'
    """

    outer: Extractor
    inner: tuple[Extractor, ...] = field(metadata=STAR)

    def __init__(self, outer: Extractor, *inner: Extractor) -> None:
        self._fill(outer=outer, inner=inner)

    def __post_init__(self) -> None:
        _check("within", (self.outer,))
        _check("within", self.inner)

    def _place(self, completion: Any) -> Found | None:
        """What the innermost extractor looks at."""
        place = self.outer.found(completion)
        for item in self.inner[:-1]:
            place = place and _at(completion, place, item.found(place.text))
        return place

    def found(self, completion: Any) -> Found | None:
        place = self._place(completion)
        return place and _at(completion, place, self.inner[-1].found(place.text))

    def all_found(self, completion: Any) -> list[Found]:
        place = self._place(completion)
        return [_at(completion, place, one) for one in self.inner[-1].all_found(place.text)] if place else []

    def occurrences(self, completion: str) -> list[Span]:
        return [found.span for found in self.all_found(completion)]


F = TypeVar("F", Found, Found | None)


def _at(completion: str, place: Found, found: F) -> F:
    """What was found in the text of a place, with its span in the completion.

    Where that text is not what stands at the place, the span is that of the place.
    """
    start, end = place.span
    if found is None or completion[start:end] != place.text:
        return found and Found(place.span, found.text)
    return Found((start + found.span[0], start + found.span[1]), found.text)


@dataclass(frozen=True, repr=False)
class every(Extractor):
    """List of the values of all occurrences, in text order; empty where there are none.

    ``None`` where the completion is no text. An occurrence without a value (a path that leads nowhere) is
    left out. ValueError: not one extractor.

    >>> import rewardkit as rk
    >>> rk.extract.every(rk.extract.citation())("Rain [Source: a], then sun [Source: b; c].")
    ['a', 'b', 'c']
    """

    extractor: Extractor

    def __post_init__(self) -> None:
        _check("every", (self.extractor,))

    def occurrences(self, completion: str) -> list[Span]:
        return [found.span for found in self.extractor.all_found(completion)]

    def spans(self, completion: str | None) -> list[Span]:
        return self.occurrences(completion) if isinstance(completion, str) else []

    def __call__(self, completion: str | None) -> list[str] | None:  # type: ignore[override]
        found = self.extractor.all_found(completion)
        return [one.text for one in found] if isinstance(completion, str) else None
