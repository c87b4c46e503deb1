"""Reuse outcomes of a reward from before a change: repeat only calls that differ.

A call is unchanged if its function and all its arguments are. Its score, its reason or
the decision of its gate is then copied. This helps with rewards that differ in one
place: a gate, a field or a function.
"""

from __future__ import annotations

import marshal
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rewardkit.errors import RewardError
from rewardkit.primitives.gates import Gate
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import Call, Component
from rewardkit.rewards.fingerprint import Recorded
from rewardkit.rewards.reward import Reward, Rows
from rewardkit.scoring.outcomes import (
    ABSTAINED,
    ERROR,
    GATED,
    SCORED,
    Outcome,
    Outcomes,
)

UNSCORED: Final = Reason(ReasonCode.GATE_WAS_CLOSED)

DECIDES_SCORES: Final = ("function", "columns", "range", "batch", "group")
"""The attributes of a component that decide its scores, apart from its gate."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Earlier:
    """The outcomes of a reward on the same rows before a change.

    `again` names fields that are called again although they did not change. If `opens`,
    a component is called on rows whose gate is newly open; otherwise these rows get no
    score.
    """

    outcomes: Outcomes
    again: Collection[str] = ()
    opens: bool = True

    def of_part(self, label: str) -> Reuse | None:
        """Return the reusable outcomes of a part of the plan, None for a new part."""
        for part in self.outcomes.plan.parts:
            if part.label == label:
                return Reuse(part.reward, part.rows, self)
        return None


@dataclass(frozen=True, eq=False)
class Reuse:
    """The outcomes that one part of a changed reward reuses from the reward `before`.

    `same` marks by field and component the rows whose value did not change, (rows,).
    """

    before: Reward
    rows: Rows
    earlier: Earlier
    same: dict[str, Flags] = field(default_factory=dict)

    def take_field(
        self, name: str, call: Call, rows: Rows, values: list[Any], outcome: Outcome
    ) -> Rows:
        """Write the values of unchanged calls; return the rows of the others."""
        self.same[name] = np.zeros(len(values), dtype=bool)
        is_other = call.function is not self.before.fields.get(name)
        if is_other or name in self.earlier.again:
            return rows
        is_same = self._find_same(call.asks_for, rows)
        if getattr(call.function, "together", "") and not is_same.all():
            return rows
        outcomes = self.earlier.outcomes
        self.same[name][rows[is_same]] = True
        if self.same[name].all():
            values[:] = outcomes.fields[name]
        else:
            for row in rows[is_same].tolist():
                values[row] = outcomes.fields[name][row]
        for row, reason in outcomes.failed.get(name, {}).items():
            if self.same[name][row]:
                outcome.leave_out(row, reason)
        return rows[~is_same]

    def compare_field(
        self, name: str, rows: Rows, values: Sequence[Any], outcome: Outcome
    ) -> None:
        """Note in `same` the rows whose value did not change though it was computed."""
        before = self.earlier.outcomes.fields.get(name)
        if before is None:
            return
        failed = self.earlier.outcomes.failed.get(name, {})
        for row in rows.tolist():
            if row not in failed and row not in outcome.reasons:
                is_equal = content_of(values[row]) == content_of(before[row])
                self.same[name][row] = is_equal

    def take_scores(self, item: Component, rows: Rows, outcome: Outcome) -> Rows:
        """Write the outcomes of unchanged calls; return the rows of the others."""
        item_before = self._component(item.name)
        if item_before is None or not has_same_function(item, item_before):
            return rows
        is_same = self._find_same(item.asks_for, rows)
        before = self.earlier.outcomes.components[item.name]
        was_called = before.status != GATED
        for row, reason in before.reasons.items():
            if reason.is_undecided_gate or reason == UNSCORED:
                was_called[row] = False
        if item.group or item.batch:  # one call covers several rows
            rows_before: Rows = self.rows[was_called[self.rows]]
            if not (is_same.all() and np.array_equal(rows, rows_before)):
                return rows
        is_reused = is_same & was_called[rows]
        reused_rows = rows[is_reused]
        outcome.take(reused_rows, before)
        if not self.earlier.opens:
            outcome.mark(rows[is_same & ~is_reused], ABSTAINED, UNSCORED)
            is_reused = is_same
        others: Rows = rows[~is_reused]
        return others

    def compare_scores(self, name: str, outcome: Outcome) -> None:
        """Note in `same` the rows whose score did not change or is still missing."""
        before = self.earlier.outcomes.components.get(name)
        if before is None:
            self.same[name] = np.zeros(len(outcome.scores), dtype=bool)
            return
        is_equal = outcome.scores == before.scores
        both_missing = np.isnan(outcome.scores) & np.isnan(before.scores)
        self.same[name] = is_equal | both_missing

    def take_gate(self, gate: Gate, call: Call, rows: Rows, decisions: Outcome) -> Rows:
        """Write decisions of the reward's gate if unchanged; return the other rows."""
        if gate != self.before.gate:
            return rows
        is_same = self._find_same(asked_by(gate, call, self.same), rows)
        reused_rows = rows[is_same]
        values = self.earlier.outcomes.gate[reused_rows]
        decisions.status[reused_rows] = np.select(
            [values == 1, values == 0], [SCORED, GATED], ABSTAINED
        )
        return rows[~is_same]

    def take_component_gate(
        self,
        item: Component,
        rows: Rows,
        decisions: Outcome,
        *,
        is_behind_reward_gate: bool,
    ) -> Rows:
        """Write decisions of a component's gate if unchanged; return the other rows.

        The gate's decision is not known for rows that the reward's gate had closed
        before, if that gate comes first, nor where a component that this one needs was
        gated.
        """
        gate, call = item.gate, item.gate_call
        item_before = self._component(item.name)
        if gate is None or call is None:
            return rows
        if item_before is None or item_before.gate != gate:
            return rows
        before = self.earlier.outcomes.components[item.name]
        names = [*asked_by(gate, call, self.same), *item.asks_for]
        is_same = self._find_same(names, rows)
        is_gated = before.status == GATED
        is_unknown = np.zeros(len(is_gated), dtype=bool)
        if is_behind_reward_gate:
            is_unknown = is_gated & (self.earlier.outcomes.gate != 1)
        undecided = {}
        for row, reason in before.reasons.items():
            if reason.code is ReasonCode.REWARD_GATE_UNDECIDED:
                is_unknown[row] = True
            elif reason.is_undecided_gate:
                undecided[row] = reason
        is_same &= ~is_unknown[rows]
        reused_rows = rows[is_same]
        decisions.status[reused_rows] = np.where(is_gated[reused_rows], GATED, SCORED)
        for row in undecided.keys() & set(reused_rows.tolist()):
            reason = undecided[row]
            if reason.passed_by:
                passed = replace(reason, passed_by=reason.passed_by[1:])
                decisions.mark([row], ERROR, passed)
            else:
                decisions.mark([row], ABSTAINED)
        return rows[~is_same]

    def _component(self, name: str) -> Component | None:
        for item in self.before.components:
            if item.name == name:
                return item
        return None

    def _find_same(self, names: Iterable[str], rows: Rows) -> Flags:
        """Return the rows whose fields and scores of these names are unchanged.

        The mask has the shape of `rows`.
        """
        is_same = np.ones(len(rows), dtype=bool)
        for name in names:
            if name in self.same:
                is_same &= self.same[name][rows]
        return is_same


def asked_by(
    gate: Gate | None, call: Call | None, earlier: Iterable[str]
) -> Iterable[str]:
    """Return the names a gate needs; a recorded predicate may need all `earlier`."""
    if gate is None or call is None:
        return ()
    return earlier if isinstance(gate.on, Recorded) else call.asks_for


def has_same_function(item: Component, other: Component) -> bool:
    """Return whether two components give the same scores when they are called."""
    return all(getattr(item, name) == getattr(other, name) for name in DECIDES_SCORES)


def record_only_error(reward: Reward) -> RewardError:
    """Return the error for a reward from a run record, which has no functions."""
    return RewardError(
        f"reward {reward.name!r} was read from a run record and cannot score; load the "
        "reward itself"
    )


def content_of(value: Any) -> Any:
    """Return a key that distinguishes values: their content, or else their id."""
    if type(value) is str:
        return value
    try:
        return marshal.dumps(value, 2)  # in this version the same for equal values
    except ValueError:
        return id(value)
