"""Timed: a function that notes how long its calls take, in the worker process where they are made.

With few imports, as each of these processes has to make them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rewardkit.primitives.notes import note
from rewardkit.rewards.fingerprint import describe

__all__ = ["TOOK", "Timed"]

TOOK: Final = "seconds"
"""Under which the time of a call is noted."""


class Timed:
    """A function that notes how long it took; `waits` where its answer has to be awaited."""

    def __init__(self, function: Callable[..., Any], waits: bool) -> None:
        self.function, self.waits = function, waits

    def __repr__(self) -> str:
        return describe(self.function)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """What the function returns."""
        if self.waits:
            return self._later(arguments, keywords)
        began = time.perf_counter()
        try:
            return self.function(*arguments, **keywords)
        finally:
            note(TOOK, time.perf_counter() - began)

    async def _later(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        began = time.perf_counter()
        try:
            return await self.function(*arguments, **keywords)
        finally:
            note(TOOK, time.perf_counter() - began)
