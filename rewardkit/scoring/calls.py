"""Calls of users' functions, guarded: what they raise becomes a Failure, and which answers are scores.

The only place, with `evaluation`, that catches errors of components.
"""

from __future__ import annotations

import asyncio
import math
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from rewardkit.primitives.notes import listen

Notes = list[dict[str, Any]]
OneCall = tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any]]

CONCURRENT_CALLS = 16
"""Of one async component. Our choice, about what a judge's endpoint takes from one client."""

CAUGHT = (Exception, SystemExit, GeneratorExit, asyncio.CancelledError)
"""What a user's file, or the text of a user's object, may raise without ending the program."""

OUT_OF_RANGE = "out of range: "


@dataclass(frozen=True)
class Failure:
    """What stands in place of a value that a user's function failed to give; `late`: within its time."""

    message: str
    late: bool = False


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


def said(error: BaseException) -> str:
    """An error in one phrase, without memory addresses; the user's exception class may fail even here."""
    try:
        text = without_addresses(str(error))
    except CAUGHT:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def line_of(error: BaseException, file: str) -> int | None:
    """The innermost line of this file that an error came from, 1 for its first; ``None``: from elsewhere."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == file]
    return lines[-1] if lines else None


def without_addresses(text: str) -> str:
    """The text without the memory addresses of objects, which differ from run to run."""
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", text)


def failed(error: BaseException) -> Failure:
    """What stands in place of the answer of a call that raised.

    That is any exception there is, as a panic of a Rust tokenizer is no `Exception`; only an interrupt from
    the keyboard goes on.
    """
    if isinstance(error, KeyboardInterrupt):
        raise error
    return Failure(said(error))


def guarded(one: OneCall) -> Any:
    """What a call returns, or a Failure."""
    function, positional, keywords = one
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


def noted(one: OneCall, notes: dict[str, Any]) -> Any:
    """The same, with what the function noted added to `notes`."""
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
        except BaseException as error:
            append(failed(error))
        else:
            if len(results) < count:  # the function raised StopIteration, which ends a map
                append(Failure("StopIteration"))
    return results


def run_async(calls: Iterable[OneCall], notes: Notes | None) -> list[Any]:
    """The answers of a coroutine function, a bounded number of calls at a time.

    They run on an event loop in a thread of its own, as a notebook's main thread has a running loop already.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="rewardkit-async") as pool:
        return pool.submit(copy_context().run, asyncio.run, answer_all(calls, notes)).result()


async def answer_all(calls: Iterable[OneCall], notes: Notes | None) -> list[Any]:
    """The answers of a coroutine function."""
    limit = asyncio.Semaphore(CONCURRENT_CALLS)

    async def one_after(at: int, one: OneCall) -> Any:
        async with limit:
            with listen(notes is not None) as heard:
                answer = await awaited(one)
            if notes is not None:
                notes[at].update(heard)
            return answer

    return list(await asyncio.gather(*(one_after(at, one) for at, one in enumerate(calls))))


def as_field(answer: Any) -> Any:
    """The value of a field: what can be gone through only once is a list, as several may ask for it."""
    once = type(answer) is not str and isinstance(answer, Iterator | MappingView)
    return guarded((list, [answer], {})) if once else answer


def as_batch(answer: Any) -> list[Any] | Failure:
    """The answer of a batch as a list of scores, or a Failure that says what it is instead."""
    if isinstance(answer, Failure):
        return answer
    if isinstance(answer, str | bytes | Mapping):
        return Failure(f"returned {short(answer)}, not a list of scores")
    try:
        return [as_score(value) for value in answer]
    except BaseException as error:
        return Failure(f"returned {short(answer)}, not a list of scores ({failed(error).message})")


def short(value: Any) -> str:
    """How a value prints, cut to a phrase."""
    try:
        text = without_addresses(repr(value))
    except CAUGHT:
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def decision(answer: Any) -> bool | Failure | None:
    """What a gate's predicate answered, which must be a bool, or None for "cannot tell"."""
    if answer is None or isinstance(answer, Failure):
        return answer
    if isinstance(answer, bool | np.bool_):
        return bool(answer)
    return Failure(f"its predicate returned {short(answer)}; a predicate returns True, False or None")


PLAIN_SCORES = (float, int, bool, type(None))


def as_score(value: Any) -> float | int | Failure | None:
    """A result as the plain number it is, ``None``, or a Failure that says why it is no score."""
    if type(value) in PLAIN_SCORES or isinstance(value, Failure):
        return cast(float | int | Failure | None, value)
    why = problem(value, None)
    return Failure(why) if why else float(value)


def problem(value: Any, allowed: tuple[float, float] | None) -> str | None:
    """Why a result is no score, or ``None``."""
    if value is None or isinstance(value, Failure):
        return value.message if value else None
    if not isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        return (
            f"returned {short(value)} of type {type(value).__name__}; a component returns a number, a "
            "bool or None"
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except CAUGHT as error:  # a subclass of float may do anything
        return said(error)
    if not math.isfinite(number):
        return f"returned {number!r}; a score must be finite (return None for 'not judged')"
    if allowed and not allowed[0] <= number <= allowed[1]:
        return f"{OUT_OF_RANGE}returned {number!r}; its range is {allowed}"
    return None
