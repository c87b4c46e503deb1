"""Which rows of scored tables are of the same rollouts: match_rows(), keep_shared()."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from operator import ne
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rewardkit.analysis.rewarded_rows import SHOWN_IDS
from rewardkit.analysis.statistics import Codes, Mask, overflows
from rewardkit.errors import InputError
from rewardkit.findings import percent
from rewardkit.plain import Plain, Record
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores, select_rows

SAME_COMPLETIONS = 0.05
"""Share of equal completions up to which other prompts mean another log. Our choice."""
OTHER_PROMPTS = 0.5
"""Share of other prompts above which two tables are of different logs. Our choice."""

OTHER_GROUPS = (
    "the groups are not the same; ranks and groups are compared among siblings of both"
)
NOTES_BY_COUNT = {
    "other_completions": (
        "rollouts with another completion under the same rollout_id: {} (such as {}); "
        "they are compared all the same"
    ),
    "siblings_in_a_only": OTHER_GROUPS,
    "siblings_in_b_only": OTHER_GROUPS,
    "incomplete": (
        "rollouts that both have and that are left out, as a sibling or another "
        "version lacks them: {}"
    ),
    "infinite_rewards": (
        "rollouts with an infinite reward, which counts as not judged: {}"
    ),
}
"""Sentence for each count that is not 0, with the count and the first ids."""


class MatchedRows(NamedTuple):
    """Rows of A and B that are of the same rollouts.

    `a` and `b` are their positions in either table, in the order of A. `is_same` marks
    equal completions. `counts` has the numbers of rows that match and that do not, with
    the first ids.
    """

    a: Codes
    b: Codes
    is_same: Mask
    counts: Record


def match_rows(
    a: Scores, b: Scores, names: tuple[str, str] = ("A", "B")
) -> MatchedRows:
    """Match the rows of A and B, of these `names`, by `rollout_id`.

    Raises:
        InputError: No id is in both, an id stands twice, or the matched rows are of
            other prompts.
    """
    ids_a = pd.Index(a.table["rollout_id"])
    ids_b = pd.Index(b.table["rollout_id"])
    for ids, name in zip((ids_a, ids_b), names, strict=True):
        _check_unique(ids, name)
    positions = ids_b.get_indexer(ids_a)
    rows_a = np.flatnonzero(positions >= 0)
    rows_b = positions[rows_a]
    if not len(rows_a):
        first_a = ", ".join(map(repr, ids_a[:3].tolist()))
        first_b = ", ".join(map(repr, ids_b[:3].tolist()))
        raise InputError(
            f"{names[0]} and {names[1]} have no rollout_id in common ({names[0]}, of "
            f"{a.rollouts.source}: {first_a} ..., {names[1]}, of {b.rollouts.source}: "
            f"{first_b} ...); compare scores of the same rollouts, or give those of "
            "both a column rollout_id"
        )
    shared = ids_a[rows_a]
    table_a = a.table.iloc[rows_a]
    table_b = b.table.iloc[rows_b]
    is_other = _differs(table_a["completion"], table_b["completion"])
    same_completions = float((~is_other).mean())
    _check_prompts(table_a, table_b, names, shared.tolist()[0], same_completions)
    infinite = overflows(a.rewards[rows_a]) | overflows(b.rewards[rows_b])
    unmatched = {
        "only_a": ids_a.delete(rows_a),
        "only_b": ids_b.delete(rows_b),
        "other_completions": shared[is_other],
    }
    counts = {"matched": len(shared)}
    for name, ids in unmatched.items():
        counts[name] = len(ids)
        counts[f"{name}_ids"] = ids[:SHOWN_IDS].tolist()
    counts["infinite_rewards"] = int(infinite.sum())
    return MatchedRows(rows_a, rows_b, ~is_other, counts)


def keep_shared(versions: Sequence[Scores], names: Sequence[str]) -> list[Scores]:
    """Return the scores of the rollouts that all versions have, in whole groups.

    A group is left out if one version lacks a row of it, as the rewards and advantages
    of siblings depend on each other. If no group is whole, all shared rows stay.
    Versions of the same rollouts are returned as they are.

    Raises:
        InputError: No rollout is in all of them, an id stands twice, or rows of the
            same id are of other prompts.
    """
    ids = [pd.Index(scores.table["rollout_id"]) for scores in versions]
    for index, name in zip(ids, names, strict=True):
        _check_unique(index, name)
    shared = ids[0]
    for index in ids[1:]:
        shared = shared[index.get_indexer(shared) >= 0]
    if all(len(index) == len(shared) for index in ids):
        return list(versions)
    for first, second in combinations(range(len(versions)), 2):
        match_rows(versions[first], versions[second], (names[first], names[second]))
    if not len(shared):
        raise InputError(
            f"no rollout_id is in all of {', '.join(names)}; compare two of them"
        )
    in_whole_groups = _of_whole_groups(shared, versions, ids)
    if len(in_whole_groups):
        shared = in_whole_groups
    selected = []
    for scores, index in zip(versions, ids, strict=True):
        selected.append(select_rows(scores, index.get_indexer(shared)))
    return selected


def _of_whole_groups(
    shared: pd.Index[Any], versions: Sequence[Scores], ids: Sequence[pd.Index[Any]]
) -> pd.Index[Any]:
    """Return the `shared` ids of groups that are whole in every version.

    Versions may be grouped differently, so leaving out one group may cut another.
    """
    rows_before = len(shared) + 1
    while len(shared) < rows_before:
        rows_before = len(shared)
        for scores, index in zip(versions, ids, strict=True):
            is_missing = shared.get_indexer(index) < 0
            is_cut = np.isin(scores.groups, scores.groups[is_missing])
            shared = shared[~is_cut[index.get_indexer(shared)]]
    return shared


def count_unmatched(matched: MatchedRows, a: Scores, b: Scores) -> MatchedRows:
    """Return matched rows with the counts of the other rows of A and B.

    Args:
        matched: The rows that are compared, see `keep_shared`.
        a: All scores of one side.
        b: All scores of the other.
    """
    counts = match_rows(a, b).counts
    unmatched = {name: counts[name] for name in counts if name.startswith("only_")}
    incomplete = counts["matched"] - matched.counts["matched"]
    return matched._replace(
        counts={**matched.counts, **unmatched, "incomplete": incomplete}
    )


def notes_of(counts: Plain, names: tuple[str, str]) -> list[str]:
    """Return a sentence for each count of `match_rows` that limits a comparison."""
    notes = []
    unmatched = []
    for side, name in zip(("only_a", "only_b"), names, strict=True):
        if counts.get(side):
            ids = ", ".join(map(repr, counts[f"{side}_ids"]))
            unmatched.append(f"{counts[side]:,} of {name} alone (such as {ids})")
    if unmatched:
        both = " and ".join(unmatched)
        notes.append(f"rollouts that are left out, as only one side has them: {both}")
    for name, sentence in NOTES_BY_COUNT.items():
        if counts.get(name):
            ids = ", ".join(map(repr, counts.get(f"{name}_ids", ())))
            notes.append(sentence.format(counts[name], ids))
    return list(dict.fromkeys(notes))


def _check_unique(ids: pd.Index[Any], side: str) -> None:
    if not ids.is_unique:
        twice = ids[ids.duplicated()].tolist()[0]
        raise InputError(
            f"rollout_id {twice!r} stands twice in {side}; rows are matched by it, so "
            "each needs its own"
        )


def _check_prompts(
    a: pd.DataFrame,
    b: pd.DataFrame,
    names: tuple[str, str],
    example: Any,
    same_completions: float,
) -> None:
    """Refuse ids, such as row numbers, that name other rollouts in A than in B.

    Other completions of the same prompts are another run, and pass.
    """
    shared = [name for name in ("prompt", "prompt_id") if name in a and name in b]
    if not shared or same_completions > SAME_COMPLETIONS:
        return
    share = float(_differs(a[shared[0]], b[shared[0]]).mean())
    if share > OTHER_PROMPTS:
        raise InputError(
            f"{names[0]} and {names[1]} are of other rollouts: of the rows with the "
            f"same rollout_id (such as {example!r}) {percent(share)} have another "
            f"{shared[0]}, and {percent(same_completions)} the same completion; "
            "compare scores of the same rollouts, or give both a column rollout_id "
            "that says which belong together"
        )


def _differs(a: pd.Series[Any], b: pd.Series[Any]) -> Mask:
    """Return whether each value of one column differs from that of the other."""
    differs = map(ne, column_values(a), column_values(b))
    return np.fromiter(differs, dtype=bool, count=len(a))
