"""The figures of `Diagnosis.group_signal`, for some whole groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics.groups import Floats, group_stats
from rewardkit.analysis.statistics.signal import merged_vectors, sample_size, top_decile
from rewardkit.analysis.view import View

__all__ = ["signal_of"]


def signal_of(view: View, rows: NDArray[np.bool_]) -> dict[str, Any]:
    """The figures of `Diagnosis.group_signal` for some whole groups of a view."""
    which, groups = np.unique(view.groups[rows], return_inverse=True)
    rewards, primary = view.rewards[rows], view.scores[view.primary][rows]
    advantages = view.advantages[rows]
    stats = group_stats(rewards, groups)
    low, _ = view.span(view.primary)
    best = group_stats(primary, groups).high
    counted = int(stats.live.sum() + stats.dead.sum())

    def share(mask: NDArray[np.bool_]) -> float:
        return float(mask.sum() / counted) if counted else float("nan")

    paid = {name: view.scores[name][rows] for name, item in view.components.items() if item.weight}
    return {
        "groups": len(stats.count),
        "mean_reward": _mean(rewards),
        "mean_primary" if view.part else f"mean_{view.primary}": _mean(primary),
        "zero_std": share(view.dead[which]),
        "none_right": share((best == low) & (stats.count > 1)),
        "top_decile": top_decile(advantages, groups),
        "sample_size": sample_size(advantages),
        "merged_vectors": merged_vectors(paid, advantages, groups),
    }


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
