"""whatif(): the diagnosis of a variant of a reward, from the scores that are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.analysis import slices
from rewardkit.analysis.arguments import check_label, check_seed
from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.analysis.rescore import behind, moved_by, rescore
from rewardkit.errors import InputError, RewardError, did_you_mean, preview
from rewardkit.findings import counted, most
from rewardkit.html.pages import HasPage, Page
from rewardkit.primitives.gates import Gate
from rewardkit.rollouts.files import cell_number
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf(HasPage):
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

    def page(self) -> Page:
        """Return what changes, then the diagnosis of the variant."""
        title = (
            "What must be scored first" if self.to_score else "New and gone findings"
        )
        changes = self._head() or ["same findings as before"]
        return Page(title, [*changes, self.diagnosis.page()])

    def _head(self) -> list[str]:
        """What must be scored first, or else the findings that are new, and those that are gone."""
        lines = [
            f"{counted(count, 'row')} must be scored for {name!r} first, whose gate is open now: "
            "give run=True"
            for name, count in self.to_score.items()
        ]
        if lines:
            what = "What is new or gone cannot be said before; this is the diagnosis with their rewards missing:"
            return [*lines, what]
        sides = (
            ("new", self.diagnosis, self.before),
            ("gone", self.before, self.diagnosis),
        )
        keys = {
            what: {(item.code, item.component, item.part) for item in of.findings}
            for what, _, of in sides
        }
        return [
            f"{what}: {item.severity} {item.code}: {item.sentence}"
            for what, diagnosis, _ in sides
            for item in diagnosis.findings
            if (item.code, item.component, item.part) not in keys[what]
        ]


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
    settings stay where no others are given (one without this `label` is made anew with it). `gates` maps a
    component to its gate, or to ``None`` where it is to have none: the scores that a closing gate keeps are
    left out; for rows that one opens nothing was scored, so that they are missing and counted
    (`WhatIf.to_score`). With ``run=True`` all that hangs on these gates is scored now, where something has to
    be. RewardError: no such component; without ``run=True`` a gate on a predicate, or on what others ask for
    otherwise than by a gate by name, or on what is scored from several rows at once; rows to be scored by a
    reward that was read from a record. InputError: `weights` or `gates` that are no dict.
    """
    for option, given in (("weights", weights), ("gates", gates)):
        if given is not None and not isinstance(given, Mapping):
            raise InputError(
                f"{option}={preview(given)} is no dict of component: {option[:-1]}"
            )
    check_label(label)
    check_seed(seed)
    before = _before(source, label, seed)
    changed, to_score = (
        with_gates(before.scores, gates, run) if gates else (before.scores, {})
    )
    if weights:
        changed = changed.reweigh(weights)
    return WhatIf(changed, _again(before, changed, training, None), before, to_score)


def _before(source: Any, label: str | None, seed: int) -> Diagnosis:
    """The diagnosis that a variant is held against, with the same label."""
    if isinstance(source, Scores):
        return diagnose(source, label=label, seed=seed)
    if not isinstance(source, Diagnosis):
        raise InputError(
            "whatif takes Scores, as rk.score or rk.load_scores give them, or a Diagnosis, not "
            f"{preview(source)}"
        )
    same = label is None or label == source.views[0].context.label_name
    return source if same else _again(source, source.scores, None, label)


def _again(
    like: Diagnosis, scores: Scores, training: Any, label: str | None
) -> Diagnosis:
    """The diagnosis of other scores of the same rows with all the settings that another one was made with."""
    view = like.views[0]
    usual = list(like.by) == slices.chosen(like.scores, None)
    return diagnose(
        scores,
        training=like.training if training is None else training,
        label=label or view.context.label_name or None,
        columns=view.context.named,
        by=None if usual else like.by,
        seed=like.seed,
        thresholds=view.thresholds,
    )


def with_gates(
    scores: Scores, gates: Mapping[str, Gate | None], run: bool = False
) -> tuple[Scores, dict[str, int]]:
    """The scores under other gates, and how many rows of a component would have to be scored.

    With `run` these are scored. Errors as in `whatif`.
    """
    if scores.reward.routing:
        raise RewardError(
            "gates are those of one reward; take the part of the route that is meant"
        )
    names = scores.reward.names
    for name, gate in gates.items():
        if name not in names:
            raise RewardError(
                f"gates= names {name!r}; reward {scores.reward.name!r} has {list(names)}"
                f"{did_you_mean(name, names)}"
            )
        if gate is not None and not (
            isinstance(gate, Gate) and isinstance(gate.on, str)
        ):
            raise RewardError(
                f"the gate of {name!r} is {preview(gate)}; without scoring only a gate on a column by name "
                'can be decided, such as rk.gate("correct", at_least=1.0), or None'
            )
    gates = {name: _fitted(scores, name, gate) for name, gate in gates.items()}
    reward = behind(scores.reward, gates)
    if not run and (why := moved_by(reward, gated=gates).why):
        do = (
            "write the reward so and score again"
            if reward.recorded
            else "give run=True to score it"
        )
        raise RewardError(
            f"{why}, so that the scores do not say what another gate does; {do}"
        )
    return rescore(scores, reward, run=run)


def _fitted(scores: Scores, name: str, gate: Gate | None) -> Gate | None:
    """The gate with the value that it asks for as its column has it: 1 is "1" where that holds texts.

    RewardError: there is no such column, it holds text where a number is asked for, or no row has the value.
    """
    if gate is None:
        return None
    places = (f"score/{gate.on}", f"field/{gate.on}", str(gate.on))
    column = next((place for place in places if place in scores.table), None)
    if column is None:
        raise RewardError(f"a gate is on {gate.on!r}, which these scores do not have")
    known = [
        value for value in column_values(scores.table[column]) if value is not None
    ]
    texts = [value for value in known if not isinstance(value, int | float)]
    if texts and (gate.at_least is not None or gate.at_most is not None):
        raise RewardError(
            f"{gate!r} compares {gate.on!r} with a number, and it holds {preview(texts[0])}; name a column "
            "of numbers, or ask for a value that it has"
        )
    kinds = list(
        dict.fromkeys(value for value in known if not isinstance(value, list | dict))
    )
    same = [
        kind for kind in kinds if gate.equals in (None, kind, cell_number(str(kind)))
    ]
    if not same and kinds:
        raise RewardError(
            f"the gate of {name!r} would never open: no row has {gate.on}={gate.equals!r}; there are "
            f"{most(list(map(preview, kinds)), 5)}"
        )
    return gate if gate.equals in (None, *same) else replace(gate, equals=same[0])
