"""Kinds of task in a log, each of which is probed on prompts of its own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rewardkit.analysis.statistics import Codes, spread_out
from rewardkit.answers.truth_column import NO_TRUTH_COLUMNS
from rewardkit.probes.code.constants import constants
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.values import LONGEST_EXTRA_VALUE, MOST_EXTRA_VALUES
from rewardkit.strategies.strategy import Row
from rewardkit.targets.columns import CANONICAL

KIND_NAMES = frozenset(
    "task task_type task_name source_dataset category domain subset problem_type "
    "question_type".split()
)
"""Columns, or keys of objects, that name the kind of a prompt."""
OBJECT_NAMES = ("extra_info", "metadata", "info")
"""Columns whose objects describe a prompt."""
PROMPTS_OF_KIND = 2
"""Least mean number of prompts with a value: else it names prompts. Our choice."""
LEAST_TRUTHS = 2  # different truths of a kind; with fewer it may be the truth
ROWS_LOOKED_AT = 5_000  # rows in which columns are looked for: our choice

Path = tuple[str, ...]
"""A column, or a column and a key of its objects."""


def find_kinds(
    rows: Sequence[Row], groups: Sequence[int] | Codes, reward: Reward
) -> list[str]:
    """Return the kind of each row, "" if there is only one kind.

    Kinds are the values that a route goes by, else data sources. Without these they are
    the values of a column, or of a key of `extra_info` and the like, if it is named
    like a kind, or if the reward reads it and its code holds one of the values. Most
    kinds must have several truths: else the column may state the truth itself.

    Args:
        rows: All rows of the log.
        groups: Codes of the rows' groups, (rows,).
        reward: The reward.
    """
    path: Path = (reward.routed_by or "data_source",)
    kinds = [_text_of(_value_at(row, path)) for row in rows]
    if reward.routed_by or len({*kinds}) > 1:
        return kinds
    has_truth = any("ground_truth" in row for row in rows)
    truth_names = {"ground_truth"} if has_truth else {*reward.needs} - NO_TRUTH_COLUMNS
    code_texts = {*map(str, constants(reward.functions))}
    # without a ground_truth what the reward reads says what is right
    names_read = {*reward.needs, *code_texts} if has_truth else set()
    sample = spread_out(np.arange(len(rows)), ROWS_LOOKED_AT).tolist()
    for path in _paths([rows[place] for place in sample]):
        if path[-1] not in names_read | KIND_NAMES:
            continue
        by_group = _kinds_of_groups(rows, groups, path)
        if path[-1] not in KIND_NAMES and code_texts.isdisjoint(by_group.values()):
            continue
        kinds = [by_group.get(int(group), "") for group in groups]
        if by_group and _have_several_truths(kinds, rows, truth_names):
            return kinds
    return [""] * len(rows)


def _paths(rows: Sequence[Row]) -> Iterator[Path]:
    """Yield the columns that are not canonical, and the keys of their objects."""
    keys: dict[Path, None] = {}
    for row in rows:
        for name in row:
            if name not in CANONICAL:
                keys[(name,)] = None
            if name in OBJECT_NAMES and isinstance(row[name], Mapping):
                keys |= dict.fromkeys((name, str(key)) for key in row[name])
    yield from keys


def _value_at(row: Row, path: Path) -> Any:
    value: Any = row
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _text_of(value: Any) -> str:
    return "" if value is None else str(value)


def _kinds_of_groups(
    rows: Sequence[Row], groups: Iterable[int], path: Path
) -> dict[int, str]:
    """Return the kind of each group that has one; {} if the values are no kinds.

    Kinds are few short texts or whole numbers, the same for all rows of a group.
    """
    by_group: dict[int, str] = {}
    for row, group in zip(rows, groups, strict=True):
        value = _value_at(row, path)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # pandas makes floats of a column with missing numbers
        kind = _text_of(value)
        if not kind:
            continue
        if not isinstance(value, str | int) or len(kind) > LONGEST_EXTRA_VALUE:
            return {}
        if by_group.setdefault(int(group), kind) != kind:
            return {}
    counts = Counter(by_group.values())
    is_few = 1 < len(counts) <= MOST_EXTRA_VALUES
    return by_group if is_few and len(by_group) >= PROMPTS_OF_KIND * len(counts) else {}


def _have_several_truths(
    kinds: Sequence[str], rows: Sequence[Row], names: Collection[str]
) -> bool:
    """Return whether most kinds have several truths, or there are no truths at all."""
    truths: dict[str, set[str]] = defaultdict(set)
    for kind, row in zip(kinds, rows, strict=True):
        if kind and len(truths[kind]) < LEAST_TRUTHS:
            truths[kind].add(repr([row.get(name) for name in names]))
    several = sum(len(values) >= LEAST_TRUTHS for values in truths.values())
    return not names or several > len(truths) / 2
