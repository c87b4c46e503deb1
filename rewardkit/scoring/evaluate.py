"""Fields, components and gates over columns -> score columns, in this process.

With `calling` the only place that catches component errors.

Column by column, not row by row: a component is one pass over the rows whose gate is open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rewardkit.primitives.gates import Gate
from rewardkit.rewards.component import Call, Component
from rewardkit.scoring.calls import (
    Failure,
    Notes,
    as_field,
    decision,
    guarded,
    problem,
)
from rewardkit.scoring.limits import TimeLimit
from rewardkit.scoring.passes import ROLLOUT, Floats, Passes, Rows

__all__ = ["ROLLOUT", "STATUSES", "Columns", "Evaluation", "Floats", "Rows", "evaluate"]

Columns = Mapping[str, Sequence[Any]]

STATUSES: Final = ("scored", "gated", "abstained", "error")
SCORED, GATED, ABSTAINED, ERROR = range(4)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What came out, by name: all arrays and lists have one entry a row.

    `scores` holds NaN unless the status is ``scored``; `statuses` indexes `STATUSES`; `errors` has the reason
    of every error and abstention, else ``None``; `gate` is 1 where the gate on the whole reward is open, 0
    closed, NaN unknown; `notes` has what `rk.note` left, by row, where it was asked for.
    """

    fields: dict[str, list[Any]]
    scores: dict[str, Floats]
    statuses: dict[str, NDArray[np.int8]]
    errors: dict[str, list[str | None]]
    gate: Floats
    notes: Notes | None = None


def evaluate(
    fields: Mapping[str, Call],
    components: Sequence[Component],
    columns: Columns,
    *,
    rows: int,
    gate: Gate | None = None,
    gate_call: Call | None = None,
    groups: Rows | None = None,
    ignore_gates: bool = False,
    notes: bool = False,
    limit: TimeLimit | None = None,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Compute fields, then components in their order.

    `columns` are lists of `rows` values; what is asked for must be there (see `Reward.check_columns`). `gate`
    is the one on the whole reward: components declared after all it asks for are not run where it is closed.
    `groups` are group codes, (rows,); without them group components abstain. `limit` bounds the time of each
    call of a user's function. `progress` is called with each name before its pass. Never raises for what a
    component, field or gate does: that becomes its status.
    """
    state = _Pass(columns, rows, groups, ignore_gates, [{} for _ in range(rows)] if notes else None, limit)
    return state.run(fields, components, gate, gate_call, progress or (lambda name: None))


class _Pass:
    """The state of one evaluation: the columns known so far and what has been found."""

    def __init__(
        self,
        columns: Columns,
        rows: int,
        groups: Rows | None,
        ignore_gates: bool,
        notes: Notes | None,
        limit: TimeLimit | None,
    ) -> None:
        self.known: dict[str, Sequence[Any] | Floats] = dict(columns)
        self.passes = Passes(columns, self.known, rows, groups, notes, limit)
        self.failed: dict[str, Rows] = {}  # field -> rows where it has no value
        self.rows = rows
        self.groups = groups
        self.ignore_gates = ignore_gates
        self.found = Evaluation({}, {}, {}, {}, np.ones(rows), notes)

    def run(
        self,
        fields: Mapping[str, Call],
        components: Sequence[Component],
        gate: Gate | None,
        gate_call: Call | None,
        progress: Callable[[str], None],
    ) -> Evaluation:
        for name, call in fields.items():
            progress(name)
            self.field(name, call)
        waiting = gate
        for component in components:
            if waiting and self.can_decide(waiting, gate_call):
                self.whole_gate(waiting, gate_call)
                waiting = None
            progress(component.name)
            self.component(component)
        if waiting:
            self.whole_gate(waiting, gate_call)
        return self.found

    def field(self, name: str, call: Call) -> None:
        values = [None] * self.rows
        reasons: list[str | None] = [None] * self.rows
        rows = self.without_failures(call, np.arange(self.rows), reasons)
        found = self.passes.fields(call, rows)
        for row, value in zip(rows, map(as_field, found), strict=True):
            if isinstance(value, Failure):
                reasons[row] = value.message
            else:
                values[row] = value
        failed = [row for row, reason in enumerate(reasons) if reason is not None]
        if failed:
            self.failed[name] = np.array(failed, dtype=np.intp)
            for row in failed:
                values[row] = Failure(f"field {name!r} failed: {reasons[row]}")  # type: ignore[call-overload]
        self.known[name] = values
        self.found.fields[name] = (
            [None if isinstance(value, Failure) else value for value in values] if failed else values
        )

    def component(self, component: Component) -> None:
        status = np.full(self.rows, SCORED, dtype=np.int8)
        reasons: list[str | None] = [None] * self.rows
        scores = np.full(self.rows, np.nan)
        rows = np.arange(self.rows)
        if not self.ignore_gates:
            closed = np.flatnonzero(self.found.gate == 0)
            status[closed] = GATED
            self.abstain(
                np.flatnonzero(np.isnan(self.found.gate)),
                "the gate on the whole reward has no value",
                status,
                reasons,
            )
            rows = np.flatnonzero(status == SCORED)
            if component.gate:
                rows = self.admitted(component.gate, component.gate_call, rows, status, reasons)
        rows = self.without_failures(component.call, rows, reasons)
        rows = self.with_scores(component.call, rows, status, reasons)
        if component.group and self.groups is None:
            self.abstain(rows, "needs the siblings of its group", status, reasons)
        else:
            results = self.passes.scores(component, rows)
            self.take(component, rows, results, scores, status, reasons)
        for row, reason in enumerate(reasons):
            if reason is not None and status[row] == SCORED:
                status[row] = ERROR
        self.found.scores[component.name] = scores
        self.found.statuses[component.name] = status
        self.found.errors[component.name] = reasons
        self.known[component.name] = scores

    @staticmethod
    def abstain(rows: Rows, reason: str, status: NDArray[np.int8], reasons: list[str | None]) -> None:
        status[rows] = ABSTAINED
        for row in rows:
            reasons[row] = reason

    def can_decide(self, gate: Gate, call: Call | None) -> bool:
        return all(name in self.known for name in (call.asks_for if call else (str(gate.on),)))

    def whole_gate(self, gate: Gate, call: Call | None) -> None:
        if not self.ignore_gates:
            values = self.gate_values(gate, call, np.arange(self.rows))
            self.found.gate[:] = [float(value) if isinstance(value, bool) else math.nan for value in values]

    def gate_values(self, gate: Gate, call: Call | None, rows: Rows) -> list[bool | Failure | None]:
        """For each row True (open), False (closed), None (a value is missing) or Failure."""
        decided: list[bool | Failure | None] = []
        if call is None:
            column = self.known[str(gate.on)]
            status = self.found.statuses.get(str(gate.on), np.zeros(self.rows, dtype=np.int8))
            for row in rows:
                value = column[row]
                if isinstance(value, Failure):
                    decided.append(value)
                elif status[row] == GATED:  # what kept that component from running closes this gate too
                    decided.append(False)
                else:
                    decided.append(guarded((gate.admits, [value], {})))
            return decided
        reasons: list[str | None] = [None] * self.rows
        fit = self.without_failures(call, rows, reasons)
        unknown = np.zeros(self.rows, dtype=np.int8)
        fit = self.with_scores(call, fit, unknown, reasons)
        answers: dict[int, Any] = dict(
            zip(fit.tolist(), self.passes.values(call, fit, decision), strict=True)
        )
        for row in rows.tolist():
            if unknown[row]:
                decided.append(False if unknown[row] == GATED else None)
            else:
                decided.append(decision(answers.get(row, Failure(reasons[row] or ""))))
        return decided

    def admitted(
        self, gate: Gate, call: Call | None, rows: Rows, status: NDArray[np.int8], reasons: list[str | None]
    ) -> Rows:
        """The rows whose gate is open; the others get their status."""
        scores = self.found.scores.get(gate.on) if isinstance(gate.on, str) else None
        if scores is not None:  # a gate on an earlier component's score, without a Python loop over the rows
            values = scores[rows]
            low = -math.inf if gate.at_least is None else gate.at_least
            high = math.inf if gate.at_most is None else gate.at_most
            is_open = (
                (values >= low)
                & (values <= high)
                & ((values == gate.equals) if gate.equals is not None else True)
            )
            status[rows[~is_open]] = GATED
            missing = rows[np.isnan(values) & (self.found.statuses[str(gate.on)][rows] != GATED)]
            self.abstain(missing, f"its gate needs {gate.on!r}, which is missing", status, reasons)
            return rows[is_open]
        asked = ", ".join(repr(name) for name in (call.asks_for if call else (gate.on,)))
        kept = []
        for row, value in zip(rows.tolist(), self.gate_values(gate, call, rows), strict=True):
            if isinstance(value, Failure):
                reasons[row] = f"its gate failed: {value.message}"
            elif value is None:
                status[row], reasons[row] = ABSTAINED, f"its gate needs {asked}, which is missing"
            elif value:
                kept.append(row)
            else:
                status[row] = GATED
        return np.array(kept, dtype=np.intp)

    def without_failures(self, call: Call, rows: Rows, reasons: list[str | None]) -> Rows:
        """The rows where every field that is asked for has a value; the others get its reason."""
        for name in call.asks_for:
            if name in self.failed:
                missing = np.intersect1d(rows, self.failed[name])
                for row in missing:
                    reasons[row] = self.known[name][row].message
                rows = np.setdiff1d(rows, missing)
        return rows

    def with_scores(
        self, call: Call, rows: Rows, status: NDArray[np.int8], reasons: list[str | None]
    ) -> Rows:
        """The rows where every component whose score is asked for was scored.

        Where one was kept from running by its gate, so is what asks for it; the others abstain.
        """
        for name in call.asks_for:
            if name in self.found.scores:
                missing = rows[np.isnan(self.found.scores[name][rows])]
                gated = self.found.statuses[name][missing] == GATED
                status[missing[gated]] = GATED
                reason = f"asks for the score of {name!r}, which is missing"
                self.abstain(missing[~gated], reason, status, reasons)
                rows = np.setdiff1d(rows, missing)
        return rows

    @staticmethod
    def take(
        component: Component,
        rows: Rows,
        results: list[Any],
        scores: Floats,
        status: NDArray[np.int8],
        reasons: list[str | None],
    ) -> None:
        """Write the results that are scores; give the others their status and reason."""
        low, high = component.range or (-math.inf, math.inf)
        if {type(value) for value in results} <= {float, bool, np.float64}:
            values = np.fromiter(results, dtype=float, count=len(rows))
            fit = np.isfinite(values) & (values >= low) & (values <= high)
            scores[rows[fit]] = values[fit]
            left: Iterator[tuple[int, Any]] = ((int(rows[at]), results[at]) for at in np.flatnonzero(~fit))
        else:
            left = zip(rows.tolist(), results, strict=True)
        for row, value in left:
            why = problem(value, component.range)
            if value is None:
                status[row], reasons[row] = ABSTAINED, "returned None"
            elif why:
                reasons[row] = why
            else:
                scores[row] = float(value)
