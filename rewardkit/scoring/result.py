"""RewardResult: what one completion got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardkit.html import cards
from rewardkit.html.pages import HasPage, Page
from rewardkit.reasons import Reason
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.route import bind
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.printed import caught_prints


@dataclass(frozen=True, repr=False)
class RewardResult(HasPage):
    """What one completion got; `reward` is before any transform, NaN where not judged.

    `scores` (NaN unless scored), `status` and `weights` are by component, and so are
    the `reasons` of those without a score and the `verdicts` of those that ask a model.
    `fields` are the extractions, `notes` what components left with `rk.note`.
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
        """Return by component why it has no score, as a sentence."""
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
    """Judge one completion, given by its columns.

    Raises:
        RewardError: a column is missing.
    """
    lists = {name: [value] for name, value in columns.items()}
    plan = bind(reward, lists, 1)
    with caught_prints() as printed:
        outcomes = evaluate(plan, lists, notes=True)
    printed.show()
    fields = {name: values[0] for name, values in outcomes.fields.items()}
    notes = outcomes.notes[0] if outcomes.notes else {}
    result = RewardResult(float(outcomes.rewards[0]), {}, {}, {}, fields, notes)
    for name, outcome in outcomes.components.items():
        result.scores[name] = float(outcome.scores[0])
        result.status[name] = outcomes.status(name, 0)
        if outcome.reasons:
            result.reasons[name] = outcome.reasons[0]
        if outcome.verdicts:
            result.verdicts[name] = outcome.verdicts[0]
    for part in plan.parts:
        result.weights.update(part.reward.weights)
    return result
