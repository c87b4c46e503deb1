"""Extractors made of extractors: the first that finds something, one inside another, all occurrences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rewardkit.primitives.extract.extractor import Extractor, Match, Span
from rewardkit.primitives.primitive import STAR


class _Combination(Extractor):
    """What is made of extractors; a subclass says what its matches are."""

    def occurrences(self, completion: str) -> list[Span]:
        return [match.span for match in self.matches(completion, every=True)]

    def _check(self, *extractors: Any) -> None:
        """Raise a ValueError unless all are extractors of one text each."""
        name = self.factory
        wrong = [item for item in extractors if not isinstance(item, Extractor)]
        if wrong or not extractors:
            raise ValueError(
                f"{name} takes extractors, such as tag('answer'); got {wrong or 'none'}"
            )
        lists = [item for item in extractors if isinstance(item, every)]
        if lists:
            raise ValueError(
                f"{name} takes no list; put every around it: every({name}(...)), not {lists[0]!r} in it"
            )


@dataclass(frozen=True, repr=False, init=False)
class first_of(_Combination):
    """The value of the first extractor that finds one.

    An empty value counts as found. ValueError: none was given.

    >>> import rewardkit as rk
    >>> rk.extract.first_of(rk.extract.tag("answer"), rk.extract.number())("I think it is 4")
    '4'
    >>> rk.extract.first_of(rk.extract.tag("answer"), rk.extract.number())("4? <answer></answer>")
    ''
    """

    extractors: tuple[Extractor, ...] = field(metadata=STAR)

    def __init__(
        self, *args: Extractor, extractors: tuple[Extractor, ...] = ()
    ) -> None:
        self._fill(extractors=args or extractors)

    def __post_init__(self) -> None:
        self._check(*self.extractors)

    def matches(self, completion: Any, *, every: bool = False) -> list[Match]:
        for item in self.extractors:
            if found := item.matches(completion):
                return item.matches(completion, every=True) if every else found
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
        found = self.outer.matches(completion)
        for at, item in enumerate(self.inner, start=1):
            wanted = every and at == len(self.inner)
            found = [
                _inside(completion, place, match)
                for place in found
                for match in item.matches(place.text, every=wanted)
            ]
        return found


def _inside(completion: str, place: Match, match: Match) -> Match:
    """What was found in the text of a place, with its span in the completion.

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
    >>> rk.extract.every(rk.extract.citation())("Rain [Source: a], then sun [Source: b; c].")
    ['a', 'b', 'c']
    """

    extractor: Extractor

    def __post_init__(self) -> None:
        self._check(self.extractor)

    def matches(self, completion: Any, *, every: bool = True) -> list[Match]:
        return self.extractor.matches(completion, every=True)

    def __call__(self, completion: str | None) -> list[str] | None:  # type: ignore[override]
        found = self.matches(completion)
        return [match.text for match in found] if isinstance(completion, str) else None
