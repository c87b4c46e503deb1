"""Users' functions under a time limit: the calls of `calling`, in worker processes that can be killed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from typing import Any

from rewardkit.calling import CONCURRENT_CALLS, Failure, Notes, OneCall, answer_all, calls, guarded
from rewardkit.component import describe, user_code
from rewardkit.deadlines import CannotSend, DeadlinePassed, Killed, Raised, WorkerEnded, Workers, pickled
from rewardkit.errors import RewardError
from rewardkit.primitives.gating import Gate
from rewardkit.trace import listen

__all__ = ["CannotLimit", "TimeLimit", "cannot_limit", "time_limit"]


class CannotLimit(RewardError):
    """A function cannot be called in another process, and so not under a time limit."""


PROCESSES = 4
"""At the most. Our choice: each holds the libraries that the functions import."""


def time_limit(timeout: float | None) -> AbstractContextManager[TimeLimit | None]:
    """A time limit of so many seconds, or none; RewardError where that is no time."""
    try:
        return nullcontext() if timeout is None else TimeLimit(timeout)
    except (ValueError, TypeError):
        raise RewardError(f"timeout={timeout!r} is not a time; give seconds above 0, or None") from None


def cannot_limit(functions: Sequence[Any]) -> str | None:
    """Why one of these functions cannot be called under a time limit; ``None`` where all can."""
    for function in functions:
        called = function.on if isinstance(function, Gate) else function
        if callable(called) and TimeLimit.needed(called):
            try:
                pickled(called)
            except CannotSend as error:
                return f"{describe(called)} cannot be called in another process: {error}"
    return None


Answer = tuple[Any, dict[str, Any]]
"""What a call gave, and what it noted."""


class TimeLimit:
    """Worker processes in which each call of a user's function may take `seconds`, then ends as a Failure.

    rewardkit's own primitives need none: their time is bounded by the length of the text. ValueError:
    `seconds` is no time.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._workers = Workers(seconds=seconds, count=min(PROCESSES, os.cpu_count() or 1))
        self._made: dict[tuple[int, bool], Callable[..., Any]] = {}

    def __enter__(self) -> TimeLimit:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()

    @staticmethod
    def needed(function: Callable[..., Any]) -> bool:
        """Whether there is code in the function that is not rewardkit's own."""
        parts = [part if hasattr(part, "__qualname__") else type(part) for part in user_code(function)]
        return any(not (part.__module__ or "").startswith("rewardkit.") for part in parts)

    def run(
        self,
        function: Callable[..., Any],
        positional: Sequence[Sequence[Any]],
        keywords: Mapping[str, Sequence[Any]],
        count: int,
        notes: Notes | None,
        *,
        is_async: bool = False,
    ) -> list[Any]:
        """What the function returns for each of `count` rows, or a Failure; what it notes goes to `notes`.

        CannotLimit: it cannot be sent to another process.
        """
        rows = list(calls(function, positional, keywords, count))
        answers = self._together(rows, notes is not None) if is_async else self._rows(rows, notes is not None)
        if notes is not None:
            for noted, (_, heard) in zip(notes, answers, strict=True):
                noted.update(heard)
        return [answer for answer, _ in answers]

    def _rows(self, rows: Sequence[OneCall], listening: bool) -> list[Answer]:
        found = self._map(_one, rows, listening, [(row[1], row[2]) for row in rows], self.seconds)
        return [(item, {}) if isinstance(item, Failure) else item for item in found]

    def _together(self, rows: Sequence[OneCall], listening: bool) -> list[Answer]:
        """Coroutines, a bounded number at a time; where one of them blocks the others, each by itself."""
        batches = [rows[start : start + CONCURRENT_CALLS] for start in range(0, len(rows), CONCURRENT_CALLS)]
        found = self._together_once(rows, batches, listening)
        again = [batch for batch, answers in zip(batches, found, strict=True) if len(batch) > len(answers)]
        alone = iter(self._together_once(rows, [[row] for batch in again for row in batch], listening))
        answers: list[Answer] = []
        for batch, some in zip(batches, found, strict=True):
            answers += some if len(some) == len(batch) else [item for _ in batch for item in next(alone)]
        return answers

    def _together_once(
        self, rows: Sequence[OneCall], batches: Sequence[Sequence[OneCall]], listening: bool
    ) -> list[list[Answer]]:
        """The answers of each batch; one Failure where the whole batch had to be ended."""
        arguments = [(self.seconds, [(row[1], row[2]) for row in batch]) for batch in batches]
        found = self._map(_together, rows, listening, arguments, 1.5 * self.seconds)
        return [[(item, {})] if isinstance(item, Failure) else item for item in found]

    def _map(
        self,
        way: Callable[..., Any],
        rows: Sequence[OneCall],
        listening: bool,
        arguments: Sequence[Sequence[Any]],
        seconds: float,
    ) -> list[Any]:
        if not arguments:
            return []
        function = rows[0][0]
        made = self._made.setdefault((id(function), listening), partial(way, function, listening))
        results: list[Any] = [None] * len(arguments)
        try:
            for place, value in self._workers.map(made, arguments, seconds=seconds):
                results[place] = self._failure(value) if isinstance(value, Killed | Raised) else value
        except (CannotSend, WorkerEnded) as error:
            raise CannotLimit(
                f"{describe(function)} cannot be called in another process, which a time limit needs: "
                f"{error}; make what it holds open (a client, a lock, a file) inside the call, or score "
                "without timeout"
            ) from error
        return results

    def _failure(self, lost: Killed | Raised) -> Failure:
        if isinstance(lost.error, DeadlinePassed):
            return Failure(f"took longer than {self.seconds:g} s")
        return Failure(str(lost.error))


def _one(
    function: Callable[..., Any], listening: bool, positional: Sequence[Any], keywords: Mapping[str, Any]
) -> Answer:
    """In the worker: one call."""
    with listen(listening) as heard:
        return guarded((function, positional, keywords)), heard


def _together(
    function: Callable[..., Any],
    listening: bool,
    seconds: float,
    arguments: Sequence[tuple[Sequence[Any], Mapping[str, Any]]],
) -> list[Answer]:
    """In the worker: some calls of a coroutine function at a time."""
    notes: Notes = [{} for _ in arguments]
    everything = answer_all([(function, *both) for both in arguments], notes if listening else None, seconds)
    return list(zip(_loop().run(everything), notes, strict=True))


@lru_cache(maxsize=1)
def _loop() -> asyncio.Runner:
    """One event loop a worker: a client that the function keeps belongs to the loop it was first used in."""
    return asyncio.Runner()
