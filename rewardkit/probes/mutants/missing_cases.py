"""The cases that are missing: the fewest rows on which all survivors differ from the reward, as cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.primitives.messages import assistant_text
from rewardkit.probes.mutants.remembering import Played
from rewardkit.rewards.plan import Floats
from rewardkit.scoring.cases import TOLERANCE

__all__ = ["Pool", "fewest", "proposed"]

CLEAR = 2 * TOLERANCE
"""Rewards that are further apart are told apart by a case with the usual tolerance."""

EXACT = 1e-4
"""With a tolerance below, expected numbers are written in full."""

NAMED = 3
"""Changes that a proposed case says it tells apart; the others are counted."""

FIRST = ("completion", "messages", "ground_truth")


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows to make cases of: their columns, what the reward gives, and which of them may be taken."""

    columns: Mapping[str, Sequence[Any]]
    played: Played
    allowed: NDArray[np.bool_]

    def text(self, row: int) -> str:
        """The completion of a row."""
        found = self.columns.get("completion")
        value = found[row] if found is not None else assistant_text(self.columns["messages"][row])
        return value if isinstance(value, str) else ""


def proposed(
    pool: Pool, apart: Floats, others: Sequence[Played], sentences: Sequence[str]
) -> tuple[list[dict[str, Any]], list[int | None]]:
    """The fewest cases that notice all the mutants that differ in the pool, and for each mutant which case.

    `apart` is (mutants, rows), how far each is from the reward; `others` and `sentences` are what they give
    and what was changed. A case expects what the reward gives.
    """
    apart = np.where(pool.allowed, apart, 0.0)  # (mutants, rows)
    clear = (apart > CLEAR).any(axis=1, keepdims=True)
    notices = np.where(clear, apart > CLEAR, apart > 0)
    length = [len(pool.text(row)) for row in range(apart.shape[1])]
    rows = fewest(notices, length)
    cases, case_of = [], list[int | None]([None] * len(others))
    for place, row in enumerate(rows):
        mutants = sorted(np.flatnonzero(notices[:, row]).tolist(), key=lambda at: case_of[at] is not None)
        said = [sentences[at].rstrip(".") for at in mutants]  # first what no case before notices
        cases.append(_case(pool, row, float(apart[mutants, row].min()), [others[at] for at in mutants], said))
        for at in mutants:
            case_of[at] = place if case_of[at] is None else case_of[at]
    return cases, case_of


def fewest(notices: NDArray[np.bool_], length: Sequence[int]) -> list[int]:
    """Rows that together notice every mutant that any row notices, as few as a greedy choice finds.

    `notices` is (mutants, rows). Of rows that notice as many the shortest is taken, and one that the others
    make needless is dropped.

    >>> fewest(np.array([[True, True, False], [True, False, True]]), [90, 5, 5])
    [0]
    """
    left = notices.any(axis=1)
    rows: list[int] = []
    while left.any():
        counts = notices[left].sum(axis=0)
        best: list[int] = np.flatnonzero(counts == counts.max()).tolist()
        rows.append(min(best, key=lambda row: (length[row], row)))
        left &= ~notices[:, rows[-1]]
    for row in list(rows):
        rest = [other for other in rows if other != row]
        if (notices[:, rest].any(axis=1) == notices.any(axis=1)).all():
            rows = rest
    return rows


def _case(
    pool: Pool, row: int, nearest: float, others: Iterable[Played], said: Sequence[str]
) -> dict[str, Any]:
    """A row as a case that expects what the reward gives, and the scores where the mutants' differ.

    `nearest` is how near a mutant's reward comes.
    """
    columns = {name: values[row] for name, values in pool.columns.items()}
    if "messages" in columns and assistant_text(columns["messages"]) == columns.get("completion"):
        del columns["completion"]
    ordered = {name: columns[name] for name in (*FIRST, *columns) if name in columns}
    tolerance = TOLERANCE if nearest > CLEAR else float(f"{nearest / 2:.3g}")
    digits = 6 if tolerance >= EXACT else 17
    reward = float(pool.played.rewards[row])
    scores = {}
    for name in pool.played.found.scores:
        if any(_differs(name, row, pool.played, other) for other in others):
            status = pool.played.status(name, row)
            scores[name] = (
                round(float(pool.played.found.scores[name][row]), digits) if status == "scored" else status
            )
    more = f" (and {len(said) - NAMED} more)" if len(said) > NAMED else ""
    return {
        "name": f"tells apart: {said[0]}",
        **ordered,
        "reward": "unscored" if np.isnan(reward) else round(reward, digits),
        **({"scores": scores} if scores else {}),
        **({"tolerance": tolerance} if tolerance != TOLERANCE else {}),
        "why": f"proposed, with what the reward gives now: right only if this is what it should give. It "
        f"notices: {'; '.join(said[:NAMED])}{more}",
    }


def _differs(name: str, row: int, played: Played, other: Played) -> bool:
    """Whether a component that both have scored a row differently."""
    if name not in other.found.scores:
        return False
    scores = played.found.scores[name][row], other.found.scores[name][row]
    return played.status(name, row) != other.status(name, row) or abs(scores[0] - scores[1]) > TOLERANCE
