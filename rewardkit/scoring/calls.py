"""Calls of users' functions: what they raise becomes a Failure, and which answers are scores.

The one place, with `evaluate`, that catches what users' functions raise. No error ends a pass over the rows.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardkit.errors import CAUGHT, describe_error, preview
from rewardkit.primitives.notes import listen

__all__ = [
    "Failure",
    "as_batch",
    "as_field",
    "as_score",
    "call_all",
    "calls",
    "decision",
    "gathered",
    "guarded",
    "line_of",
    "score_problem",
]

Notes = list[dict[str, Any]]
OneCall = tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any]]

CONCURRENT_CALLS = 16
"""Of one async component. Our choice, about what a judge's endpoint takes from one client."""


OUT_OF_RANGE = "out of range: "
"""So the reason of a score begins that is a number outside the declared range."""


@dataclass(frozen=True)
class Failure:
    """What stands in place of a value that a user's function failed to give.

    `late`: within its time; `several`: the call was for several rows.
    """

    message: str
    late: bool = False
    several: bool = False


def failed(error: BaseException) -> Failure:
    """What stands in place of the answer of a call that raised.

    That is any exception there is, as a panic of a Rust tokenizer is no `Exception`; only an interrupt from
    the keyboard goes on.
    """
    if isinstance(error, KeyboardInterrupt):
        raise error
    return Failure(describe_error(error))


def guarded(function: Callable[..., Any], *positional: Any, **keywords: Any) -> Any:
    """What a call returns, or a Failure."""
    try:
        return function(*positional, **keywords)
    except BaseException as error:
        return failed(error)


async def awaited(one: OneCall) -> Any:
    """What a call of a coroutine function returns, or a Failure."""
    function, positional, keywords = one
    try:
        return await function(*positional, **keywords)
    except BaseException as error:
        return failed(error)


def calls(
    function: Callable[..., Any],
    positional: Sequence[Sequence[Any]],
    keywords: Mapping[str, Sequence[Any]],
    count: int,
) -> Iterator[OneCall]:
    """One call a row, with its arguments."""
    for row in range(count):
        yield (
            function,
            [column[row] for column in positional],
            {name: column[row] for name, column in keywords.items()},
        )


def call_all(
    function: Callable[..., Any],
    positional: Sequence[Sequence[Any]],
    keywords: Mapping[str, Sequence[Any]],
    count: int,
    *,
    notes: Notes | None = None,
    is_async: bool = False,
) -> list[Any]:
    """What the function returns for each of `count` rows, or a Failure; what it notes goes to `notes`."""
    every = calls(function, positional, keywords, count)
    if is_async:
        import asyncio  # slow to import, and seldom needed

        # on a loop in a thread of its own, as a notebook's main thread has a running one
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="rewardkit-async") as pool:
            coroutine = gathered(every, notes is not None)
            found = pool.submit(copy_context().run, asyncio.run, coroutine).result()
        for heard, (_, own) in zip(notes or [], found, strict=False):
            heard.update(own)
        return [answer for answer, _ in found]
    if notes is not None:
        answers = []
        for (_, arguments, named), heard in zip(every, notes, strict=True):
            with listen() as own:
                answers.append(guarded(function, *arguments, **named))
            heard.update(own)
        return answers
    if keywords or not positional:
        return [guarded(function, *arguments, **named) for _, arguments, named in every]
    return _run_fast(function, positional, count)


def _run_fast(function: Callable[..., Any], positional: Sequence[Sequence[Any]], count: int) -> list[Any]:
    """At the speed of a bare loop; a call that raises leaves a Failure and the pass goes on behind it."""
    results: list[Any] = []
    rest = map(function, *positional)
    while len(results) < count:
        try:
            results.extend(rest)  # keeps what came before a call that raised
        except BaseException as error:
            results.append(failed(error))
        else:
            if len(results) < count:  # the function raised StopIteration, which ends a map
                results.append(Failure("StopIteration"))
    return results


async def gathered(
    every: Iterable[OneCall], listening: bool, seconds: float | None = None, late: Failure | None = None
) -> list[tuple[Any, dict[str, Any]]]:
    """What each call of a coroutine function gave and noted; a bounded number of them runs at a time.

    One that takes longer than `seconds` is cancelled, and `late` is its answer.
    """
    import asyncio  # slow to import, and seldom needed

    free = asyncio.Semaphore(CONCURRENT_CALLS)

    async def when_free(one: OneCall) -> tuple[Any, dict[str, Any]]:
        async with free:
            with listen(listening) as heard:
                task = asyncio.ensure_future(awaited(one))
                done, _ = await asyncio.wait({task}, timeout=seconds)
                if not done:
                    task.cancel()
                    return late, {}
                return task.result(), heard

    return list(await asyncio.gather(*map(when_free, every)))


def as_field(answer: Any) -> Any:
    """The value of a field: what can be gone through only once is a list, as several may ask for it."""
    once = type(answer) is not str and isinstance(answer, Iterator | MappingView)
    return guarded(list, answer) if once else answer


def as_field_list(answer: Any) -> list[Any] | Failure:
    """What a field gave for several rows, or a Failure that says what it is instead."""
    if isinstance(answer, Failure | list):
        return answer
    return Failure(f"returned {preview(answer)}, not a list with a value for each completion")


def as_batch(answer: Any) -> list[Any] | Failure:
    """The answer of a batch as a list of scores, or a Failure that says what it is instead."""
    if isinstance(answer, Failure):
        return answer
    if isinstance(answer, str | bytes | Mapping):
        return Failure(f"returned {preview(answer)}, not a list of scores")
    try:
        return [as_score(value) for value in answer]
    except BaseException as error:
        return Failure(f"returned {preview(answer)}, not a list of scores ({failed(error).message})")


def decision(answer: Any) -> bool | Failure | None:
    """What a gate's predicate answered, which must be a bool, or None for "cannot tell"."""
    if answer is None or isinstance(answer, Failure):
        return answer
    if isinstance(answer, bool | np.bool_):
        return bool(answer)
    return Failure(f"its predicate returned {preview(answer)}; a predicate returns True, False or None")


PLAIN_SCORES = {float, int, bool, type(None), Failure}


def as_score(value: Any) -> Any:
    """A result as the plain number it is, ``None``, or a Failure that says why it is no score."""
    if type(value) in PLAIN_SCORES:
        return value
    why = score_problem(value, None)
    return Failure(why) if why else float(value)


def score_problem(value: Any, allowed: tuple[float, float] | None) -> str | None:
    """Why a result is no score, or ``None``."""
    if value is None or isinstance(value, Failure):
        return value.message if value else None
    if not isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        return (
            f"returned {preview(value)} of type {type(value).__name__}; a component returns a number, a "
            "bool or None"
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except CAUGHT as error:  # a subclass of float may do anything
        return describe_error(error)
    if not math.isfinite(number):
        return f"returned {number!r}; a score must be finite (return None for 'not judged')"
    if allowed and not allowed[0] <= number <= allowed[1]:
        return f"{OUT_OF_RANGE}returned {number!r}; its range is {allowed}"
    return None


def line_of(error: BaseException, file: str) -> int | None:
    """The innermost line of this file that an error came from, 1 for its first; ``None``: from elsewhere."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == file]
    return lines[-1] if lines else None
