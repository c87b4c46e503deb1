"""Make calls of async functions concurrently, on an event loop of their own."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from functools import lru_cache
from itertools import repeat
from typing import Any

from rewardkit.primitives.primitive import listen
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.scoring.answers import reason_of
from rewardkit.scoring.calls import (
    CALLED,
    Calls,
    arguments_at,
    by_position,
    concurrency,
    result_of,
)


def await_all(calls: Calls, seconds: float | None) -> list[Any]:
    """Make the calls of an async function concurrently; cancel late ones.

    The event loop has a thread of its own, as a notebook's thread already runs a loop.
    The loop is kept: a client that a function holds is bound to the loop of its first
    use.
    """
    answers: list[Any] = [None] * calls.count
    rows = iter(range(calls.count))
    loop = event_loop(os.getpid(), threading.get_ident())
    try:
        future = asyncio.run_coroutine_threadsafe(
            _share(rows, calls, seconds, answers), loop
        )
        future.result()
    except KeyboardInterrupt:
        for _ in rows:  # exhausted, so that no further call begins
            pass
        raise
    return answers


async def _share(
    rows: Iterator[int], calls: Calls, seconds: float | None, answers: list[Any]
) -> None:
    """Share the calls of these rows among some tasks, and fill in their answers.

    A call gets a task of its own only if necessary: it has a time limit or notes, or an
    earlier call changed the context or cancelled its task.
    """
    function, columns = by_position(calls)
    result, notes, report = calls.result, calls.notes, CALLED.get()
    by_row = zip(rows, _rows_of_arguments(columns))  # noqa: B905 (the second is endless)
    are_apart = seconds is not None or notes is not None or report is not None

    async def make_calls() -> None:
        nonlocal are_apart
        task = asyncio.current_task()
        assert task is not None
        for row, arguments in by_row:
            if are_apart:
                call = _noted_call(calls, function, columns, row)
                answers[row], noted = await _apart(call, context.copy(), seconds)
                if notes is not None:
                    notes[row].update(noted)
                if report:
                    report(noted)
                continue
            try:
                answer = await function(*(arguments or arguments_at(columns, row)))
                if result is None:
                    answers[row] = answer
                elif calls.result_arguments:
                    answers[row] = result_of(calls, answer, row)
                else:
                    answers[row] = result(answer)
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
    """Make the call of a row; return its result and its notes."""
    with listen(calls.notes is not None) as noted:
        try:
            answer = await function(*arguments_at(columns, row))
            return result_of(calls, answer, row), noted
        except BaseException as error:
            return reason_of(error), noted


async def _apart(
    call: Coroutine[Any, Any, tuple[Any, dict[str, Any]]],
    context: Context,
    seconds: float | None,
) -> tuple[Any, dict[str, Any]]:
    """Make a call in a task and a context of its own; cancel it after `seconds`."""
    task = asyncio.get_running_loop().create_task(call, context=context)
    await asyncio.wait({task}, timeout=seconds)
    if task.done():
        return task.result()
    task.cancel()
    return Reason(ReasonCode.LATE, seconds=seconds or 0.0), {}


def _rows_of_arguments(columns: Sequence[Sequence[Any]]) -> Iterator[Any]:
    """Yield the arguments of each row, and None forever from the first failure on."""
    try:
        yield from zip(*columns, strict=True)
    except GeneratorExit:
        return
    except BaseException:  # an argument failed, so the columns are out of step
        pass
    yield from repeat(None)


@lru_cache
def event_loop(process: int, owner: int | str) -> asyncio.AbstractEventLoop:
    """Return the event loop for a thread, or for all judges; start it once."""
    loop = asyncio.new_event_loop()

    def run() -> None:
        while True:  # a user's function may stop the loop
            with suppress(BaseException):
                loop.run_forever()

    threading.Thread(target=run, name="rewardkit-async", daemon=True).start()
    return loop
