"""The tables of a diagnosis: components, group signal, completions to read first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from rapidfuzz import fuzz

from rewardkit.analysis.statistics import (
    Codes,
    Floats,
    between_share,
    group_stats,
    tie_rate,
)
from rewardkit.analysis.statistics.advantages import (
    merged_vectors,
    sample_size,
    top_decile,
)
from rewardkit.analysis.view import Mask, View
from rewardkit.rollouts.values import as_column, column_values
from rewardkit.scoring.scores import Scores

MOST_CANDIDATES = 500
"""Rows of the highest rewards among which different ones are looked for. Our choice."""
SAME_TO_READ = 90.0
"""rapidfuzz ratio from which two completions are the same to read. Our choice."""
STEP_QUANTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
COMPARED_CHARACTERS = 2_000
"""Of each completion: rapidfuzz takes the square of their number."""


def component_row(view: View, name: str) -> dict[str, Any]:
    """Return one row of `Diagnosis.components`."""
    values = view.scores[name]
    scores = pd.Series(values[~np.isnan(values)])
    low, high = view.span(name)
    equal, pairs = (counts.sum() for counts in tie_rate(values, view.groups))
    part = {"part": view.part} if view.part else {}
    return part | {
        "component": name,
        "weight": float(view.components[name].weight),
        "effective_weight": view.effective_weights.get(name, float("nan")),
        "sign_influence": view.sign_influence[name],
        **view.counts(name),
        "mean": scores.mean(),
        "std": scores.std(),
        "lowest": scores.min(),
        "highest": scores.max(),
        "at_minimum": (scores == low).mean(),
        "at_maximum": (scores == high).mean(),
        "between": between_share(values, view.groups),
        "dead_groups": group_stats(values, view.groups).dead_share,
        "tied_pairs": equal / pairs if pairs else float("nan"),
    }


def signal_of(view: View, rows: Mask) -> dict[str, Any]:
    """Return the figures of `Diagnosis.group_signal` for some groups of a view."""
    kinds, groups = np.unique(view.groups[rows], return_inverse=True)
    rewards, advantages = view.rewards[rows], view.advantages[rows]
    primary = view.scores[view.primary][rows]
    several = group_stats(rewards, groups).count > 1
    none_right = group_stats(primary, groups).high == view.span(view.primary)[0]
    silent = pd.DataFrame({"zero_std": view.dead[kinds], "none_right": none_right})
    shares = silent[several].mean()
    columns = {name: view.scores[name][rows] for name in view.paid_names}
    mean_name = "mean_primary" if view.part else f"mean_{view.primary}"
    return {
        "groups": len(kinds),
        "mean_reward": pd.Series(rewards).mean(),
        mean_name: pd.Series(primary).mean(),
        "zero_std": shares["zero_std"],
        "none_right": shares["none_right"],
        "top_decile": top_decile(advantages, groups),
        "sample_size": sample_size(advantages),
        "merged_vectors": merged_vectors(columns, advantages, groups),
    }


def over_steps(view: View, window: int) -> pd.DataFrame:
    """Return the rows of `Diagnosis.over_steps` for one part of the reward."""
    steps = view.context.steps
    if steps is None:
        return pd.DataFrame()
    distinct = np.unique(steps[~np.isnan(steps)])
    rows = []
    for place, step in enumerate(distinct):
        first = max(0, place + 1 - window)
        inside = np.isin(steps, distinct[first : place + 1])
        for name, values in {"reward": view.rewards, **view.scores}.items():
            row: dict[str, Any] = {"part": view.part} if view.part else {}
            row |= {"step": step, "figure": name}
            rows.append(row | _step_figures(view, name, values, inside))
    return pd.DataFrame(rows)


def _step_figures(
    view: View, name: str, values: Floats, inside: Mask
) -> dict[str, Any]:
    """Return the figures of the reward or a component at some rows."""
    column = pd.Series(values[inside])
    quantiles = column.quantile([*STEP_QUANTILES.values()])
    at_minimum = np.nan
    if name in view.components:
        at_minimum = float((column == view.span(name)[0]).mean())
    return {
        "rows": int(column.count()),
        "mean": column.mean(),
        "std": column.std(),
        **dict(zip(STEP_QUANTILES, quantiles, strict=True)),
        "at_minimum": at_minimum,
        "zero_std": group_stats(values[inside], view.groups[inside]).dead_share,
    }


def highest(scores: Scores, view: View, n: int) -> pd.DataFrame:
    """Return the rows of `Diagnosis.highest` for one part of the reward."""
    rows = different(view, n)
    table = scores.table.iloc[view.rows[rows]]
    names = ["rollout_id", *scores.rollouts.group_key]
    columns: dict[str, Any] = {"part": [view.part] * len(rows)} if view.part else {}
    columns |= {name: column_values(table[name]) for name in names}
    columns |= {"reward": view.rewards[rows], "advantage": view.advantages[rows]}
    for name in view.paid_names:
        columns[f"score/{name}"] = view.scores[name][rows]
    columns["completion"] = column_values(table["completion"])
    for name, values in columns.items():
        if isinstance(values, list):  # pandas' own texts take no lone surrogates
            columns[name] = as_column(values)
    return pd.DataFrame(columns)


def different(view: View, n: int) -> Codes:
    """Return up to `n` rows, highest reward first, one a prompt if it can be."""
    candidates = _candidates(view)
    _, first = np.unique(view.bootstrap.prompts[candidates], return_index=True)
    others = np.setdiff1d(np.arange(len(candidates)), first)
    chosen: dict[int, str] = {}
    for place in [*np.sort(first).tolist(), *others.tolist()]:
        if len(chosen) == n:
            break
        text = view.completions[candidates[place]][:COMPARED_CHARACTERS]
        if not any(
            fuzz.ratio(text, other, score_cutoff=SAME_TO_READ)
            for other in chosen.values()
        ):
            chosen[place] = text
    return candidates[np.sort(np.array([*chosen], dtype=np.intp))]


def _candidates(view: View) -> Codes:
    """Return the rows of highest reward, equal ones by advantage."""
    advantages = np.nan_to_num(view.advantages)
    table = pd.DataFrame({"reward": view.rewards, "advantage": advantages}).dropna()
    largest = table.nlargest(MOST_CANDIDATES, ["reward", "advantage"])
    return largest.index.to_numpy()
