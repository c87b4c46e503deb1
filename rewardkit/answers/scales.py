"""Scales: answers that are the same multiple of their truths, and earned nothing."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from rewardkit.answers.boxes import find_box_factors, find_image_size
from rewardkit.answers.logged import UNPAID_TO, LoggedAnswer
from rewardkit.answers.stated import find_factor

LEAST_FACTORS = 4
"""Truths of which answers are the same multiple: one answer to one truth says nothing.
Our choice.
"""
FACTOR_SHARE = 0.3
"""Share of all answers that are such a multiple. Our choice."""


@dataclass(frozen=True)
class OtherScale:
    """Answers that are `factor` times the truths in `column`, of `count` that have one.

    `kind` is "numbers" or "boxes".
    """

    kind: str
    column: str
    factor: str
    answers: Sequence[LoggedAnswer]
    count: int

    @property
    def evidence(self) -> dict[str, Any]:
        """Return what a finding says of it."""
        return {
            "factor": self.factor,
            "column": self.column,
            "answers": self.kind,
            "earned": fmean(answer.gain for answer in self.answers),
        }


def find_other_scales(
    answers: Iterable[LoggedAnswer], columns: AbstractSet[str]
) -> Iterator[OtherScale]:
    """Find answers that are the same multiple of their truths and earned nothing.

    Those of boxes earned less than full marks: they may overlap all the same.

    Args:
        answers: Of a log, or a part of one.
        columns: Columns that may hold truths.
    """
    unpaid: dict[tuple[str, str, str], list[LoggedAnswer]] = defaultdict(list)
    counts: Counter[tuple[str, str]] = Counter()
    for answer in answers:
        for name, kind, factors in _find_factors(answer, columns):
            counts[kind, name] += 1
            is_unpaid = not answer.is_paid
            if kind == "numbers":
                is_unpaid = answer.gain <= UNPAID_TO
            if math.isnan(answer.gain):  # all earn the same
                is_unpaid = answer.reward <= 0
            for factor in factors:
                if factor != "1" and is_unpaid:
                    unpaid[kind, name, factor].append(answer)
    for (kind, name, factor), lost in unpaid.items():
        truths = {str(answer.row[name]) for answer in lost}
        count = counts[kind, name]
        if len(truths) >= LEAST_FACTORS and len(lost) >= FACTOR_SHARE * count:
            yield OtherScale(kind, name, factor, lost, count)


def _find_factors(
    answer: LoggedAnswer, names: AbstractSet[str]
) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield columns with the truth's kind there, and by what the answer is off."""
    size = find_image_size(answer.row)
    for name in sorted(names & answer.row.keys()):
        truth = str(answer.row[name])
        factor = find_factor(answer.answer, truth)
        if factor is not None:
            yield name, "numbers", [factor]
            continue
        factors = find_box_factors(answer.answer, truth, size)
        if factors is not None:
            yield name, "boxes", factors
