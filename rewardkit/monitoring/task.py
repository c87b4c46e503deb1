"""Guess which paid components measure the task, by their names or their gaps."""

from __future__ import annotations

import re

import numpy as np

from rewardkit.analysis.verdicts import Verdicts
from rewardkit.analysis.view import View
from rewardkit.rollouts.columns import RIGHT_NAME

WORD_IN_NAME = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
"""The boundary between the words of a name such as ExactMatch."""


def guess_task(view: View) -> Verdicts | None:
    """Guess the task from the paid components, scaled to 0 to 1, or return None.

    It is the one component with a name such as "accuracy". Otherwise it is the
    components that each score one source of prompts and abstain on the others.
    """
    names = [name for name in view.paid_names if view.components[name].weight > 0]
    chosen: list[str] = []
    for name in names:
        if RIGHT_NAME.fullmatch(WORD_IN_NAME.sub("_", name)):
            chosen.append(name)
    if len(chosen) != 1:
        chosen = view.one_a_source
    scores = np.full(len(view), np.nan)
    for name in chosen:
        low, high = view.span(name)
        if not high > low:
            return None
        scaled = np.clip((view.scores[name] - low) / (high - low), 0.0, 1.0)
        scores = np.where(np.isnan(scores), scaled, scores)
    if not chosen:
        return None
    return Verdicts(" or ".join(chosen), scores, 0.0)
