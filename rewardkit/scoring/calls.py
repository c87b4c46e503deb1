"""Calls of users' functions: what they raise and print becomes a record.

The one place that catches what users' functions raise. No error ends a pass over the
rows.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import sysconfig
import threading
import traceback
from collections.abc import (
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    MappingView,
    Sequence,
)
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from types import FunctionType, NoneType
from typing import Any, Final, TextIO

import numpy as np

from rewardkit.errors import CAUGHT, NotJudged, error_text, preview
from rewardkit.html.excerpts import user_texts_are_hidden
from rewardkit.primitives.primitive import listen
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import Call

CONCURRENT_CALLS = 16
"""Calls of one async component at a time. Our choice: about what an endpoint takes."""

CALLED: ContextVar[Callable[[Mapping[str, Any]], None] | None] = ContextVar(
    "rewardkit_called", default=None
)
"""Called with what it noted when a call of an async function ends; a progress bar."""

UNFINISHED = Reason(ReasonCode.INTERRUPTED)
"""The answer of a call of an async function that an interrupt ended."""


def reason_of(error: BaseException) -> Reason:
    """Return why a call that raised this has no value, with the user's line."""
    name = type(error).__name__
    if isinstance(error, NotJudged):
        return Reason(ReasonCode.NOT_JUDGED, words=str(error) or name)
    words, place = error_text(error), place_of(error)
    return Reason(ReasonCode.RAISED, words=words, error=name, place=place)


@dataclass(frozen=True, eq=False)
class Calls:
    """Calls of one function, for each of its parameters a column with the arguments.

    `settle` makes a plain value of an answer, or a Reason why it is none. What a call
    notes goes into its dict of `notes`. A trainer's adapter says by `result` what came
    of an answer, to which `result_arguments` are added, a column each.
    """

    function: Callable[..., Any]
    positional: Sequence[Sequence[Any]]
    keywords: Mapping[str, Sequence[Any]]
    count: int
    settle: Callable[[Any], Any]
    notes: Sequence[dict[str, Any]] | None = None
    is_async: bool = False
    result: Callable[..., Any] | None = None
    result_arguments: Sequence[Sequence[Any]] = ()

    @classmethod
    def of(
        cls,
        call: Call,
        column: Callable[[str], Sequence[Any]],
        count: int,
        settle: Callable[[Any], Any],
        notes: Sequence[dict[str, Any]] | None = None,
    ) -> Calls:
        """Fill the parameters of a signature from columns by name."""
        positional = [column(name) for name in call.positional]
        keywords = {key: column(name) for key, name in call.keywords.items()}
        return cls(
            call.function, positional, keywords, count, settle, notes, call.is_async
        )

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


def guarded(function: Callable[..., Any], *positional: Any, **keywords: Any) -> Any:
    """Return what a call returns, or a Reason where it raises.

    Any exception counts, as a panic of a Rust tokenizer is no `Exception`; only an
    interrupt from the keyboard goes on.
    """
    try:
        return function(*positional, **keywords)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return reason_of(error)


def answered(calls: Calls, seconds: float | None = None) -> list[Any]:
    """Make the calls in this process and return their answers, settled.

    Scores are not settled, as their taker settles all of them at once. Calls are made
    in turn, or some of an async function at a time, each of which may take so many
    `seconds`. An interrupt ends the latter, and leaves `UNFINISHED` where no answer
    was.
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


VALUES = frozenset({str, int, float, bool, NoneType, list, dict, Reason})
"""Types of answers that are values of a field as they are."""

NUMBERS = frozenset({int, float, bool, NoneType})
"""Types of scores whose taker settles all of them at once."""


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
    answers: list[Any] = [UNFINISHED] * calls.count
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
    return list(answers)


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


def as_field(answer: Any) -> Any:
    """Return the value of a field; an iterator becomes a list, to be read twice."""
    if type(answer) is not str and isinstance(answer, Iterator | MappingView):
        return guarded(list, answer)
    return answer


def as_list(
    answer: Any, settle: Callable[[Any], Any], expected: str
) -> list[Any] | Reason:
    """Return the answer for several rows as settled values, or why it is no list."""
    if isinstance(answer, Reason):
        return answer
    if type(answer) is list:
        as_they_are = VALUES if settle is as_field else NUMBERS
        if as_they_are.issuperset(map(type, answer)):
            return list(answer)
    no_list = Reason(ReasonCode.NOT_A_LIST, value=preview(answer), expected=expected)
    if isinstance(answer, str | bytes | Mapping):
        return no_list
    settled: list[Any] | Reason = guarded(lambda: [settle(value) for value in answer])
    if isinstance(settled, Reason):
        return replace(no_list, words=str(settled))
    return settled


def as_decision(answer: Any) -> bool | Reason | None:
    """Return what a predicate decides: a bool, None ("cannot tell"), or a Reason."""
    if answer is None or isinstance(answer, Reason):
        return answer
    if isinstance(answer, bool | np.bool_):
        return bool(answer)
    return Reason(ReasonCode.NOT_A_DECISION, value=preview(answer))


def as_score(answer: Any) -> float | Reason | None:
    """Return a finite number, None, or a Reason why the answer is no score.

    In the answer for several rows a `NotJudged` stands for a row without a score.
    """
    if answer is None or isinstance(answer, Reason):
        return answer
    if isinstance(answer, NotJudged):
        return reason_of(answer)
    if type(answer) is not float and not isinstance(answer, SCORE_TYPES):
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


SCORE_TYPES = (bool, int, float, np.bool_, np.integer, np.floating)


def place_of(error: BaseException) -> str:
    """Return the innermost line of a user's file that an error came from, or ""."""
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if not name.startswith(LIBRARY_PREFIXES):
            file = "cell" if CELL_FOLDER in name else Path(name).name
            place = f"{file}:{line}"
    return place


CELL_FOLDER = "ipykernel_"
"""In the name of the folder in which a notebook's cells are files."""

LIBRARY_PREFIXES = (
    "<",
    str(files("rewardkit")),
    *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")),
)
"""Beginnings of files that are no user's: no file at all, rewardkit's, libraries'."""


MOST_PRINTED: Final = 10_000
"""Characters that are recorded. Our choice: a few hundred lines."""

PRINTED_LINES: Final = 3
"""Lines that a person sees."""

LONGEST_LINE: Final = 120
"""Characters of such a line."""


@dataclass
class Printed:
    """How many `lines` were printed, and the `text` of the first."""

    lines: int = 0
    text: str = ""

    def add(self, other: Printed) -> None:
        """Count what else was printed, and record its text as far as there is room."""
        self.lines += other.lines
        self.text += other.text[: max(0, MOST_PRINTED - len(self.text))]

    def __bool__(self) -> bool:
        return bool(self.text)

    def record(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"lines": max(1, self.lines), "text": self.text}

    def show(self) -> None:
        """Print the first lines to ``sys.stderr``, and how many more there were.

        While user texts are hidden only their number.
        """
        if not self:
            return
        count = max(1, self.lines)
        plural = "s" if count > 1 else ""
        lines = [f"the reward's functions printed {count:,} line{plural}:"]
        quoted = []
        if not user_texts_are_hidden():
            quoted = _make_legible(self.text).splitlines()[:PRINTED_LINES]
        for line in quoted:
            if len(line) > LONGEST_LINE:
                line = f"{line[: LONGEST_LINE - 3]}..."
            lines.append(f"  {line}")
        if count >= len(lines):
            lines.append(f"  ... {count - len(lines) + 1:,} more")
        print("\n".join(lines), file=sys.stderr)


def _make_legible(text: str) -> str:
    """Escape what controls a terminal, and half characters."""
    characters = []
    for character in text:
        is_legible = character.isprintable() or character == "\n"
        characters.append(character if is_legible else ascii(character)[1:-1])
    return "".join(characters)


class _Stream:
    """A stand-in for a standard stream.

    What a block that catches prints writes to it is caught. What other threads print
    goes on to the stream, and so does all else that a stream can do.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        catching = _CATCHING.get()
        if catching is None:
            return self._stream.write(text)
        catching.add(Printed(text.count("\n"), text))
        return len(text)

    def writelines(self, lines: Iterator[str]) -> None:
        for line in lines:
            self.write(line)

    def close(self) -> None:
        """Stay open: a user's function may close what it takes for standard output."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


_CATCHING: ContextVar[Printed | None] = ContextVar("rewardkit_printed", default=None)
_LOCK = threading.Lock()
_BEFORE: list[tuple[TextIO, TextIO]] = []
"""For each block of any thread that catches prints, the streams before the first."""


@contextmanager
def caught_prints() -> Iterator[Printed]:
    """Catch what the block, and coroutines that it awaits, print."""
    printed = Printed()
    with _LOCK:
        _BEFORE.append(_BEFORE[0] if _BEFORE else (sys.stdout, sys.stderr))
        sys.stdout, sys.stderr = map(_Stream, _BEFORE[0])
    token = _CATCHING.set(printed)
    try:
        yield printed
    finally:
        _CATCHING.reset(token)
        with _LOCK:
            before = _BEFORE.pop()
            sys.stdout, sys.stderr = map(_Stream, before) if _BEFORE else before


def print_here(printed: Printed) -> None:
    """Let what was caught in another process count as printed here."""
    catching = _CATCHING.get()
    if catching is None:
        printed.show()
    else:
        catching.add(printed)
