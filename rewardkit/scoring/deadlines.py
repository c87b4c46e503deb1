"""Users' functions under a time limit: the calls of `calls`, in worker processes that can be killed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from typing import Any

from rewardkit.errors import RewardError, preview, without_addresses
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.notes import listen
from rewardkit.rewards.fingerprint import describe, of_rewardkit, user_code
from rewardkit.scoring.calls import CONCURRENT_CALLS, Failure, Notes, calls, gathered, guarded
from rewardkit.scoring.printed import Printed, add_printed, caught_prints
from rewardkit.workers.pool import CannotSend, DeadlinePassed, Lost, WorkerEnded, Workers, pickled

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
    timeout: float | None, *, patience: int | None = None, processes: int | None = None
) -> AbstractContextManager[TimeLimit | None]:
    """A time limit of so many seconds, or none; RewardError where that is no time."""
    try:
        if timeout is None:
            return nullcontext()
        return TimeLimit(timeout, patience=patience, processes=processes)
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


Answer = tuple[Any, dict[str, Any], Printed]
"""What a call gave, what it noted and what it printed."""


class TimeLimit:
    """Worker processes in which each call of a user's function may take `seconds`, then ends as a Failure.

    rewardkit's own primitives need none: their time is bounded by the length of the text. After `patience`
    late calls of a pass the others are not made. So many `processes` share the calls, by default as many as
    there are cores. ValueError: `seconds` is no time.
    """

    def __init__(self, seconds: float, *, patience: int | None = None, processes: int | None = None) -> None:
        self.seconds, self.patience = seconds, patience
        self._workers = Workers(seconds=seconds, count=processes or min(PROCESSES, os.cpu_count() or 1))
        self._made: dict[Any, Callable[..., Any]] = {}

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
        rows = [one[1:] for one in calls(function, positional, keywords, count)]
        answers = [_failed(f"{UNTRIED}, as calls before it {LATE} {self.seconds:g} s")] * count
        several = partial(_several_awaited, self.seconds) if is_async else _one
        key = (id(function), settle, notes is not None, self.seconds)  # so that it is sent once
        made = self._made.setdefault(key, partial(several, function, settle, notes is not None))
        late = 0
        try:
            for row, value in self._awaited(made, rows) if is_async else self._workers.map(made, rows):
                answers[row] = self._failure(value) if isinstance(value, Lost) else value
                late += isinstance(answers[row][0], Failure) and answers[row][0].late
                if late and late == self.patience:
                    break
        except (CannotSend, WorkerEnded) as error:
            raise CannotLimit(
                f"{describe(function)} cannot be called in another process, which a time limit needs: "
                f"{error}; make what it holds open (a client, a lock, a file) inside the call, or score "
                "without timeout"
            ) from error
        for row, (_, heard, printed) in enumerate(answers):
            add_printed(printed)
            if notes is not None:
                notes[row].update(heard)
        return [value for value, _, _ in answers]

    def _awaited(self, several: Callable[..., Any], rows: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Some rows at a time in one process; where one of them has to be killed, each of them alone."""
        batches = [
            range(len(rows))[at : at + CONCURRENT_CALLS] for at in range(0, len(rows), CONCURRENT_CALLS)
        ]
        again: list[int] = []
        calls = [([rows[row] for row in batch],) for batch in batches]
        for at, found in self._workers.map(several, calls, extra=self.seconds):
            if isinstance(found, Lost):
                again += batches[at]
            else:
                yield from zip(batches[at], found, strict=True)
        for at, found in self._workers.map(several, [([rows[row]],) for row in again]):
            yield again[at], found if isinstance(found, Lost) else found[0]

    def _failure(self, lost: Lost) -> Answer:
        if isinstance(lost.error, DeadlinePassed):
            return _failed(f"{LATE} {self.seconds:g} s", late=True)
        why = without_addresses(str(lost.error))
        if isinstance(lost.error, CannotSend):
            why = (
                f"returned what cannot be sent from the process that a time limit needs ({why}); return "
                "plain values, or score without timeout"
            )
        return _failed(why)


def _failed(message: str, *, late: bool = False) -> Answer:
    return Failure(message, late), {}, Printed()


def _one(
    function: Callable[..., Any],
    settle: Callable[[Any], Any],
    listening: bool,
    positional: Sequence[Any],
    keywords: Mapping[str, Any],
) -> Answer:
    """In the worker: one call."""
    with caught_prints() as printed, listen(listening) as heard:
        value = settle(guarded(function, *positional, **keywords))
    return value, _sendable(heard), printed


def _several_awaited(
    seconds: float,
    function: Callable[..., Any],
    settle: Callable[[Any], Any],
    listening: bool,
    rows: Sequence[tuple[Sequence[Any], Mapping[str, Any]]],
) -> list[Answer]:
    """In the worker: calls of a coroutine function, all at once, each of which may take so many seconds."""
    every = [(function, *row) for row in rows]
    late = Failure(f"{LATE} {seconds:g} s", late=True)
    with caught_prints() as printed:
        found = _loop().run(gathered(every, listening, seconds, late))
        answers = [(settle(value), _sendable(heard), Printed()) for value, heard in found]
    value, heard, _ = answers[0]
    return [(value, heard, printed), *answers[1:]]


@lru_cache(maxsize=1)
def _loop() -> Any:
    """One event loop a worker: a client that the function keeps belongs to the loop it was first used in."""
    import asyncio

    return asyncio.Runner()


def _sendable(heard: dict[str, Any]) -> dict[str, Any]:
    """Notes; one that cannot be sent as it prints."""
    for name, value in heard.items():
        try:
            pickled((value,))
        except CannotSend:
            heard[name] = preview(value)
    return heard
