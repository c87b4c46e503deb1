"""RewardResult: what one completion got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardkit.html import cards
from rewardkit.html.pages import HasPage, Page
from rewardkit.reasons import Reason
from rewardkit.rewards.plan import bind
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.printed import caught_prints


@dataclass(frozen=True, repr=False)
class RewardResult(HasPage):
    """What one completion got. `reward` is NaN where it is not judged, and before any transform.

    `scores`, `status`, `errors` and `reasons` are by component (a score is NaN unless its status is
    ``scored``; errors are reasons as sentences), and so are the `weights` of those that are for it; `fields` are the extractions and `notes` what components left
    with `rk.note`; `verdicts` are what the models said that components asked.
    """

    reward: float
    scores: dict[str, float]
    status: dict[str, str]
    reasons: dict[str, Reason]
    fields: dict[str, Any]
    notes: dict[str, Any]
    weights: dict[str, float] = field(default_factory=dict)
    verdicts: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def errors(self) -> dict[str, str]:
        """Component -> why it has no score, as a sentence."""
        return {name: str(reason) for name, reason in self.reasons.items()}

    def page(self) -> Page:
        """Return the reward, a row a component, and what fields extracted."""
        rows = []
        for name, score in self.scores.items():
            weight = f"{self.weights[name]:g}" if name in self.weights else "-"
            reason = self.reasons.get(name)
            rows.append((name, self.status[name], score, weight, reason))
        notes = {**self.notes, **self.verdicts}
        return cards.result_page(self.reward, rows, self.fields, notes)


def result_of(reward: Reward, columns: Mapping[str, Any]) -> RewardResult:
    """What a completion, given by its columns, gets of a reward. RewardError: a column is missing."""
    lists = {name: [value] for name, value in columns.items()}
    plan = bind(reward, lists, 1)
    with caught_prints() as printed:
        found = evaluate(plan, lists, notes=True)
    printed.show()
    return RewardResult(
        reward=float(found.rewards[0]),
        scores={
            name: float(outcome.scores[0]) for name, outcome in found.components.items()
        },
        status={name: found.status(name, 0) for name in found.components},
        reasons={
            name: reason
            for name in found.components
            if (reason := found.reason(name, 0)) is not None
        },
        fields={name: values[0] for name, values in found.fields.items()},
        notes=found.notes[0] if found.notes else {},
        verdicts={
            name: out.verdicts[0]
            for name, out in found.components.items()
            if out.verdicts
        },
        weights={
            name: weight
            for part in plan.parts
            for name, weight in part.reward.weights.items()
        },
    )
