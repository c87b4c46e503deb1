"""Gates, which decide when a component counts: by one column or by a predicate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

from rewardkit.primitives.primitive import Made


@dataclass(frozen=True, repr=False)
class gate(Made):
    """A condition on a score, field or column (by name, with limits), or a predicate.

    A predicate asks for columns by parameter name, as components do, and opens the gate
    by returning True. A component behind a closed gate does not run: its status is
    ``gated``. If the value of the gate is missing, the status is ``abstained``.
    ValueError: an empty name, a column without a limit, a predicate with one, or limits
    that no value meets.

    >>> import rewardkit as rk
    >>> rk.gate("correct", at_least=1.0)
    gate('correct', at_least=1.0)
    """

    on: str | Callable[..., Any]
    _: KW_ONLY
    at_least: float | None = None
    at_most: float | None = None
    equals: Any = None

    def __post_init__(self) -> None:
        limits = (self.at_least, self.at_most, self.equals)
        has_limits = any(limit is not None for limit in limits)
        if callable(self.on):
            if has_limits:
                raise ValueError(
                    "a gate on a predicate takes no limits; put the comparison into "
                    "the predicate"
                )
            return
        if not isinstance(self.on, str):
            raise TypeError(
                "a gate is on the name of a column or on a predicate, not on "
                f"{self.on!r}"
            )
        if not self.on.strip():
            raise ValueError(f"{self.on!r} is not the name of a column")
        if not has_limits:
            raise ValueError(
                f"gate({self.on!r}) has no condition; add at_least=, at_most= or "
                "equals="
            )
        self._check_limits()

    def _check_limits(self) -> None:
        low = -math.inf if self.at_least is None else self.at_least
        high = math.inf if self.at_most is None else self.at_most
        if not (isinstance(low, Real) and isinstance(high, Real)):
            raise ValueError(f"{self!r} needs numbers as limits")
        target = self.equals if isinstance(self.equals, Real) else low
        if not low <= target <= high:
            raise ValueError(f"{self!r} can never open")

    def admits(self, value: Any) -> bool | None:
        """Return whether a value opens the gate, or None if the value is missing."""
        if value is None:
            return None
        if isinstance(value, Real) and value != value:  # NaN, also numpy's
            return None
        if self.equals is not None and value != self.equals:
            return False
        if self.at_least is not None and not value >= self.at_least:
            return False
        return self.at_most is None or bool(value <= self.at_most)


Gate = gate
"""Name of `gate` in type annotations."""
