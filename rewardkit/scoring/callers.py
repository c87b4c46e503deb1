"""Calls of one function for many rows: from columns to answers by row."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from types import NoneType
from typing import Any

import numpy as np

from rewardkit.errors import CAUGHT
from rewardkit.primitives.primitive import VERDICT
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import Call
from rewardkit.rewards.fingerprint import Recorded, user_code
from rewardkit.rewards.reward import ROLLOUT, Columns, Reward, Rows
from rewardkit.scoring.calls import Calls, as_field, as_list, as_score
from rewardkit.scoring.deadlines import TimeLimit, answers_of
from rewardkit.scoring.reuse import cannot_call

SETTLE_LISTS: dict[Any, Any] = {
    as_score: partial(as_list, settle=as_score, expected="scores"),
    as_field: partial(as_list, settle=as_field, expected="values"),
}
"""How the answer of a call for several rows is settled, by how one value is."""


class Together(Enum):
    """Rows that one call of a function is made for."""

    ROW = ""
    GROUP = "group"
    """The siblings of a group."""
    BATCH = "batch"
    """As GROUP where there are groups; where that fails, each row alone."""
    ALL = "all"


IMMUTABLE = frozenset({str, int, float, bool, NoneType, bytes})
"""Types of values that cannot be changed in place."""

NEEDS_SIBLINGS = Reason(ReasonCode.NEEDS_SIBLINGS)


def at_rows(values: Sequence[Any], rows: Rows) -> Sequence[Any]:
    """Return the values of these rows, in their order."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return values if len(rows) == len(values) else values[rows[0] : rows[-1] + 1]
    return [values[row] for row in rows.tolist()]


def copy_value(value: Any) -> Any:
    """Copy a value that a function may change; what cannot be copied stays itself."""
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


class Caller:
    """Calls the functions of a reward for rows.

    `values` are the columns, fields and scores so far, by name. What calls note goes
    into `notes`, a dict a row, if there are any.
    """

    def __init__(
        self,
        reward: Reward,
        columns: Columns,
        groups: Rows | None,
        limit: TimeLimit | None,
        notes: list[dict[str, Any]] | None,
    ) -> None:
        self.reward, self.columns, self.groups = reward, columns, groups
        self.limit, self.notes = limit, notes
        self.values: dict[str, Any] = dict(columns)
        self._immutable: dict[str, bool] = {}

    def column(self, name: str) -> Sequence[Any]:
        """Return a column, field or score by name, as Python values."""
        if name == ROLLOUT and name not in self.values:
            rows = zip(*self.columns.values(), strict=True)
            self.values[name] = [
                dict(zip(self.columns, values, strict=True)) for values in rows
            ]
        column: Sequence[Any] = self.values[name]
        if isinstance(column, np.ndarray):
            column = self.values[name] = column.tolist()
        return column

    def answers(
        self,
        call: Call,
        rows: Rows,
        settle: Callable[[Any], Any],
        together: Together = Together.ROW,
        verdicts: dict[int, Any] | None = None,
    ) -> Sequence[Any]:
        """Call a function for these rows; return its answers, or Reasons.

        It is called for each row, or with lists for several rows `together`. `verdicts`
        gets what it notes as `VERDICT`.
        """
        if isinstance(call.function, Recorded) and len(rows):
            raise cannot_call(self.reward)
        if together is Together.ROW:
            notes = self._new_notes(len(rows), verdicts)
            column = partial(self._arguments, call, rows)
            calls = Calls.of(call, column, len(rows), settle, notes)
            answers = answers_of(calls, self.limit)
            if notes:
                for row, noted in zip(rows.tolist(), notes, strict=True):
                    self._keep_notes(noted, [row], verdicts)
            return answers
        if together is Together.GROUP and self.groups is None:
            return [NEEDS_SIBLINGS] * len(rows)
        bundles: list[Rows] = [rows] if len(rows) else []
        if together is not Together.ALL and len(rows):
            codes = rows if self.groups is None else self.groups[rows]
            order = np.argsort(codes, kind="stable")
            bundles = np.split(rows[order], np.flatnonzero(np.diff(codes[order])) + 1)
        by_row: dict[int, Any] = {}
        while bundles:
            notes = self._new_notes(len(bundles), verdicts)
            lists = partial(self._lists, call, bundles)
            calls = Calls.of(call, lists, len(bundles), SETTLE_LISTS[settle], notes)
            row_by_row: list[Rows] = []
            for place, answer in enumerate(answers_of(calls, self.limit)):
                bundle = bundles[place]
                has_failed = isinstance(answer, Reason)
                if has_failed and together is Together.BATCH and len(bundle) > 1:
                    row_by_row += list(bundle[:, None])
                    continue
                if notes is not None:
                    self._keep_notes(notes[place], bundle.tolist(), verdicts)
                answers = _spread(answer, len(bundle))
                by_row.update(zip(bundle.tolist(), answers, strict=True))
            bundles = row_by_row
        return [by_row[row] for row in rows.tolist()]

    def _new_notes(
        self, count: int, verdicts: dict[int, Any] | None
    ) -> list[dict[str, Any]] | None:
        """Return a dict for the notes of each call, or None if no notes are wanted."""
        if self.notes is None and verdicts is None:
            return None
        return [{} for _ in range(count)]

    def _keep_notes(
        self, noted: dict[str, Any], rows: list[int], verdicts: dict[int, Any] | None
    ) -> None:
        """Keep the verdicts of a call for these rows, and notes if it is one row."""
        if verdicts is not None and VERDICT in noted:
            verdict = noted.pop(VERDICT)
            if not isinstance(verdict, list):
                verdict = [verdict] * len(rows)
            verdicts.update(zip(rows, verdict, strict=True))
        if self.notes is not None and len(rows) == 1:
            self.notes[rows[0]].update(noted)

    def _arguments(self, call: Call, rows: Rows, name: str) -> Sequence[Any]:
        """Return the values of a column, copies where a user's code may change them."""
        values = at_rows(self.column(name), rows)
        if not user_code(call.function) or self._is_immutable(name):
            return values
        return list(map(copy_value, values))

    def _is_immutable(self, name: str) -> bool:
        """Return whether no value of a column can be changed in place."""
        if name not in self._immutable:
            types = map(type, self.column(name))
            self._immutable[name] = IMMUTABLE.issuperset(types)
        return self._immutable[name]

    def _lists(self, call: Call, bundles: list[Rows], name: str) -> list[Sequence[Any]]:
        """Return the values of a column for each bundle of rows, as new lists."""
        return [list(self._arguments(call, rows, name)) for rows in bundles]


def _spread(answer: list[Any] | Reason, rows: int) -> list[Any]:
    """Return the answer for several rows by row; one Reason is that of each."""
    if isinstance(answer, Reason):
        return [answer] * rows
    if len(answer) != rows:
        return [Reason(ReasonCode.WRONG_LENGTH, returned=len(answer), rows=rows)] * rows
    return answer
