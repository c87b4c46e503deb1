"""Fields, components and gates over columns -> Outcomes, column by column.

A component is one pass over the rows whose gate is open, not a step of a loop over rows. What a user's
function does wrong becomes the status of its row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.primitives.gates import Gate
from rewardkit.rewards.component import Component
from rewardkit.rewards.plan import ROLLOUT, Columns, Plan, Rows
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import Call, gate_asks_for
from rewardkit.scoring.calls import (
    Failure,
    Notes,
    as_batch,
    as_field,
    as_field_list,
    as_score,
    call_all,
    decision,
    guarded,
    score_problem,
)
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.outcomes import ABSTAINED, ERROR, GATED, SCORED, Outcome, Outcomes

__all__ = ["call_rows", "evaluate"]


def evaluate(
    plan: Plan,
    columns: Columns,
    *,
    groups: Rows | None = None,
    ignore_gates: bool = False,
    notes: bool = False,
    limit: TimeLimit | None = None,
    before: Callable[[str], None] | None = None,
) -> Outcomes:
    """What came of the plan for these columns, lists of `plan.rows` values.

    `groups` are group codes, (rows,); without them group components abstain. `limit` bounds the time of each
    call of a user's function. `before` is called with each field's and component's name before its pass.
    Never raises for what a component, field or gate does: that becomes its status.
    """

    def part(reward: Reward, plan: Plan, columns: Columns, groups: Rows | None) -> Outcomes:
        out = Outcomes.blank(plan, SCORED, notes=notes)
        return _Evaluation(reward, columns, groups, ignore_gates, limit, before or _nothing, out).run()

    if not plan.reward.routing:
        return part(plan.reward, plan, columns, groups)
    whole = Outcomes.blank(plan, GATED, notes=notes)
    unmatched = np.ones(plan.rows, dtype=bool)
    for one in plan.parts:
        unmatched[one.rows] = False
        places = one.rows.tolist()
        some = {name: [values[row] for row in places] for name, values in columns.items()}
        own = Plan(one.reward, len(places), ())
        whole.put(one.rows, part(one.reward, own, some, None if groups is None else groups[one.rows]))
    (column,) = plan.reward.split_by
    for row in np.flatnonzero(unmatched).tolist():
        for outcome in whole.components.values():
            outcome.mark(np.array([row]), ABSTAINED, f"no reward for {column}={columns[column][row]!r}")
    return whole


def call_rows(
    call: Call,
    column: Callable[[str], Sequence[Any]],
    count: int,
    limit: TimeLimit | None,
    settle: Callable[[Any], Any],
    notes: Notes | None = None,
) -> list[Any]:
    """What a function returns for each of `count` rows, or Failures; `column` gives a column by its name.

    Under a time limit, where it is needed, `settle` makes plain values of what it returns over there.
    """
    if not count:
        return []
    positional = [column(name) for name in call.positional]
    keywords = {parameter: column(name) for parameter, name in call.keywords.items()}
    if limit and limit.needed(call.function):
        return limit.run(
            call.function, positional, keywords, count, notes, settle=settle, is_async=call.is_async
        )
    return call_all(call.function, positional, keywords, count, notes=notes, is_async=call.is_async)


def _nothing(name: str) -> None:
    pass


@dataclass(eq=False)
class _Evaluation:
    """One reward over columns: what is known so far (columns, fields, scores) and what came of each step."""

    reward: Reward
    columns: Columns
    groups: Rows | None
    ignore_gates: bool
    limit: TimeLimit | None
    before: Callable[[str], None]
    out: Outcomes

    def __post_init__(self) -> None:
        self.known: dict[str, Any] = dict(self.columns)
        self.done: dict[str, Outcome] = {}  # of fields and components
        self.rows = self.out.plan.rows
        self.every = np.arange(self.rows)

    def run(self) -> Outcomes:
        reward = self.reward
        self.out.gate = np.ones(self.rows)
        for name, call in reward.field_calls.items():
            self.before(name)
            self.field(name, call)
        waiting = None if self.ignore_gates else reward.gate
        for component in reward.components:
            if waiting and self.known.keys() >= set(gate_asks_for(reward.gate_call)):
                self.whole_gate(waiting)
                waiting = None
            self.before(component.name)
            self.component(component)
        if waiting:
            self.whole_gate(waiting)
        return self.out

    # --- the three kinds of steps

    def field(self, name: str, call: Call) -> None:
        outcome = Outcome.blank(self.rows)
        rows = self.ready(call, self.every, outcome)
        values: list[Any] = [None] * self.rows
        found = map(as_field, self.field_values(call, rows))
        if len(rows) == self.rows:
            values = list(found)
        else:
            for row, value in zip(rows.tolist(), found, strict=True):
                values[row] = value
        if Failure in set(map(type, values)):
            for row, value in enumerate(values):
                if isinstance(value, Failure):
                    values[row] = None
                    outcome.status[row], outcome.reasons[row] = ERROR, value.message
        if outcome.reasons:
            self.out.failed[name] = outcome.reasons
        self.known[name] = self.out.fields[name] = values
        self.done[name] = outcome

    def component(self, component: Component) -> None:
        outcome = self.out.components[component.name]
        rows = self.every
        if not self.ignore_gates:
            if not (self.out.gate == 1).all():
                outcome.mark(np.flatnonzero(self.out.gate == 0), GATED)
                unknown = np.flatnonzero(np.isnan(self.out.gate))
                outcome.mark(unknown, ABSTAINED, "the gate on the whole reward has no value")
                rows = np.flatnonzero(self.out.gate == 1)
            if component.gate:
                rows = self.admitted(component.gate, component.gate_call, rows, outcome)
        rows = self.ready(component.call, rows, outcome)
        if component.group and self.groups is None:
            outcome.mark(rows, ABSTAINED, "needs the siblings of its group")
        else:
            self.take(component, rows, self.scores(component, rows), outcome)
        self.done[component.name] = outcome
        self.known[component.name] = outcome.scores

    def whole_gate(self, gate: Gate) -> None:
        outcome = Outcome.blank(self.rows)
        self.admitted(gate, self.reward.gate_call, self.every, outcome)
        self.out.gate = np.select([outcome.status == SCORED, outcome.status == GATED], [1.0, 0.0], np.nan)

    # --- which rows a step is made for

    def ready(self, call: Call, rows: Rows, outcome: Outcome) -> Rows:
        """The rows where every field and score that is asked for has a value; the others get their status.

        A failed field is an error; what asks for a component that its gate kept from running is gated, too.
        """
        for name in call.asks_for:
            earlier = self.done.get(name)
            if earlier is None or not earlier.status.any():
                continue
            missing = rows[earlier.status[rows] != SCORED]
            if name in self.out.fields:
                for row in missing.tolist():
                    outcome.status[row] = ERROR
                    outcome.reasons[row] = f"field {name!r} failed: {earlier.reasons[row]}"
            else:
                gated = earlier.status[missing] == GATED
                outcome.mark(missing[gated], GATED)
                outcome.mark(missing[~gated], ABSTAINED, f"asks for the score of {name!r}, which is missing")
            rows = rows[earlier.status[rows] == SCORED]
        return rows

    def admitted(self, gate: Gate, call: Call | None, rows: Rows, outcome: Outcome) -> Rows:
        """The rows whose gate is open; the others get their status."""
        assert call is not None
        why_missing = f"its gate needs {', '.join(map(repr, call.asks_for))}, which is missing"
        if isinstance(gate.on, str) and gate.on in self.out.components:  # without a Python loop over the rows
            earlier = self.done[gate.on]
            values = earlier.scores[rows]
            low = -math.inf if gate.at_least is None else gate.at_least
            high = math.inf if gate.at_most is None else gate.at_most
            is_open: NDArray[np.bool_] = (values >= low) & (values <= high)
            if gate.equals is not None:
                is_open &= values == gate.equals
            outcome.mark(rows[~is_open], GATED)
            unknown = np.isnan(values) & (earlier.status[rows] != GATED)
            outcome.mark(rows[unknown], ABSTAINED, why_missing)
            return np.asarray(rows[is_open])
        blocked = Outcome.blank(self.rows)
        fit = self.ready(call, rows, blocked)
        if callable(gate.on):
            answers = [decision(answer) for answer in self.values(call, fit, decision)]
        else:
            column = self.known[gate.on]
            answers = [guarded(gate.admits, column[row]) for row in fit.tolist()]
        for row, answer in zip(fit.tolist(), answers, strict=True):
            if isinstance(answer, Failure):
                blocked.status[row], blocked.reasons[row] = ERROR, answer.message
            elif not answer:
                blocked.status[row] = ABSTAINED if answer is None else GATED
        status = blocked.status[rows]
        outcome.mark(rows[status == GATED], GATED)
        outcome.mark(rows[status == ABSTAINED], ABSTAINED, why_missing)
        for row in rows[status == ERROR].tolist():
            outcome.status[row], outcome.reasons[row] = ERROR, f"its gate failed: {blocked.reasons[row]}"
        return np.asarray(rows[status == SCORED])

    # --- how a function is called for them

    def field_values(self, call: Call, rows: Rows) -> list[Any]:
        """The values of a field at these rows, or Failures; an adapter says itself how it is to be called."""
        together = getattr(call.function, "together", "")
        if together == "group" and self.groups is None:
            return [Failure("needs the siblings of its group")] * len(rows)
        if together in ("batch", "group"):
            return self.by_group(call, rows, as_field_list, alone=together == "batch")
        return self.values(call, rows, as_field)

    def scores(self, component: Component, rows: Rows) -> list[Any]:
        """What a component returns for these rows, in their order, or Failures."""
        if component.batch is True:
            return self.listed(component.call, [rows] if len(rows) else [], as_batch)
        if component.batch or component.group:
            return self.by_group(component.call, rows, as_batch, alone=component.batch == "group")
        return self.values(component.call, rows, as_score)

    def values(self, call: Call, rows: Rows, settle: Callable[[Any], Any]) -> list[Any]:
        """What the function returns for each of these rows; `settle` makes plain values of it elsewhere."""
        places = None if len(rows) == self.rows else rows.tolist()

        def at_rows(name: str) -> Sequence[Any]:
            column = self.column(name)
            return column if places is None else [column[row] for row in places]

        heard = self.out.notes
        notes = None if heard is None else [heard[row] for row in rows.tolist()]
        return call_rows(call, at_rows, len(rows), self.limit, settle, notes)

    def column(self, name: str) -> Sequence[Any]:
        """A column, field or score by name, as Python values."""
        if name == ROLLOUT and name not in self.known:
            rows = zip(*self.columns.values(), strict=True)
            self.known[name] = [dict(zip(self.columns, values, strict=True)) for values in rows]
        column: Sequence[Any] = self.known[name]
        if isinstance(column, np.ndarray):
            column = self.known[name] = column.tolist()
        return column

    def by_group(
        self, call: Call, rows: Rows, settle: Callable[[Any], list[Any] | Failure], *, alone: bool
    ) -> list[Any]:
        """What the function returns for these rows, called once a group.

        Where it may be called for one `alone`, it is without groups, and for the rows of a call that failed.
        """
        if not len(rows):
            return []
        if self.groups is None:
            return self.listed(call, list(rows[:, None]), settle)
        order = np.argsort(self.groups[rows], kind="stable")
        ends = np.flatnonzero(np.diff(self.groups[rows][order])) + 1
        batches = np.split(rows[order], ends)
        answers = self.listed(call, batches, settle)
        places = order.tolist()  # of each answer among the rows
        if alone:
            again = [at for at, value in enumerate(answers) if isinstance(value, Failure) and value.several]
            singles = self.listed(call, [rows[places[at], None] for at in again], settle)
            for at, answer in zip(again, singles, strict=True):
                answers[at] = answer
        found: list[Any] = [None] * len(rows)
        for place, answer in zip(places, answers, strict=True):
            found[place] = answer
        return found

    def listed(
        self, call: Call, batches: list[Rows], settle: Callable[[Any], list[Any] | Failure]
    ) -> list[Any]:
        """What the function returned for the rows of each batch in turn, called once for each batch."""

        def lists(name: str) -> list[list[Any]]:
            column = self.column(name)
            return [[column[row] for row in batch] for batch in batches]

        # a note of a batch can only be heard where it means one row
        heard = self.out.notes
        notes = None if heard is None else [heard[batch[0]] if len(batch) == 1 else {} for batch in batches]
        answers = call_rows(call, lists, len(batches), self.limit, settle, notes)
        results: list[Any] = []
        for batch, answer in zip(batches, answers, strict=True):
            values = settle(answer)
            if isinstance(values, Failure):
                values = [replace(values, several=len(batch) > 1)] * len(batch)
            elif len(values) != len(batch):  # no fault of one row, so that none is tried alone
                values = [Failure(f"returned {len(values)} values for {len(batch)} completions")] * len(batch)
            results += values
        return results

    @staticmethod
    def take(component: Component, rows: Rows, results: list[Any], outcome: Outcome) -> None:
        """Write the results that are scores; give the others their status and reason."""
        low, high = component.range or (-math.inf, math.inf)
        left: Sequence[int] = range(len(results))
        if set(map(type, results)) <= {float, int, bool, np.float64}:
            try:
                values = np.fromiter(results, dtype=float, count=len(results))
                fit = np.isfinite(values) & (values >= low) & (values <= high)
                outcome.scores[rows[fit]] = values[fit]
                left = np.flatnonzero(~fit).tolist()
            except OverflowError:  # an int beyond any float
                pass
        for at in left:
            row, value = int(rows[at]), results[at]
            if value is None:
                outcome.status[row], outcome.reasons[row] = ABSTAINED, "returned None"
            elif why := score_problem(value, component.range):
                outcome.status[row], outcome.reasons[row] = ERROR, why
            else:
                outcome.scores[row] = float(value)
