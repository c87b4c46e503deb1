"""What came of each field and component on each row: the record between evaluation and weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from rewardkit.findings import counted
from rewardkit.reasons import Reason
from rewardkit.rewards.plan import Plan
from rewardkit.rewards.reward import Floats, Rows
from rewardkit.scoring.printed import Printed

T = TypeVar("T")

STATUSES: Final = ("scored", "gated", "abstained", "error")
SCORED, GATED, ABSTAINED, ERROR = range(4)


@dataclass(eq=False)
class Outcome:
    """One component, or field, on each row: score (NaN unless scored), status, and why it is not scored.

    `verdicts` are what the model said that a component asked: the dict that it left as its `VERDICT` note.
    """

    scores: Floats
    status: NDArray[np.int8]
    reasons: dict[int, Reason] = field(default_factory=dict)
    verdicts: dict[int, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def blank(cls, rows: int, status: int = SCORED) -> Outcome:
        """No score yet on any row, all of this status."""
        return cls(np.full(rows, np.nan), np.full(rows, status, dtype=np.int8))

    def mark(
        self, rows: Rows | list[int], status: int, reason: Reason | None = None
    ) -> None:
        """Give these rows a status, and the reason."""
        self.status[rows] = status
        if reason is not None:
            self.reasons.update(
                dict.fromkeys(rows if isinstance(rows, list) else rows.tolist(), reason)
            )

    def put(self, rows: Rows, other: Outcome) -> None:
        """Write another outcome, which is of these rows alone, into this one."""
        self.scores[rows], self.status[rows] = other.scores, other.status
        self.reasons.update(
            (int(rows[at]), reason) for at, reason in other.reasons.items()
        )
        self.verdicts.update(
            (int(rows[at]), verdict) for at, verdict in other.verdicts.items()
        )

    def at(self, rows: Rows) -> Outcome:
        """That of these rows alone, in their order."""
        places = dict(zip(rows.tolist(), range(len(rows)), strict=True))
        return Outcome(
            self.scores[rows],
            self.status[rows],
            _moved(self.reasons, places),
            _moved(self.verdicts, places),
        )


@dataclass(eq=False)
class Outcomes:
    """What came of a plan, by name; each array and list has one entry a row.

    `fields` are the extractions, ``None`` where there is none; `failed` says by field and row why one failed
    (no value is no failure); `gate` is 1 where the gate on the whole reward is open, 0 closed, NaN unknown;
    `notes` has what `rk.note` left, where it was asked for; `printed` what users' functions printed;
    `unfinished` are the rows whose calls an interrupt ended.
    """

    plan: Plan
    fields: dict[str, list[Any]]
    components: dict[str, Outcome]
    gate: Floats
    notes: list[dict[str, Any]] | None = None
    failed: dict[str, dict[int, Reason]] = field(default_factory=dict)
    printed: Printed = field(default_factory=Printed)
    unfinished: set[int] = field(default_factory=set)

    @classmethod
    def blank(cls, plan: Plan, *, notes: bool = False) -> Outcomes:
        """No outcome yet on any row: every component is gated."""
        reward, rows = plan.reward, plan.rows
        return cls(
            plan,
            {name: [None] * rows for name in reward.fields},
            {name: Outcome.blank(rows, GATED) for name in reward.names},
            np.full(rows, np.nan),
            [{} for _ in range(rows)] if notes else None,
        )

    @classmethod
    def join(cls, plan: Plan, parts: Iterable[tuple[Rows, Outcomes]]) -> Outcomes:
        """Join the outcomes of parts of a plan, each with its rows."""
        parts = list(parts)
        has_notes = any(part.notes is not None for _, part in parts)
        whole = cls.blank(plan, notes=has_notes)
        for rows, part in parts:
            whole.put(rows, part)
        return whole

    def put(self, rows: Rows, other: Outcomes) -> None:
        """Write the outcomes of these rows alone, in their order, into these."""
        self.gate[rows] = other.gate
        self.printed.add(other.printed)
        for name, outcome in other.components.items():
            self.components[name].put(rows, outcome)
        places = rows.tolist()
        for name, reasons in other.failed.items():
            self.failed.setdefault(name, {}).update(
                (places[at], why) for at, why in reasons.items()
            )
        lists = [(self.fields[name], values) for name, values in other.fields.items()]
        for whole, values in [*lists, (self.notes or [], other.notes or [])]:
            for row, value in zip(places, values, strict=False):
                whole[row] = value

    def finished(self) -> tuple[Rows, Outcomes]:
        """The rows that no interrupt left unfinished, and their outcomes alone."""
        rows = np.array(
            [row for row in range(len(self.gate)) if row not in self.unfinished],
            dtype=np.intp,
        )
        places = dict(zip(rows.tolist(), range(len(rows)), strict=True))
        return rows, replace(
            self,
            fields={
                name: [values[row] for row in places]
                for name, values in self.fields.items()
            },
            components={
                name: outcome.at(rows) for name, outcome in self.components.items()
            },
            gate=self.gate[rows],
            notes=None if self.notes is None else [self.notes[row] for row in places],
            failed={
                name: _moved(reasons, places) for name, reasons in self.failed.items()
            },
            unfinished=set(),
        )

    @property
    def scores(self) -> dict[str, Floats]:
        """Scores by component, NaN unless scored."""
        return {name: outcome.scores for name, outcome in self.components.items()}

    @cached_property
    def rewards(self) -> Floats:
        """Reward of each row before the transform; NaN where it is not judged."""
        gated = {
            name: outcome.status == GATED for name, outcome in self.components.items()
        }
        return self.plan.combine(self.scores, gated, self.gate)

    def status(self, component: str, row: int) -> str:
        """The status of a component on a row, as a word."""
        return STATUSES[self.components[component].status[row]]

    def reason(self, component: str, row: int) -> Reason | None:
        """Why a component has no score on a row; ``None`` where it has one or is gated."""
        return self.components[component].reasons.get(row)


def asked_of_models(verdicts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """How many verdicts there are, of how many all answers were cached, and what the others took.

    `tokens` are of questions and of answers; `cost` is ``None`` where no prices are known.

    >>> asked_of_models([{"cached": True}, {"cached": False, "tokens": [90, 12], "cost": 0.5}])
    {'verdicts': 2, 'cached': 1, 'tokens': [90, 12], 'cost': 0.5}
    """
    every = list(verdicts)
    tokens = [verdict.get("tokens") or (0, 0) for verdict in every]
    costs = [verdict["cost"] for verdict in every if verdict.get("cost") is not None]
    return {
        "verdicts": len(every),
        "cached": sum(bool(verdict.get("cached")) for verdict in every),
        "tokens": [round(sum(pair[side] for pair in tokens)) for side in (0, 1)],
        "cost": math.fsum(costs) if costs else None,
    }


def asked_text(asked: Mapping[str, Any]) -> str:
    """What was put to a model, in words.

    >>> asked = {"verdicts": 12, "cached": 2, "tokens": [900, 120], "cost": 0.25, "not_judged": {"late": 1}}
    >>> asked_text(asked)
    'put 12 rows to a model: 2 cached, 900 + 120 tokens, cost 0.25, 1 not judged (late)'
    """
    question, answer = asked["tokens"]
    said = [f"{asked['cached']:,} cached"] if asked["cached"] else []
    said += [f"{question:,} + {answer:,} tokens"] if question or answer else []
    said += [f"cost {asked['cost']:.4g}"] if asked["cost"] else []
    if left := asked.get("not_judged"):
        most = max(left, key=lambda why: left[why])
        often = "most often " if len(left) > 1 else ""
        said += [
            f"{sum(left.values()):,} not judged ({often}{' '.join(most.split())[:REASON]})"
        ]
    put = f"put {counted(asked['verdicts'], 'row')} to a model"
    return f"{put}: {', '.join(said)}" if said else put


REASON = 100  # characters of a reason that are shown


def _moved(values: Mapping[int, T], places: Mapping[int, int]) -> dict[int, T]:
    """What is known by row, for the rows that have a place, by that."""
    return {places[row]: value for row, value in values.items() if row in places}
