"""Expectations: those of cases by row, and whether outcomes meet them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.reasons import Reason
from rewardkit.rollouts.columns import lists_of_columns
from rewardkit.scoring.cases import WHOLE, Case
from rewardkit.scoring.expected import ROUNDING, TOLERANCE, Expected
from rewardkit.scoring.outcomes import Outcomes


@dataclass(frozen=True)
class PartOutcome:
    """The score of a row by the reward or a component, or why it is missing.

    `is_error`: it is missing because a component failed.
    """

    score: float
    status: str = "scored"
    reason: Reason | None = None
    is_error: bool = False

    @classmethod
    def of(cls, outcomes: Outcomes, part: str, row: int) -> PartOutcome:
        """Return the outcome of a component, or of the reward for "", on a row."""
        if part != WHOLE:
            score = float(outcomes.components[part].scores[row])
            status = outcomes.status(part, row)
            reason = outcomes.reason(part, row)
        else:
            score = float(outcomes.rewards[row])
            status = "unscored" if math.isnan(score) else "scored"
            reasons = (outcomes.reason(name, row) for name in outcomes.components)
            reason = next(filter(None, reasons), None)
        if status == "scored":
            return cls(score)
        names = [part] if part != WHOLE else list(outcomes.components)
        is_error = any(outcomes.status(name, row) == "error" for name in names)
        return cls(score, status, reason, is_error)

    @property
    def plain(self) -> Any:
        """Return the rounded score or the status, as in an expectation."""
        return round(self.score, 6) if self.status == "scored" else self.status

    @property
    def value(self) -> Any:
        """Return the rounded score, or the status with its reason."""
        return f"{self.plain} ({self.reason})" if self.reason else self.plain


@dataclass(frozen=True)
class Expectation:
    """One expectation of a case, with the rows of its completions in a table.

    Attributes:
        case: The case.
        part: The component, "" for the reward.
        row: The row of the completion.
        expected: The expected value, range or status; None for an order.
        below: The row of the completion that should get less, None without an order.
    """

    case: Case
    part: str
    row: int
    expected: Expected | None = None
    below: int | None = None

    @property
    def rows(self) -> tuple[int, ...]:
        """Return the row of the completion, or the two rows of an order."""
        return (self.row,) if self.below is None else (self.row, self.below)

    @property
    def expects_score(self) -> bool:
        """Return whether only a score can meet the expectation, not a status."""
        return self.expected is None or self.expected.status == "scored"

    def is_met(self, outcomes: Outcomes) -> bool:
        """Return whether outcomes meet the expectation.

        An order needs two different scores; equally good completions may differ by the
        default tolerance.
        """
        outcome = PartOutcome.of(outcomes, self.part, self.row)
        if self.expected is not None:
            return self.expected.met_by(outcome.score, outcome.status)
        if self.below is None:
            return False
        other = PartOutcome.of(outcomes, self.part, self.below)
        difference = outcome.score - other.score
        if self.case.is_equal:
            return abs(difference) <= TOLERANCE + ROUNDING
        return difference > ROUNDING


def expectations_of(cases: Iterable[Case]) -> list[Expectation]:
    """List the expectations of decided cases in their order, the reward's first.

    The rows are those of `columns_of`.
    """
    expectations = []
    for case, row in numbered(cases):
        if case.is_undecided:
            continue
        if case.reward is not None:
            expectations.append(Expectation(case, WHOLE, row, case.reward))
        if case.below is not None:
            order = Expectation(case, case.component, row, below=row + 1)
            expectations.append(order)
        for name, expected in case.scores.items():
            expectations.append(Expectation(case, name, row, expected))
    return expectations


def numbered(cases: Iterable[Case]) -> Iterator[tuple[Case, int]]:
    """Yield each case with the row of its first completion in `columns_of`."""
    row = 0
    for case in cases:
        yield case, row
        row += len(case.rows)


def columns_of(cases: Iterable[Case]) -> dict[str, list[Any]]:
    """Return the columns of all completions of cases, one row each, in order.

    The two completions of an order are consecutive. Missing values are None.
    """
    rows: list[Mapping[str, Any]] = []
    for case in cases:
        rows += case.rows
    return lists_of_columns(rows)
