"""Which column of a log holds the truth, where it has a name of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from rewardkit.answers.comparison import answers_truth
from rewardkit.answers.kinds import read_truth
from rewardkit.answers.stated import read_statement
from rewardkit.rollouts.columns import LOGGED
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import column_values

NO_TRUTH_COLUMNS = frozenset(
    "prompt completion messages data_source prompt_id rollout_id step".split()
)
"""Columns that a reward may read and that hold no truth."""

MOST_LOOKED_AT = 400
"""Rows in which a truth is looked for. Our choice."""

TRUTH_SHARE = 0.1
"""Share of the rows that state their truth at least. Our choice."""

BY_CHANCE = 0.3
"""The most of this that may state the truth of the next other row. Our choice."""

LEAST_VALUES = 3  # different truths that are stated: our choice


def name_truth(rollouts: Rollouts, names: Collection[str]) -> Rollouts:
    """Return rollouts in which `ground_truth` is the column that holds the truth.

    They are returned as they are where they have that column, and where none of `names`
    or several hold what completions state as their answer, and hardly ever that of
    another prompt. A truth is one for all completions of a prompt.

    Args:
        rollouts: A log.
        names: Columns that may be the truth, such as those that a reward reads.
    """
    table = rollouts.table
    if "ground_truth" in table or "completion" not in table:
        return rollouts
    rows = table.iloc[:MOST_LOOKED_AT]
    groups = rollouts.groups[:MOST_LOOKED_AT].tolist()
    truth_names = []
    for name in names:
        if name not in rows or name in NO_TRUTH_COLUMNS or name.startswith(LOGGED):
            continue
        if _is_truth(column_values(rows[name]), rows["completion"], groups):
            truth_names.append(name)
    if len(truth_names) != 1:
        return rollouts
    (truth_name,) = truth_names
    return replace(
        rollouts,
        table=table.rename(columns={truth_name: "ground_truth"}),
        mapping={**rollouts.mapping, "ground_truth": truth_name},
    )


def _is_truth(
    values: Sequence[Any], completions: Iterable[Any], groups: Sequence[int]
) -> bool:
    """Return whether completions state these values, siblings the same.

    Hardly any states the value of the next row that has another one.
    """
    if not all(isinstance(value, str | int | float | None) for value in values):
        return False
    truths = [read_truth(value) for value in values]
    of_groups = set(zip(groups, truths, strict=True))
    if len(of_groups) > len(set(groups)) or len(of_groups) == len(groups):
        return False
    stated: list[str] = []
    by_chance = 0
    for place, (completion, truth) in enumerate(zip(completions, truths, strict=True)):
        if truth is None or not isinstance(completion, str):
            continue
        answer = read_statement(completion, truth).answer
        if answers_truth(answer, truth):
            stated.append(truth)
        behind = islice(truths, place, None)
        other = next((value for value in behind if value not in (truth, None)), None)
        by_chance += other is not None and bool(answers_truth(answer, other))
    return (
        len(set(stated)) >= LEAST_VALUES
        and len(stated) >= TRUTH_SHARE * len(truths)
        and by_chance <= BY_CHANCE * len(stated)
    )
