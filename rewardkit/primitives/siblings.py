"""Measures that compare siblings: diversity, novelty, majority, rank ...

Every name here makes a small frozen callable. It takes the columns of one group, each a
list with one value per sibling, and returns a list of scores in [0, 1] in the same
order; the order changes no score. A component made of it is a group component, so that
a completion without siblings is not judged. A missing text, or the only one that could
be compared, is not judged either: its score is ``None``.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from keyword import iskeyword
from statistics import median
from typing import Annotated, Any, Literal

import numpy as np

from rewardkit.errors import preview
from rewardkit.primitives.measure.wording import similarity
from rewardkit.primitives.primitive import (
    PRINTED_NAMED,
    Positive,
    Primitive,
    keyword_signature,
)
from rewardkit.primitives.texts import is_missing, normal_text, runs, words

__all__ = ["best_of", "diversity", "length", "majority", "novelty", "rank"]

SiblingScores = list[float | None]
"""A score per sibling, in their order; None: not judged."""


class OfSiblings(Primitive):
    """Base of measures of siblings; one without a value, or alone, is not judged."""

    together = "group"

    def score_siblings(
        self, values: Sequence[Any], places: Sequence[int]
    ) -> SiblingScores:
        """Score the siblings at `places` against each other; ``None`` elsewhere."""
        result: SiblingScores = [None] * len(values)
        if len(places) > 1:
            scores = self.scores([values[place] for place in places])
            for place, score in zip(places, scores, strict=True):
                result[place] = score
        return result

    def scores(self, values: list[Any]) -> list[float]:
        """Score two or more siblings by their values, none of which is missing."""
        raise NotImplementedError


class OfTexts(OfSiblings):
    """Base of measures that compare the siblings' texts."""

    def __call__(self, completion: Sequence[str | None]) -> SiblingScores:
        places = [at for at, text in enumerate(completion) if isinstance(text, str)]
        return self.score_siblings(completion, places)


@dataclass(frozen=True, repr=False)
class diversity(OfTexts):
    """Score the share of a completion's word n-grams that no sibling has.

    The score is the number of different n-grams that only this completion has, divided
    by the number of all its n-grams: an n-gram that it repeats, or shares with a
    sibling, lowers the score. A text of fewer than `ngram` words scores 0.0. Words as
    in `rk.measure.repetition`. Source: the n-gram reward of Darling (arXiv 2509.02534;
    `diversity_rewards.py` in its code). ValueError: `ngram` under 1.

    >>> diversity(ngram=2)(["one two three", "one two four", None])
    [0.5, 0.5, None]
    """

    _: KW_ONLY
    ngram: int = 4

    def scores(self, values: list[str]) -> list[float]:
        texts = [_runs_of(text, self.ngram) for text in values]
        holders: Counter[tuple[str, ...]] = Counter()
        for text_runs in texts:
            holders.update(set(text_runs))
        scores = []
        for text_runs in texts:
            unique = sum(holders[run] == 1 for run in set(text_runs))
            scores.append(unique / max(1, len(text_runs)))
        return scores


def _runs_of(text: str, size: int) -> list[tuple[str, ...]]:
    text_words = words(text)
    if len(text_words) < size:
        return []
    return list(runs(text_words, size))


@dataclass(frozen=True, repr=False)
class novelty(OfTexts):
    """Score 1 minus the similarity to the nearest sibling: 0.0 for a duplicate.

    The similarity is `rk.measure.similarity` with this `method`, on the first 20,000
    characters of each text. The time grows with the square of the number of siblings.
    ValueError: unknown method.

    >>> novelty()(["abcd", "abcd", "xyz"])
    [0.0, 0.0, 1.0]
    """

    method: Literal["ratio", "partial", "token_sort", "token_set"] = field(
        default="ratio", metadata=PRINTED_NAMED
    )

    def scores(self, values: list[str]) -> list[float]:
        likeness_of = similarity(self.method)
        nearest = [0.0] * len(values)
        for first, second in combinations(range(len(values)), 2):
            likeness = likeness_of(values[first], values[second]) or 0.0
            nearest[first] = max(nearest[first], likeness)
            nearest[second] = max(nearest[second], likeness)
        return [1.0 - likeness for likeness in nearest]


@dataclass(frozen=True, repr=False)
class majority(OfSiblings):
    """Score agreement with the most frequent answer of the group (self-consistency).

    The measure asks for the field `prediction`. Answers are compared in the normal form
    of `rk.verify.matches`, or by `same`, a function of two answers such as
    ``rk.verify.math_equal``: they agree if it returns 1 in either order.

    The score is 1.0 for the most frequent answer and 0.0 for others. Two equally
    frequent answers get 0.5 each, three a third, and so on. A missing answer (``None``)
    scores 0.0, as in every verification, and has no vote. If fewer than two siblings
    have an answer, none is judged. Sources: self-consistency (arXiv 2203.11171), used
    as a reward in TTRL (arXiv 2504.16084), which takes the first of a tie. Sharing a
    tie is our choice, so that the order does not matter.

    >>> majority()(["4", " 4.", "5", None]), majority()(["4", "5", None])
    ([1.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.0])
    """

    _: KW_ONLY
    same: Callable[[Any, Any], Any] | None = None

    def __call__(self, prediction: Sequence[Any]) -> SiblingScores:
        places = _places_with_value(prediction)
        scores = self.score_siblings(prediction, places)
        if len(places) < 2:
            return scores
        return [score or 0.0 for score in scores]

    def scores(self, values: list[Any]) -> list[float]:
        forms = list(map(self._form, values))
        agreeing = self._agreeing(dict(zip(forms, values, strict=True)))
        counts = Counter(forms)
        votes: Counter[str] = Counter()
        for form, others in agreeing.items():
            votes[form] = sum(counts[other] for other in others)
        most = max(votes.values())
        winners = {form for form in votes if votes[form] == most}
        share = min(1.0, most / sum(counts[form] for form in winners))
        scores = []
        for form in forms:
            has_won = bool(agreeing[form] & winners)
            scores.append(share if has_won else 0.0)
        return scores

    def _form(self, value: Any) -> str:
        return str(value) if self.same else normal_text(str(value))

    def _agreeing(self, answers: dict[str, Any]) -> dict[str, set[str]]:
        """Return for each form all forms of the same answer, including itself."""
        agreeing = {form: {form} for form in answers}
        if self.same is None:
            return agreeing
        for first, second in combinations(sorted(answers), 2):
            pair = answers[first], answers[second]
            if self.same(*pair) == 1 or self.same(*reversed(pair)) == 1:
                agreeing[first].add(second)
                agreeing[second].add(first)
        return agreeing


def _places_with_value(values: Sequence[Any]) -> list[int]:
    return [at for at, value in enumerate(values) if not is_missing(value)]


def _column_name(option: str, value: Any) -> Any:
    if not isinstance(value, str) or not value.isidentifier() or iskeyword(value):
        raise ValueError(
            f"{option}={value!r} does not fit; give the name of an earlier component"
        )
    return value


@dataclass(frozen=True, repr=False)
class OfScores(OfSiblings):
    """Base of measures that compare the siblings' values of the column `of`."""

    of: Annotated[str, _column_name] = field(metadata=PRINTED_NAMED)

    @property
    def __signature__(self) -> inspect.Signature:
        return keyword_signature([self.of])

    def __call__(self, **columns: Sequence[Any]) -> SiblingScores:
        (values,) = columns.values()
        places = _places_with_value(values)
        for place in places:
            if not isinstance(values[place], int | float | np.number):
                raise TypeError(
                    f"{self.of!r} is {preview(values[place])} for a sibling; "
                    "numbers can be compared"
                )
        return self.score_siblings(values, places)


@dataclass(frozen=True, repr=False)
class rank(OfScores):
    """Score the share of siblings that a completion beats in the component `of`.

    The best scores 1.0, the worst 0.0. A tie is half a win, so that siblings with equal
    values all score 0.5. `of` is an earlier component or a column of numbers.
    ValueError: `of` is no name.

    >>> rank(of="correct")(correct=[0.0, 1.0, 1.0, None])
    [0.0, 0.75, 0.75, None]
    """

    def scores(self, values: list[float]) -> list[float]:
        scores = []
        for value in values:
            below = sum(other < value for other in values)
            ties = values.count(value) - 1
            scores.append((below + ties / 2) / (len(values) - 1))
        return scores


@dataclass(frozen=True, repr=False)
class best_of(OfScores):
    """Score 1.0 for the completion with the best value of `of`, 0.0 for its siblings.

    Completions that tie for the best share the 1.0: two get 0.5 each. `of` is an
    earlier component or a column of numbers. ValueError: `of` is no name.

    >>> best = best_of(of="clear")
    >>> best(clear=[0.2, 0.9, None]), best(clear=[0.9, 0.9])
    ([0.0, 1.0, None], [0.5, 0.5])
    """

    def scores(self, values: list[float]) -> list[float]:
        best = max(values)
        return [(value == best) / values.count(best) for value in values]


@dataclass(frozen=True, repr=False)
class length(OfTexts):
    """Score 1.0 up to the siblings' median length, linearly to 0.0 at a multiple of it.

    `zero_from` is that multiple; its default of 2 is our choice. The median leaves out
    the completion itself, so that its own length does not move its limit. If the
    siblings are empty, only an empty text scores 1.0. Words as in `rk.measure.length`.
    Short texts lose nothing: put the measure behind a gate on correctness. ValueError:
    `zero_from` not above 1, unknown unit.

    >>> length()(["a b", "a b c d", "a b c"])
    [1.0, 0.4, 1.0]
    """

    _: KW_ONLY
    zero_from: Positive = 2.0
    unit: Literal["words", "characters"] = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.zero_from <= 1:
            raise ValueError(
                f"zero_from={self.zero_from!r} does not fit; give a number above 1"
            )

    def scores(self, values: list[str]) -> list[float]:
        sizes = list(map(len, values))
        if self.unit == "words":
            sizes = [len(words(text)) for text in values]
        scores = []
        for at, size in enumerate(sizes):
            middle = median(sizes[:at] + sizes[at + 1 :])
            scores.append(self._credit(size, middle))
        return scores

    def _credit(self, size: int, middle: float) -> float:
        if size <= middle:
            return 1.0
        if middle == 0:
            return 0.0
        end = self.zero_from * middle
        return max(0.0, (end - size) / ((self.zero_from - 1) * middle))
