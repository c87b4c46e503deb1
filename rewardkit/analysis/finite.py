"""Finite: scores without the numbers that no trainer can hold, and the findings that say where these were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.groups import Floats
from rewardkit.findings import Finding
from rewardkit.scoring.outcomes import ERROR
from rewardkit.scoring.scores import Scores

__all__ = ["LARGEST", "endless", "find", "finite", "held", "returned"]

LARGEST = float(np.finfo(np.float32).max)
"""Trainers hold rewards as float32, in which a larger number is infinite."""
RETURNED = ("returned inf;", "returned -inf;")
"""How the reason begins for which an infinite score is an error."""
SHOWN_IDS = 5


def finite(scores: Scores) -> Scores:
    """The scores in which every reward and score that is infinite in float32 is missing, so not judged.

    The same object where there is none. Statuses stay: `find` says what was taken out.
    """
    columns = ["reward_raw", "reward", *(f"score/{name}" for name in scores.reward.names)]
    values = {column: scores.table[column].to_numpy(dtype=float) for column in columns}
    changed = {column: held(given) for column, given in values.items() if endless(given).any()}
    return replace(scores, table=scores.table.assign(**changed)) if changed else scores


def held(values: Floats) -> Floats:
    """The values, NaN for those that float32 does not hold.

    >>> held(np.array([1.0, -np.inf, 1e200])).tolist()
    [1.0, nan, nan]
    """
    return np.where(endless(values), np.nan, values)


def endless(values: Floats) -> NDArray[np.bool_]:
    """Which values are infinite in float32; NaN is not.

    >>> endless(np.array([1.0, -np.inf, 1e200, np.nan])).tolist()
    [False, True, True, False]
    """
    return (values > LARGEST) | (values < -LARGEST)


def returned(reasons: NDArray[np.object_], failed: NDArray[np.intp]) -> NDArray[np.intp]:
    """Which of the rows that `failed`, for these `reasons` (rows,), have returned an infinite score."""
    return failed[[str(reason).startswith(RETURNED) for reason in reasons[failed]]]


def find(scores: Scores, *, seed: int) -> list[Finding]:
    """Where scores and rewards are infinite, or would be; of a reward only rows whose paid scores are not.

    A trainer takes such a reward into the mean of its group, and then into the gradient of the whole batch:
    one row is enough, so that it is of high severity wherever it is paid.
    """
    explained = np.zeros(len(scores), dtype=bool)
    found = []
    for item in scores.reward.components:
        values = scores.score(item.name)
        reasons = scores.table[f"error/{item.name}"].to_numpy(dtype=object)
        refused = returned(reasons, np.flatnonzero(scores.status(item.name) == ERROR))
        if len(refused):
            values = values.copy()
            values[refused] = np.inf
        rows = endless(values)
        if item.weight:
            explained |= rows
        if rows.any():
            severity = "high" if item.weight else "info"
            found.append(_finding(scores, item.name, severity, values, rows, seed))
    rewards = scores.rewards
    rows = endless(rewards) & ~explained
    return [_finding(scores, None, "high", rewards, rows, seed), *found] if rows.any() else found


def _finding(
    scores: Scores, name: str | None, severity: str, values: Floats, rows: NDArray[np.bool_], seed: int
) -> Finding:
    prompts = scores.rollouts.prompts
    counted = (~np.isnan(values)).astype(float)
    evidence = {
        "value": float(rows.sum() / counted.sum()),
        "interval": Bootstrap(prompts, seed=seed).interval([rows.astype(float), counted], prompts),
        "rows": int(rows.sum()),
        "infinite": int(np.isinf(values).sum()),
        "paid": severity == "high",
    }
    ids = tuple(scores.table["rollout_id"].iloc[np.flatnonzero(rows)[:SHOWN_IDS]])
    return Finding("not_finite", severity, name, evidence, int(counted.sum()), LARGEST, ids)
