"""whatif(): the diagnosis of a variant of a reward, from the scores that are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rewardkit.analysis.changes import put
from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.analysis.gates import UNSCORED, put_gate
from rewardkit.calling import short
from rewardkit.component import describe, gate_asks_for
from rewardkit.errors import RewardError, did_you_mean
from rewardkit.primitives.gating import Gate
from rewardkit.reward import Reward
from rewardkit.route import Route
from rewardkit.scoring import Scores, score
from rewardkit.training import Training

__all__ = ["WhatIf", "whatif"]


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
    _check_whole_gate(scores.reward, gates)
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
            count = put_gate(table, item.name, item.gate)
            moved.add(item.name)
            if count:
                missing[item.name] = count
    return Scores(table, scores.reward, scores.rollouts, scores.run).under(reward), missing


def _check_whole_gate(reward: Reward, gates: Mapping[str, Gate | None]) -> None:
    """RewardError where another gate on a component would move the gate on the whole reward."""
    on = gate_asks_for(reward.gate, reward.gate_call)
    if moved := [name for name in gates if name in on]:
        raise RewardError(
            f"the gate on the whole reward asks for {moved[0]!r}, so that another gate on it changes every "
            "component; write the reward so and score again"
        )


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


def _scored(scores: Scores, reward: Reward, gates: Mapping[str, Gate | None]) -> Scores:
    """The scores with what an opened gate admits scored now: the rows of the groups that it touches."""
    if reward.recorded is not None:
        raise RewardError(
            f"reward {reward.name!r} was read from a run record and cannot score; load the reward itself"
        )
    changed, to_score = _gated(scores, dict(gates), run=False)
    if not to_score:
        return changed
    touched = np.any([changed.table[f"error/{name}"] == UNSCORED for name in to_score], axis=0)
    rows = np.flatnonzero(np.isin(scores.groups, scores.groups[touched]))
    again = score(reward, scores.rollouts.select(rows.tolist()))
    table = put(changed.table, again.table, rows, np.empty(0, dtype=np.intp))
    return Scores(table, changed.reward, scores.rollouts, scores.run).under(reward)
