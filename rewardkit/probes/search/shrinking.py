"""Shrinking: the smallest record that still does what a larger one does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from rewardkit.probes.search.pieces import PLAINEST, Piece, Record, changed, without

__all__ = ["shrunk"]

TOGETHER = 8
"""Candidates that are tried at a time, at the most; after one that held a single one. Our choice."""

Holds = Callable[[Sequence[Record]], Sequence[bool]]
Order = Callable[[Record], tuple[int, str]]


def shrunk(record: Record, holds: Holds, order: Order) -> list[Record]:
    """Ever smaller records that hold: from the one that is given down to the smallest that was found.

    `holds` says of each of some candidates whether it still does what it should; where it has no calls left,
    that none does. `order` says which of two is smaller. As in delta debugging (Zeller and Hildebrandt,
    2002) more is left out first and less later: pieces, repeats, answers, words, what stands between pieces,
    characters; all of it again until nothing can be left out by itself. The same input gives the same output.
    """
    shrinker = _Shrinker(holds, order, [record])
    length = 0
    while length < len(shrinker.chain):
        length = len(shrinker.chain)
        for one_pass in PASSES:
            one_pass(shrinker)
    return shrinker.chain


class _Shrinker:
    """The records that held so far, each smaller than the one before, and all that were tried."""

    def __init__(self, holds: Holds, order: Order, chain: list[Record]) -> None:
        self.holds, self.order, self.chain = holds, order, chain
        self.tried: set[Record] = set(chain)

    @property
    def record(self) -> Record:
        """The smallest so far."""
        return self.chain[-1]

    def first(self, candidates: Iterable[Record]) -> int | None:
        """The place of the smallest of the first candidates that hold, which is the record from then on."""
        together, size = 1, self.order(self.record)
        fresh = self._fresh(candidates, size)
        while batch := list(islice(fresh, together)):
            held = self.holds([candidate for _, candidate in batch])
            kept = [item for item, holds in zip(batch, held, strict=True) if holds]
            if kept:
                place, candidate = min(kept, key=lambda item: self.order(item[1]))
                self.chain.append(candidate)
                return place
            together = min(TOGETHER, 2 * together)
        return None

    def _fresh(self, candidates: Iterable[Record], size: tuple[int, str]) -> Iterator[tuple[int, Record]]:
        for place, candidate in enumerate(candidates):
            if candidate not in self.tried and self.order(candidate) < size:
                self.tried.add(candidate)
                yield place, candidate

    def leave_out(self, count: int, rebuilt: Callable[[Sequence[int]], Record]) -> None:
        """Leave out units, as many as can be, many at once first; `rebuilt` makes a record of the rest."""
        kept = list(range(count))
        size = count
        while size:
            at = 0
            while at < len(kept):
                places = range(at, len(kept), size)
                found = self.first(rebuilt(kept[:place] + kept[place + size :]) for place in places)
                if found is None:
                    break
                at += found * size
                del kept[at : at + size]
            size //= 2


def _pieces(shrinker: _Shrinker) -> None:
    record = shrinker.record
    shrinker.leave_out(len(record), lambda kept: tuple(record[at] for at in kept))


def _plainer(shrinker: _Shrinker) -> None:
    """Nothing in the place of a piece, or a sign, or of a tag its name: as often, or once."""
    for at, piece in enumerate(shrinker.record):
        name = re.sub(r"\W", "", piece.text) if piece.kind in ("open", "close") else ""
        for text in dict.fromkeys(("", ".", name)):
            for times in dict.fromkeys((1, piece.times)):
                option = changed(shrinker.record, at, kind="phrase", text=text, answers=(), times=times)
                if shrinker.first([option]) is not None:
                    break


def _wraps(shrinker: _Shrinker) -> None:
    """Without a wrap around something, whose two ends are of no use alone."""
    while shrinker.first(without(shrinker.record, pair) for pair in _pairs(shrinker.record)) is not None:
        pass


def _pairs(record: Record) -> Iterator[tuple[int, int]]:
    opened: list[int] = []
    for at, piece in enumerate(record):
        if piece.kind == "open":
            opened.append(at)
        elif piece.kind == "close" and opened:
            yield opened.pop(), at


def _times(shrinker: _Shrinker) -> None:
    """Once; else the fewest times, found by halving, as if more of it were never worse."""
    for at in range(len(shrinker.record)):
        least, most = 0, shrinker.record[at].times
        while most - least > 1:
            middle = 1 if least == 0 else (least + most) // 2
            if shrinker.first([changed(shrinker.record, at, times=middle)]) is None:
                least = middle
            else:
                most = middle


def _answers(shrinker: _Shrinker) -> None:
    """Fewer answers, the same wrong one throughout, one mark where there are several."""
    for at, piece in enumerate(shrinker.record):
        if piece.kind not in ("mark", "marks", "said"):
            continue
        shrinker.leave_out(len(piece.answers), _with_answers(shrinker.record, at, piece.answers))
        record, answers = shrinker.record, shrinker.record[at].answers
        same = (tuple(min(answer, 0) or number for answer in answers) for number in range(PLAINEST))
        shrinker.first(changed(record, at, answers=some) for some in same)
        if piece.kind == "marks":
            shrinker.first([changed(shrinker.record, at, kind="mark", text=", ")])
        shrinker.first(changed(shrinker.record, at, text=text) for text in ("", " ", ", "))


def _with_answers(record: Record, at: int, answers: Sequence[int]) -> Callable[[Sequence[int]], Record]:
    return lambda kept: changed(record, at, answers=tuple(answers[place] for place in kept))


def _words(shrinker: _Shrinker) -> None:
    _texts(shrinker, re.compile(r"\s*\S+\s*"))


def _characters(shrinker: _Shrinker) -> None:
    _texts(shrinker, re.compile(r"(?s)."))


def _texts(shrinker: _Shrinker, unit: re.Pattern[str]) -> None:
    """Less of what pieces say."""
    for at, piece in enumerate(shrinker.record):
        if piece.kind in WRITTEN:
            units = unit.findall(piece.text)
            shrinker.leave_out(len(units), _with_text(shrinker.record, at, units))


def _with_text(record: Record, at: int, units: Sequence[str]) -> Callable[[Sequence[int]], Record]:
    return lambda kept: changed(record, at, text="".join(units[place] for place in kept))


WRITTEN = ("reasoning", "phrase", "verdict", "sentence", "delimiter", "told")


def _between(shrinker: _Shrinker) -> None:
    """Less between the pieces."""
    shrinker.first([tuple(_joined(piece, "") for piece in shrinker.record)])
    for at in range(len(shrinker.record)):
        shrinker.first(changed(shrinker.record, at, joint=joint) for joint in ("", " ", "\n"))


def _joined(piece: Piece, joint: str) -> Piece:
    return changed((piece,), 0, joint=joint)[0]


PASSES: tuple[Callable[[_Shrinker], None], ...] = (
    _pieces,
    _plainer,
    _wraps,
    _times,
    _answers,
    _words,
    _between,
    _characters,
)
