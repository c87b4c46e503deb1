"""Passes: a function called over the rows of columns, one by one or in lists; no error ends a pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rewardkit.rewards.component import Call, Component
from rewardkit.scoring.calls import (
    Failure,
    Notes,
    as_batch,
    as_field,
    as_score,
    calls,
    guarded,
    noted,
    run_all,
    run_async,
    short,
)
from rewardkit.scoring.limits import TimeLimit

__all__ = ["ROLLOUT", "Floats", "Passes", "Rows"]

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]

ROLLOUT: Final = "rollout"
"""Who asks for this column, where there is none of the name, gets the whole row as a dict of columns."""


class BatchFailure(Failure):
    """The failure of a call that was for several rows."""


@dataclass(frozen=True, eq=False)
class Passes:
    """Columns, and how functions are called over them.

    `known` are the columns `given` and what has been computed since; `groups` are group codes, (rows,), if
    any; `notes` take what `rk.note` leaves, by row; `limit` bounds the time of a call of a user's function.
    """

    given: Mapping[str, Sequence[Any]]
    known: dict[str, Any]
    rows: int
    groups: Rows | None
    notes: Notes | None
    limit: TimeLimit | None

    def arguments(self, names: Sequence[str], rows: Rows) -> list[Sequence[Any]]:
        """The columns' values at these rows, a list a column; scores as Python floats."""
        if ROLLOUT in names and ROLLOUT not in self.known:
            self.known[ROLLOUT] = [
                dict(zip(self.given, values, strict=True))
                for values in zip(*self.given.values(), strict=True)
            ]
        columns = [
            column.tolist() if isinstance(column, np.ndarray) else column
            for column in (self.known[name] for name in names)
        ]
        if len(rows) == self.rows:
            return columns
        return [[column[row] for row in rows] for column in columns]

    def values(self, call: Call, rows: Rows, settle: Callable[[Any], Any]) -> list[Any]:
        """What the function returns for each row, or a Failure; `settle` as in `TimeLimit.run`."""
        count = len(rows)
        if count == 0:
            return []
        positional = self.arguments(call.positional, rows)
        keywords = dict(zip(call.keywords, self.arguments(list(call.keywords.values()), rows), strict=True))
        notes = None if self.notes is None else [self.notes[row] for row in rows]
        return self.answers(call, positional, keywords, count, notes, settle)

    def answers(
        self,
        call: Call,
        positional: list[Sequence[Any]],
        keywords: Mapping[str, Sequence[Any]],
        count: int,
        notes: Notes | None,
        settle: Callable[[Any], Any],
    ) -> list[Any]:
        """What the function returns for each of `count` calls, or a Failure."""
        function = call.function
        if self.limit and self.limit.needed(function):
            return self.limit.run(
                function, positional, keywords, count, notes, settle=settle, is_async=call.is_async
            )
        if call.is_async:
            return run_async(calls(function, positional, keywords, count), notes)
        if notes is not None:
            return list(map(noted, calls(function, positional, keywords, count), notes))
        if keywords or not positional:
            return [guarded(one) for one in calls(function, positional, keywords, count)]
        return run_all(function, positional, count)

    def fields(self, call: Call, rows: Rows) -> list[Any]:
        """The values of a field at these rows, or Failures; an adapter says itself how it is to be called."""
        together = getattr(call.function, "together", "")
        if together == "group" and self.groups is None:
            return [Failure("needs the siblings of its group")] * len(rows)
        if together in ("batch", "group"):
            return self.by_group(call, rows, _as_fields, alone=together == "batch")
        return self.values(call, rows, as_field)

    def scores(self, component: Component, rows: Rows) -> list[Any]:
        """What a component returns for these rows, in their order, or Failures."""
        if component.batch is True:
            results = self.listed(component.call, [rows] if len(rows) else [], as_batch)
            return [results[row] for row in rows.tolist()]
        if component.batch or component.group:
            return self.by_group(component.call, rows, as_batch, alone=component.batch == "group")
        return self.values(component.call, rows, as_score)

    def by_group(
        self, call: Call, rows: Rows, settle: Callable[[Any], list[Any] | Failure], *, alone: bool
    ) -> list[Any]:
        """What the function returns for these rows, called once a group.

        Where it may be called for one `alone`, it is without groups, and for the rows of a call that failed.
        """
        batches = list(rows[:, None]) if self.groups is None else _by_group(rows, self.groups)
        results = self.listed(call, [batch for batch in batches if len(batch)], settle)
        if alone:
            apart = [
                np.array([row])
                for batch in batches
                if len(batch) > 1 and isinstance(results[batch[0]], BatchFailure)
                for row in batch
            ]
            results.update(self.listed(call, apart, settle))
        return [results[row] for row in rows.tolist()]

    def listed(
        self, call: Call, batches: list[Rows], settle: Callable[[Any], list[Any] | Failure]
    ) -> dict[int, Any]:
        """Row -> what the function returned for it, called once for each of these batches of rows."""
        every = np.arange(self.rows)
        positional: list[Sequence[Any]] = [
            [[column[row] for row in batch] for batch in batches]
            for column in self.arguments(call.positional, every)
        ]
        keywords = {
            name: [[column[row] for row in batch] for batch in batches]
            for name, column in zip(
                call.keywords, self.arguments(list(call.keywords.values()), every), strict=True
            )
        }
        # a note of a batch can only be heard where it means one row
        heard = self.notes
        notes = None if heard is None else [heard[batch[0]] if len(batch) == 1 else {} for batch in batches]
        results: dict[int, Any] = {}
        answers = self.answers(call, positional, keywords, len(batches), notes, settle)
        for batch, answer in zip(batches, answers, strict=True):
            values = settle(answer)
            if isinstance(values, Failure):
                values = [BatchFailure(values.message)] * len(batch)
            elif len(values) != len(batch):  # no fault of one row, so that none is tried alone
                values = [Failure(f"returned {len(values)} values for {len(batch)} completions")] * len(batch)
            results.update(zip(batch.tolist(), values, strict=True))
        return results


def _as_fields(answer: Any) -> list[Any] | Failure:
    """What a function gave for several rows, a list, or a Failure that says what it is instead."""
    if isinstance(answer, Failure | list):
        return answer
    return Failure(f"returned {short(answer)}, not a list with a value for each completion")


def _by_group(rows: Rows, groups: Rows | None) -> list[Rows]:
    """These rows split by group, in order of the group codes."""
    assert groups is not None
    order = rows[np.argsort(groups[rows], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1) if len(order) else []
