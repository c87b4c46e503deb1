"""Evaluate fields, components and gates, column by column.

A component is one pass over all rows whose gate is open. A failure of a user's function
becomes the status of its row.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rewardkit.errors import preview
from rewardkit.html.has_page import HasPage
from rewardkit.plain import Plain, Record
from rewardkit.primitives.gates import Gate
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import Call, Component
from rewardkit.rewards.reward import Columns, Floats, Part, Reward, Rows
from rewardkit.rewards.route import Plan, at_step_of, bind
from rewardkit.rollouts.columns import ALIASES
from rewardkit.scoring.answers import as_decision, as_field, as_score, guarded
from rewardkit.scoring.callers import NEEDS_SIBLINGS, Caller, Together, at_rows
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.outcomes import (
    ABSTAINED,
    ERROR,
    GATED,
    SCORED,
    Outcome,
    Outcomes,
)
from rewardkit.scoring.prints import caught_prints
from rewardkit.scoring.reuse import Earlier, Reuse

if TYPE_CHECKING:
    from rewardkit.html.pages import Page

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
    """Evaluate a plan for columns of `plan.rows` values.

    Failures of components, fields and gates become their status.

    Args:
        plan: The reward, bound to the rows.
        columns: Column -> one value per row.
        groups: Group code of each row, (rows,); without them group components abstain.
        ignore_gates: Whether components are called as if all gates were open.
        notes: Whether to keep the notes of `rk.note`.
        limit: Time limit of each call of a user's function.
        earlier: Outcomes of the same rows before a change of the reward; only calls
            that the change affects are made.

    Raises:
        RewardError: With `earlier`, a function has to be called of which only a run
            record exists.
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
            outcome.leave_out(row, reason)
    return out


class _Evaluation:
    """The evaluation of one reward; `outcomes` fills up field by field."""

    def __init__(
        self,
        part: Part,
        columns: Columns,
        groups: Rows | None,
        limit: TimeLimit | None,
        out: Outcomes,
        reuse: Reuse | None,
    ) -> None:
        self.reward, self.all_rows, self.reuse = part.reward, part.rows, reuse
        self.out = out
        self.caller = Caller(part.reward, columns, groups, limit, out.notes)
        self.values = self.caller.values
        self.outcomes: dict[str, Outcome] = {}

    def run(self, ignore_gates: bool) -> None:
        for name, call in self.reward.field_calls.items():
            self.field(name, call)
        # the gate on the whole reward is decided once its inputs exist
        reward_gate = Outcome.blank(self.out.plan.rows)
        waiting = None if ignore_gates else self.reward.gate_call
        for item in self.reward.components:
            if waiting and self.caller.has(waiting.asks_for):
                reward_gate, waiting = self.decide(self.reward, self.all_rows), None
            rows, outcome = self.all_rows, self.out.components[item.name]
            outcome.mark(rows, SCORED)
            if not ignore_gates:
                undecided = Reason(ReasonCode.REWARD_GATE_UNDECIDED)
                rows = _pass_on(rows, reward_gate, outcome, undecided)
                if item.gate_call:
                    gate = self.decide(item, rows, is_behind_reward_gate=not waiting)
                    needs = tuple(item.gate_call.asks_for)
                    undecided = Reason(ReasonCode.GATE_UNDECIDED, names=needs)
                    rows = _pass_on(rows, gate, outcome, undecided, "")
            self.component(item, rows, outcome)
        if waiting:
            reward_gate = self.decide(self.reward, self.all_rows)
        status = reward_gate.status[self.all_rows]
        self.out.gate[self.all_rows] = np.select(
            [status == SCORED, status == GATED], [1.0, 0.0], np.nan
        )

    def field(self, name: str, call: Call) -> None:
        outcome = self.outcomes[name] = Outcome.blank(self.out.plan.rows)
        rows = self.ready(call, self.all_rows, outcome)
        # an adapter declares which rows one call covers
        together = Together(getattr(call.function, "together", ""))
        values = self.values[name] = self.out.fields[name]
        if self.reuse:
            rows = self.reuse.take_field(name, call, rows, values, outcome)
        answers = self.caller.answers(call, rows, as_field, together)
        if len(rows) == len(values) and Reason not in set(map(type, answers)):
            values[:] = answers
        else:
            for row, value in zip(rows.tolist(), answers, strict=True):
                if type(value) is Reason:
                    outcome.leave_out(row, value)
                else:
                    values[row] = value
        if outcome.reasons:
            self.out.failed.setdefault(name, {}).update(outcome.reasons)
        if self.reuse:
            self.reuse.compare_field(name, rows, values, outcome)

    def component(self, item: Component, rows: Rows, outcome: Outcome) -> None:
        rows = self.ready(item.call, rows, outcome)
        if item.group and self.caller.groups is None:
            outcome.mark(rows, ABSTAINED, NEEDS_SIBLINGS)
        else:
            if self.reuse:
                rows = self.reuse.take_scores(item, rows, outcome)
            self.call_component(item, rows, outcome)
        self.outcomes[item.name] = outcome
        self.values[item.name] = outcome.scores
        if self.reuse:
            self.reuse.compare_scores(item.name, outcome)

    def call_component(self, item: Component, rows: Rows, outcome: Outcome) -> None:
        together = Together.GROUP if item.group else Together.ROW
        if item.batch:
            together = Together.ALL if item.batch is True else Together.BATCH
        verdicts = None
        if getattr(item.function, "asks_model", False):
            verdicts = outcome.verdicts
        began = time.perf_counter()
        answers = self.caller.answers(item.call, rows, as_score, together, verdicts)
        outcome.seconds += time.perf_counter() - began
        arguments = {}
        if not item.call.has_user_code:
            for name in item.call.asks_for:
                arguments[name] = self.caller.column(name)
        _write_scores(answers, rows, item.range, outcome, arguments)

    def decide(
        self,
        owner: Reward | Component,
        rows: Rows,
        *,
        is_behind_reward_gate: bool = False,
    ) -> Outcome:
        """Return the decision of a reward's or component's gate on these rows.

        SCORED means open, GATED closed; a gate may also abstain or fail.
        """
        gate, call = owner.gate, owner.gate_call
        assert gate is not None and call is not None
        out = Outcome.blank(self.out.plan.rows)
        rows = self.ready(call, rows, out)
        if self.reuse and isinstance(owner, Component):
            rows = self.reuse.take_component_gate(
                owner, rows, out, is_behind_reward_gate=is_behind_reward_gate
            )
        elif self.reuse:
            rows = self.reuse.take_gate(gate, call, rows, out)
        answers: Iterable[Any]
        if callable(gate.on):
            answers = self.caller.answers(call, rows, as_decision)
        elif gate.on in self.reward.names:  # without a Python loop over the rows
            scores = self.outcomes[gate.on].scores[rows]
            out.mark(rows[~_between(scores, gate)], GATED)
            return out
        else:
            values = at_rows(self.caller.column(gate.on), rows)
            answers = [guarded(gate.admits, value) for value in values]
        for row, answer in zip(rows.tolist(), answers, strict=True):
            if isinstance(answer, Reason):
                out.leave_out(row, answer)
            elif not answer:
                out.status[row] = ABSTAINED if answer is None else GATED
        return out

    def ready(self, call: Call, rows: Rows, outcome: Outcome) -> Rows:
        """Return the rows that have every field and score that a call needs.

        The other rows take over a status: a failed field is an error, and a part that
        needs a gated component is gated, too.
        """
        for name in call.asks_for:
            if name in self.reward.fields:
                missing = Reason(ReasonCode.FIELD_ABSTAINED, names=(name,))
                rows = _pass_on(rows, self.outcomes[name], outcome, missing, name)
            elif name in self.outcomes:
                missing = Reason(ReasonCode.SCORE_MISSING, names=(name,))
                rows = _pass_on(rows, self.outcomes[name], outcome, missing)
        return rows


def _pass_on(
    rows: Rows,
    earlier: Outcome,
    outcome: Outcome,
    missing: Reason,
    failed: str | None = None,
) -> Rows:
    """Return the rows that an earlier outcome scored; give the others its status.

    Args:
        rows: Positions of the rows.
        earlier: The outcome of a field, component or gate.
        outcome: The outcome that takes over the status.
        missing: The Reason of rows without a value.
        failed: The field or gate ("") whose errors are passed on; None: an error counts
            as missing.
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
    """Return the Reason why a primitive returned None; it may have compared a dict."""
    for name, column in arguments.items():
        value = column[row]
        if isinstance(value, dict):
            keys = (*ALIASES["ground_truth"], *value)
            key = next((key for key in keys if key in value), "...")
            words = (
                f"{name} is a dict of {preview(list(value))}, no value to compare; "
                f"take {name}[{key!r}] in a field, and name that in rk.Component(..., "
                f"columns={{{name!r}: FIELD}})"
            )
            return replace(RETURNED_NONE, words=words)
    return RETURNED_NONE


def _between(scores: Floats, gate: Gate) -> Any:
    """Return for each score whether a gate on it is open, as `Gate.admits` does."""
    low = -math.inf if gate.at_least is None else gate.at_least
    high = math.inf if gate.at_most is None else gate.at_most
    is_open = (scores >= low) & (scores <= high)
    return is_open if gate.equals is None else is_open & (scores == gate.equals)


def _write_scores(
    answers: Sequence[Any],
    rows: Rows,
    allowed: tuple[float, float] | None,
    outcome: Outcome,
    arguments: Mapping[str, Sequence[Any]],
) -> None:
    """Write the answers that are scores; give the other rows a status and a reason.

    `arguments` are the columns that a primitive received, by name.
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
            outcome.leave_out(row, _explain_none(arguments, row))
        elif isinstance(score, Reason):
            outcome.leave_out(row, score)
        elif low <= score <= high:
            outcome.scores[row] = score
        else:
            value, expected = repr(score), str(allowed)
            reason = Reason(ReasonCode.OUT_OF_RANGE, value=value, expected=expected)
            outcome.leave_out(row, reason)


@dataclass(frozen=True, repr=False)
class RewardResult(HasPage):
    """The result of one completion; `reward` is before any transform, NaN if missing.

    By component: `scores` (NaN unless scored), `status`, `weights`, `reasons` of
    missing scores and `verdicts` of judges. `fields` are the extractions, `notes` those
    of `rk.note`.
    """

    reward: float
    scores: dict[str, float]
    status: dict[str, str]
    reasons: dict[str, Reason]
    fields: Record
    notes: Record
    weights: dict[str, float] = field(default_factory=dict)
    verdicts: dict[str, Record] = field(default_factory=dict)

    @classmethod
    def of(cls, outcomes: Outcomes, row: int) -> RewardResult:
        """Return the result of a row, without weights."""
        fields = {name: values[row] for name, values in outcomes.fields.items()}
        notes = outcomes.notes[row] if outcomes.notes else {}
        result = cls(float(outcomes.rewards[row]), {}, {}, {}, fields, notes)
        for name, outcome in outcomes.components.items():
            result.scores[name] = float(outcome.scores[row])
            result.status[name] = outcomes.status(name, row)
            if row in outcome.reasons:
                result.reasons[name] = outcome.reasons[row]
            if row in outcome.verdicts:
                result.verdicts[name] = outcome.verdicts[row]
        return result

    @property
    def errors(self) -> dict[str, str]:
        """Return the reason of each missing score as a sentence, by component."""
        return {name: str(reason) for name, reason in self.reasons.items()}

    def page(self) -> Page:
        """Return the page: the reward, a row per component, and the fields."""
        from rewardkit.html import cards  # many scores are never shown

        rows = []
        for name, score in self.scores.items():
            weight = f"{self.weights[name]:g}" if name in self.weights else "-"
            reason = self.reasons.get(name)
            rows.append((name, self.status[name], score, weight, reason))
        notes = {**self.notes, **self.verdicts}
        return cards.result_page(self.reward, rows, self.fields, notes)


def result_of(reward: Reward, columns: Plain) -> RewardResult:
    """Score one completion with its columns.

    Raises:
        RewardError: A column is missing.
    """
    lists = {name: [value] for name, value in columns.items()}
    plan = bind(reward, lists, 1)
    with caught_prints() as printed:
        outcomes = evaluate(plan, lists, notes=True)
    printed.show()
    result = RewardResult.of(outcomes, 0)
    for part in plan.parts:
        result.weights.update(at_step_of(part.reward, columns).weights)
    return result
