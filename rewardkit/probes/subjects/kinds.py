"""Kinds of task in a log, each of which is probed on prompts of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rewardkit.probes.code.constants import constants
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.values import LONGEST_EXTRA_VALUE, MOST_EXTRA_VALUES
from rewardkit.strategies.strategy import Row
from rewardkit.targets.columns import CANONICAL

KIND_NAMES = frozenset(
    "task task_type task_name source_dataset category domain subset problem_type "
    "question_type".split()
)
"""Columns, or keys of objects, that say of which kind a prompt is."""
OBJECT_NAMES = ("extra_info", "metadata", "info")
"""Columns whose objects say more of a prompt."""
PROMPTS_OF_KIND = 2
"""Prompts of a value on average, at least: else it names prompts. Our choice."""
ROWS_LOOKED_AT = 5_000  # rows in which columns are looked for: our choice

Path = tuple[str, ...]
"""A column, or a column and a key of its objects."""


def find_kinds(rows: Sequence[Row], groups: Iterable[int], reward: Reward) -> list[str]:
    """Return of which kind each row is, "" where there is one kind alone.

    Kinds are what a route goes by, else data sources. Without these they are the values
    of a column, or of a key of `extra_info` and the like, that is named as kinds are;
    or, beside a truth, that the reward reads, and names a value of.

    Args:
        rows: All rows of the log.
        groups: Codes of the rows' groups, (rows,).
        reward: The reward.
    """
    path: Path = (reward.routed_by or "data_source",)
    kinds = [_text_at(row, path) for row in rows]
    if reward.routed_by or len({*kinds}) > 1:
        return kinds
    sample = rows[:ROWS_LOOKED_AT]
    has_truth = any("ground_truth" in row for row in sample)  # else it may be one
    names_read = {*reward.needs, *constants(reward.functions)}
    for path in _paths(sample):
        values = _kinds_at(sample, groups, path)
        is_read = (
            has_truth and path[-1] in names_read and not names_read.isdisjoint(values)
        )
        if values and (is_read or path[-1] in KIND_NAMES):
            return [_text_at(row, path) for row in rows]
    return kinds


def _paths(rows: Sequence[Row]) -> Iterator[Path]:
    """Yield the columns that are no canonical ones, and the keys of their objects."""
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


def _text_at(row: Row, path: Path) -> str:
    value = _value_at(row, path)
    return "" if value is None else str(value)


def _kinds_at(
    rows: Sequence[Row], groups: Iterable[int], path: Path
) -> Collection[str]:
    """Return the values of a column if they are kinds: few texts, one for a prompt."""
    by_group: dict[int, str] = {}
    for row, group in zip(rows, groups, strict=False):
        value = _value_at(row, path)
        if not isinstance(value, str) or len(value) > LONGEST_EXTRA_VALUE:
            return ()
        if by_group.setdefault(int(group), value) != value:
            return ()
    counts = Counter(by_group.values())
    if not 1 < len(counts) <= MOST_EXTRA_VALUES:
        return ()
    return counts if counts.total() >= PROMPTS_OF_KIND * len(counts) else ()
