"""Which components of two versions are the same, by what they score, not their name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rewardkit.analysis.comparison.definition_changes import DefinitionChange
from rewardkit.analysis.comparison.matching import MatchedRows
from rewardkit.analysis.statistics import Codes, Floats
from rewardkit.scoring.scores import Scores


@dataclass(frozen=True)
class ComponentMatch:
    """Components of A and B that are the same, or only called the same.

    `renamed` has the name in A by that in B; `redefined` those of one name whose scores
    differ.
    """

    renamed: Mapping[str, str]
    redefined: tuple[DefinitionChange, ...]


def match_components(a: Scores, b: Scores, matched: MatchedRows) -> ComponentMatch:
    """Match the components of two versions by their scores of the same rollouts.

    Of names that only one has, two are one component where they score every rollout
    alike and do not give the same to all. Only rollouts of the same completion count.
    """
    before = _scores_by_name(a, matched.a[matched.is_same])
    after = _scores_by_name(b, matched.b[matched.is_same])
    renamed: dict[str, str] = {}
    for name in after.keys() - before.keys():
        candidates = before.keys() - after.keys() - {*renamed.values()}
        alike = [other for other in candidates if _is_same(before[other], after[name])]
        if len(alike) == 1:
            renamed[name] = alike[0]
    redefined = []
    for name in [name for name in after if name in before]:
        change = _redefinition(name, before[name], after[name])
        if change is not None:
            redefined.append(change)
    return ComponentMatch(renamed, tuple(redefined))


def _scores_by_name(scores: Scores, rows: Codes) -> dict[str, Floats]:
    return {name: scores.score(name)[rows] for name in scores.reward.names}


def _is_same(before: Floats, after: Floats) -> bool:
    """Return whether two components score all rollouts alike, and these differently."""
    judged = before[~np.isnan(before)]
    if len(np.unique(judged)) < 2:
        return False
    return bool(np.allclose(before, after, equal_nan=True))


def _redefinition(name: str, before: Floats, after: Floats) -> DefinitionChange | None:
    """Return how two components of one name differ on the same completions."""
    both = ~np.isnan(before) & ~np.isnan(after)
    differs = ~np.isclose(before[both], after[both])
    if not differs.any():
        return None
    return DefinitionChange(
        "scores",
        name,
        float(before[both].mean()),
        float(after[both].mean()),
        share=float(differs.mean()),
    )
