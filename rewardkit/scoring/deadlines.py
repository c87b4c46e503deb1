"""Call users' functions under a time limit, in worker processes that can be killed."""

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
"""Seconds of work per message to a worker. Our choice: 100 times the cost of one."""

MOST_TOGETHER = 1024
"""Most calls per message. Our choice: after a hang each is repeated alone."""

OUT_OF_MEMORY = 86
"""Exit status of a worker process that ran out of memory."""

MOST_FULL = 2
"""Retries of a call whose process ran out of memory. Our choice."""

FULL_MEMORY = (f"exit status {OUT_OF_MEMORY}", "signal SIGKILL")
"""Endings of a process that ran out of memory; the system sends the signal."""

MOST_PROCESSES = 4
"""Most processes. Our choice: each holds the libraries that the functions import."""

WorkersMaker = Callable[..., Workers]
"""Makes workers from `seconds` and `count`: `Workers`, or those of a cluster."""


class CannotLimit(RewardError):
    """A function cannot be limited in time, as no other process can call it."""


def time_limit(
    timeout: float | None,
    *,
    patience: int | None = None,
    processes: int | None = None,
    workers: WorkersMaker = Workers,
) -> AbstractContextManager[TimeLimit | None]:
    """Return a context with a time limit, or with None if `timeout` is None.

    Raises:
        RewardError: The seconds are not above 0.
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
    """Return why one of the functions cannot have a time limit, or None."""
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
    """Make the calls; a function with user code is called under the limit, if any."""
    if not calls.count:
        return []
    if limit and limit.needed(calls.function):
        return limit.run(calls)
    return answered(calls)


def answered(calls: Calls, seconds: float | None = None) -> list[Any]:
    """Make the calls in this process and return their settled answers.

    Scores are returned unsettled, as the caller converts all of them at once. Calls of
    an async function are made concurrently, each for at most `seconds`.
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
    """A time limit on calls of users' functions, kept by worker processes.

    rewardkit's own primitives need none: the length of the text bounds their time.

    Args:
        seconds: Most seconds of a call. The answer of a late call is a Reason.
        patience: Late calls of a pass after which no further calls are made.
        processes: Number of processes, by default the cores, up to `MOST_PROCESSES`.
        workers: Makes the processes.

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
        self._call_seconds: dict[Any, float] = {}  # by key of the function
        self._helps_to_restart = True

    def __enter__(self) -> TimeLimit:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()

    @property
    def processes(self) -> int:
        """Return the number of processes."""
        return self._workers.count

    @staticmethod
    def needed(function: Callable[..., Any]) -> bool:
        """Return whether a function contains user code."""
        for part in user_code(function):
            if not is_from_rewardkit(
                part if hasattr(part, "__qualname__") else type(part)
            ):
                return True
        return False

    def run(self, calls: Calls) -> list[Any]:
        """Make the calls and return their answers.

        The workers settle answers, as reading a lazy list may be slow, too.

        Raises:
            CannotLimit: The function cannot be sent to a process, or no process starts.
        """
        untried = Reason(ReasonCode.NOT_TRIED, seconds=self.seconds)
        answers: list[Any] = [untried] * calls.count
        printed: dict[int, Printed] = {}
        late = 0
        try:
            for rows, values, notes, text in self._finished(calls):
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

    def _finished(
        self, calls: Calls
    ) -> Iterator[tuple[Sequence[int], list[Any], list[dict[str, Any]], Printed]]:
        """Yield rows, their values and notes, and printed text, as calls finish.

        Quick calls, and calls of an async function, are sent in batches. If a process
        has to be killed, each call of its batch is repeated alone. A call that runs out
        of memory is repeated in a new process, as earlier calls may hold memory; if
        that never helped before, its answer is the MemoryError.
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
                self._workers.close()  # each of them may hold too much memory
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
        """Return the function that workers receive for these calls, and its key.

        Equal keys return the same object, so that it is sent only once.
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
    """Return whether one of the values is the Reason of a MemoryError."""
    return any(
        type(value) is Reason and value.error == MemoryError.__name__
        for value in values
    )


def _is_full(error: BaseException) -> bool:
    """Return whether a process ran out of memory."""
    return isinstance(error, WorkerEnded) and error.ending in FULL_MEMORY


_batches = count()
"""Counter of the batches of calls in this process."""


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
    """Make a batch of calls in a worker.

    If a call runs out of memory after others, a worker that `restarts` exits.

    Returns:
        The values, the notes of each call, the printed text, and the seconds.
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
        # `answered` does not settle scores, and other objects may not be sendable
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
