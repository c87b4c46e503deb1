"""Score tables made for tests: what a component scored, group by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from planted.tables import scored

import rewardkit as rk


def scores_of(
    parts: Mapping[str, Sequence[float]],
    groups: Sequence[int],
    *,
    weights: Mapping[str, float] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    ranges: Mapping[str, Any] | None = None,
    **options: Any,
) -> rk.Scores:
    """Scores of components of weight 1 that score these numbers, of no range where one is beyond 1."""
    wide = {name: None for name, values in parts.items() if np.nan_to_num(np.abs(values)).max() > 1}
    wide |= ranges or {}
    texts = {"completion": [f"completion {row}" for row in range(len(groups))]}
    every = {**dict.fromkeys(parts, 1.0), **(weights or {})}
    return scored(parts, groups, weights=every, ranges=wide, columns={**texts, **(columns or {})}, **options)


def rewarded(
    rewards: Sequence[float], groups: Sequence[int], prompts: Sequence[int] | None = None, **columns: Any
) -> rk.Scores:
    """Scores of one component "paid", whose score is the given reward; siblings are of one `policy`."""
    texts = ["word " * (row % 7 + 1) for row in range(len(groups))]
    return scored(
        {"paid": rewards},
        groups if prompts is None else prompts,
        ranges={"paid": None},
        columns={"policy": [str(group) for group in groups], "completion": texts, **columns},
    )
