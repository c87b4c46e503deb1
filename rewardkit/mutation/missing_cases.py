"""The cases that are missing: the fewest rows on which all survivors differ from the reward, as cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.primitives.messages import assistant_text
from rewardkit.rewards.plan import Floats
from rewardkit.scoring.cases import TOLERANCE
from rewardkit.scoring.outcomes import Outcomes

CLEAR = 2 * TOLERANCE
"""Rewards that are further apart are told apart by a case with the usual tolerance."""

FIRST = ("completion", "messages", "ground_truth")


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows to make cases of: the `rollouts` first, then the cases.

    `labels` are the id of a rollout with "", or None with the name of a case; `original` is what the reward
    gives; `allowed` says which may be taken.
    """

    labels: Sequence[tuple[Any, str]]
    rollouts: int
    columns: Mapping[str, Sequence[Any]]
    original: Outcomes
    allowed: NDArray[np.bool_]

    def text(self, row: int) -> str:
        """The completion of a row."""
        own = self.columns.get("completion")
        value = (
            own[row]
            if own is not None
            else assistant_text(self.columns["messages"][row])
        )
        return value if isinstance(value, str) else ""


def missing_cases(
    pool: Pool, apart: Floats, sentences: Sequence[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any] | None]]:
    """The fewest cases that catch all the mutants that differ in the pool, and for each mutant which case.

    `apart` is (mutants, rows), how far each is from the original; `sentences` are what was changed. A case
    expects what the original gives.
    """
    apart = np.where(pool.allowed, apart, 0.0)  # (mutants, rows)
    clear = (apart > CLEAR).any(axis=1, keepdims=True)
    caught = np.where(clear, apart > CLEAR, apart > 0)
    case_of: list[dict[str, Any] | None] = [None] * len(sentences)
    cases = []
    for row in fewest(caught, [len(pool.text(row)) for row in range(len(pool.labels))]):
        mutants = sorted(
            np.flatnonzero(caught[:, row]).tolist(),
            key=lambda at: case_of[at] is not None,
        )
        said = [
            sentences[at].rstrip(".") for at in mutants
        ]  # first what no case before catches
        expected = _expected(
            float(pool.original.rewards[row]), float(apart[mutants, row].min())
        )
        why = f"Proposed, with what the reward gives now: is it right? It catches: {'; '.join(said)}"
        cases.append(
            {
                "name": f"tells apart: {said[0]}",
                **_columns(pool, row),
                **expected,
                "why": why,
            }
        )
        for at in mutants:
            case_of[at] = case_of[at] or cases[-1]
    return cases, case_of


def fewest(catches: NDArray[np.bool_], length: Sequence[int]) -> list[int]:
    """Rows that together catch every mutant that any row catches, as few as a greedy choice finds.

    `catches` is (mutants, rows). Of rows that catch as many the shortest is taken.

    >>> fewest(np.array([[True, True, False], [True, False, True]]), [90, 5, 5])
    [0]
    """
    left = catches.any(axis=1)
    rows: list[int] = []
    while left.any():
        counts = catches[left].sum(axis=0)
        best: list[int] = np.flatnonzero(counts == counts.max()).tolist()
        rows.append(min(best, key=lambda row: (length[row], row)))
        left &= ~catches[:, rows[-1]]
    return rows


def _columns(pool: Pool, row: int) -> dict[str, Any]:
    """The columns of a row as a case has them."""
    values = {
        name: pool.columns[name][row]
        for name in (*FIRST, *pool.columns)
        if name in pool.columns
    }
    if "messages" in values and assistant_text(values["messages"]) == values.get(
        "completion"
    ):
        del values["completion"]
    return values


def _expected(reward: float, nearest: float) -> dict[str, Any]:
    """The reward of a row, with a tolerance of its own where a mutant's comes as near as `nearest`."""
    tolerance = TOLERANCE if nearest > CLEAR else float(f"{nearest / 2:.3g}")
    expected = "unscored" if np.isnan(reward) else round(reward, 9)
    return {
        "reward": expected,
        **({"tolerance": tolerance} if tolerance != TOLERANCE else {}),
    }
