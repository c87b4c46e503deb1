"""Matched: the rows that two scored tables, A and B, have in common, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.groups import Codes, Floats, overflows
from rewardkit.analysis.view import SHOWN_IDS
from rewardkit.errors import InputError
from rewardkit.findings import percent
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

__all__ = ["Matched", "match_rows", "side_by_side"]

HARDLY = 0.05
"""Share of the same completions up to which rows of other prompts are of another log. Our choice."""
MOSTLY = 0.5  # of the prompts are others: our choice


@dataclass(frozen=True, eq=False)
class Matched:
    """The rows that both sides have: rewards and advantages of A and of B, (rows,) each, NaN where missing.

    `siblings` are codes of the groups, of rows that are siblings on both sides; `bootstrap` resamples the
    prompts of A. `counts` has how many there are, and how many rows, completions and groups are not the same.
    """

    ids: Sequence[Any]
    rewards: tuple[Floats, Floats]
    advantages: tuple[Floats, Floats]
    siblings: Codes
    bootstrap: Bootstrap
    counts: Mapping[str, Any]

    @property
    def delta(self) -> Floats:
        """Reward of B minus that of A."""
        return np.asarray(self.rewards[1] - self.rewards[0], dtype=float)

    def table(self) -> pd.DataFrame:
        """One row a matched rollout."""
        return pd.DataFrame(
            {
                "rollout_id": self.ids,
                "reward_a": self.rewards[0],
                "reward_b": self.rewards[1],
                "delta": self.delta,
                "advantage_a": self.advantages[0],
                "advantage_b": self.advantages[1],
            }
        )

    def most(self, size: Floats, rows: NDArray[np.bool_]) -> Codes:
        """A few of these rows, largest first, one a prompt so that they are not all of one kind."""
        order = np.flatnonzero(rows)[np.argsort(-size[rows], kind="stable")]
        _, first = np.unique(self.bootstrap.prompts[order], return_index=True)
        return np.asarray(order[np.sort(first)[:SHOWN_IDS]], dtype=np.intp)

    def notes(self) -> list[str]:
        """What to be careful with, a sentence each."""
        notes, counts = [], self.counts
        for side, other in ("ab", "ba"):
            if left := counts[f"only_{side}"]:
                ids = ", ".join(map(repr, counts[f"only_{side}_ids"])) + (" ..." if left > SHOWN_IDS else "")
                notes.append(f"rollouts of {side.upper()} that are not in {other.upper()}: {left} ({ids})")
        if others := counts["other_completions"]:
            ids = ", ".join(map(repr, counts["other_completions_ids"]))
            more = " ..." if others > SHOWN_IDS else ""
            notes.append(
                f"rollouts with another completion in B under the same rollout_id: {others} of "
                f"{counts['matched']} ({ids}{more}); they are compared all the same"
            )
        if counts["siblings_in_a_only"] or counts["siblings_in_b_only"]:
            notes.append("the groups are not the same; ranks and groups are compared among siblings of both")
        if endless := counts["infinite_rewards"]:
            notes.append(f"rollouts with an infinite reward, which counts as not judged: {endless}")
        if self.bootstrap.total < 2:
            notes.append("all compared rollouts are of one prompt, so there are no intervals")
        return notes


def match_rows(a: Scores, b: Scores) -> tuple[tuple[Codes, Codes], dict[str, Any]]:
    """Positions of the rows of A and of B that have the same `rollout_id`, in the order of A; and counts.

    InputError: none has, an id stands twice, or the rows of the same ids are of other prompts.
    """
    ids = [pd.Index(scores.table["rollout_id"]) for scores in (a, b)]
    for index, name in zip(ids, "AB", strict=True):
        if not index.is_unique:
            twice = index[index.duplicated()].tolist()[0]
            raise InputError(
                f"rollout_id {twice!r} stands twice in {name}; rows are matched by it, so each needs its own"
            )
    there = ids[1].get_indexer(ids[0])
    rows = np.flatnonzero(there >= 0), there[there >= 0]
    if not len(rows[0]):
        shown = [", ".join(map(repr, index[:3].tolist())) for index in ids]
        raise InputError(
            f"A and B have no rollout_id in common (A: {shown[0]} ..., B: {shown[1]} ...); compare scores of "
            "the same rollouts, or give those of both a column rollout_id"
        )
    left = [index.delete(own) for index, own in zip(ids, rows, strict=True)]
    first, second = (
        scores.table["completion"].to_numpy(dtype=object)[own]
        for scores, own in zip((a, b), rows, strict=True)
    )
    other = ids[0][rows[0]][first != second]
    _check_same(a, b, rows, ids[0][rows[0]][:1].tolist()[0], float((first == second).mean()))
    infinite = [overflows(scores.rewards[own]) for scores, own in zip((a, b), rows, strict=True)]
    return rows, {
        "matched": len(rows[0]),
        "only_a": len(left[0]),
        "only_b": len(left[1]),
        "only_a_ids": left[0][:SHOWN_IDS].tolist(),
        "only_b_ids": left[1][:SHOWN_IDS].tolist(),
        "other_completions": len(other),
        "other_completions_ids": other[:SHOWN_IDS].tolist(),
        "infinite_rewards": int((infinite[0] | infinite[1]).sum()),
    }


def _check_same(a: Scores, b: Scores, rows: tuple[Codes, Codes], one: Any, alike: float) -> None:
    """InputError where ids, such as numbers of rows, name other rollouts on either side.

    `alike` is the share of the same completions. Other completions of the same prompts are another run.
    """
    name = next((name for name in ("prompt", "prompt_id") if name in a.table and name in b.table), None)
    if name is None or alike > HARDLY:
        return
    first, second = (
        column_values(scores.table[name].iloc[own]) for scores, own in zip((a, b), rows, strict=True)
    )
    others = float(np.mean([left != right for left, right in zip(first, second, strict=True)]))
    if others > MOSTLY:
        raise InputError(
            f"A and B are of other rollouts: of the rows with the same rollout_id (such as {one!r}) "
            f"{percent(others)} have another {name}, and {percent(alike)} the same completion; compare "
            "scores of the same rollouts, or give both a column rollout_id that says which belong together"
        )


def side_by_side(
    a: Diagnosis, b: Diagnosis, rows: tuple[Codes, Codes], counts: Mapping[str, Any], *, seed: int
) -> Matched:
    """The rows that `match_rows` found, with the rewards and advantages that each side has for them."""
    (groups_a, advantages_a), (groups_b, advantages_b) = _by_row(a), _by_row(b)
    own_a, own_b = groups_a[rows[0]], groups_b[rows[1]]
    _, siblings = np.unique(own_a * (own_b.max() + 1) + own_b, return_inverse=True)
    _, prompts = np.unique(a.scores.rollouts.prompts[rows[0]], return_inverse=True)
    pairs_a, pairs_b, shared = (_pairs(codes) for codes in (own_a, own_b, siblings))
    more = {
        "siblings_in_a_only": pairs_a - shared,
        "siblings_in_b_only": pairs_b - shared,
    }
    return Matched(
        ids=a.scores.table["rollout_id"].iloc[rows[0]].tolist(),
        rewards=(a.scores.rewards[rows[0]], b.scores.rewards[rows[1]]),
        advantages=(advantages_a[rows[0]], advantages_b[rows[1]]),
        siblings=siblings,
        bootstrap=Bootstrap(prompts, seed=seed),
        counts={**counts, **more},
    )


def _by_row(side: Diagnosis) -> tuple[Codes, Floats]:
    """Group (within one part of the reward, as its first row) and advantage of each row.

    A row that a route has no reward for is a group of its own.
    """
    groups, advantages = np.arange(len(side.scores)), np.full(len(side.scores), np.nan)
    for view in side.views:
        _, first = np.unique(view.groups, return_index=True)
        groups[view.rows] = view.rows[first][view.groups]
        advantages[view.rows] = view.advantages
    return groups, advantages


def _pairs(groups: Codes) -> int:
    """Number of pairs of siblings."""
    _, size = np.unique(groups, return_counts=True)
    return int((size * (size - 1) // 2).sum())
