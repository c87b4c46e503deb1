"""whatif(): the diagnosis of a variant of a reward, from the scores that are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.calling import short
from rewardkit.columns import column_values
from rewardkit.component import Component, describe
from rewardkit.errors import RewardError, did_you_mean
from rewardkit.evaluation import ABSTAINED, GATED, SCORED
from rewardkit.primitives.gating import Gate
from rewardkit.reward import Reward
from rewardkit.route import Route
from rewardkit.scoring import Scores, score, status_column
from rewardkit.training import Training

__all__ = ["WhatIf", "whatif"]

UNSCORED = "behind a gate that was closed when it was scored"


@dataclass(frozen=True, eq=False)
class WhatIf:
    """A variant: its `scores` and `diagnosis`, the one `before`, and what is missing.

    `to_score` counts by component the rows whose gate is open now and was closed when they were scored; they
    have no score, and their reward is missing where the reward needs it.
    """

    scores: Scores
    diagnosis: Diagnosis
    before: Diagnosis
    to_score: Mapping[str, int] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """As plain data: the diagnosis of the variant, that before, and the rows that must be scored."""
        return {
            "diagnosis": self.diagnosis.record(),
            "before": self.before.record(),
            "to_score": dict(self.to_score),
        }

    def __repr__(self) -> str:
        lines = [
            f"{count} rows must be scored for {name!r} first, whose gate is open now: give run=True"
            for name, count in self.to_score.items()
        ]
        told = {(item.code, item.component, item.part) for item in self.before.findings}
        now = {(item.code, item.component, item.part) for item in self.diagnosis.findings}
        for what, findings, others in (
            ("new", self.diagnosis.findings, told),
            ("gone", self.before.findings, now),
        ):
            lines += [
                f"{what}: {item.severity} {item.code}: {item.sentence}"
                for item in findings
                if (item.code, item.component, item.part) not in others
            ]
        return "\n".join([*lines, repr(self.diagnosis)])


def whatif(
    source: Scores | Diagnosis,
    *,
    weights: Mapping[str, float] | None = None,
    gates: Mapping[str, Gate | None] | None = None,
    training: Any = None,
    label: str | None = None,
    seed: int = 0,
    run: bool = False,
) -> WhatIf:
    """What a diagnosis would say under other weights, gates or settings of the trainer, without scoring.

    `source` are scores, diagnosed first under TRL's settings with `label` and `seed`, or a diagnosis, whose
    settings stay where no others are given. `gates` maps a component to its gate, or to ``None`` where it is
    to have none: the scores that a closing gate keeps are left out; for rows that one opens nothing was
    scored, so that they are missing and counted (`WhatIf.to_score`), or, with ``run=True``, scored now.
    RewardError: no such component, a gate on a predicate, or rows to be scored by a reward that was read from
    a record.
    """
    before = source if isinstance(source, Diagnosis) else diagnose(source, label=label, seed=seed)
    scores, asked = before.scores, before.views[0].context.label_name or None
    changed, to_score = _gated(scores, dict(gates), run) if gates else (scores, {})
    if weights:
        changed = changed.reweigh(weights)
    settings = before.training if training is None else Training.of(training)
    after = diagnose(changed, training=settings, label=label or asked, seed=before.seed)
    return WhatIf(changed, after, before, to_score)


def _gated(scores: Scores, gates: dict[str, Gate | None], run: bool) -> tuple[Scores, dict[str, int]]:
    """The scores under other gates, and how many rows of a component would have to be scored."""
    if isinstance(scores.reward, Route):
        raise RewardError("gates are those of one reward; take the part of the route that is meant")
    names = scores.reward.names
    for name, gate in gates.items():
        if name not in names:
            raise RewardError(
                f"gates= names {name!r}; reward {scores.reward.name!r} has {list(names)}"
                f"{did_you_mean(name, names)}"
            )
        if gate is not None and not (isinstance(gate, Gate) and isinstance(gate.on, str)):
            raise RewardError(
                f"the gate of {name!r} is {short(gate)}; without scoring only a gate on a column by name can "
                'be decided, such as rk.gate("correct", at_least=1.0), or None'
            )
    components = tuple(
        replace(item, gate=gates[item.name]) if item.name in gates else item
        for item in scores.reward.components
    )
    reward = replace(scores.reward, components=components, recorded=_recorded(scores.reward, gates))
    if run:
        return _scored(scores, reward, gates), {}
    table, missing, moved = scores.table.copy(deep=False), {}, set(gates)
    for item in components:
        if item.name in gates or (item.gate is not None and item.gate.on in moved):
            count = _decide(table, item)
            moved.add(item.name)
            if count:
                missing[item.name] = count
    return Scores(table, scores.reward, scores.rollouts, scores.run).under(reward), missing


def _recorded(reward: Reward, gates: Mapping[str, Gate | None]) -> Any:
    """What a reward from a record says of itself, with the other gates."""
    if reward.recorded is None:
        return None
    parts = [
        {**part, "gate": describe(gate) if (gate := gates[part["name"]]) is not None else None}
        if part["name"] in gates
        else part
        for part in reward.recorded["components"]
    ]
    return {**reward.recorded, "components": parts}


def _decide(table: pd.DataFrame, item: Component) -> int:
    """Put the statuses that a gate gives into the table; how many rows lack a score that it now admits."""
    status = np.asarray(table[f"status/{item.name}"].cat.codes, dtype=np.int8)
    is_open, known = _opened(table, item.gate)
    unscored = is_open & (status == GATED)
    closed, unknown = known & ~is_open, ~known
    new = np.where(closed, GATED, np.where(unscored | unknown, ABSTAINED, status)).astype(np.int8)
    errors = table[f"error/{item.name}"].to_numpy(dtype=object).copy()
    errors[unscored], errors[closed] = UNSCORED, None
    errors[unknown] = f"its gate needs {item.gate.on!r}, which is missing" if item.gate is not None else None
    table[f"score/{item.name}"] = np.where(new == SCORED, table[f"score/{item.name}"], np.nan)
    table[f"status/{item.name}"] = status_column(new)
    table[f"error/{item.name}"] = pd.Series(errors, index=table.index, dtype=object)
    return int(unscored.sum())


def _opened(table: pd.DataFrame, gate: Gate | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether a gate is open for each row, and whether that can be said."""
    if gate is None:
        return np.ones(len(table), dtype=bool), np.ones(len(table), dtype=bool)
    name = str(gate.on)
    column = next((key for key in (f"score/{name}", f"field/{name}", name) if key in table), None)
    if column is None:
        raise RewardError(f"a gate is on {name!r}, which these scores do not have")
    decided = [gate.admits(value) for value in column_values(table[column])]
    known = np.array([value is not None for value in decided], dtype=bool)
    is_open = np.array([value is True for value in decided], dtype=bool)
    if f"status/{name}" in table:  # what kept that component from running closes this gate too
        known |= np.asarray(table[f"status/{name}"].cat.codes) == GATED
    return is_open, known


def _scored(scores: Scores, reward: Reward, gates: Mapping[str, Gate | None]) -> Scores:
    """The scores with what an opened gate admits scored now: the rows of the groups that it touches."""
    if reward.recorded is not None:
        raise RewardError(
            f"reward {reward.name!r} was read from a run record and cannot score; load the reward itself"
        )
    opened = np.zeros(len(scores), dtype=bool)
    for name in gates:
        item = next(item for item in reward.components if item.name == name)
        is_open, _ = _opened(scores.table, item.gate)
        opened |= is_open & (scores.status(name) == GATED)
    rows = np.flatnonzero(np.isin(scores.groups, scores.groups[opened]))
    changed, _ = _gated(scores, dict(gates), run=False)
    if not len(rows):
        return changed
    again = score(reward, scores.rollouts.select(rows.tolist()))
    table = changed.table.copy()
    for column in [name for name in again.table.columns if name.startswith(("field/", "score/", "error/"))]:
        values = (
            table[column].to_numpy(copy=True) if column in table else np.full(len(table), None, dtype=object)
        )
        values[rows] = again.table[column].to_numpy()
        table[column] = values
    for name in reward.names:
        codes = changed.status(name).copy()
        codes[rows] = again.status(name)
        table[f"status/{name}"] = status_column(codes)
    return Scores(table, changed.reward, scores.rollouts, scores.run).under(reward)
