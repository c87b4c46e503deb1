"""Calls of one function for many rows: from columns to answers by row."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import lru_cache, partial
from itertools import accumulate
from types import NoneType
from typing import Any

import numpy as np

from rewardkit.errors import CAUGHT
from rewardkit.plain import Plain, Record
from rewardkit.primitives.primitive import VERDICT
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import Call
from rewardkit.rewards.fingerprint import Recorded
from rewardkit.rewards.reward import ROLLOUT, Columns, Reward, Rows
from rewardkit.rollouts.columns import Column, lists_of_columns
from rewardkit.scoring.answers import as_field, as_list, as_score
from rewardkit.scoring.calls import Calls
from rewardkit.scoring.deadlines import TimeLimit, answers_of
from rewardkit.scoring.reuse import record_only_error

SETTLE_LISTS: dict[Any, Any] = {
    as_score: partial(as_list, settle=as_score, expected="scores"),
    as_field: partial(as_list, settle=as_field, expected="values"),
}
"""Conversion of one value -> conversion of the answer for several rows."""


class Together(Enum):
    """The rows that one call of a function covers."""

    ROW = ""
    GROUP = "group"
    """The siblings of a group."""
    BATCH = "batch"
    """As GROUP if there are groups; after a failure, each row alone."""
    ALL = "all"


IMMUTABLE = frozenset({str, int, float, bool, NoneType, bytes})
"""Types of immutable values."""

NEEDS_SIBLINGS = Reason(ReasonCode.NEEDS_SIBLINGS)


def at_rows(values: Column, rows: Rows) -> Column:
    """Return the values of these rows, in the order of `rows`."""
    is_span = len(rows) > 0 and rows[-1] - rows[0] == len(rows) - 1
    if is_span and (rows[1:] > rows[:-1]).all():
        if len(rows) == len(values):
            return values
        return values[rows[0] : rows[-1] + 1]
    return [values[row] for row in rows.tolist()]


def copy_value(value: Any) -> Any:
    """Copy a value that a function may change, if it can be copied."""
    kind = type(value)
    if kind in IMMUTABLE:
        return value
    if kind is list:
        return list(map(copy_value, value))
    if kind is dict:
        return {key: copy_value(item) for key, item in value.items()}
    try:
        return copy.deepcopy(value)
    except CAUGHT:
        return value


class MadeColumn(Sequence[Any]):
    """A column whose values are computed from other columns on access."""

    def __init__(self, make: Callable[..., Any], *columns: Column) -> None:
        self._make, self._columns = make, columns

    def __len__(self) -> int:
        return len(self._columns[0])

    def __iter__(self) -> Iterator[Any]:
        return map(self._make, *self._columns)

    def __getitem__(self, place: Any) -> Any:
        cells = [column[place] for column in self._columns]
        if isinstance(place, slice):
            return list(map(self._make, *cells))
        return self._make(*cells)


@lru_cache
def _dict_maker(names: tuple[str, ...]) -> Callable[..., Record]:
    """Return a function that makes a dict with these keys from positional values.

    It is compiled from source, as a dict literal is built in half the time of
    `dict(zip(...))`.
    """
    parameters = [f"value_{place}" for place in range(len(names))]
    items = []
    for name, parameter in zip(names, parameters, strict=True):
        items.append(f"{name!r}: {parameter}")
    source = f"lambda {', '.join(parameters)}: {{{', '.join(items)}}}"
    make_dict: Callable[..., Record] = eval(source)
    return make_dict


def copy_column(values: Column) -> Column:
    """Return a column of copies that a function may change."""
    if IMMUTABLE.issuperset(map(type, values)):
        return values
    return MadeColumn(copy_value, values)


class RowColumns(Mapping[str, Column]):
    """Rows as columns, each read on first access.

    `count` is the number of rows. `read_column` returns a column whose values may be
    changed.
    """

    def __init__(
        self,
        names: Iterable[str],
        count: int,
        read_column: Callable[[str], Column],
    ) -> None:
        self.count, self._read = count, read_column
        self._columns: Record = dict.fromkeys(names)

    @classmethod
    def of(cls, rows: Sequence[Plain]) -> RowColumns:
        """Return the columns of rows; values are copied on access."""
        columns = lists_of_columns(rows)
        return cls(columns, len(rows), lambda name: copy_column(columns[name]))

    def __getitem__(self, name: str) -> Column:
        column: Column | None = self._columns[name]
        if column is None:
            column = self._columns[name] = self._read(name)
        return column

    def __contains__(self, name: object) -> bool:  # without reading the column
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def column(self, name: str) -> Column:
        """Return a column, or a ``None`` per row if there is no such column."""
        return self[name] if name in self else [None] * self.count

    def without(self, names: Collection[str]) -> RowColumns:
        """Return the same rows without these columns."""
        others = [name for name in self if name not in names]
        return RowColumns(others, self.count, self.__getitem__)

    def with_columns(self, columns: Mapping[str, Column]) -> RowColumns:
        """Return the same rows with these columns added or replaced."""

        def read_column(name: str) -> Column:
            return columns[name] if name in columns else self[name]

        return RowColumns([*self, *columns], self.count, read_column)

    def rows(self, kind: type[Record] = dict) -> Sequence[Record]:
        """Return each row as a new `kind`, a dict or a subclass of it."""
        if not len(self):
            return MadeColumn(lambda _: kind(), range(self.count))
        dicts = MadeColumn(_dict_maker(tuple(self)), *self.values())
        return dicts if kind is dict else MadeColumn(kind, dicts)


class Caller:
    """A caller of the functions of one reward.

    `values` caches fields, scores and columns by name. `notes`, if given, collects the
    notes of calls, one dict per row.
    """

    def __init__(
        self,
        reward: Reward,
        columns: Columns,
        groups: Rows | None,
        limit: TimeLimit | None,
        notes: list[Record] | None,
    ) -> None:
        self.reward, self.columns, self.groups = reward, columns, groups
        self.limit, self.notes = limit, notes
        self.values: Record = {}
        self._immutable: dict[str, bool] = {}

    def column(self, name: str) -> Column:
        """Return a column, field or score by name, as Python values."""
        if name == ROLLOUT and name not in (*self.values, *self.columns):
            rows = zip(*self.columns.values(), strict=True)
            self.values[name] = [
                dict(zip(self.columns, values, strict=True)) for values in rows
            ]
        if name not in self.values:
            self.values[name] = self.columns[name]
        column: Column = self.values[name]
        if isinstance(column, np.ndarray):
            column = self.values[name] = column.tolist()
        return column

    def has(self, names: Iterable[str]) -> bool:
        """Return whether a column, field or score exists for each of these names."""
        return all(name in self.values or name in self.columns for name in names)

    def answers(
        self,
        call: Call,
        rows: Rows,
        settle: Callable[[Any], Any],
        together: Together = Together.ROW,
        verdicts: dict[int, Any] | None = None,
    ) -> Column:
        """Call a function for these rows; return one answer or Reason per row.

        Args:
            call: The function and its parameters.
            rows: Positions of the rows, (rows,).
            settle: Conversion of one answer.
            together: The rows that one call covers; several are passed as lists.
            verdicts: Filled with the `VERDICT` notes by row, if given.
        """
        if isinstance(call.function, Recorded) and len(rows):
            raise record_only_error(self.reward)
        if together is Together.ROW:
            notes = self._new_notes(len(rows), verdicts)
            calls = self._calls(call, rows, None, settle, notes)
            answers = answers_of(calls, self.limit)
            if notes:
                for row, noted in zip(rows.tolist(), notes, strict=True):
                    self._keep_notes(noted, [row], verdicts)
            return answers
        if together is Together.GROUP and self.groups is None:
            return [NEEDS_SIBLINGS] * len(rows)
        if not len(rows):
            return []
        order, sizes = np.arange(len(rows)), [len(rows)]
        if together is not Together.ALL:
            codes = rows if self.groups is None else self.groups[rows]
            order = np.argsort(codes, kind="stable")
            ends = np.flatnonzero(np.diff(codes[order])) + 1
            sizes = np.diff([0, *ends, len(rows)]).tolist()
        are_retried = together is Together.BATCH
        in_order = self._list_answers(
            call, rows[order], sizes, settle, verdicts, are_retried=are_retried
        )
        if (np.diff(order) == 1).all():
            return in_order
        return [in_order[place] for place in np.argsort(order).tolist()]

    def _list_answers(
        self,
        call: Call,
        rows: Rows,
        sizes: list[int],
        settle: Callable[[Any], Any],
        verdicts: dict[int, Any] | None,
        *,
        are_retried: bool = False,
    ) -> list[Any]:
        """Call a function with lists of `sizes` rows each; return answers by row.

        If `are_retried`, the rows of a failed call are called again one by one.
        """
        notes = self._new_notes(len(sizes), verdicts)
        calls = self._calls(call, rows, sizes, SETTLE_LISTS[settle], notes)
        answers: list[Any] = []
        failed: list[int] = []
        for place, answer in enumerate(answers_of(calls, self.limit)):
            start, size = len(answers), sizes[place]
            answers += spread(answer, size)
            if are_retried and size > 1 and isinstance(answer, Reason):
                failed += range(start, start + size)
            elif notes is not None:
                call_rows = rows[start : start + size].tolist()
                self._keep_notes(notes[place], call_rows, verdicts)
        if failed:
            sizes = [1] * len(failed)
            retried = self._list_answers(call, rows[failed], sizes, settle, verdicts)
            for place, answer in zip(failed, retried, strict=True):
                answers[place] = answer
        return answers

    def _new_notes(
        self, count: int, verdicts: dict[int, Any] | None
    ) -> list[Record] | None:
        """Return an empty dict of notes per call, or None if no notes are needed."""
        if self.notes is None and verdicts is None:
            return None
        return [{} for _ in range(count)]

    def _keep_notes(
        self, noted: Record, rows: list[int], verdicts: dict[int, Any] | None
    ) -> None:
        """Store the verdicts of a call for these rows, and notes of a single row."""
        if verdicts is not None and VERDICT in noted:
            verdict = noted.pop(VERDICT)
            if not isinstance(verdict, list):
                verdict = [verdict] * len(rows)
            verdicts.update(zip(rows, verdict, strict=True))
        if self.notes is not None and len(rows) == 1:
            self.notes[rows[0]].update(noted)

    def _calls(
        self,
        call: Call,
        rows: Rows,
        sizes: list[int] | None,
        settle: Callable[[Any], Any],
        notes: list[Record] | None,
    ) -> Calls:
        """Return the calls for each row, or for lists of `sizes` rows each."""
        calls = self._bind(call, rows, sizes)
        if calls is None:
            read_column: Any = partial(self._arguments, call, rows)
            if sizes is not None:
                read_column = partial(self._lists, call, rows, sizes)
            count = len(rows if sizes is None else sizes)
            calls = Calls.of(call, read_column, count)
        return replace(calls, settle=settle, notes=notes)

    def _bind(self, call: Call, rows: Rows, sizes: list[int] | None) -> Calls | None:
        """Bind a trainer's adapter to columns, or return None to call it row by row.

        None under a time limit, if a column is named like whole rows, or if the
        adapter fails to bind.
        """
        bind = getattr(call.function, "bind_columns", None)
        if bind is None or self.limit or ROLLOUT in self.columns:
            return None
        read_column = partial(self._arguments, call, rows)
        columns = RowColumns(self.columns, len(rows), read_column)
        try:
            calls: Calls = bind(columns, sizes or [])
        except CAUGHT:
            return None
        return calls

    def _arguments(self, call: Call, rows: Rows, name: str) -> Column:
        """Return the values of a column, copied if user code may change them."""
        values = at_rows(self.column(name), rows)
        if not call.has_user_code or self._is_immutable(name):
            return values
        return MadeColumn(copy_value, values)

    def _is_immutable(self, name: str) -> bool:
        """Return whether all values of a column are immutable."""
        if name not in self._immutable:
            types = map(type, self.column(name))
            self._immutable[name] = IMMUTABLE.issuperset(types)
        return self._immutable[name]

    def _lists(
        self, call: Call, rows: Rows, sizes: list[int], name: str
    ) -> list[Column]:
        """Return the values of a column as new lists of `sizes` rows each."""
        values = list(self._arguments(call, rows, name))
        ends = list(accumulate(sizes))
        return [values[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def spread(answer: list[Any] | Reason, rows: int) -> list[Any]:
    """Return the answer for several rows by row; a Reason applies to every row."""
    if isinstance(answer, Reason):
        return [answer] * rows
    if len(answer) != rows:
        return [Reason(ReasonCode.WRONG_LENGTH, returned=len(answer), rows=rows)] * rows
    return answer
