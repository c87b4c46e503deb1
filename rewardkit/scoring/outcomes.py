"""Outcomes of fields and components by row, before weights."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rewardkit.plain import Plain, Record
from rewardkit.reasons import Reason
from rewardkit.rewards.reward import Floats, Rows
from rewardkit.rewards.route import Plan
from rewardkit.scoring.prints import Printed

STATUSES: Final = ("scored", "gated", "abstained", "error")
SCORED, GATED, ABSTAINED, ERROR = range(4)


@dataclass(eq=False)
class Outcome:
    """The outcome of one component, field or gate, with one entry per row.

    `scores` are NaN unless scored, (rows,); `status` indexes `STATUSES`, (rows,).
    `reasons` of missing scores and `verdicts` of judges (the `VERDICT` note) are by
    row. `seconds` is the total time of the calls.
    """

    scores: Floats
    status: NDArray[np.int8]
    reasons: dict[int, Reason] = field(default_factory=dict)
    verdicts: dict[int, Record] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def blank(cls, rows: int, status: int = SCORED) -> Outcome:
        """Return an outcome without scores, all rows of this status."""
        return cls(np.full(rows, np.nan), np.full(rows, status, dtype=np.int8))

    def mark(
        self, rows: Rows | list[int], status: int, reason: Reason | None = None
    ) -> None:
        """Set the status of these rows, and their reason if given."""
        self.status[rows] = status
        if reason is not None:
            places = rows if isinstance(rows, list) else rows.tolist()
            self.reasons.update(dict.fromkeys(places, reason))

    def leave_out(self, row: int, reason: Reason) -> None:
        """Set a row to a reason and its status: abstained or error."""
        status = ABSTAINED if reason.is_abstention else ERROR
        self.mark([row], status, reason)

    def put(self, rows: Rows, other: Outcome) -> None:
        """Write an outcome that covers only these rows into this one."""
        self.scores[rows], self.status[rows] = other.scores, other.status
        self.seconds += other.seconds
        places = rows.tolist()
        for row, reason in other.reasons.items():
            self.reasons[places[row]] = reason
        for row, verdict in other.verdicts.items():
            self.verdicts[places[row]] = verdict

    def take(self, rows: Rows, other: Outcome) -> None:
        """Copy these rows from another outcome of the same table."""
        self.scores[rows], self.status[rows] = other.scores[rows], other.status[rows]
        for row in rows.tolist():
            if row in other.reasons:
                self.reasons[row] = other.reasons[row]
            if row in other.verdicts:
                self.verdicts[row] = other.verdicts[row]


@dataclass(eq=False)
class Outcomes:
    """The outcomes of a plan by name; each array and list has one entry per row.

    `fields` are the extractions, None for no value. `failed` has the Reason of each
    failed extraction by field and row. `gate` is the gate on the whole reward: 1 open,
    0 closed, NaN unknown. `notes` are those of `rk.note`, if kept. `printed` is the
    output of users' functions.
    """

    plan: Plan
    fields: dict[str, list[Any]]
    components: dict[str, Outcome]
    gate: Floats
    notes: list[Record] | None = None
    failed: dict[str, dict[int, Reason]] = field(default_factory=dict)
    printed: Printed = field(default_factory=Printed)

    @classmethod
    def blank(cls, plan: Plan, *, notes: bool = False) -> Outcomes:
        """Return outcomes without values: every component is gated."""
        reward, rows = plan.reward, plan.rows
        fields: dict[str, list[Any]] = {name: [None] * rows for name in reward.fields}
        components = {name: Outcome.blank(rows, GATED) for name in reward.names}
        outcomes = cls(plan, fields, components, np.full(rows, np.nan))
        if notes:
            outcomes.notes = [{} for _ in range(rows)]
        return outcomes

    @classmethod
    def join(cls, plan: Plan, parts: Iterable[tuple[Rows, Outcomes]]) -> Outcomes:
        """Join the outcomes of parts of a plan, each with its rows."""
        parts = list(parts)
        has_notes = any(part.notes is not None for _, part in parts)
        outcomes = cls.blank(plan, notes=has_notes)
        for rows, part in parts:
            outcomes.put(rows, part)
        return outcomes

    def put(self, rows: Rows, other: Outcomes) -> None:
        """Write outcomes that cover only these rows, in their order, into these."""
        self.gate[rows] = other.gate
        self.printed.add(other.printed)
        for name, outcome in other.components.items():
            self.components[name].put(rows, outcome)
        places = rows.tolist()
        for name, reasons in other.failed.items():
            failed = self.failed.setdefault(name, {})
            for row, reason in reasons.items():
                failed[places[row]] = reason
        is_contiguous = bool((np.diff(rows) == 1).all())
        for name, values in other.fields.items():
            if is_contiguous and places:
                self.fields[name][places[0] : places[-1] + 1] = values
                continue
            for row, value in zip(places, values, strict=True):
                self.fields[name][row] = value
        if self.notes is not None and other.notes is not None:
            for row, noted in zip(places, other.notes, strict=True):
                self.notes[row] = noted

    @property
    def scores(self) -> dict[str, Floats]:
        """Return the scores by component, NaN unless scored."""
        return {name: outcome.scores for name, outcome in self.components.items()}

    @cached_property
    def rewards(self) -> Floats:
        """Return the rewards before the transform, (rows,), NaN if not judged."""
        gated = {}
        for name, outcome in self.components.items():
            gated[name] = outcome.status == GATED
        return self.plan.combine(self.scores, gated, self.gate)

    def status(self, component: str, row: int) -> str:
        """Return the name of a component's status on a row."""
        return STATUSES[self.components[component].status[row]]

    def reason(self, component: str, row: int) -> Reason | None:
        """Return the reason of a missing score, None if scored or gated."""
        return self.components[component].reasons.get(row)


def summarize_verdicts(verdicts: Iterable[Plain]) -> Record:
    """Summarise verdicts of judges: counts, cached ones, tokens and costs.

    `tokens` are those of prompts and of answers. `cost` is None if no price is known.

    >>> summarize_verdicts([{"cached": True}, {"tokens": [90, 12], "cost": 0.5}])
    {'verdicts': 2, 'cached': 1, 'tokens': [90, 12], 'cost': 0.5}
    """
    count = cached = 0
    question_tokens = answer_tokens = 0.0
    costs = []
    for verdict in verdicts:
        count += 1
        cached += bool(verdict.get("cached"))
        tokens = verdict.get("tokens")
        if tokens:
            question_tokens += tokens[0]
            answer_tokens += tokens[1]
        if verdict.get("cost") is not None:
            costs.append(verdict["cost"])
    return {
        "verdicts": count,
        "cached": cached,
        "tokens": [round(question_tokens), round(answer_tokens)],
        "cost": math.fsum(costs) if costs else None,
    }


def verdicts_text(summary: Plain) -> str:
    """Describe a summary of verdicts, with the commonest reason of a missing one.

    >>> summary = {"verdicts": 12, "cached": 2, "tokens": [900, 120], "cost": 0.25}
    >>> verdicts_text({**summary, "not_judged": {"late": 1}})
    'put 12 rows to a model: 2 cached, 900 + 120 tokens, cost 0.25, 1 not judged (late)'
    """
    from rewardkit.findings import counted  # few ask models

    question, answer = summary["tokens"]
    details = []
    if summary["cached"]:
        details.append(f"{summary['cached']:,} cached")
    if question or answer:
        details.append(f"{question:,} + {answer:,} tokens")
    if summary["cost"]:
        details.append(f"cost {summary['cost']:.4g}")
    not_judged = summary.get("not_judged")
    if not_judged:
        reason = max(not_judged, key=lambda reason: not_judged[reason])
        words = " ".join(reason.split())[:LONGEST_VERDICT_REASON]
        often = "most often " if len(not_judged) > 1 else ""
        count = sum(not_judged.values())
        details.append(f"{count:,} not judged ({often}{words})")
    sentence = f"put {counted(summary['verdicts'], 'row')} to a model"
    return f"{sentence}: {', '.join(details)}" if details else sentence


LONGEST_VERDICT_REASON = 100
"""Most characters of a reason in a summary."""
