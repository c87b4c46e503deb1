"""Calls of users' functions, fast and guarded: what they raise becomes a Failure, and the pass goes on.

The only place, with `evaluation`, that catches errors of components.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from rewardkit.trace import listen

Notes = list[dict[str, Any]]
OneCall = tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any]]

CONCURRENT_CALLS = (
    16  # of one async component; our choice, about what a judge's endpoint takes from one client
)


@dataclass(frozen=True)
class Failure:
    """What stands in place of a value that a user's function failed to give."""

    message: str


def calls(
    function: Callable[..., Any],
    positional: list[Sequence[Any]],
    keywords: Mapping[str, Sequence[Any]],
    count: int,
) -> Iterator[OneCall]:
    for row in range(count):
        yield (
            function,
            [column[row] for column in positional],
            {name: column[row] for name, column in keywords.items()},
        )


def _failure(error: BaseException) -> Failure:
    try:
        text = str(error)
    except Exception:  # the user's exception class may fail even here
        text = ""
    return Failure(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def guarded(one: OneCall) -> Any:
    function, positional, keywords = one
    try:
        return function(*positional, **keywords)
    except (Exception, SystemExit) as error:
        return _failure(error)


def noted(one: OneCall, notes: dict[str, Any]) -> Any:
    with listen() as heard:
        answer = guarded(one)
    notes.update(heard)
    return answer


def run_all(function: Callable[..., Any], positional: list[Sequence[Any]], count: int) -> list[Any]:
    """One pass at the speed of a bare loop.

    A call that raises leaves a Failure and the pass goes on behind it.
    """
    results: list[Any] = []
    append = results.append
    pass_over = map(function, *positional)
    while len(results) < count:
        try:
            for value in pass_over:
                append(value)
        except (Exception, SystemExit) as error:
            append(_failure(error))
        else:
            if len(results) < count:  # the function raised StopIteration, which ends a map
                append(Failure("StopIteration"))
    return results


def run_async(calls: Iterator[OneCall] | list[OneCall], notes: Notes | None) -> list[Any]:
    """The answers of a coroutine function, a bounded number of calls at a time.

    They run on an event loop in a thread of its own.

    (A notebook's main thread has a running loop already.)
    """

    async def one_after(limit: asyncio.Semaphore, at: int, one: OneCall) -> Any:
        function, positional, keywords = one
        async with limit:
            with listen(notes is not None) as heard:
                try:
                    answer = await function(*positional, **keywords)
                except (Exception, SystemExit, asyncio.CancelledError) as error:
                    answer = _failure(error)
            if notes is not None:
                notes[at].update(heard)
            return answer

    async def everything() -> list[Any]:
        limit = asyncio.Semaphore(CONCURRENT_CALLS)
        return list(await asyncio.gather(*(one_after(limit, at, one) for at, one in enumerate(calls))))

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="rewardkit-async") as pool:
        return pool.submit(copy_context().run, asyncio.run, everything()).result()


def as_list(answer: Any, count: int) -> list[Any] | Failure:
    try:
        values = list(answer)
    except (Exception, SystemExit) as error:
        return Failure(f"returned {short(answer)}, not a list of {count} scores ({type(error).__name__})")
    if len(values) != count:
        return Failure(f"returned {len(values)} values for {count} completions")
    return values


def short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
