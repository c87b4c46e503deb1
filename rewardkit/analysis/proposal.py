"""Proposal: a change of a reward that answers what was found, before its effect is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardkit.analysis.changes import Change
from rewardkit.analysis.view import View
from rewardkit.scoring.scores import Scores

__all__ = ["Found", "Proposal", "reweighed"]

Found = set[tuple[str, str | None]]
"""Codes of findings and the components that they are about."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A `change`, the `line` that makes it, the `why` of it, and its `scores`; not measured yet.

    `views` are those before and after it where they are not of all rows (held out), `more` what else it says
    after the change, and `before` what else before it.
    """

    code: str
    component: str | None
    line: str
    why: str
    change: Change
    scores: Scores
    views: tuple[View, View] | None = None
    before: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[Mapping[str, Any], ...] = ()


def reweighed(
    code: str, name: str | None, weights: Mapping[str, float], why: str, scores: Scores, **more: Any
) -> Proposal:
    """The proposal of other weights."""
    shown = ", ".join(f'"{key}": {weight!r}' for key, weight in weights.items())
    line = f"scores.reweigh({{{shown}}})"
    change = Change(weights=weights)
    return Proposal(code, name, line, why, change, change.of_scores(scores), **more)
