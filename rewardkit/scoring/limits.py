"""Users' functions under a time limit: the calls of `calling`, in worker processes that can be killed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from rewardkit.errors import RewardError, preview, without_addresses
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.notes import listen
from rewardkit.rewards.fingerprint import describe, of_rewardkit, user_code
from rewardkit.scoring.calls import CONCURRENT_CALLS, Failure, Notes, awaited, calls, guarded
from rewardkit.workers.pool import DeadlinePassed, Killed, Raised, WorkerEnded, Workers
from rewardkit.workers.sending import CannotSend, pickled

__all__ = ["LATE", "UNTRIED", "CannotLimit", "TimeLimit", "cannot_limit", "time_limit"]

LATE = "took longer than"
"""So the reason of a call begins that was ended."""

UNTRIED = "was not tried"
"""So the reason of a call begins that was not made, as others before it were late."""


class CannotLimit(RewardError):
    """A function cannot be called in another process, and so not under a time limit."""


PROCESSES = 4
"""At the most. Our choice: each holds the libraries that the functions import."""


def time_limit(
    timeout: float | None, *, patience: int | None = None
) -> AbstractContextManager[TimeLimit | None]:
    """A time limit of so many seconds, or none; RewardError where that is no time."""
    try:
        return nullcontext() if timeout is None else TimeLimit(timeout, patience=patience)
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

    rewardkit's own primitives need none: their time is bounded by the length of the text. After `patience`
    late calls of a pass the others are not made. So many `processes` share the calls, by default as many as
    there are cores. ValueError: `seconds` is no time.
    """

    def __init__(self, seconds: float, *, patience: int | None = None, processes: int | None = None) -> None:
        self.seconds, self.patience = seconds, patience
        self._workers = Workers(seconds=seconds, count=processes or min(PROCESSES, os.cpu_count() or 1))
        self._made: dict[tuple[int, Callable[[Any], Any], bool], Callable[..., Any]] = {}

    def __enter__(self) -> TimeLimit:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()

    @staticmethod
    def needed(function: Callable[..., Any]) -> bool:
        """Whether there is code in the function that is not rewardkit's own."""
        parts = [part if hasattr(part, "__qualname__") else type(part) for part in user_code(function)]
        return not all(map(of_rewardkit, parts))

    def run(
        self,
        function: Callable[..., Any],
        positional: Sequence[Sequence[Any]],
        keywords: Mapping[str, Sequence[Any]],
        count: int,
        notes: Notes | None,
        *,
        settle: Callable[[Any], Any],
        is_async: bool = False,
    ) -> list[Any]:
        """What the function returns for each of `count` rows, or a Failure; what it notes goes to `notes`.

        `settle` makes plain values of them, over there: to go through a lazy list may take long, too.
        CannotLimit: it cannot be sent to another process.
        """
        rows = calls(function, positional, keywords, count)
        way, listening = _one_awaited if is_async else _one, notes is not None
        key = (id(function), settle, listening)
        made = self._made.setdefault(key, partial(way, function, settle, listening))
        untried = Failure(f"{UNTRIED}, as calls before it {LATE} {self.seconds:g} s")
        results: list[Any] = [untried] * count
        late = 0
        try:
            for place, value in self._workers.map(
                made, [row[1:] for row in rows], together=CONCURRENT_CALLS if is_async else 0
            ):
                if isinstance(value, Killed | Raised):
                    results[place] = failure = self._failure(value)
                    late += failure.late
                    if failure.late and late == self.patience:
                        break
                    continue
                results[place], heard = value
                if notes is not None:
                    notes[place].update(heard)
        except (CannotSend, WorkerEnded) as error:
            raise CannotLimit(
                f"{describe(function)} cannot be called in another process, which a time limit needs: "
                f"{error}; make what it holds open (a client, a lock, a file) inside the call, or score "
                "without timeout"
            ) from error
        return results

    def _failure(self, lost: Killed | Raised) -> Failure:
        if isinstance(lost.error, DeadlinePassed):
            return Failure(f"{LATE} {self.seconds:g} s", late=True)
        if isinstance(lost, Raised) and isinstance(lost.error, CannotSend):
            return Failure(
                "returned what cannot be sent from the process that a time limit needs "
                f"({without_addresses(str(lost.error))}); return plain values, or score without timeout"
            )
        return Failure(without_addresses(str(lost.error)))


def _one(
    function: Callable[..., Any],
    settle: Callable[[Any], Any],
    listening: bool,
    positional: Sequence[Any],
    keywords: Mapping[str, Any],
) -> Answer:
    """In the worker: one call."""
    with listen(listening) as heard:
        value = settle(guarded(function, *positional, **keywords))
    return value, _sendable(heard)


async def _one_awaited(
    function: Callable[..., Any],
    settle: Callable[[Any], Any],
    listening: bool,
    positional: Sequence[Any],
    keywords: Mapping[str, Any],
) -> Answer:
    """In the worker: one call of a coroutine function."""
    with listen(listening) as heard:
        value = settle(await awaited((function, positional, keywords)))
    return value, _sendable(heard)


def _sendable(heard: dict[str, Any]) -> dict[str, Any]:
    """Notes; one that cannot be sent as it prints."""
    for name, value in heard.items():
        try:
            pickled((value,))
        except CannotSend:
            heard[name] = preview(value)
    return heard
