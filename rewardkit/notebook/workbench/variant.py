"""Variant: the settings that a person moves by hand, and the scores and arrays that they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.analysis.diagnosis import make_views
from rewardkit.analysis.rescore import behind
from rewardkit.analysis.variants import with_gates
from rewardkit.analysis.view import View
from rewardkit.primitives.gates import Gate
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.scoring.scores import Scores

__all__ = ["Ground", "Variant"]


@dataclass(frozen=True)
class Variant:
    """Weights and gates by component, aggregation and what the trainer scales by.

    `aggregation` is "" for a route, whose parts keep their own.
    """

    weights: Mapping[str, float]
    gates: Mapping[str, Gate | None]
    aggregation: str
    training: Training

    @classmethod
    def of(cls, reward: Reward, training: Training) -> Variant:
        """How a reward stands."""
        route = reward.routing is not None
        return cls(
            dict(reward.weights),
            {} if route else {item.name: item.gate for item in reward.components if _movable(item.gate)},
            "" if route else reward.aggregation,
            training,
        )

    def reward(self, start: Reward) -> Reward:
        """The reward with these settings. RewardError: weights that the aggregation does not take."""
        return behind(_combined(start, self), _moved(self, start))

    def line(self, start: Reward, name: str = "reward") -> str:
        """Code that gives the reward with these settings from one called `name`; `name` where none moved."""
        weights = {key: weight for key, weight in self.weights.items() if weight != start.weights[key]}
        code = f"{name}.reweigh({weights})" if weights else name
        gates = _moved(self, start)
        options = []
        if self.aggregation and self.aggregation != start.aggregation:
            options.append(f"aggregation={self.aggregation!r}")
        if gates:
            told = ", ".join(f"{key!r}: {_code(gate)}" for key, gate in gates.items())
            item = f"dataclasses.replace(item, gate={{{told}}}.get(item.name, item.gate))"
            options.append(f"components=[{item} for item in {code}.components]")
        return f"dataclasses.replace({code}, {', '.join(options)})" if options else code


def _movable(gate: Gate | None) -> bool:
    """Whether a gate can be moved without scoring: it is on a column by name."""
    return gate is not None and isinstance(gate.on, str)


def _moved(variant: Variant, start: Reward) -> dict[str, Gate | None]:
    """The gates that are others than those of the reward."""
    own = {item.name: item.gate for item in start.components} if variant.gates else {}
    return {name: gate for name, gate in variant.gates.items() if gate != own[name]}


def _code(gate: Gate | None) -> str:
    return "None" if gate is None else f"rk.{gate!r}"


def _combined(reward: Reward, variant: Variant) -> Reward:
    """The reward with the weights and the aggregation, its gates as they are."""
    own = {name: variant.weights[name] for name in reward.weights}
    if variant.aggregation and variant.aggregation != reward.aggregation:
        reward = replace(reward, aggregation=variant.aggregation)
    return reward.reweigh(own)


@dataclass(eq=False)
class Ground:
    """The scores that all variants start from, with what is computed of them once.

    Nothing is scored here: `to_score` of a variant counts the rows that would have to be.
    """

    start: Scores
    label: str | None = None
    seed: int = 0
    _held: dict[str, tuple[Scores, dict[str, int]]] = field(default_factory=dict)
    _views: dict[str, tuple[View, ...]] = field(default_factory=dict)

    def _gated(self, variant: Variant) -> tuple[Scores, dict[str, int]]:
        """The scores under the gates of a variant; the last few are kept, as a slider comes back to them."""
        moved = _moved(variant, self.start.reward)
        if not moved:
            return self.start, {}
        key = repr(moved)
        if key not in self._held:
            _shortened(self._held)
            self._held[key] = with_gates(self.start, moved)
        return self._held[key]

    def to_score(self, variant: Variant) -> dict[str, int]:
        """By component the rows whose gate is open now and was closed when they were scored."""
        return self._gated(variant)[1]

    def score(self, variant: Variant) -> None:
        """Score the rows that the gates of a variant let in, and hold them. Errors as in `whatif`."""
        moved = _moved(variant, self.start.reward)
        scores, _ = with_gates(self.start, moved, run=True)
        self._held[repr(moved)] = (scores.under(self.start.reward), {})
        self._views.clear()

    def scores(self, variant: Variant) -> Scores:
        """The scored table under a variant."""
        scores, _ = self._gated(variant)
        return scores.under(_combined(scores.reward, variant))

    def views(self, variant: Variant) -> tuple[View, ...]:
        """The arrays of each part of the reward under a variant, what is not finite counted as not judged."""
        scores, _ = self._gated(variant)
        key = repr((variant.gates, variant.training))
        if key not in self._views:
            _shortened(self._views)
            self._views[key] = make_views(scores, training=variant.training, label=self.label, seed=self.seed)
        return tuple(view.under(_combined(view.reward, variant)) for view in self._views[key])


KEPT = 8
"""Variants of gates whose tables are kept: a person goes back and forth between a few. Our choice."""


def _shortened(held: dict[str, Any]) -> None:
    while len(held) >= KEPT:
        held.pop(next(iter(held)))
