"""Calls of a user's function, and making them in turn.

If a call raises, its answer is a Reason, so no error ends a pass over the rows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
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
"""Concurrent calls of an async component. Our choice: an endpoint takes about these."""

CALLED: ContextVar[Callable[[Mapping[str, Any]], None] | None] = ContextVar(
    "rewardkit_called", default=None
)
"""A progress callback: called with the notes of each async call that ends."""

_is_scoring: ContextVar[bool] = ContextVar("rewardkit_is_scoring", default=False)


ModelAsker = Callable[[Any, Sequence[Any]], Awaitable[list[Any]]]
"""A function that returns the answers to a judge's requests, see `AskingServer`."""

_model_asker: ModelAsker | None = None


def set_model_asker(asker: ModelAsker | None) -> None:
    """Set the function that asks models for this process's judges; None: they ask."""
    global _model_asker
    _model_asker = asker


def model_asker() -> ModelAsker | None:
    """Return the function that asks models for this process's judges, or None."""
    return _model_asker


@contextmanager
def scoring() -> Iterator[None]:
    """Mark calls in the block as made by rewardkit, not by a trainer.

    A reward exported to a trainer does not record such calls.
    """
    token = _is_scoring.set(True)
    try:
        yield
    finally:
        _is_scoring.reset(token)


def is_scoring() -> bool:
    """Return whether rewardkit makes the current call."""
    return _is_scoring.get()


@dataclass(frozen=True, eq=False)
class Calls:
    """Calls of one function, with a column of arguments for each parameter.

    `settle` converts an answer to a plain value or a Reason. `result` is a trainer's
    conversion of an answer; it also gets `result_arguments`, one column each. `notes`
    has one dict per call.
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
        """Fill the parameters of a call from columns by name."""
        positional = [column(name) for name in call.positional]
        keywords = {key: column(name) for key, name in call.keywords.items()}
        return cls(call.function, positional, keywords, count, settle, call.is_async)

    def columns(
        self, rows: Sequence[int]
    ) -> tuple[list[list[Any]], dict[str, list[Any]], int]:
        """Return the arguments of the calls of these rows, and the number of calls."""

        def select(column: Column) -> list[Any]:
            if type(column) is list and type(rows) is range:
                return column[rows.start : rows.stop]
            return [column[row] for row in rows]

        positional = list(map(select, self.positional))
        keywords = {name: select(column) for name, column in self.keywords.items()}
        return positional, keywords, len(rows)


def prepare(functions: Iterable[Any]) -> None:
    """Let functions that ask a model check that they can, before any call.

    Raises:
        InputError: A model cannot be asked.
    """
    for function in functions:
        prepare_function = getattr(function, "prepare", None)
        if callable(prepare_function):
            prepare_function()


def by_position(calls: Calls) -> tuple[Callable[..., Any], list[Column]]:
    """Return a function that takes only positional arguments, and their columns.

    Keywords of a Python function become positional arguments as far as its parameters
    are contiguous, which is faster.
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
    """Make the calls in turn, as fast as a bare loop; a failed call is a Reason."""
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
        error: BaseException = StopIteration()  # a function may end the map with it
        try:
            results.extend(values)  # keeps the results before a call that raises
        except KeyboardInterrupt:
            raise
        except BaseException as raised:
            error = raised
        if len(results) == calls.count:
            return results
        if not are_by_row and not _has_arguments(columns, len(results)):
            # after an argument that failed, the columns are out of step
            are_by_row = True
            values = map(call_row, range(len(results) + 1, calls.count))
        results.append(reason_of(error))


def _has_arguments(columns: Sequence[Column], row: int) -> bool:
    """Return whether the arguments of a row can be computed, see `MadeColumn`."""
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
    """Return the result of the answer for a row, see `Calls.result`."""
    if calls.result is None:
        return answer
    return calls.result(answer, *arguments_at(calls.result_arguments, row))


def concurrency(function: Any) -> int:
    """Return the number of concurrent calls of an async function."""
    return int(getattr(function, "concurrency", CONCURRENT_CALLS))
