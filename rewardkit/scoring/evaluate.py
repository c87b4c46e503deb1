"""Evaluate fields, components and gates, column by column.

A component is one pass over the rows whose gate is open, not a step of a loop over
rows. What a user's function does wrong becomes the status of its row.
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
from rewardkit.primitives.primitive import VERDICT
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import Call, Component
from rewardkit.rewards.fingerprint import Recorded, user_code
from rewardkit.rewards.reward import ROLLOUT, Columns, Part, Rows
from rewardkit.rewards.route import Plan
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

SETTLE_LISTS: dict[Any, Any] = {
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


IMMUTABLE = frozenset({str, int, float, bool, NoneType, bytes})
"""Types of values that cannot be changed in place."""

NEEDS_SIBLINGS = Reason(ReasonCode.NEEDS_SIBLINGS)
RETURNED_NONE = Reason(ReasonCode.RETURNED_NONE)


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


class _Evaluation:
    """One reward over its rows.

    `values` are the columns, fields and scores so far by name, `outcomes` what came of
    each field and component.
    """

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
        self.values: dict[str, Any] = dict(columns)
        self.outcomes: dict[str, Outcome] = {}
        self.immutable: dict[str, bool] = {}

    def run(self, ignore_gates: bool) -> None:
        for name, call in self.reward.field_calls.items():
            self.field(name, call)
        # the gate on the whole reward is asked once all that it reads is there
        reward_gate = Outcome.blank(self.out.plan.rows)
        waiting = None if ignore_gates else self.reward.gate_call
        for item in self.reward.components:
            if waiting and self.values.keys() >= set(waiting.asks_for):
                reward_gate, waiting = self.gate(waiting, self.every), None
            rows, outcome = self.every, self.out.components[item.name]
            outcome.mark(rows, SCORED)
            if not ignore_gates:
                undecided = Reason(ReasonCode.REWARD_GATE_UNDECIDED)
                rows = _pass_on(rows, reward_gate, outcome, undecided)
                if item.gate_call:
                    gate = self.component_gate(item, item.gate_call, rows, not waiting)
                    needs = tuple(item.gate_call.asks_for)
                    undecided = Reason(ReasonCode.GATE_UNDECIDED, names=needs)
                    rows = _pass_on(rows, gate, outcome, undecided, "")
            self.component(item, rows, outcome)
        if waiting:
            reward_gate = self.gate(waiting, self.every)
        status = reward_gate.status[self.every]
        self.out.gate[self.every] = np.select(
            [status == SCORED, status == GATED], [1.0, 0.0], np.nan
        )

    def field(self, name: str, call: Call) -> None:
        outcome = self.outcomes[name] = Outcome.blank(self.out.plan.rows)
        rows = self.ready(call, self.every, outcome)
        # an adapter says itself how it is to be called
        together = Together(getattr(call.function, "together", ""))
        values = self.values[name] = self.out.fields[name]
        if self.reuse:
            rows = self.reuse.take_field(name, call, rows, values, outcome)
        answers = self.answers(call, rows, as_field, together)
        for row, value in zip(rows.tolist(), answers, strict=True):
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
            outcome.mark(rows, ABSTAINED, NEEDS_SIBLINGS)
        else:
            together = Together.GROUP if item.group else Together.ROW
            if item.batch:
                together = Together.ALL if item.batch is True else Together.BATCH
            if self.reuse:
                rows = self.reuse.take_scores(item, rows, outcome)
            # an interrupt ended an earlier one
            if item.call.is_async and self.out.unfinished:
                self.out.unfinished.update(rows.tolist())
                rows = rows[:0]
            verdicts = None
            if getattr(item.function, "asks_model", False):
                verdicts = outcome.verdicts
            answers = self.answers(item.call, rows, as_score, together, verdicts)
            if item.call.is_async:
                for row, answer in zip(rows.tolist(), answers, strict=True):
                    if answer is UNFINISHED:
                        self.out.unfinished.add(row)
            arguments = {}
            if not user_code(item.call.function):
                for name in item.call.asks_for:
                    arguments[name] = self.column(name)
            _write_scores(answers, rows, item.range, outcome, arguments)
        self.outcomes[item.name] = outcome
        self.values[item.name] = outcome.scores
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
        """Write what a gate says of these rows.

        Open is SCORED, closed GATED; it may also abstain or fail.
        """
        answers: Iterable[Any]
        if callable(gate.on):
            answers = self.answers(call, rows, as_decision)
        elif gate.on in self.reward.names:  # without a Python loop over the rows
            scores = self.outcomes[gate.on].scores[rows]
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
        """Return the rows in which every field and score that a call asks for is there.

        The others get their status: a failed field is an error; what asks for a gated
        component is gated, too.
        """
        for name in call.asks_for:
            if name in self.reward.fields:
                missing = Reason(ReasonCode.FIELD_ABSTAINED, names=(name,))
                rows = _pass_on(rows, self.outcomes[name], outcome, missing, name)
            elif name in self.outcomes:
                missing = Reason(ReasonCode.SCORE_MISSING, names=(name,))
                rows = _pass_on(rows, self.outcomes[name], outcome, missing)
        return rows

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
            notes = self.new_notes(len(rows), verdicts)
            column = partial(self.arguments, call, rows)
            calls = Calls.of(call, column, len(rows), settle, notes)
            answers = answers_of(calls, self.limit)
            if notes:
                for row, noted in zip(rows.tolist(), notes, strict=True):
                    self.keep_notes(noted, [row], verdicts)
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
            notes = self.new_notes(len(bundles), verdicts)
            lists = partial(self.lists, call, bundles)
            calls = Calls.of(call, lists, len(bundles), SETTLE_LISTS[settle], notes)
            row_by_row: list[Rows] = []
            for place, answer in enumerate(answers_of(calls, self.limit)):
                bundle = bundles[place]
                has_failed = isinstance(answer, Reason)
                if has_failed and together is Together.BATCH and len(bundle) > 1:
                    row_by_row += list(bundle[:, None])
                    continue
                if notes is not None:
                    self.keep_notes(notes[place], bundle.tolist(), verdicts)
                answers = _spread(answer, len(bundle))
                by_row.update(zip(bundle.tolist(), answers, strict=True))
            bundles = row_by_row
        return [by_row[row] for row in rows.tolist()]

    def new_notes(
        self, count: int, verdicts: dict[int, Any] | None
    ) -> list[dict[str, Any]] | None:
        """Return a dict for the notes of each call, or None if no notes are wanted."""
        if self.out.notes is None and verdicts is None:
            return None
        return [{} for _ in range(count)]

    def keep_notes(
        self, noted: dict[str, Any], rows: list[int], verdicts: dict[int, Any] | None
    ) -> None:
        """Keep the verdicts of a call for these rows, and notes if it is one row."""
        if verdicts is not None and VERDICT in noted:
            verdict = noted.pop(VERDICT)
            is_list = isinstance(verdict, list)
            several = verdict if is_list else [verdict] * len(rows)
            verdicts.update(zip(rows, several, strict=True))
        if self.out.notes is not None and len(rows) == 1:
            self.out.notes[rows[0]].update(noted)

    def arguments(self, call: Call, rows: Rows, name: str) -> Sequence[Any]:
        """Return the values of a column, copies where a user's code may change them."""
        values = at_rows(self.column(name), rows)
        if not user_code(call.function) or self.is_immutable(name):
            return values
        return list(map(copy_value, values))

    def is_immutable(self, name: str) -> bool:
        """Return whether no value of a column can be changed in place."""
        if name not in self.immutable:
            types = map(type, self.column(name))
            self.immutable[name] = IMMUTABLE.issuperset(types)
        return self.immutable[name]

    def lists(self, call: Call, bundles: list[Rows], name: str) -> list[Sequence[Any]]:
        """Return the values of a column for each bundle of rows, as new lists."""
        return [list(self.arguments(call, rows, name)) for rows in bundles]


def _spread(answer: list[Any] | Reason, rows: int) -> list[Any]:
    """Return the answer for several rows by row; one Reason is that of each."""
    if isinstance(answer, Reason):
        return [answer] * rows
    if len(answer) != rows:
        return [Reason(ReasonCode.WRONG_LENGTH, returned=len(answer), rows=rows)] * rows
    return answer


def _pass_on(
    rows: Rows,
    earlier: Outcome,
    outcome: Outcome,
    missing: Reason,
    failed: str | None = None,
) -> Rows:
    """Return the rows that an earlier outcome lets through; the others get its status.

    The reason says what is `missing`; errors of a field or gate are passed on by what
    `failed`.
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


def _explain_none(arguments: Mapping[str, Sequence[Any]], row: int) -> Reason:
    """Return why one of our functions returned None: it may have compared a dict."""
    for name, column in arguments.items():
        value = column[row]
        if isinstance(value, dict):
            likely = [key for key in (*ALIASES["ground_truth"], *value) if key in value]
            key = likely[0] if likely else "..."
            words = (
                f"{name} is a dict of {preview(list(value))}, no value to compare; "
                f"take {name}[{key!r}] in a field, and name that in rk.Component(..., "
                f"columns={{{name!r}: FIELD}})"
            )
            return replace(RETURNED_NONE, words=words)
    return RETURNED_NONE


def _between(scores: NDArray[np.float64], gate: Gate) -> NDArray[np.bool_]:
    """Mark the scores for which a gate on them is open, as `Gate.admits`."""
    low = -math.inf if gate.at_least is None else gate.at_least
    high = math.inf if gate.at_most is None else gate.at_most
    is_open: NDArray[np.bool_] = (scores >= low) & (scores <= high)
    return is_open if gate.equals is None else is_open & (scores == gate.equals)


def _write_scores(
    answers: Sequence[Any],
    rows: Rows,
    allowed: tuple[float, float] | None,
    outcome: Outcome,
    arguments: Mapping[str, Sequence[Any]],
) -> None:
    """Write the answers that are scores; give the other rows their status and reason.

    `arguments` are the columns that a function of ours got, by name.
    """
    low, high = allowed or (-math.inf, math.inf)
    places: Sequence[int] = range(len(answers))
    if set(map(type, answers)) <= {float, int, bool, np.float64}:
        try:
            values = np.fromiter(answers, dtype=float, count=len(answers))
            is_score = np.isfinite(values) & (values >= low) & (values <= high)
            outcome.scores[rows[is_score]] = values[is_score]
            places = np.flatnonzero(~is_score).tolist()
        except OverflowError:  # an int beyond any float
            pass
    for place in places:
        row, score = int(rows[place]), as_score(answers[place])
        if score is None:
            outcome.mark([row], ABSTAINED, _explain_none(arguments, row))
        elif isinstance(score, Reason):
            status = ABSTAINED if score.is_abstention else ERROR
            outcome.mark([row], status, score)
        elif low <= score <= high:
            outcome.scores[row] = score
        else:
            value, expected = repr(score), str(allowed)
            reason = Reason(ReasonCode.OUT_OF_RANGE, value=value, expected=expected)
            outcome.mark([row], ERROR, reason)
