"""Variant: the settings that a person moves by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rewardkit.analysis.rescore import behind
from rewardkit.analysis.suggestions.change import Change, applied
from rewardkit.primitives.gates import Gate
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.scoring.scores import Scores


@dataclass(frozen=True)
class Variant:
    """Weights and gates by component, aggregation and what the trainer scales by, on top of scores.

    `aggregation` is "" for a route, whose parts keep their own. `base` are the scores
    that these are settings of: those that all starts from, or those that a change of a
    function gave, which `code` makes of "reward".
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
        reward, route = base.reward, bool(base.reward.routed_by)
        gates = (
            {}
            if route
            else {
                item.name: item.gate
                for item in reward.components
                if _movable(item.gate)
            }
        )
        return cls(
            base,
            dict(reward.weights),
            gates,
            "" if route else reward.aggregation,
            training,
            code,
        )

    @property
    def is_routed(self) -> bool:
        """Whether it is a route, whose parts keep their gates and aggregation."""
        return bool(self.base.reward.routed_by)

    @property
    def reward(self) -> Reward:
        """The reward with these settings. RewardError: weights that the aggregation does not take."""
        return behind(self.combined(self.base.reward), self.moved)

    @property
    def moved(self) -> dict[str, Gate | None]:
        """The gates that are others than those of the base."""
        own = (
            {item.name: item.gate for item in self.base.reward.components}
            if self.gates
            else {}
        )
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
        weights = {
            key: weight
            for key, weight in self.weights.items()
            if weight != start.weights[key]
        }
        code = f"{self.code}.reweigh({weights})" if weights else self.code
        options = []
        if self.aggregation and self.aggregation != start.aggregation:
            options.append(f"aggregation={self.aggregation!r}")
        if self.moved:
            said = ", ".join(
                f"{key!r}: {f'rk.{gate!r}' if gate else None}"
                for key, gate in self.moved.items()
            )
            item = (
                f"dataclasses.replace(item, gate={{{said}}}.get(item.name, item.gate))"
            )
            options.append(f"components=[{item} for item in {code}.components]")
        return f"dataclasses.replace({code}, {', '.join(options)})" if options else code

    def after(self, change: Change, scores: Scores, part: str = "") -> Variant:
        """The settings after a change of the reward, of which `scores` are those of now.

        Another weight, or another gate that is decided without scoring, is a setting;
        anything else is tried on the rollouts. Errors as in `Suggestion.apply`.
        """
        if change.weights and not part:
            return replace(self, weights={**self.weights, **change.weights})
        gates = {
            name: item["gate"]
            for name, item in change.components.items()
            if list(item) == ["gate"]
        }
        if (
            gates
            and len(gates) == len(change.components)
            and all(map(_movable, gates.values()))
        ):
            if not self.is_routed:
                return replace(self, gates={**self.gates, **gates})
        line = change.line(scores.reward).replace("scores.", "reward.", 1)
        if line.startswith("rk.Component("):
            line = f"replace(reward, components=[*reward.components, {line}])"
        line = re.sub(r"(?<![\w.])(?=replace\()", "dataclasses.", line)
        code = (
            line if self.line == "reward" else f"(lambda reward: {line})({self.line})"
        )
        return Variant.of(applied(change, scores, part), self.training, code)


def _movable(gate: Gate | None) -> bool:
    """Whether a gate can be moved without scoring: it is on a column by name."""
    return gate is not None and isinstance(gate.on, str)
