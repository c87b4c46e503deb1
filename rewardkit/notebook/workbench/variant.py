"""Variant: the settings that a person moves by hand, and the scores and arrays that they give."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from rewardkit.analysis.diagnosis import make_views
from rewardkit.analysis.rescore import behind
from rewardkit.analysis.suggestions.change import Change, applied
from rewardkit.analysis.variants import with_gates
from rewardkit.analysis.view import View
from rewardkit.primitives.gates import Gate
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.scoring.scores import Scores

__all__ = ["Ground", "Variant"]

T = TypeVar("T")


@dataclass(frozen=True)
class Variant:
    """Weights and gates by component, aggregation and what the trainer scales by, on top of scores.

    `aggregation` is "" for a route, whose parts keep their own. `base` are the scores that these are settings
    of: those that all starts from, or those that a change of a function gave, which `code` makes of "reward".
    """

    base: Scores
    weights: Mapping[str, float]
    gates: Mapping[str, Gate | None]
    aggregation: str
    training: Training
    code: str = "reward"

    @classmethod
    def of(cls, base: Scores, training: Training, code: str = "reward") -> Variant:
        """How the reward of scores stands."""
        reward, route = base.reward, base.reward.routing is not None
        gates = {} if route else {item.name: item.gate for item in reward.components if _movable(item.gate)}
        return cls(base, dict(reward.weights), gates, "" if route else reward.aggregation, training, code)

    @property
    def reward(self) -> Reward:
        """The reward with these settings. RewardError: weights that the aggregation does not take."""
        return behind(self.combined(self.base.reward), self.moved)

    @property
    def moved(self) -> dict[str, Gate | None]:
        """The gates that are others than those of the base."""
        own = {item.name: item.gate for item in self.base.reward.components} if self.gates else {}
        return {name: gate for name, gate in self.gates.items() if gate != own[name]}

    def combined(self, reward: Reward) -> Reward:
        """A reward with the weights and the aggregation, its gates as they are."""
        if self.aggregation and self.aggregation != reward.aggregation:
            reward = replace(reward, aggregation=self.aggregation)
        return reward.reweigh({name: self.weights[name] for name in reward.weights})

    @property
    def line(self) -> str:
        """Code that gives the reward with these settings from the first one, called ``reward``."""
        start = self.base.reward
        weights = {key: weight for key, weight in self.weights.items() if weight != start.weights[key]}
        code = f"{self.code}.reweigh({weights})" if weights else self.code
        options = []
        if self.aggregation and self.aggregation != start.aggregation:
            options.append(f"aggregation={self.aggregation!r}")
        if self.moved:
            said = ", ".join(
                f"{key!r}: {f'rk.{gate!r}' if gate else None}" for key, gate in self.moved.items()
            )
            item = f"dataclasses.replace(item, gate={{{said}}}.get(item.name, item.gate))"
            options.append(f"components=[{item} for item in {code}.components]")
        return f"dataclasses.replace({code}, {', '.join(options)})" if options else code

    def after(self, change: Change, scores: Scores, part: str = "") -> Variant:
        """The settings after a change of the reward, of which `scores` are those of now.

        Another weight, or another gate that is decided without scoring, is a setting; anything else is tried
        on the rollouts. Errors as in `Suggestion.apply`.
        """
        if change.weights and not part:
            return replace(self, weights={**self.weights, **change.weights})
        gates = {name: item["gate"] for name, item in change.components.items() if list(item) == ["gate"]}
        if gates and len(gates) == len(change.components) and all(map(_movable, gates.values())):
            if self.base.reward.routing is None:
                return replace(self, gates={**self.gates, **gates})
        line = change.line(scores.reward).replace("scores.", "reward.", 1)
        if line.startswith("rk.Component("):
            line = f"replace(reward, components=[*reward.components, {line}])"
        line = re.sub(r"(?<![\w.])(?=replace\()", "dataclasses.", line)
        code = line if self.line == "reward" else f"(lambda reward: {line})({self.line})"
        return Variant.of(applied(change, scores, part), self.training, code)


def _movable(gate: Gate | None) -> bool:
    """Whether a gate can be moved without scoring: it is on a column by name."""
    return gate is not None and isinstance(gate.on, str)


@dataclass(eq=False)
class Ground:
    """What is computed of variants once; nothing is scored but by `score`."""

    label: str | None = None
    seed: int = 0
    _held: dict[Any, tuple[Scores, dict[str, int]]] = field(default_factory=dict)
    _views: dict[Any, tuple[View, ...]] = field(default_factory=dict)

    def gated(self, variant: Variant) -> tuple[Scores, dict[str, int]]:
        """The scores under the gates of a variant, and by component the rows that would have to be scored.

        The last few are kept, as a slider comes back to them.
        """
        if not variant.moved:
            return variant.base, {}
        key = variant.base, repr(variant.moved)
        return _kept(self._held, key, lambda: with_gates(variant.base, variant.moved))

    def score(self, variant: Variant) -> None:
        """Score the rows that the gates of a variant let in, and hold them. Errors as in `whatif`."""
        scores, _ = with_gates(variant.base, variant.moved, run=True)
        self._held[variant.base, repr(variant.moved)] = (scores.under(variant.base.reward), {})
        self._views.clear()

    def scores(self, variant: Variant) -> Scores:
        """The scored table under a variant."""
        scores, _ = self.gated(variant)
        return scores.under(variant.combined(scores.reward))

    def views(self, variant: Variant) -> tuple[View, ...]:
        """The arrays of each part of the reward under a variant, what is not finite counted as not judged."""
        scores, _ = self.gated(variant)
        key = variant.base, repr((variant.gates, variant.training))
        options: dict[str, Any] = {"training": variant.training, "label": self.label, "seed": self.seed}
        views = _kept(self._views, key, lambda: make_views(scores, **options))
        return tuple(view.under(variant.combined(view.reward)) for view in views)


KEPT = 8
"""Variants of gates whose tables are kept: a person goes back and forth between a few. Our choice."""


def _kept(held: dict[Any, T], key: Any, made: Callable[[], T]) -> T:
    """What was made for a key, and is held with that of the last few."""
    if key not in held:
        while len(held) >= KEPT:
            held.pop(next(iter(held)))
        held[key] = made()
    return held[key]
