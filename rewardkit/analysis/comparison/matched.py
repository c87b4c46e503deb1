"""Matched: the rows that two scored tables, A and B, have in common, side by side."""

from __future__ import annotations

from collections.abc import Mapping
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

HARDLY = 0.05
"""Share of the same completions up to which rows of other prompts are of another log. Our choice."""
MOSTLY = 0.5  # of the prompts are others: our choice

OTHER_GROUPS = (
    "the groups are not the same; ranks and groups are compared among siblings of both"
)
NOTES = {
    "only_a": "rollouts of A that are not in B: {} (such as {})",
    "only_b": "rollouts of B that are not in A: {} (such as {})",
    "other_completions": "rollouts with another completion in B under the same rollout_id: {} (such as {}); "
    "they are compared all the same",
    "siblings_in_a_only": OTHER_GROUPS,
    "siblings_in_b_only": OTHER_GROUPS,
    "infinite_rewards": "rollouts with an infinite reward, which counts as not judged: {}",
}
"""What is counted -> the sentence on it, with the count and the first ids."""
ONE_PROMPT = "all compared rollouts are of one prompt, so there are no intervals"


@dataclass(frozen=True, eq=False)
class Matched:
    """The rows that both sides have.

    `table` has one row a rollout: rollout_id, reward_a, reward_b, delta (B minus A), advantage_a and
    advantage_b, NaN where missing. `siblings` are codes of the groups, of rows that are siblings on both
    sides; `bootstrap` resamples the prompts of A. `counts` has how many there are, and how many rows,
    completions and groups are not the same.
    """

    table: pd.DataFrame
    siblings: Codes
    bootstrap: Bootstrap
    counts: Mapping[str, Any]

    def both(self, what: str) -> tuple[Floats, Floats]:
        """The "reward" or "advantage" of A and of B, (rows,) each."""
        a, b = (self.table[f"{what}_{side}"].to_numpy(dtype=float) for side in "ab")
        return a, b

    def most(self, size: Floats, rows: NDArray[np.bool_]) -> pd.DataFrame:
        """A few of these rows, largest first, one a prompt so that they are not all of one kind."""
        order = np.flatnonzero(rows)[np.argsort(-size[rows], kind="stable")]
        _, first = np.unique(self.bootstrap.prompts[order], return_index=True)
        return self.table.iloc[order[np.sort(first)[:SHOWN_IDS]]]

    @property
    def notes(self) -> list[str]:
        """What to be careful with, a sentence each."""
        counts = self.counts
        told = [
            said.format(
                counts[what], ", ".join(map(repr, counts.get(f"{what}_ids", ())))
            )
            for what, said in NOTES.items()
            if counts[what]
        ]
        return [
            *dict.fromkeys(told),
            *([ONE_PROMPT] if self.bootstrap.total < 2 else []),
        ]


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
    own = a.table.iloc[rows[0]], b.table.iloc[rows[1]]
    shared = ids[0][rows[0]]
    other = own[0]["completion"].to_numpy(dtype=object) != own[1][
        "completion"
    ].to_numpy(dtype=object)
    _check_same(own, shared[:1].tolist()[0], float((~other).mean()))
    infinite = overflows(a.rewards[rows[0]]) | overflows(b.rewards[rows[1]])
    named = {
        "only_a": ids[0].delete(rows[0]),
        "only_b": ids[1].delete(rows[1]),
        "other_completions": shared[other],
    }
    return rows, {
        "matched": len(shared),
        **{name: len(index) for name, index in named.items()},
        **{f"{name}_ids": index[:SHOWN_IDS].tolist() for name, index in named.items()},
        "infinite_rewards": int(infinite.sum()),
    }


def _check_same(own: tuple[pd.DataFrame, pd.DataFrame], one: Any, alike: float) -> None:
    """InputError where ids, such as numbers of rows, name other rollouts on either side.

    `alike` is the share of the same completions. Other completions of the same prompts are another run.
    """
    name = next(
        (
            name
            for name in ("prompt", "prompt_id")
            if all(name in table for table in own)
        ),
        None,
    )
    if name is None or alike > HARDLY:
        return
    first, second = (column_values(table[name]) for table in own)
    others = float(
        np.mean([left != right for left, right in zip(first, second, strict=True)])
    )
    if others > MOSTLY:
        raise InputError(
            f"A and B are of other rollouts: of the rows with the same rollout_id (such as {one!r}) "
            f"{percent(others)} have another {name}, and {percent(alike)} the same completion; compare "
            "scores of the same rollouts, or give both a column rollout_id that says which belong together"
        )


def side_by_side(
    a: Diagnosis,
    b: Diagnosis,
    rows: tuple[Codes, Codes],
    counts: Mapping[str, Any],
    *,
    seed: int,
) -> Matched:
    """The rows that `match_rows` found, with the rewards and advantages that each side has for them."""
    table = pd.DataFrame(
        {"rollout_id": a.scores.table["rollout_id"].iloc[rows[0]].tolist()}
    )
    groups = pd.DataFrame()
    for name, side, own in zip("ab", (a, b), rows, strict=True):
        table[f"reward_{name}"] = side.scores.rewards[own]
        groups[name], table[f"advantage_{name}"] = (
            values[own] for values in _by_row(side)
        )
    table.insert(3, "delta", table["reward_b"] - table["reward_a"])
    groups["both"] = groups.groupby(["a", "b"]).ngroup()
    size = {name: groups[name].value_counts() for name in groups}
    pairs = {
        name: int((count * (count - 1) // 2).sum()) for name, count in size.items()
    }
    more = {f"siblings_in_{name}_only": pairs[name] - pairs["both"] for name in "ab"}
    _, prompts = np.unique(a.scores.rollouts.prompts[rows[0]], return_inverse=True)
    return Matched(
        table,
        groups["both"].to_numpy(),
        Bootstrap(prompts, seed=seed),
        {**counts, **more},
    )


def _by_row(side: Diagnosis) -> tuple[Codes, Floats]:
    """Group (within one part of the reward) and advantage of each row.

    A row that a route has no reward for is a group of its own.
    """
    groups, advantages = (
        -1 - np.arange(len(side.scores)),
        np.full(len(side.scores), np.nan),
    )
    for place, view in enumerate(side.views):
        groups[view.rows] = side.scores.groups[view.rows] * len(side.views) + place
        advantages[view.rows] = view.advantages
    return groups, advantages
