"""Users' functions under a time limit: the calls of `calls`, in worker processes that can be killed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from rewardkit.errors import RewardError, preview, without_addresses
from rewardkit.primitives.gates import Gate
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.fingerprint import describe, of_rewardkit, user_code
from rewardkit.scoring.calls import (
    UNFINISHED,
    Calls,
    answered,
    as_score,
    concurrency,
    reason_of,
)
from rewardkit.scoring.printed import Printed, caught_prints, print_here
from rewardkit.workers.pool import (
    CannotSend,
    DeadlinePassed,
    Lost,
    WorkerEnded,
    Workers,
    pickled,
)

TOGETHER = 0.002
"""Seconds of quick calls that are sent and answered together. Our choice: twenty times what sending costs."""

MOST_TOGETHER = 64
"""Such calls. Our choice."""

PROCESSES = 4
"""At the most. Our choice: each holds the libraries that the functions import."""


class CannotLimit(RewardError):
    """A function cannot be called in another process, and so not under a time limit."""


def time_limit(
    timeout: float | None, *, patience: int | None = None, processes: int | None = None
) -> AbstractContextManager[TimeLimit | None]:
    """A time limit of so many seconds, or none; RewardError where they are not above 0."""
    try:
        return (
            TimeLimit(timeout, patience=patience, processes=processes)
            if timeout is not None
            else nullcontext()
        )
    except (ValueError, TypeError):
        raise RewardError(
            f"timeout={timeout!r} is not a time; give seconds above 0, or None"
        ) from None


def cannot_limit(functions: Sequence[Any]) -> str | None:
    """Why one of these functions cannot be called under a time limit; ``None`` where all can."""
    for function in functions:
        called = function.on if isinstance(function, Gate) else function
        if callable(called) and TimeLimit.needed(called):
            try:
                pickled(called)
            except CannotSend as error:
                return (
                    f"{describe(called)} cannot be called in another process: {error}"
                )
    return None


def answers_of(calls: Calls, limit: TimeLimit | None) -> list[Any]:
    """What each call gives, as `answered`, under the limit where there is one and the function needs it."""
    if not calls.count:
        return []
    return (
        limit.run(calls) if limit and limit.needed(calls.function) else answered(calls)
    )


class TimeLimit:
    """Worker processes in which each call of a user's function may take `seconds`, then ends as a Reason.

    rewardkit's own primitives need none: their time is bounded by the length of the text. After `patience`
    late calls of a pass the others are not made. So many `processes` share the calls, by default as many as
    there are cores. ValueError: `seconds` is not above 0.
    """

    def __init__(
        self,
        seconds: float,
        *,
        patience: int | None = None,
        processes: int | None = None,
    ) -> None:
        self.seconds, self.patience = seconds, patience
        self._workers = Workers(
            seconds=seconds, count=processes or min(PROCESSES, os.cpu_count() or 1)
        )
        self._sent: dict[Any, Callable[..., Any]] = {}
        self._each: dict[Any, float] = {}  # seconds of a call, by what was sent

    def __enter__(self) -> TimeLimit:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()

    @staticmethod
    def needed(function: Callable[..., Any]) -> bool:
        """Whether there is code in the function that is not rewardkit's own."""
        parts = [
            part if hasattr(part, "__qualname__") else type(part)
            for part in user_code(function)
        ]
        return not all(map(of_rewardkit, parts))

    def run(self, calls: Calls) -> list[Any]:
        """What each call gives, settled over there, as going through a lazy list may take long, too.

        CannotLimit: the function cannot be sent to another process, or none starts.
        """
        untried = Reason(ReasonCode.NOT_TRIED, seconds=self.seconds)
        answers: list[Any] = [untried] * calls.count
        printed: dict[int, Printed] = {}
        late = 0
        try:
            for rows, values, notes, text in self._ended(calls):
                printed[rows[0]] = text
                for row, value, heard in zip(rows, values, notes, strict=True):
                    answers[row] = value
                    late += type(value) is Reason and value.code is ReasonCode.LATE
                    if calls.notes is not None:
                        calls.notes[row].update(heard)
                if late and late == self.patience:
                    break
        except KeyboardInterrupt:
            if not calls.is_async:
                raise
            answers = [
                UNFINISHED if answer is untried else answer for answer in answers
            ]
        except CannotSend as error:
            raise CannotLimit(
                f"{describe(calls.function)} cannot be called in another process, which a time limit needs: "
                f"{error}; make what it holds open (a client, a lock, a file) inside the call, or score "
                "without timeout"
            ) from error
        except WorkerEnded as error:
            raise CannotLimit(
                f"{describe(calls.function)} cannot be called in another process: {error}"
            ) from error
        for _, text in sorted(printed.items(), key=lambda item: item[0]):
            print_here(text)
        return answers

    def _ended(
        self, calls: Calls
    ) -> Iterator[tuple[Sequence[int], list[Any], list[dict[str, Any]], Printed]]:
        """Some rows, their values and notes, and what was printed, in the order they end.

        Calls that are known to be quick, and those of an async function, are made some at a time in one
        process; where one of them has to be killed, each of them alone.
        """
        how = (
            calls.function,
            calls.settle,
            calls.is_async,
            calls.notes is not None,
            self.seconds,
        )
        key = (id(calls.function), *how[1:])
        made = self._sent.setdefault(
            key, partial(_made, *how)
        )  # the same object, so that it is sent once
        size, extra = (
            (concurrency(calls.function), self.seconds) if calls.is_async else (1, 0.0)
        )
        if not calls.is_async and (each := self._each.get(key)) is not None:
            size = min(MOST_TOGETHER, max(1, int(TOGETHER / each)))
        waiting = [
            range(calls.count)[start : start + size]
            for start in range(0, calls.count, size)
        ]
        while waiting:
            batches, waiting = waiting, []
            some = [calls.columns(rows) for rows in batches]
            for at, answer in self._workers.map(made, some, extra=extra):
                rows = batches[at]
                if not isinstance(answer, Lost):
                    *told, seconds = answer
                    self._each[key] = max(seconds / len(rows), 1e-9)
                    yield rows, *told
                elif len(rows) > 1:
                    waiting += [rows[at : at + 1] for at in range(len(rows))]
                else:
                    yield rows, [self._reason(answer.error)], [{}], Printed()
            extra = 0.0

    def _reason(self, error: BaseException) -> Reason:
        if isinstance(error, DeadlinePassed):
            return Reason(ReasonCode.LATE, seconds=self.seconds)
        if isinstance(error, CannotSend):
            return Reason(ReasonCode.CANNOT_SEND, words=without_addresses(str(error)))
        if isinstance(error, WorkerEnded):
            return Reason(ReasonCode.PROCESS_ENDED, ending=error.ending)
        return reason_of(error)


def _made(
    function: Callable[..., Any],
    settle: Callable[[Any], Any],
    is_async: bool,
    listening: bool,
    seconds: float,
    positional: Sequence[Sequence[Any]],
    keywords: Mapping[str, Sequence[Any]],
    count: int,
) -> tuple[list[Any], list[dict[str, Any]], Printed, float]:
    """In the worker: the values of some calls, what they noted and printed, and the seconds they took."""
    began = time.perf_counter()
    notes: list[dict[str, Any]] = [{} for _ in range(count)]
    calls = Calls(
        function,
        positional,
        keywords,
        count,
        settle,
        notes if listening else None,
        is_async,
    )
    with caught_prints() as printed:
        values = answered(calls, seconds)
        if (
            settle is as_score
        ):  # which is left to others; but what is no plain number may not be sendable
            values = list(map(settle, values))
    for heard in notes:
        for name, value in heard.items():
            try:
                pickled((value,))
            except CannotSend:  # it is known by how it prints
                heard[name] = preview(value)
    return values, notes, printed, time.perf_counter() - began
