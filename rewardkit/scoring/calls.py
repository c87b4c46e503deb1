"""Calls of users' functions, in turn or some of an async one at a time.

What a call raises is its answer, as a Reason; no error ends a pass over the rows.
"""

from __future__ import annotations

from collections.abc import (
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

from rewardkit.primitives.primitive import listen
from rewardkit.scoring.answers import as_field, reason_of

if TYPE_CHECKING:  # a process that makes calls starts without numpy
    from rewardkit.rewards.component import Call
    from rewardkit.rollouts.columns import Column

CONCURRENT_CALLS = 16
"""Calls of one async component at a time. Our choice: about what an endpoint takes."""

CALLED: ContextVar[Callable[[Mapping[str, Any]], None] | None] = ContextVar(
    "rewardkit_called", default=None
)
"""Called with what it noted when a call of an async function ends; a progress bar."""

_is_scoring: ContextVar[bool] = ContextVar("rewardkit_is_scoring", default=False)


ModelAsker = Callable[[Any, Sequence[Any]], Awaitable[list[Any]]]
"""Returns the answers to the requests of a judge, see `AskingServer.answers`."""

_model_asker: ModelAsker | None = None


def set_model_asker(asker: ModelAsker | None) -> None:
    """Set what asks models for the judges of this process; None: itself."""
    global _model_asker
    _model_asker = asker


def model_asker() -> ModelAsker | None:
    """Return what asks models for the judges of this process, if anything does."""
    return _model_asker


@contextmanager
def scoring() -> Iterator[None]:
    """Mark what is called in the block as called by rewardkit, not by a trainer.

    A reward that was written for a trainer, and is scored here, then records nothing.
    """
    token = _is_scoring.set(True)
    try:
        yield
    finally:
        _is_scoring.reset(token)


def is_scoring() -> bool:
    """Return whether rewardkit makes the call that is going on."""
    return _is_scoring.get()


@dataclass(frozen=True, eq=False)
class Calls:
    """Calls of one function, for each of its parameters a column with the arguments.

    `settle` makes a plain value of an answer, or a Reason why it is none. A trainer's
    adapter says by `result` what came of an answer, to which `result_arguments` are
    added, a column each. What a call notes goes into its dict of `notes`.
    """

    function: Callable[..., Any]
    positional: Sequence[Column]
    keywords: Mapping[str, Column]
    count: int
    settle: Callable[[Any], Any] = as_field
    is_async: bool = False
    result: Callable[..., Any] | None = None
    result_arguments: Sequence[Column] = ()
    notes: Sequence[dict[str, Any]] | None = None

    @classmethod
    def of(
        cls,
        call: Call,
        column: Callable[[str], Column],
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

        def some(column: Column) -> list[Any]:
            if type(column) is list and type(rows) is range:
                return column[rows.start : rows.stop]
            return [column[row] for row in rows]

        positional = list(map(some, self.positional))
        keywords = {name: some(column) for name, column in self.keywords.items()}
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


def by_position(calls: Calls) -> tuple[Callable[..., Any], list[Column]]:
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


def in_turn(calls: Calls) -> list[Any]:
    """Collect answers as fast as a bare loop; a call that raises leaves a Reason."""
    function, columns = by_position(calls)
    notes = calls.notes

    def call(row: int) -> Any:
        return result_of(calls, function(*arguments_at(columns, row)), row)

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
    values: Iterator[Any] = map(call_row, range(calls.count))
    if not are_by_row:
        values = map(function, *columns)
        if calls.result is not None:
            values = map(calls.result, values)
    results: list[Any] = []
    while True:
        error: BaseException = StopIteration()  # which ends a map
        try:
            results.extend(values)  # keeps what came before a call that raised
        except KeyboardInterrupt:
            raise
        except BaseException as raised:
            error = raised
        if len(results) == calls.count:
            return results
        if not are_by_row and not _has_arguments(columns, len(results)):
            # the columns are out of step behind an argument that cannot be made
            are_by_row = True
            values = map(call_row, range(len(results) + 1, calls.count))
        results.append(reason_of(error))


def _has_arguments(columns: Sequence[Column], row: int) -> bool:
    """Return whether the arguments of a row can be made, see `MadeColumn`."""
    try:
        for column in columns:
            column[row]
    except BaseException:
        return False
    return True


def arguments_at(columns: Sequence[Column], row: int) -> list[Any]:
    """Return the arguments of a row."""
    return [column[row] for column in columns]


def result_of(calls: Calls, answer: Any, row: int) -> Any:
    """Return what came of the answer for a row."""
    if calls.result is None:
        return answer
    return calls.result(answer, *arguments_at(calls.result_arguments, row))


def concurrency(function: Any) -> int:
    """Return how many calls of an async function are made at a time."""
    return int(getattr(function, "concurrency", CONCURRENT_CALLS))
