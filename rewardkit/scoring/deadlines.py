"""Users' functions under a time limit: in worker processes that can be killed."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import count
from typing import Any

from rewardkit.errors import RewardError, preview, without_addresses
from rewardkit.primitives.gates import Gate
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.users_code import is_from_rewardkit, user_code
from rewardkit.rollouts.columns import Column
from rewardkit.scoring.answers import VALUES, as_field, as_score, reason_of
from rewardkit.scoring.calls import Calls, concurrency, in_turn, scoring
from rewardkit.scoring.prints import Printed, caught_prints, print_here
from rewardkit.workers.pool import (
    CannotSend,
    DeadlinePassed,
    Lost,
    WorkerEnded,
    Workers,
    pickled,
)

SECONDS_TOGETHER = 0.01
"""Seconds of calls that are sent together. Our choice: 100 times what sending costs."""

MOST_TOGETHER = 1024
"""Calls that are sent together. Our choice: of a hang, each is made again alone."""

OUT_OF_MEMORY = 86
"""Exit status of a worker process whose memory ran out."""

MOST_FULL = 2
"""Times that a call is made again where its process had no memory. Our choice."""

FULL_MEMORY = (f"exit status {OUT_OF_MEMORY}", "signal SIGKILL")
"""Endings of a process for want of memory, the second by the system."""

MOST_PROCESSES = 4
"""Our choice: each process holds the libraries that the functions import."""


WorkersMaker = Callable[..., Workers]
"""Makes workers of `seconds` and `count`: `Workers`, or those of a cluster."""


class CannotLimit(RewardError):
    """A function cannot be called in another process, and so not under a time limit."""


def time_limit(
    timeout: float | None,
    *,
    patience: int | None = None,
    processes: int | None = None,
    workers: WorkersMaker = Workers,
) -> AbstractContextManager[TimeLimit | None]:
    """Return a time limit of so many seconds, or none.

    Raises:
        RewardError: the seconds are not above 0.
    """
    if timeout is None:
        return nullcontext()
    try:
        return TimeLimit(
            timeout, patience=patience, processes=processes, workers=workers
        )
    except (ValueError, TypeError):
        raise RewardError(
            f"timeout={timeout!r} is not a time; give seconds above 0, or None"
        ) from None


def cannot_limit(functions: Sequence[Any]) -> str | None:
    """Return why one of these functions cannot have a time limit, or None."""
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
    """Make the calls, under the limit, if any, where the function has user code."""
    if not calls.count:
        return []
    if limit and limit.needed(calls.function):
        return limit.run(calls)
    return answered(calls)


def answered(calls: Calls, seconds: float | None = None) -> list[Any]:
    """Make the calls in this process and return their answers, settled.

    Scores are not settled, as their taker settles all of them at once. Calls are made
    in turn, or some of an async function at a time, each of which may take so many
    `seconds`.
    """
    with scoring():
        if calls.is_async:
            from rewardkit.scoring.awaiting import (
                await_all,  # asyncio is slow to import
            )

            answers = await_all(calls, seconds)
        else:
            answers = in_turn(calls)
    if calls.settle is as_score:
        return answers
    if calls.settle is as_field and VALUES.issuperset(map(type, answers)):
        return answers
    return list(map(calls.settle, answers))


class TimeLimit:
    """Worker processes in which each call of a user's function ends after some seconds.

    rewardkit's own primitives need none: their time is bounded by the length of the
    text.

    Args:
        seconds: those of one call, which then ends as a Reason.
        patience: late calls of a pass after which the others are not made.
        processes: number that share the calls, by default that of the cores.
        workers: makes them.

    Raises:
        ValueError: `seconds` is not above 0.
    """

    def __init__(
        self,
        seconds: float,
        *,
        patience: int | None = None,
        processes: int | None = None,
        workers: WorkersMaker = Workers,
    ) -> None:
        self.seconds, self.patience = seconds, patience
        number = processes or min(MOST_PROCESSES, os.cpu_count() or 1)
        self._workers = workers(seconds=seconds, count=number)
        self._sent: dict[Any, Callable[..., Any]] = {}
        self._call_seconds: dict[Any, float] = {}  # by what was sent
        self._helps_to_restart = True

    def __enter__(self) -> TimeLimit:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()

    @property
    def processes(self) -> int:
        """Return how many processes share the calls."""
        return self._workers.count

    @staticmethod
    def needed(function: Callable[..., Any]) -> bool:
        """Return whether there is code in the function that is not rewardkit's."""
        for part in user_code(function):
            if not is_from_rewardkit(
                part if hasattr(part, "__qualname__") else type(part)
            ):
                return True
        return False

    def run(self, calls: Calls) -> list[Any]:
        """Make the calls; answers are settled there, as a lazy list may take long, too.

        Raises:
            CannotLimit: the function cannot be sent to another process, or none starts.
        """
        untried = Reason(ReasonCode.NOT_TRIED, seconds=self.seconds)
        answers: list[Any] = [untried] * calls.count
        printed: dict[int, Printed] = {}
        late = 0
        try:
            for rows, values, notes, text in self._ended(calls):
                printed[rows[0]] = text
                for row, value, noted in zip(rows, values, notes, strict=True):
                    answers[row] = value
                    if type(value) is Reason and value.code is ReasonCode.LATE:
                        late += 1
                    if calls.notes is not None:
                        calls.notes[row].update(noted)
                if late and late == self.patience:
                    break
        except CannotSend as error:
            raise CannotLimit(
                f"{describe(calls.function)} cannot be called in another process, "
                f"which a time limit needs: {error}; make what it holds open (a "
                "client, a lock, a file) inside the call, or score without a time limit"
            ) from error
        except WorkerEnded as error:
            raise CannotLimit(
                f"{describe(calls.function)} cannot be called in another process: "
                f"{error}"
            ) from error
        for row in sorted(printed):
            print_here(printed[row])
        return answers

    def _ended(
        self, calls: Calls
    ) -> Iterator[tuple[Sequence[int], list[Any], list[dict[str, Any]], Printed]]:
        """Yield rows, their values and notes, and what was printed, as calls end.

        Calls that were quick before, and those of an async function, are made some at a
        time in one process; where one of them has to be killed, each of them alone.
        A call that finds no memory is made again in another process, as earlier calls
        may hold it; where that never helped, it has raised a MemoryError.
        """
        key, function = self._sendable(calls)
        size, extra = 1, 0.0
        if calls.is_async:
            size, extra = concurrency(calls.function), self.seconds
        elif key in self._call_seconds:
            quick = int(SECONDS_TOGETHER / self._call_seconds[key])
            size = min(MOST_TOGETHER, max(1, quick))
        waiting: list[range] = []
        for start in range(0, calls.count, size):
            waiting.append(range(calls.count)[start : start + size])
        losses: Counter[int] = Counter()
        while waiting:
            if losses:
                self._workers.close()  # each of them may hold as much
                key, function = self._sendable(calls)
            batches, waiting = waiting, []
            arguments = [calls.columns(rows) for rows in batches]
            for at, answer in self._workers.map(function, arguments, extra=extra):
                rows = batches[at]
                if not isinstance(answer, Lost):
                    values, notes, printed, seconds = answer
                    self._call_seconds[key] = max(seconds / len(rows), 1e-9)
                    if ran_out_of_memory(values):
                        self._helps_to_restart = False
                    yield rows, values, notes, printed
                elif len(rows) > 1:
                    waiting += [range(row, row + 1) for row in rows]
                elif _is_full(answer.error) and losses[rows[0]] < MOST_FULL:
                    losses[rows[0]] += 1
                    waiting.append(rows)
                else:
                    yield rows, [self._reason(answer.error)], [{}], Printed()
            extra = 0.0

    def _sendable(self, calls: Calls) -> tuple[Any, Callable[..., Any]]:
        """Return what a worker is sent for these calls, with its key.

        It is the same object each time, so that it is sent once.
        """
        options = (
            calls.settle,
            calls.is_async,
            calls.notes is not None,
            self.seconds,
            self._helps_to_restart,
        )
        key = (id(calls.function), *options)
        function = partial(_make_calls, calls.function, *options)
        return key, self._sent.setdefault(key, function)

    def _reason(self, error: BaseException) -> Reason:
        if isinstance(error, DeadlinePassed):
            return Reason(ReasonCode.LATE, seconds=self.seconds)
        if isinstance(error, CannotSend):
            return Reason(ReasonCode.CANNOT_SEND, words=without_addresses(str(error)))
        if isinstance(error, WorkerEnded):
            is_full = error.ending == FULL_MEMORY[0]
            ending = "out of memory" if is_full else error.ending
            return Reason(ReasonCode.PROCESS_ENDED, ending=ending)
        return reason_of(error)


def ran_out_of_memory(values: Sequence[Any]) -> bool:
    """Return whether one of these is the Reason of a call that found no memory."""
    return any(
        type(value) is Reason and value.error == MemoryError.__name__
        for value in values
    )


def _is_full(error: BaseException) -> bool:
    """Return whether a process ended for want of memory."""
    return isinstance(error, WorkerEnded) and error.ending in FULL_MEMORY


_batches = count()
"""Numbers the batches of calls that were made in this process."""


def _make_calls(
    function: Callable[..., Any],
    settle: Callable[[Any], Any],
    is_async: bool,
    has_notes: bool,
    seconds: float,
    restarts: bool,
    positional: Sequence[Column],
    keywords: Mapping[str, Column],
    size: int,
) -> tuple[list[Any], list[dict[str, Any]], Printed, float]:
    """Make some calls in the worker.

    Where one of them finds no memory and others were made before it, the worker ends if
    it `restarts`.

    Returns:
        The values, what each call noted, what all printed, and the seconds they took.
    """
    began = time.perf_counter()
    notes: list[dict[str, Any]] = [{} for _ in range(size)]
    calls = Calls(
        function,
        positional,
        keywords,
        size,
        settle,
        is_async,
        notes=notes if has_notes else None,
    )
    with caught_prints() as printed:
        values = answered(calls, seconds)
        # `answered` does not settle scores, and what is no number may not be sendable
        if settle is as_score:
            values = list(map(settle, values))
    is_alone = next(_batches) == 0 and size == 1
    if restarts and not is_alone and ran_out_of_memory(values):
        os._exit(OUT_OF_MEMORY)
    for noted in notes:
        for name, value in noted.items():
            try:
                pickled((value,))
            except CannotSend:
                noted[name] = preview(value)
    return values, notes, printed, time.perf_counter() - began
