"""The tables of a diagnosis: components, group signal by slice, and the completions to read first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rapidfuzz import fuzz

from rewardkit.analysis.statistics.groups import (
    Codes,
    between_share,
    group_stats,
    tie_rate,
)
from rewardkit.analysis.statistics.signal import merged_vectors, sample_size, top_decile
from rewardkit.analysis.view import View
from rewardkit.rollouts.values import as_column, column_values
from rewardkit.scoring.scores import Scores

LOOKED_AT = 500
"""Rows of the highest rewards among which different ones are looked for. Our choice."""
ALIKE = 90.0
"""rapidfuzz ratio of two completions from which on they are the same to read. Our choice."""
QUANTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
COMPARED = 2_000
"""Characters of each completion that are compared: rapidfuzz takes the square of their number."""


def component_row(view: View, name: str) -> dict[str, Any]:
    """One row of `Diagnosis.components`."""
    item, scores = view.components[name], view.scores[name]
    known = pd.Series(scores[~np.isnan(scores)])
    low, high = view.span(name)
    equal, pairs = (some.sum() for some in tie_rate(scores, view.groups))
    return ({"part": view.part} if view.part else {}) | {
        "component": name,
        "weight": float(item.weight),
        "effective_weight": view.effective_weights.get(name, float("nan")),
        "sign_influence": view.sign_influence[name],
        **view.counts(name),
        "mean": known.mean(),
        "std": known.std(),
        "lowest": known.min(),
        "highest": known.max(),
        "at_minimum": (known == low).mean(),
        "at_maximum": (known == high).mean(),
        "between": between_share(scores, view.groups),
        "dead_groups": group_stats(scores, view.groups).dead_share,
        "tied_pairs": equal / pairs if pairs else float("nan"),
    }


def signal_of(view: View, rows: NDArray[np.bool_]) -> dict[str, Any]:
    """The figures of `Diagnosis.group_signal` for some whole groups of a view."""
    which, groups = np.unique(view.groups[rows], return_inverse=True)
    rewards, primary, advantages = (
        view.rewards[rows],
        view.scores[view.primary][rows],
        view.advantages[rows],
    )
    several = group_stats(rewards, groups).count > 1
    best = group_stats(primary, groups).high

    silent = pd.DataFrame(
        {"zero_std": view.dead[which], "none_right": best == view.span(view.primary)[0]}
    )
    paid = {
        name: view.scores[name][rows]
        for name, item in view.components.items()
        if item.weight
    }
    return {
        "groups": len(which),
        "mean_reward": pd.Series(rewards).mean(),
        "mean_primary" if view.part else f"mean_{view.primary}": pd.Series(
            primary
        ).mean(),
        **{str(name): share for name, share in silent[several].mean().items()},
        "top_decile": top_decile(advantages, groups),
        "sample_size": sample_size(advantages),
        "merged_vectors": merged_vectors(paid, advantages, groups),
    }


def over_steps(view: View, window: int) -> pd.DataFrame:
    """The rows of `Diagnosis.over_steps` for one part of the reward; none without steps."""
    if (steps := view.context.steps) is None:
        return pd.DataFrame()
    known, rows = np.unique(steps[~np.isnan(steps)]), []
    for at, step in enumerate(known):
        inside = np.isin(steps, known[max(0, at + 1 - window) : at + 1])
        for name, values in {"reward": view.rewards, **view.scores}.items():
            some, scored = pd.Series(values[inside]), name in view.components
            edges = some.quantile([*QUANTILES.values()])
            rows.append(
                {
                    **({"part": view.part} if view.part else {}),
                    "step": step,
                    "figure": name,
                }
                | {"rows": int(some.count()), "mean": some.mean(), "std": some.std()}
                | dict(zip(QUANTILES, edges, strict=True))
                | {
                    "at_minimum": float((some == view.span(name)[0]).mean())
                    if scored
                    else np.nan
                }
                | {
                    "zero_std": group_stats(
                        values[inside], view.groups[inside]
                    ).dead_share
                }
            )
    return pd.DataFrame(rows)


def highest(scores: Scores, view: View, n: int) -> pd.DataFrame:
    """The rows of `Diagnosis.highest` for one part of the reward."""
    rows = different(view, n)
    table = scores.table.iloc[view.rows[rows]]
    key = {name: column_values(table[name]) for name in scores.rollouts.group_key}
    paid = {
        f"score/{name}": view.scores[name][rows]
        for name, item in view.components.items()
        if item.weight
    }
    found: dict[str, Any] = {"part": [view.part] * len(rows)} if view.part else {}
    found |= {"rollout_id": column_values(table["rollout_id"]), **key}
    found |= {"reward": view.rewards[rows], "advantage": view.advantages[rows], **paid}
    found |= {"completion": column_values(table["completion"])}
    texts = {
        name: as_column(values)
        for name, values in found.items()
        if isinstance(values, list)
    }
    return pd.DataFrame(found | texts)  # pandas' own texts take no lone surrogates


def different(view: View, n: int) -> Codes:
    """Up to `n` rows, highest reward first: one a prompt, then further ones, none like another."""
    candidates = _top(view)
    _, first = np.unique(view.bootstrap.prompts[candidates], return_index=True)
    order = [
        *np.sort(first).tolist(),
        *np.setdiff1d(np.arange(len(candidates)), first).tolist(),
    ]
    chosen: dict[int, str] = {}
    for at in order:
        if len(chosen) == n:
            break
        text = view.completions[candidates[at]][:COMPARED]
        if not any(
            fuzz.ratio(text, other, score_cutoff=ALIKE) for other in chosen.values()
        ):
            chosen[at] = text
    return candidates[np.sort(np.array([*chosen], dtype=np.intp))]


def _top(view: View) -> Codes:
    """The judged rows of highest reward; of equal ones that of the higher advantage, whose siblings fail."""
    by = {"reward": view.rewards, "advantage": np.nan_to_num(view.advantages)}
    judged = pd.DataFrame(by).dropna()
    return judged.nlargest(LOOKED_AT, list(by)).index.to_numpy()
