"""Fields, components and gates over columns -> Outcomes, column by column.

A component is one pass over the rows whose gate is open, not a step of a loop over rows. What a user's
function does wrong becomes the status of its row.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.errors import CAUGHT, preview
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.notes import VERDICT
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import Recorded, user_code
from rewardkit.rewards.plan import Plan
from rewardkit.rewards.reward import ROLLOUT, Columns, Part, Rows
from rewardkit.rewards.signature import Call
from rewardkit.rollouts.columns import ALIASES
from rewardkit.scoring.calls import (
    UNFINISHED,
    Calls,
    as_decision,
    as_field,
    as_list,
    as_score,
    guarded,
)
from rewardkit.scoring.deadlines import TimeLimit, answers_of
from rewardkit.scoring.outcomes import (
    ABSTAINED,
    ERROR,
    GATED,
    SCORED,
    Outcome,
    Outcomes,
)
from rewardkit.scoring.reuse import Earlier, Reuse, cannot_call

LISTS: dict[Any, Any] = {
    as_score: partial(as_list, settle=as_score, what="scores"),
    as_field: partial(as_list, settle=as_field, what="values"),
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


FIXED = frozenset({str, int, float, bool, NoneType, bytes})
"""Types of values that cannot be changed in place."""

ALONE = Reason(ReasonCode.NEEDS_SIBLINGS)
NONE = Reason(ReasonCode.RETURNED_NONE)


def evaluate(
    plan: Plan,
    columns: Columns,
    *,
    groups: Rows | None = None,
    ignore_gates: bool = False,
    notes: bool = False,
    limit: TimeLimit | None = None,
    earlier: Earlier | None = None,
) -> Outcomes:
    """Evaluate a plan for these columns, lists of `plan.rows` values.

    What a component, field or gate does wrong becomes its status. Where an interrupt
    ends calls of async components, no others are made, and their rows are unfinished.

    Args:
        plan: the reward, bound to the rows.
        columns: column -> one value a row.
        groups: group code of each row, (rows,); without them group components abstain.
        ignore_gates: whether components are called as if all gates were open.
        notes: whether to keep what `rk.note` leaves.
        limit: bounds the time of each call of a user's function.
        earlier: what came of these rows before the reward was changed; only calls that
            are others since then are made.

    Raises:
        RewardError: with `earlier`, a function has to be called of which only a run
            record is at hand.
    """
    out = Outcomes.blank(plan, notes=notes)
    unmatched = np.ones(plan.rows, dtype=bool)
    for part in plan.parts:
        unmatched[part.rows] = False
        reuse = earlier.of_part(part.label) if earlier else None
        _Evaluation(part, columns, groups, limit, out, reuse).run(ignore_gates)
    for row in np.flatnonzero(unmatched).tolist():
        column = plan.reward.routed_by
        value = repr(columns[column][row])
        reason = Reason(ReasonCode.NO_ROUTE, names=(column,), value=value)
        for outcome in out.components.values():
            outcome.mark([row], ABSTAINED, reason)
    return out


def at_rows(values: Sequence[Any], rows: Rows) -> Sequence[Any]:
    """The values of these rows, in their order."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return values if len(rows) == len(values) else values[rows[0] : rows[-1] + 1]
    return [values[row] for row in rows.tolist()]


def own_copy(value: Any) -> Any:
    """A value that can be changed without anybody noticing; what cannot be copied is handed over as it is."""
    kind = type(value)
    if kind in FIXED:
        return value
    if kind is list:
        return list(map(own_copy, value))
    if kind is dict:
        return {key: own_copy(item) for key, item in value.items()}
    try:
        return copy.deepcopy(value)
    except CAUGHT:
        return value


class _Evaluation:
    """One reward over its rows: what is known so far, by name, and what came of each field and component."""

    def __init__(
        self,
        part: Part,
        columns: Columns,
        groups: Rows | None,
        limit: TimeLimit | None,
        out: Outcomes,
        reuse: Reuse | None,
    ) -> None:
        self.reward, self.every, self.reuse = part.reward, part.rows, reuse
        self.columns, self.groups, self.limit, self.out = columns, groups, limit, out
        self.known: dict[str, Any] = dict(columns)
        self.done: dict[str, Outcome] = {}
        self.constant: dict[str, bool] = {}

    def run(self, ignore_gates: bool) -> None:
        for name, call in self.reward.field_calls.items():
            self.field(name, call)
        whole = Outcome.blank(
            self.out.plan.rows
        )  # what the gate on the whole reward says, once it is asked
        waiting = None if ignore_gates else self.reward.gate_call
        for item in self.reward.components:
            if waiting and self.known.keys() >= set(waiting.asks_for):
                whole, waiting = self.gate(waiting, self.every), None
            rows, outcome = self.every, self.out.components[item.name]
            outcome.mark(rows, SCORED)
            if not ignore_gates:
                undecided = Reason(ReasonCode.REWARD_GATE_UNDECIDED)
                rows = _passed(rows, whole, outcome, undecided)
                if item.gate_call:
                    gate = self.component_gate(item, item.gate_call, rows, not waiting)
                    needs = tuple(item.gate_call.asks_for)
                    undecided = Reason(ReasonCode.GATE_UNDECIDED, names=needs)
                    rows = _passed(rows, gate, outcome, undecided, "")
            self.component(item, rows, outcome)
        if waiting:
            whole = self.gate(waiting, self.every)
        status = whole.status[self.every]
        self.out.gate[self.every] = np.select(
            [status == SCORED, status == GATED], [1.0, 0.0], np.nan
        )

    def field(self, name: str, call: Call) -> None:
        outcome = self.done[name] = Outcome.blank(self.out.plan.rows)
        rows = self.ready(call, self.every, outcome)
        # an adapter says itself how it is to be called
        together = Together(getattr(call.function, "together", ""))
        values = self.known[name] = self.out.fields[name]
        if self.reuse:
            rows = self.reuse.take_field(name, call, rows, values, outcome)
        for row, value in zip(
            rows.tolist(), self.values(call, rows, as_field, together), strict=True
        ):
            if type(value) is Reason:
                outcome.mark([row], ABSTAINED if value.is_abstention else ERROR, value)
            else:
                values[row] = value
        if outcome.reasons:
            self.out.failed.setdefault(name, {}).update(outcome.reasons)
        if self.reuse:
            self.reuse.compare_field(name, rows, values, outcome)

    def component(self, item: Component, rows: Rows, outcome: Outcome) -> None:
        rows = self.ready(item.call, rows, outcome)
        if item.group and self.groups is None:
            outcome.mark(rows, ABSTAINED, ALONE)
        else:
            together = Together.GROUP if item.group else Together.ROW
            if item.batch:
                together = Together.ALL if item.batch is True else Together.BATCH
            if self.reuse:
                rows = self.reuse.take_scores(item, rows, outcome)
            if (
                item.call.is_async and self.out.unfinished
            ):  # an interrupt ended an earlier one
                self.out.unfinished.update(rows.tolist())
                rows = rows[:0]
            told = (
                outcome.verdicts
                if getattr(item.function, "asks_model", False)
                else None
            )
            answers = self.values(item.call, rows, as_score, together, told)
            if item.call.is_async:
                self.out.unfinished.update(
                    row
                    for row, answer in zip(rows.tolist(), answers, strict=True)
                    if answer is UNFINISHED
                )
            own = not user_code(item.call.function)
            asked = {name: self.column(name) for name in item.call.asks_for if own}
            _take(answers, rows, item.range, outcome, asked)
        self.done[item.name], self.known[item.name] = outcome, outcome.scores
        if self.reuse:
            self.reuse.compare_scores(item.name, outcome)

    def gate(self, call: Call, rows: Rows) -> Outcome:
        """Ask the gate on the whole reward."""
        assert self.reward.gate is not None
        out = Outcome.blank(self.out.plan.rows)
        rows = self.ready(call, rows, out)
        if self.reuse:
            rows = self.reuse.take_gate(self.reward.gate, call, rows, out)
        return self.decide(self.reward.gate, call, rows, out)

    def component_gate(
        self, item: Component, call: Call, rows: Rows, behind_reward_gate: bool
    ) -> Outcome:
        """Ask the gate of a component."""
        assert item.gate is not None
        out = Outcome.blank(self.out.plan.rows)
        rows = self.ready(call, rows, out)
        if self.reuse:
            rows = self.reuse.take_component_gate(
                item, rows, out, behind_reward_gate=behind_reward_gate
            )
        return self.decide(item.gate, call, rows, out)

    def decide(self, gate: Gate, call: Call, rows: Rows, out: Outcome) -> Outcome:
        """Write what a gate says of these rows: open (scored), closed (gated), abstains or fails."""
        answers: Iterable[Any]
        if callable(gate.on):
            answers = self.values(call, rows, as_decision)
        elif gate.on in self.reward.names:  # without a Python loop over the rows
            scores = self.done[gate.on].scores[rows]
            out.mark(rows[~_between(scores, gate)], GATED)
            return out
        else:
            answers = [
                guarded(gate.admits, value)
                for value in at_rows(self.column(gate.on), rows)
            ]
        for row, answer in zip(rows.tolist(), answers, strict=True):
            if isinstance(answer, Reason):
                out.mark([row], ABSTAINED if answer.is_abstention else ERROR, answer)
            elif not answer:
                out.status[row] = ABSTAINED if answer is None else GATED
        return out

    def ready(self, call: Call, rows: Rows, outcome: Outcome) -> Rows:
        """The rows where every field and score that is asked for has a value; the others get their status.

        A failed field is an error; what asks for a component that its gate kept from running is gated, too.
        """
        for name in call.asks_for:
            if name in self.reward.fields:
                missing = Reason(ReasonCode.FIELD_ABSTAINED, names=(name,))
                rows = _passed(rows, self.done[name], outcome, missing, name)
            elif name in self.done:
                missing = Reason(ReasonCode.SCORE_MISSING, names=(name,))
                rows = _passed(rows, self.done[name], outcome, missing)
        return rows

    def column(self, name: str) -> Sequence[Any]:
        """A column, field or score by name, as Python values."""
        if name == ROLLOUT and name not in self.known:
            rows = zip(*self.columns.values(), strict=True)
            self.known[name] = [
                dict(zip(self.columns, values, strict=True)) for values in rows
            ]
        column: Sequence[Any] = self.known[name]
        if isinstance(column, np.ndarray):
            column = self.known[name] = column.tolist()
        return column

    def values(
        self,
        call: Call,
        rows: Rows,
        settle: Callable[[Any], Any],
        together: Together = Together.ROW,
        told: dict[int, Any] | None = None,
    ) -> Sequence[Any]:
        """What a function gives for each of these rows, or Reasons; `told` gets what it notes as `VERDICT`.

        It is called for each row, or with lists for several rows `together`.
        """
        if isinstance(call.function, Recorded) and len(rows):
            raise cannot_call(self.reward)
        if together is Together.ROW:
            notes = self.listener(len(rows), told)
            calls = Calls.of(
                call, partial(self.arguments, call, rows), len(rows), settle, notes
            )
            answers = answers_of(calls, self.limit)
            for row, said in zip(rows.tolist(), notes, strict=True) if notes else ():
                self.hear(said, [row], told)
            return answers
        if together is Together.GROUP and self.groups is None:
            return [ALONE] * len(rows)
        bundles: list[Rows] = [rows] if len(rows) else []
        if together is not Together.ALL and len(rows):
            codes = rows if self.groups is None else self.groups[rows]
            order = np.argsort(codes, kind="stable")
            bundles = np.split(rows[order], np.flatnonzero(np.diff(codes[order])) + 1)
        values: dict[int, Any] = {}
        while bundles:
            notes = self.listener(len(bundles), told)
            lists = partial(self.lists, call, bundles)
            answers = answers_of(
                Calls.of(call, lists, len(bundles), LISTS[settle], notes), self.limit
            )
            again: list[Rows] = []
            for place, (some, answer) in enumerate(zip(bundles, answers, strict=True)):
                is_reason = isinstance(answer, Reason)
                if is_reason and together is Together.BATCH and len(some) > 1:
                    again += list(some[:, None])
                    continue
                if notes is not None:
                    self.hear(notes[place], some.tolist(), told)
                if not isinstance(answer, Reason) and len(answer) != len(some):
                    answer = Reason(
                        ReasonCode.WRONG_LENGTH, returned=len(answer), rows=len(some)
                    )
                several = [answer] * len(some) if isinstance(answer, Reason) else answer
                values.update(zip(some.tolist(), several, strict=True))
            bundles = again
        return [values[row] for row in rows.tolist()]

    def listener(
        self, count: int, told: dict[int, Any] | None
    ) -> list[dict[str, Any]] | None:
        """A dict for what each of so many calls notes; ``None`` where nobody wants to know."""
        return (
            None
            if self.out.notes is None and told is None
            else [{} for _ in range(count)]
        )

    def hear(
        self, said: dict[str, Any], rows: list[int], told: dict[int, Any] | None
    ) -> None:
        """Keep what a call for these rows noted: the verdict of each, and notes where they mean one row."""
        if told is not None and VERDICT in said:
            verdicts = said.pop(VERDICT)
            several = verdicts if isinstance(verdicts, list) else [verdicts] * len(rows)
            told.update(zip(rows, several, strict=True))
        if self.out.notes is not None and len(rows) == 1:
            self.out.notes[rows[0]].update(said)

    def arguments(self, call: Call, rows: Rows, name: str) -> Sequence[Any]:
        """The values of a column for these rows; what a user's function might change is a copy of its own."""
        values = at_rows(self.column(name), rows)
        if not user_code(call.function) or self.fixed(name):
            return values
        return list(map(own_copy, values))

    def fixed(self, name: str) -> bool:
        """Whether no value of a column can be changed in place."""
        if name not in self.constant:
            self.constant[name] = FIXED.issuperset(map(type, self.column(name)))
        return self.constant[name]

    def lists(self, call: Call, bundles: list[Rows], name: str) -> list[Sequence[Any]]:
        """The values of a column for the rows of each bundle, as a list that is the function's own."""
        return [list(self.arguments(call, rows, name)) for rows in bundles]


def _passed(
    rows: Rows,
    earlier: Outcome,
    outcome: Outcome,
    missing: Reason,
    failed: str | None = None,
) -> Rows:
    """The rows that an earlier outcome lets through; the others are gated with it, or have no score.

    The reason says what is `missing`; errors of a field or gate are passed on by what `failed`.
    """
    status = earlier.status[rows]
    if not status.any():
        return rows
    outcome.mark(rows[status == GATED], GATED)
    if failed is not None:
        for row in rows[status == ERROR].tolist():
            outcome.mark([row], ERROR, earlier.reasons[row].passed_on(failed))
        outcome.mark(rows[status == ABSTAINED], ABSTAINED, missing)
    else:
        outcome.mark(rows[status >= ABSTAINED], ABSTAINED, missing)
    return np.asarray(rows[status == SCORED])


def _of_objects(objects: Mapping[str, Mapping[Any, Any]]) -> str:
    """Why that may be, and which key to take, where what was to be compared is an object."""
    for name, value in objects.items():
        key = next(
            (key for key in (*ALIASES["ground_truth"], *value) if key in value), "..."
        )
        return (
            f"{name} is a dict of {preview(list(value))}, no value to compare; take {name}[{key!r}] in a "
            f"field, and name that in rk.Component(..., columns={{{name!r}: FIELD}})"
        )
    return ""


def _between(scores: NDArray[np.float64], gate: Gate) -> NDArray[np.bool_]:
    """Where a gate on scores is open: `Gate.admits` for all of them."""
    low = -math.inf if gate.at_least is None else gate.at_least
    high = math.inf if gate.at_most is None else gate.at_most
    is_open: NDArray[np.bool_] = (scores >= low) & (scores <= high)
    return is_open if gate.equals is None else is_open & (scores == gate.equals)


def _take(
    results: Sequence[Any],
    rows: Rows,
    allowed: tuple[float, float] | None,
    outcome: Outcome,
    asked: Mapping[str, Sequence[Any]],
) -> None:
    """Write the results that are scores; give the others their status and reason.

    `asked` are the columns that a function of ours was given, which judges no object.
    """
    low, high = allowed or (-math.inf, math.inf)
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
        row, score = int(rows[at]), as_score(results[at])
        if score is None:
            objects = {
                name: column[row]
                for name, column in asked.items()
                if isinstance(column[row], dict)
            }
            reason = replace(NONE, words=_of_objects(objects)) if objects else NONE
            outcome.status[row], outcome.reasons[row] = ABSTAINED, reason
        elif isinstance(score, Reason):
            status = ABSTAINED if score.is_abstention else ERROR
            outcome.status[row], outcome.reasons[row] = status, score
        elif low <= score <= high:
            outcome.scores[row] = score
        else:
            reason = Reason(
                ReasonCode.OUT_OF_RANGE, value=repr(score), expected=str(allowed)
            )
            outcome.status[row], outcome.reasons[row] = ERROR, reason
