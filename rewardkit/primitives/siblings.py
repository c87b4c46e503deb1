"""What can be said of a completion beside its siblings: diversity, novelty, majority, rank, best-of, length.

Every name here makes a small frozen callable that takes the columns of one group, a
list a column with a value a sibling, and gives a list of scores in [0, 1], one a
sibling, in their order; that order changes no score. A component of it is a group
component by itself, so that a completion without siblings is not judged. Nor is, with
``None`` in its place, a completion whose text is missing, or that is alone among those
that can be compared.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import combinations
from keyword import iskeyword
from statistics import median
from typing import Annotated, Any, Literal

import numpy as np

from rewardkit.errors import preview
from rewardkit.primitives.measure.likeness import similarity
from rewardkit.primitives.primitive import NAMED, Primitive, finite_number
from rewardkit.primitives.texts import is_missing, normal_text, runs, words

__all__ = ["best_of", "diversity", "length", "majority", "novelty", "rank"]

Scores = list[float | None]


class OfSiblings(Primitive):
    """Base of what compares siblings: those that have no value, or none beside theirs, are not judged."""

    together = "group"

    def judged(self, values: Sequence[Any], places: Sequence[int]) -> Scores:
        """The scores of the siblings at these places, by what stands there; ``None`` elsewhere."""
        found: Scores = [None] * len(values)
        if len(places) > 1:
            for place, score in zip(
                places, self.scores([values[at] for at in places]), strict=True
            ):
                found[place] = score
        return found

    def scores(self, values: list[Any]) -> list[float]:
        """The scores of two siblings or more by their values, none of which is missing."""
        raise NotImplementedError


class OfTexts(OfSiblings):
    """Base of what compares the siblings' texts."""

    def __call__(self, completion: Sequence[str | None]) -> Scores:
        return self.judged(
            completion,
            [at for at, text in enumerate(completion) if isinstance(text, str)],
        )


@dataclass(frozen=True, repr=False)
class diversity(OfTexts):
    """Distinct n-grams: the share of a completion's runs of `ngram` words that no sibling has.

    Counted are the different runs that only this completion has, divided by all its
    runs: what it repeats, or shares with a sibling, lowers the score. A text of fewer
    words has no run, and scores 0.0. Words as in `rk.measure.repetition`. Source: the
    n-gram reward beside Darling (arXiv 2509.02534; its code, `diversity_rewards.py`).
    ValueError: `ngram` under 1.

    >>> diversity(ngram=2)(["one two three", "one two four", None])
    [0.5, 0.5, None]
    """

    _: KW_ONLY
    ngram: int = 4

    def scores(self, values: list[str]) -> list[float]:
        every = [_runs(text, self.ngram) for text in values]
        holders = Counter(run for own in every for run in set(own))
        return [
            sum(holders[run] == 1 for run in set(own)) / max(1, len(own))
            for own in every
        ]


def _runs(text: str, size: int) -> list[tuple[str, ...]]:
    found = words(text)
    return list(runs(found, size)) if len(found) >= size else []


@dataclass(frozen=True, repr=False)
class novelty(OfTexts):
    """1 minus the likeness to the sibling that is most alike: 0.0 where one says the same.

    Likeness is that of `rk.measure.similarity` with this `method`, of the first 20,000
    characters of each text; the time grows with the square of the siblings' number.
    ValueError: unknown method.

    >>> novelty()(["abcd", "abcd", "xyz"])
    [0.0, 0.0, 1.0]
    """

    method: Literal["ratio", "partial", "token_sort", "token_set"] = field(
        default="ratio", metadata=NAMED
    )

    def scores(self, values: list[str]) -> list[float]:
        alike = similarity(self.method)
        nearest = [0.0] * len(values)
        for one, other in combinations(range(len(values)), 2):
            likeness = alike(values[one], values[other]) or 0.0
            nearest[one], nearest[other] = (
                max(nearest[one], likeness),
                max(nearest[other], likeness),
            )
        return [1.0 - likeness for likeness in nearest]


@dataclass(frozen=True, repr=False)
class majority(OfSiblings):
    """Whether a completion agrees with the most frequent answer of its group (self-consistency).

    It asks for the field `prediction`. Answers are compared in the normal form of
    `rk.verify.matches`, or by `same`, a function of two answers such as
    ``rk.verify.math_equal``: they agree where it gives 1 in one order or the other.

    1.0 where it agrees and 0.0 where not. Two answers that are equally frequent get 0.5
    each, three a third, and so on. No answer (``None``) is 0.0, as in every
    verification, and no vote; where fewer than two siblings have one, nobody is judged.
    Sources: self-consistency (arXiv 2203.11171), paid as a reward in TTRL (arXiv
    2504.16084), which takes the first of a tie; shares are our choice, so that no order
    matters.

    >>> majority()(["4", " 4.", "5", None]), majority()(["4", "5", None])
    ([1.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.0])
    """

    _: KW_ONLY
    same: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.same is not None and not callable(self.same):
            raise ValueError(
                f"same={self.same!r} does not fit; give a function of two answers"
            )

    def __call__(self, prediction: Sequence[Any]) -> Scores:
        found = self.judged(
            prediction, [at for at, one in enumerate(prediction) if not is_missing(one)]
        )
        if all(score is None for score in found):
            return found
        return [0.0 if score is None else score for score in found]

    def scores(self, values: list[Any]) -> list[float]:
        forms = [
            str(value) if self.same else normal_text(str(value)) for value in values
        ]
        answers = dict(zip(forms, values, strict=True))
        agree = {form: {form} for form in answers}  # those that are one answer
        for one, other in combinations(sorted(answers), 2) if self.same else ():
            if self._agree(answers[one], answers[other]):
                agree[one].add(other)
                agree[other].add(one)
        times = Counter(forms)
        votes = {form: sum(times[other] for other in agree[form]) for form in agree}
        most = max(votes.values())
        winners = {form for form in votes if votes[form] == most}
        share = min(1.0, most / sum(times[form] for form in winners))
        return [share if agree[form] & winners else 0.0 for form in forms]

    def _agree(self, one: Any, other: Any) -> bool:
        assert self.same is not None
        return bool(self.same(one, other) == 1 or self.same(other, one) == 1)


def _column(option: str, value: Any) -> Any:
    if not isinstance(value, str) or not value.isidentifier() or iskeyword(value):
        raise ValueError(
            f"{option}={value!r} does not fit; give the name of an earlier component"
        )
    return value


class OfScores(OfSiblings):
    """Base of what compares the siblings' values of a column by its name `of`."""

    of: str

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.Signature(
            [inspect.Parameter(self.of, inspect.Parameter.KEYWORD_ONLY)]
        )

    def __call__(self, **columns: Sequence[Any]) -> Scores:
        (values,) = columns.values()
        for value in values:
            if not is_missing(value) and not isinstance(value, int | float | np.number):
                raise TypeError(
                    f"{self.of!r} is {preview(value)} for a sibling; numbers can be compared"
                )
        return self.judged(
            values, [at for at, value in enumerate(values) if not is_missing(value)]
        )


@dataclass(frozen=True, repr=False)
class rank(OfScores):
    """Share of its siblings that a completion beats by the score of the earlier component `of`.

    1.0 for the best, 0.0 for the worst; a tie is half a win, so that siblings that all
    score the same get 0.5. It may be a column of numbers as well. ValueError: `of` is
    no name.

    >>> rank(of="correct")(correct=[0.0, 1.0, 1.0, None])
    [0.0, 0.75, 0.75, None]
    """

    of: Annotated[str, _column] = field(metadata=NAMED)

    def scores(self, values: list[float]) -> list[float]:
        others = len(values) - 1
        below = {value: sum(other < value for other in values) for value in set(values)}
        return [
            (below[value] + (values.count(value) - 1) / 2) / others for value in values
        ]


@dataclass(frozen=True, repr=False)
class best_of(OfScores):
    """1.0 for the completion that scores best in the earlier component `of`, 0.0 for its siblings.

    Those that are best together share it: of two each gets 0.5. It may be a column of
    numbers as well. ValueError: `of` is no name.

    >>> best_of(of="clear")(clear=[0.2, 0.9, None]), best_of(of="clear")(clear=[0.9, 0.9])
    ([0.0, 1.0, None], [0.5, 0.5])
    """

    of: Annotated[str, _column] = field(metadata=NAMED)

    def scores(self, values: list[float]) -> list[float]:
        best = max(values)
        return [(value == best) / values.count(best) for value in values]


@dataclass(frozen=True, repr=False)
class length(OfTexts):
    """1.0 up to the median length of the siblings, 0.0 from `zero_from` times it, in a straight line between.

    The median is that of the others: a completion's own length does not move what it is
    held against. Beside empty siblings only an empty text scores 1.0. Words as in
    `rk.measure.length`. Short texts lose nothing: put it behind a gate on what is
    right. The double as the end is our choice. ValueError: `zero_from` not above 1,
    unknown unit.

    >>> length()(["a b", "a b c d", "a b c"])
    [1.0, 0.4, 1.0]
    """

    _: KW_ONLY
    zero_from: Annotated[float, partial(finite_number, above=True)] = 2.0
    unit: Literal["words", "characters"] = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.zero_from <= 1:
            raise ValueError(
                f"zero_from={self.zero_from!r} does not fit; give a number above 1"
            )

    def scores(self, values: list[str]) -> list[float]:
        sizes = [len(words(text) if self.unit == "words" else text) for text in values]
        middles = [median(sizes[:at] + sizes[at + 1 :]) for at in range(len(sizes))]
        return [
            self._credit(size, middle)
            for size, middle in zip(sizes, middles, strict=True)
        ]

    def _credit(self, size: int, middle: float) -> float:
        if size <= middle:
            return 1.0
        return (
            max(0.0, (self.zero_from * middle - size) / ((self.zero_from - 1) * middle))
            if middle
            else 0.0
        )
