"""whatif(): the diagnosis of a variant of a reward, from the scores that are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from rewardkit.analysis.comparison.before_after import BeforeAfter, before_after
from rewardkit.analysis.comparison.matching import match_rows
from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.analysis.parts import choose_columns
from rewardkit.analysis.suggestions.measure import Trained, train_on
from rewardkit.errors import (
    InputError,
    RewardError,
    check_label,
    check_whole_number,
    did_you_mean,
    preview,
)
from rewardkit.findings import counted, most
from rewardkit.html.pages import HasPage, Page
from rewardkit.plain import PlainRecord
from rewardkit.primitives.gates import Gate
from rewardkit.rollouts.csv_rows import cell_number
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.rescore import moved_by, replace_gates, rescore
from rewardkit.scoring.scores import Scores


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf(HasPage, PlainRecord):
    """A variant of a reward: its `scores`, its `diagnosis` and the one `before`.

    `to_score` counts by component the rows whose gate is open now and was closed when
    they were scored. They have no score, and no reward where the reward needs it.
    """

    IN_RECORD = ("diagnosis", "before", "to_score", "trained")

    scores: Scores
    diagnosis: Diagnosis
    before: Diagnosis
    to_score: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def changes(self) -> BeforeAfter:
        """Return what changes: rewards, advantages, order of siblings and findings."""
        matched = match_rows(self.before.scores, self.scores)
        return before_after(self.before, self.diagnosis, matched)

    @cached_property
    def trained(self) -> dict[str, Trained]:
        """Return what training would make of the task in each part, before and after.

        Rehearsed when it is first asked for. Empty if rows must be scored first;
        without parts whose outlook cannot be told.
        """
        trained: dict[str, Trained] = {}
        if self.to_score:
            return trained
        for before, after in zip(self.before.views, self.diagnosis.views, strict=True):
            (item,) = train_on(before, [after])
            if item is not None:
                trained[after.part] = item
        return trained

    def page(self) -> Page:
        """Return what changes, or must be scored first, then the diagnosis."""
        if not self.to_score:
            lines = [*self.changes.moves, *self.changes.findings.lines]
            for part, item in self.trained.items():
                lines.append(f"[{part}] {item.sentence}" if part else item.sentence)
            return Page("What changes", [*lines, self.diagnosis.page()])
        lines = []
        for name, count in self.to_score.items():
            lines.append(
                f"{counted(count, 'row')} must be scored for {name!r} first, whose "
                "gate is open now: give run=True"
            )
        lines.append(
            "What is new or gone cannot be said before; this is the diagnosis with "
            "their rewards missing:"
        )
        return Page("What must be scored first", [*lines, self.diagnosis.page()])


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
    """Diagnose a reward under other weights, gates or trainer settings, unscored.

    Args:
        source: Scores, which are diagnosed first under TRL's settings, or a diagnosis,
            whose settings stay where no others are given.
        weights: New weight for each component that gets one.
        gates: New gate for each component that gets one; None takes its gate away. The
            scores that a closing gate keeps are left out. For rows that a gate opens
            nothing was scored: they are missing, and counted in `WhatIf.to_score`.
        training: Settings of the trainer, as `Training.of` takes them.
        label: A trusted column; a diagnosis with another one is made anew.
        seed: Of the bootstrap, where `source` is scores.
        run: Whether to score now what depends on these gates, where something has to.

    Raises:
        InputError: `weights` or `gates` that are no dict.
        RewardError: There is no such component. Without ``run=True``: a gate on a
            predicate, or on what others ask for otherwise than by a gate by name, or on
            what is scored from several rows at once. Rows would have to be scored by a
            reward that was read from a record.
    """
    for option, value in (("weights", weights), ("gates", gates)):
        if value is not None and not isinstance(value, Mapping):
            raise InputError(
                f"{option}={preview(value)} is no dict of component: {option[:-1]}"
            )
    check_label(label)
    check_whole_number("seed", seed, 0)
    before = _diagnose_before(source, label, seed)
    changed = before.scores
    to_score = dict[str, int]()
    if gates:
        changed, to_score = with_gates(changed, gates, run)
    if weights:
        changed = changed.reweigh(weights)
    return WhatIf(changed, _diagnose_like(before, changed, training), before, to_score)


def _diagnose_before(source: Any, label: str | None, seed: int) -> Diagnosis:
    """Return the diagnosis that a variant is compared with, under the same label."""
    if isinstance(source, Scores):
        return diagnose(source, label=label, seed=seed)
    if not isinstance(source, Diagnosis):
        raise InputError(
            "whatif takes Scores, as rk.score or rk.load_scores give them, or a "
            f"Diagnosis, not {preview(source)}"
        )
    if label is None or label == source.views[0].context.label_name:
        return source
    return _diagnose_like(source, source.scores, label=label)


def _diagnose_like(
    other: Diagnosis, scores: Scores, training: Any = None, label: str | None = None
) -> Diagnosis:
    """Diagnose scores of the same rows with the settings of another diagnosis."""
    view = other.views[0]
    is_default = list(other.by) == choose_columns(other.scores, None)
    return diagnose(
        scores,
        training=other.training if training is None else training,
        label=label or view.context.label_name or None,
        columns=view.context.named,
        by=None if is_default else other.by,
        seed=other.seed,
        thresholds=view.thresholds,
    )


def with_gates(
    scores: Scores, gates: Mapping[str, Gate | None], run: bool = False
) -> tuple[Scores, dict[str, int]]:
    """Return the scores under other gates, and the rows to score by component.

    With `run` these rows are scored. Errors as in `whatif`.
    """
    if scores.reward.routed_by:
        raise RewardError(
            "gates are those of one reward; take the part of the route that is meant"
        )
    names = scores.reward.names
    for name, gate in gates.items():
        if name not in names:
            raise RewardError(
                f"gates= names {name!r}; reward {scores.reward.name!r} has "
                f"{list(names)}{did_you_mean(name, names)}"
            )
        is_by_name = isinstance(gate, Gate) and isinstance(gate.on, str)
        if gate is not None and not is_by_name:
            raise RewardError(
                f"the gate of {name!r} is {preview(gate)}; without scoring only a gate "
                "on a column by name can be decided, such as "
                'rk.gate("correct", at_least=1.0), or None'
            )
    gates = {name: _fit_gate(scores, name, gate) for name, gate in gates.items()}
    reward = replace_gates(scores.reward, gates)
    reason = moved_by(reward, gated=gates).why
    if reason and not run:
        advice = "give run=True to score it"
        if reward.recorded:
            advice = "write the reward so and score again"
        raise RewardError(
            f"{reason}, so that the scores do not say what another gate does; {advice}"
        )
    return rescore(scores, reward, run=run)


def _fit_gate(scores: Scores, name: str, gate: Gate | None) -> Gate | None:
    """Return the gate with its value as the column has it: "1" for 1 among texts.

    Raises:
        RewardError: There is no such column, it holds text where a number is asked
            for, or no row has the value.
    """
    if gate is None:
        return None
    places = (f"score/{gate.on}", f"field/{gate.on}", str(gate.on))
    column = next((place for place in places if place in scores.table), None)
    if column is None:
        raise RewardError(f"a gate is on {gate.on!r}, which these scores do not have")
    values = column_values(scores.table[column].dropna())
    texts = [value for value in values if not isinstance(value, int | float)]
    if texts and (gate.at_least is not None or gate.at_most is not None):
        raise RewardError(
            f"{gate!r} compares {gate.on!r} with a number, and it holds "
            f"{preview(texts[0])}; name a column of numbers, or ask for a value that "
            "it has"
        )
    if gate.equals is None:
        return gate
    levels = dict.fromkeys(
        value for value in values if not isinstance(value, list | dict)
    )
    equal = [x for x in levels if gate.equals in (x, cell_number(str(x)))]
    if levels and not equal:
        raise RewardError(
            f"the gate of {name!r} would never open: no row has "
            f"{gate.on}={gate.equals!r}; there are "
            f"{most(list(map(preview, levels)), 5)}"
        )
    if not equal or gate.equals in equal:
        return gate
    return replace(gate, equals=equal[0])
