"""The highest-rewarded completions, of different prompts and words: what a person should read first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from rapidfuzz import fuzz

from rewardkit.analysis.statistics.groups import Codes
from rewardkit.analysis.view import View
from rewardkit.rollouts.values import as_column, column_values
from rewardkit.scoring.scores import Scores

__all__ = ["different", "highest"]

LOOKED_AT = 500
"""Rows of the highest rewards among which different ones are looked for. Our choice."""
ALIKE = 90.0
"""rapidfuzz ratio of two completions from which on they are the same to read. Our choice."""
COMPARED = 2_000
"""Characters of each completion that are compared: rapidfuzz takes the square of their number."""


def highest(scores: Scores, view: View, n: int) -> pd.DataFrame:
    """The rows of `Diagnosis.highest` for one part of the reward."""
    rows = different(view, n)
    table = scores.table.iloc[view.rows[rows]]
    key = {name: column_values(table[name]) for name in scores.rollouts.group_key}
    paid = {f"score/{name}": view.scores[name][rows] for name, item in view.components.items() if item.weight}
    found: dict[str, Any] = {"part": [view.part] * len(rows)} if view.part else {}
    found |= {"rollout_id": column_values(table["rollout_id"]), **key}
    found |= {"reward": view.rewards[rows], "advantage": view.advantages[rows], **paid}
    found |= {"completion": column_values(table["completion"])}
    return pd.DataFrame({name: _column(values) for name, values in found.items()})


def _column(values: Any) -> Any:
    """Lists as columns of objects: pandas' own texts take no lone surrogates."""
    return as_column(values) if isinstance(values, list) else values


def different(view: View, n: int) -> Codes:
    """Up to `n` rows, highest reward first: one a prompt, then further ones, none like another."""
    candidates = _top(view)
    prompts = view.bootstrap.prompts[candidates]
    _, first = np.unique(prompts, return_index=True)
    order = [*np.sort(first).tolist(), *np.setdiff1d(np.arange(len(candidates)), first).tolist()]
    chosen: list[int] = []
    texts: list[str] = []
    for at in order:
        if len(chosen) == n:
            break
        text = view.completions[candidates[at]][:COMPARED]
        if not any(fuzz.ratio(text, other, score_cutoff=ALIKE) for other in texts):
            chosen.append(at)
            texts.append(text)
    return candidates[np.sort(np.array(chosen, dtype=np.intp))]


def _top(view: View) -> Codes:
    """The judged rows of highest reward; of equal ones that of the higher advantage, whose siblings fail."""
    judged = np.flatnonzero(~np.isnan(view.rewards))
    if len(judged) > LOOKED_AT:
        rewards = view.rewards[judged]
        judged = judged[rewards >= np.partition(rewards, -LOOKED_AT)[-LOOKED_AT]]
    order = np.lexsort((judged, -np.nan_to_num(view.advantages[judged]), -view.rewards[judged]))
    return judged[order[:LOOKED_AT]]
