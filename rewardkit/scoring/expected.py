"""Expected: the value, range or status that a case expects."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from rewardkit.errors import CasesError
from rewardkit.plain import is_finite_number
from rewardkit.scoring.outcomes import STATUSES

TOLERANCE: Final = 0.01
"""Default tolerance of an expected number."""

ROUNDING: Final = 1e-9
"""Smaller differences of floats are rounding errors."""

EXPECTED_STATUSES: Final = ("unscored", *STATUSES[1:])


@dataclass(frozen=True)
class Expected:
    """An expected range [low, high] or status; "unscored" is any but "scored".

    `written` is the form in the case.
    """

    low: float = math.nan
    high: float = math.nan
    status: str = "scored"
    written: Any = None

    @classmethod
    def parse(cls, value: Any, tolerance: float, where: str) -> Expected:
        """Parse a number (± tolerance), [low, high], or the name of a status.

        Raises:
            CasesError: The value is anything else.
        """
        if isinstance(value, str) and value in EXPECTED_STATUSES:
            return cls(status=value, written=value)
        if is_finite_number(value):
            return cls(value - tolerance, value + tolerance, written=value)
        if isinstance(value, list | tuple) and len(value) == 2:
            if all(map(is_finite_number, value)):
                low, high = value
                if low > high:
                    raise CasesError(
                        f"{where} expects {value!r}, whose low end is above its high "
                        f"one; write [{high!r}, {low!r}]"
                    )
                return cls(low, high, written=list(value))
        raise CasesError(
            f"{where} expects {value!r}; write a number, a range [low, high], or one "
            f"of {', '.join(EXPECTED_STATUSES)}"
        )

    def met_by(self, score: float, status: str) -> bool:
        """Return whether a score with this status meets the expectation."""
        if self.status == "unscored":
            return status != "scored"
        if self.status != "scored":
            return status == self.status
        is_in_range = self.low - ROUNDING <= score <= self.high + ROUNDING
        return status == "scored" and is_in_range
