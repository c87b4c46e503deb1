"""Calls of users' functions, in turn or some of an async one at a time.

What a call raises is its answer, as a Reason; no error ends a pass over the rows.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import (
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any

from rewardkit.primitives.primitive import listen
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import Call
from rewardkit.scoring.answers import VALUES, as_field, as_score, reason_of

CONCURRENT_CALLS = 16
"""Calls of one async component at a time. Our choice: about what an endpoint takes."""

CALLED: ContextVar[Callable[[Mapping[str, Any]], None] | None] = ContextVar(
    "rewardkit_called", default=None
)
"""Called with what it noted when a call of an async function ends; a progress bar."""


@dataclass(frozen=True, eq=False)
class Calls:
    """Calls of one function, for each of its parameters a column with the arguments.

    `settle` makes a plain value of an answer, or a Reason why it is none. A trainer's
    adapter says by `result` what came of an answer, to which `result_arguments` are
    added, a column each. What a call notes goes into its dict of `notes`.
    """

    function: Callable[..., Any]
    positional: Sequence[Sequence[Any]]
    keywords: Mapping[str, Sequence[Any]]
    count: int
    settle: Callable[[Any], Any] = as_field
    is_async: bool = False
    result: Callable[..., Any] | None = None
    result_arguments: Sequence[Sequence[Any]] = ()
    notes: Sequence[dict[str, Any]] | None = None

    @classmethod
    def of(
        cls,
        call: Call,
        column: Callable[[str], Sequence[Any]],
        count: int,
        settle: Callable[[Any], Any] = as_field,
    ) -> Calls:
        """Fill the parameters of a signature from columns by name."""
        positional = [column(name) for name in call.positional]
        keywords = {key: column(name) for key, name in call.keywords.items()}
        return cls(call.function, positional, keywords, count, settle, call.is_async)

    def columns(
        self, rows: Sequence[int]
    ) -> tuple[list[list[Any]], dict[str, list[Any]], int]:
        """Return the arguments of some of the calls, and how many these are."""
        positional = [[column[row] for row in rows] for column in self.positional]
        keywords = {
            name: [column[row] for row in rows]
            for name, column in self.keywords.items()
        }
        return positional, keywords, len(rows)


def prepare(functions: Iterable[Any]) -> None:
    """Let functions that ask a model see whether it can be asked, before any call.

    Raises:
        InputError: it cannot.
    """
    for function in functions:
        prepare_function = getattr(function, "prepare", None)
        if callable(prepare_function):
            prepare_function()


def answered(calls: Calls, seconds: float | None = None) -> list[Any]:
    """Make the calls in this process and return their answers, settled.

    Scores are not settled, as their taker settles all of them at once. Calls are made
    in turn, or some of an async function at a time, each of which may take so many
    `seconds`.
    """
    if calls.is_async:
        answers = _await_all(calls, seconds)
    else:
        answers = _in_turn(calls)
    if calls.settle is as_score:
        return answers
    if calls.settle is as_field and VALUES.issuperset(map(type, answers)):
        return answers
    return list(map(calls.settle, answers))


def _by_position(calls: Calls) -> tuple[Callable[..., Any], list[Sequence[Any]]]:
    """Return a function of positional arguments alone that makes a call, and columns.

    Parameters of a Python function are filled by position as far as they follow one
    another, which is quicker than by keyword.
    """
    function: Callable[..., Any] = calls.function
    columns, keywords = list(calls.positional), dict(calls.keywords)
    inner = getattr(function, "__func__", function)  # of a method
    if type(inner) is FunctionType:
        code = inner.__code__
        first = len(columns) + (inner is not function)
        for name in code.co_varnames[first : code.co_argcount]:
            if name not in keywords:
                break
            columns.append(keywords.pop(name))
    if not keywords:
        return function, columns
    names, count = tuple(keywords), len(columns)

    def call(*arguments: Any) -> Any:
        named = zip(names, arguments[count:], strict=True)
        return function(*arguments[:count], **dict(named))

    return call, [*columns, *keywords.values()]


def _in_turn(calls: Calls) -> list[Any]:
    """Collect answers as fast as a bare loop; a call that raises leaves a Reason."""
    function, columns = _by_position(calls)
    notes = calls.notes

    def call(row: int) -> Any:
        return _result(calls, function(*_at(columns, row)), row)

    def call_and_note(row: int) -> Any:
        assert notes is not None
        with listen() as noted:
            try:
                return call(row)
            finally:
                notes[row].update(noted)

    of_column = getattr(calls.function, "of_column", None)
    if of_column is not None and len(columns) == 1:
        answers: list[Any] | None = of_column(columns[0])
        if answers is not None:
            return answers
    are_by_row = notes is not None or not columns or bool(calls.result_arguments)
    call_row = call if notes is None else call_and_note
    made: Iterator[Any] = map(call_row, range(calls.count))
    if not are_by_row:
        made = map(function, *columns)
        if calls.result is not None:
            made = map(calls.result, made)
    results: list[Any] = []
    while True:
        error: BaseException = StopIteration()  # which ends a map
        try:
            results.extend(made)  # keeps what came before a call that raised
        except KeyboardInterrupt:
            raise
        except BaseException as raised:
            error = raised
        if len(results) == calls.count:
            return results
        if not are_by_row and not _has_arguments(columns, len(results)):
            # the columns are out of step behind an argument that cannot be made
            are_by_row, made = True, map(call_row, range(len(results) + 1, calls.count))
        results.append(reason_of(error))


def _has_arguments(columns: Sequence[Sequence[Any]], row: int) -> bool:
    """Return whether the arguments of a row can be made, see `MadeColumn`."""
    try:
        for column in columns:
            column[row]
    except BaseException:
        return False
    return True


def _await_all(calls: Calls, seconds: float | None) -> list[Any]:
    """Make the calls of an async function, some at a time; late ones end.

    They run on a loop in a thread of its own, as a notebook's thread has one. The loop
    stays: a client that a function holds belongs to the loop of its first use.
    """
    answers: list[Any] = [None] * calls.count
    rows = iter(range(calls.count))
    loop = event_loop(os.getpid(), threading.get_ident())
    try:
        made = asyncio.run_coroutine_threadsafe(
            _share(rows, calls, seconds, answers), loop
        )
        made.result()
    except KeyboardInterrupt:
        for _ in rows:  # no other call begins
            pass
        raise
    return answers


async def _share(
    rows: Iterator[int], calls: Calls, seconds: float | None, answers: list[Any]
) -> None:
    """Share the calls of these rows among some tasks, and fill in their answers.

    A call has a task of its own where that shows: it has a time limit or notes, or an
    earlier one changed the context, or cancelled the task that it ran in.
    """
    function, columns = _by_position(calls)
    arguments, notes, report = _rows_of_arguments(columns), calls.notes, CALLED.get()
    are_apart = seconds is not None or notes is not None or report is not None

    async def make_calls() -> None:
        nonlocal are_apart
        task = asyncio.current_task()
        assert task is not None
        for row in rows:
            given = next(arguments, None)
            if are_apart:
                call = _noted_call(calls, function, columns, row)
                answers[row], noted = await _apart(call, context.copy(), seconds)
                if notes is not None:
                    notes[row].update(noted)
                if report:
                    report(noted)
                continue
            try:
                answer = await function(*(given or _at(columns, row)))
                answers[row] = _result(calls, answer, row)
            except BaseException as error:  # the main thread gets interrupts
                answers[row] = reason_of(error)
            if task.cancelling():
                are_apart = True
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(0)
            elif copy_context() != context:
                are_apart = True

    with listen(False):
        context = copy_context()
        count = min(concurrency(calls.function), calls.count)
        await asyncio.gather(*[make_calls() for _ in range(count)])


async def _noted_call(
    calls: Calls,
    function: Callable[..., Any],
    columns: Sequence[Sequence[Any]],
    row: int,
) -> tuple[Any, dict[str, Any]]:
    """Return what came of the call of a row, and what it noted."""
    with listen(calls.notes is not None) as noted:
        try:
            answer = await function(*_at(columns, row))
            return _result(calls, answer, row), noted
        except BaseException as error:
            return reason_of(error), noted


async def _apart(
    call: Coroutine[Any, Any, tuple[Any, dict[str, Any]]],
    context: Context,
    seconds: float | None,
) -> tuple[Any, dict[str, Any]]:
    """Make a call in a task and a context of its own, which ends after some seconds."""
    task = asyncio.get_running_loop().create_task(call, context=context)
    await asyncio.wait({task}, timeout=seconds)
    if task.done():
        return task.result()
    task.cancel()
    return Reason(ReasonCode.LATE, seconds=seconds or 0.0), {}


def _at(columns: Sequence[Sequence[Any]], row: int) -> list[Any]:
    return [column[row] for column in columns]


def _result(calls: Calls, answer: Any, row: int) -> Any:
    if calls.result is None:
        return answer
    return calls.result(answer, *_at(calls.result_arguments, row))


def _rows_of_arguments(columns: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of each row, up to one that has some that cannot be made."""
    with suppress(BaseException):
        yield from zip(*columns, strict=True)


def concurrency(function: Any) -> int:
    """Return how many calls of an async function are made at a time."""
    return int(getattr(function, "concurrency", CONCURRENT_CALLS))


@lru_cache
def event_loop(process: int, owner: int | str) -> asyncio.AbstractEventLoop:
    """Return the event loop of a waiting thread, or of all that ask models."""
    loop = asyncio.new_event_loop()

    def run() -> None:
        while True:  # a function may stop it, or end it by an error
            with suppress(BaseException):
                loop.run_forever()

    threading.Thread(target=run, name="rewardkit-async", daemon=True).start()
    return loop
