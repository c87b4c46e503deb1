"""Calls of users' functions: what they raise becomes a Reason, and which answers are values.

The one place that catches what users' functions raise. No error ends a pass over the rows.
"""

from __future__ import annotations

import asyncio
import math
import os
import sysconfig
import threading
import traceback
from collections.abc import (
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    MappingView,
    Sequence,
)
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from rewardkit.errors import CAUGHT, NotJudged, error_text, preview
from rewardkit.primitives.notes import listen
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.signature import Call

CONCURRENT_CALLS = 16
"""Of one async component. Our choice, about what a judge's endpoint takes from one client."""

CALLED: ContextVar[Callable[[Mapping[str, Any]], None] | None] = ContextVar(
    "rewardkit_called", default=None
)
"""Who is told of each call of an async function that has ended, with what it noted; a progress bar."""

UNFINISHED = Reason(ReasonCode.INTERRUPTED)
"""Stands for the answer of a call of an async function that an interrupt ended."""


def reason_of(error: BaseException) -> Reason:
    """Return why a call that raised this has no value, with the user's line."""
    name = type(error).__name__
    if isinstance(error, NotJudged):
        return Reason(ReasonCode.NOT_JUDGED, words=str(error) or name)
    words, place = error_text(error), place_of(error)
    return Reason(ReasonCode.RAISED, words=words, error=name, place=place)


@dataclass(frozen=True, eq=False)
class Calls:
    """Calls of one function: for each of its parameters a column with the argument of every call.

    `settle` makes a plain value of an answer, or a Reason why it is none. What a call notes goes into its dict of `notes`.
    """

    function: Callable[..., Any]
    positional: Sequence[Sequence[Any]]
    keywords: Mapping[str, Sequence[Any]]
    count: int
    settle: Callable[[Any], Any]
    notes: Sequence[dict[str, Any]] | None = None
    is_async: bool = False

    @classmethod
    def of(
        cls,
        call: Call,
        column: Callable[[str], Sequence[Any]],
        count: int,
        settle: Callable[[Any], Any],
        notes: Sequence[dict[str, Any]] | None = None,
    ) -> Calls:
        """Calls that are filled as a signature says, from columns by their names."""
        positional = [column(name) for name in call.positional]
        keywords = {
            parameter: column(name) for parameter, name in call.keywords.items()
        }
        return cls(
            call.function, positional, keywords, count, settle, notes, call.is_async
        )

    def columns(
        self, rows: Sequence[int]
    ) -> tuple[list[list[Any]], dict[str, list[Any]], int]:
        """The arguments of some of the calls, and how many these are."""
        positional = [[column[row] for row in rows] for column in self.positional]
        keywords = {
            name: [column[row] for row in rows]
            for name, column in self.keywords.items()
        }
        return positional, keywords, len(rows)


def guarded(function: Callable[..., Any], *positional: Any, **keywords: Any) -> Any:
    """What a call returns, or a Reason.

    That is for any exception there is, as a panic of a Rust tokenizer is no `Exception`; only an interrupt
    from the keyboard goes on.
    """
    try:
        return function(*positional, **keywords)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return reason_of(error)


def answered(calls: Calls, seconds: float | None = None) -> list[Any]:
    """What each call gives, settled, but for scores, which their taker settles all at once.

    The calls are made here: one after the other, or some of an async function at a time, each of which may
    take so many `seconds`. An interrupt ends the latter, and leaves `UNFINISHED` where no answer was.
    """
    function, notes = calls.function, calls.notes

    def one(row: int) -> Any:
        keywords = {name: column[row] for name, column in calls.keywords.items()}
        return function(*[column[row] for column in calls.positional], **keywords)

    def noting(row: int) -> Any:
        assert notes is not None
        with listen() as heard:
            try:
                return one(row)
            finally:
                notes[row].update(heard)

    if calls.is_async:
        answers = [UNFINISHED] * calls.count
        with suppress(KeyboardInterrupt):
            _wait_for(_together(one, calls, seconds, answers))
    elif notes is None and calls.positional and not calls.keywords:
        answers = _in_turn(map(function, *calls.positional), calls.count)
    else:
        answers = _in_turn(
            map(one if notes is None else noting, range(calls.count)), calls.count
        )
    return answers if calls.settle is as_score else list(map(calls.settle, answers))


def _in_turn(calls: Iterator[Any], count: int) -> list[Any]:
    """At the speed of a bare loop; a call that raises leaves a Reason and the pass goes on behind it."""
    results: list[Any] = []
    while len(results) < count:
        try:
            results.extend(calls)  # keeps what came before a call that raised
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            results.append(reason_of(error))
        else:
            if (
                len(results) < count
            ):  # the function raised StopIteration, which ends a map
                results.append(reason_of(StopIteration()))
    return results


async def _together(
    one: Callable[[int], Any], calls: Calls, seconds: float | None, answers: list[Any]
) -> None:
    """Fill in what calls of an async function give: so many at a time, each ended where it is late."""
    free = asyncio.Semaphore(concurrency(calls.function))
    called = CALLED.get()

    async def awaited(row: int) -> Any:
        try:
            return await one(row)
        except (
            BaseException
        ) as error:  # no interrupt of the keyboard, which the main thread gets
            return reason_of(error)

    async def when_free(row: int) -> None:
        async with free:
            with listen(calls.notes is not None) as heard:
                task = asyncio.ensure_future(awaited(row))
                done, _ = await asyncio.wait({task}, timeout=seconds)
            if not done:
                task.cancel()
            elif calls.notes is not None:
                calls.notes[row].update(heard)
            if done:
                answers[row] = task.result()
            else:
                answers[row] = Reason(ReasonCode.LATE, seconds=seconds or 0.0)
            if called:
                called(heard)

    await asyncio.gather(*map(when_free, range(calls.count)))


def concurrency(function: Any) -> int:
    """How many calls of an async function are made at a time: as it says itself, or `CONCURRENT_CALLS`."""
    return int(getattr(function, "concurrency", CONCURRENT_CALLS))


def _wait_for(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine on a loop in a thread of its own: a notebook's main thread has a running one.

    The loop stays: a client that a function keeps belongs to the one it was first used in.
    """
    waiting = asyncio.run_coroutine_threadsafe(
        coroutine, event_loop(os.getpid(), threading.get_ident())
    )
    try:
        waiting.result()
    finally:
        waiting.cancel()  # where this thread was interrupted


@lru_cache
def event_loop(process: int, owner: int | str) -> asyncio.AbstractEventLoop:
    """The event loop for whoever waits in a process: a thread, or all that ask models."""
    loop = asyncio.new_event_loop()

    def run() -> None:
        while True:  # a function may stop it, or end it by an error
            with suppress(BaseException):
                loop.run_forever()

    threading.Thread(target=run, name="rewardkit-async", daemon=True).start()
    return loop


def as_field(answer: Any) -> Any:
    """The value of a field: what can be gone through only once is a list, as several may ask for it."""
    once = type(answer) is not str and isinstance(answer, Iterator | MappingView)
    return guarded(list, answer) if once else answer


def as_list(answer: Any, settle: Callable[[Any], Any], what: str) -> list[Any] | Reason:
    """The answer for several rows as a list of settled values, or a Reason that says what it is instead."""
    if isinstance(answer, Reason):
        return answer
    no_list = Reason(ReasonCode.NOT_A_LIST, value=preview(answer), expected=what)
    if isinstance(answer, str | bytes | Mapping):
        return no_list
    settled: list[Any] | Reason = guarded(lambda: [settle(value) for value in answer])
    if isinstance(settled, Reason):
        return replace(no_list, words=str(settled))
    return settled


def as_decision(answer: Any) -> bool | Reason | None:
    """What a gate's predicate answered, which must be a bool, or None for "cannot tell"."""
    if answer is None or isinstance(answer, Reason):
        return answer
    if isinstance(answer, bool | np.bool_):
        return bool(answer)
    return Reason(ReasonCode.NOT_A_DECISION, value=preview(answer))


def as_score(answer: Any) -> float | Reason | None:
    """A finite number, ``None``, or a Reason that says why the answer is no score.

    Where one call answers for several rows, a `NotJudged` stands for one that has no score.
    """
    if answer is None or isinstance(answer, Reason):
        return answer
    if isinstance(answer, NotJudged):
        return reason_of(answer)
    if type(answer) is not float and not isinstance(answer, NUMBERS):
        name = type(answer).__name__
        return Reason(ReasonCode.WRONG_TYPE, value=preview(answer), type_name=name)
    try:
        number = float(answer)
    except OverflowError:
        number = math.inf
    except CAUGHT as error:  # a subclass of float may do anything
        return replace(reason_of(error), place="")
    if math.isfinite(number):
        return number
    return Reason(ReasonCode.NOT_FINITE, value=repr(number))


NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)


def place_of(error: BaseException) -> str:
    """The innermost line of a user's file that an error came from; "" where it is from none."""
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    own = [(name, line) for name, line in frames if not name.startswith(NOT_OWN)]
    if not own:
        return ""
    name, line = own[-1]
    return f"{'cell' if NOTEBOOK in name else Path(name).name}:{line}"


NOTEBOOK = (
    "ipykernel_"  # so the folder is called in which a notebook says that its cells are
)
LIBRARIES = map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
NOT_OWN = ("<", str(files("rewardkit")), *LIBRARIES)
"""So the files of frames begin that are no user's: code without a file, rewardkit's, those of libraries."""
