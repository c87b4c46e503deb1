"""Proposals: changes of a reward that answer what was found, before their effect is measured."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rewardkit.analysis.suggestions.change import Change, applied
from rewardkit.analysis.view import View
from rewardkit.findings import Finding
from rewardkit.scoring.scores import Scores

IN_WORDS = {
    "graduate": "partial credit for {}",
    "looser_reading": "a looser reading for {}",
    "stricter_reading": "a stricter reading for {}",
    "pay_component": "a weight for {}",
    "gate_component": "a gate for {}",
    "soften_length": "a softer limit for {}",
    "remove_component": "no weight for {}",
    "declared_weights": "weights that hold what is declared",
}
"""What a change does, by its code."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A `change` of what `scores` were made with, and the `why` of it; not measured yet.

    `views` are those before and after it where they are not of all rows (held out); `before` and `after` are
    what else there is to say; `examples` rows to read.
    """

    code: str
    component: str | None
    why: str
    change: Change
    scores: Scores
    views: tuple[View, View] | None = None
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[Mapping[str, Any], ...] = ()

    @cached_property
    def changed(self) -> Scores:
        """The scores with the change made."""
        changed: Scores = applied(self.change, self.scores)
        return changed


Proposed = Iterator[Proposal | str]
"""Proposals, and a sentence where one that would fit is left out."""

Fitting = Callable[[View, Scores, Collection[Finding]], Proposed]
"""A rule: what to propose for one reward, its scores, and what was found for certain."""


def in_words(code: str, component: str | None) -> str:
    """What a change does, such as "partial credit for 'correct'"."""
    return IN_WORDS[code].format(repr(component))


def told(findings: Collection[Finding], code: str, component: str | None) -> bool:
    """Whether a finding with this code was made about a component, or the reward."""
    return any(item.code == code and item.component == component for item in findings)
