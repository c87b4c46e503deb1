"""Batches that a trainer had scored, and the scored table made from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.rewards.reward import Floats, Reward
from rewardkit.rollouts.columns import (
    ALIASES,
    ALL_ALIASES,
    RESULT_PREFIXES,
    Column,
    stack_columns,
)
from rewardkit.scoring.outcomes import Outcomes

if TYPE_CHECKING:
    import pandas as pd

    from rewardkit.scoring.scores import Scores

READABLE_COLUMNS = ("rollout_id", "step", "data_source", "policy")
"""Columns that identify a row, not hashed by `redact`."""

HASH_DIGITS = 16
"""Hexadecimal digits of a text's hash: a billion texts collide with p = 1 / 37."""


@dataclass(frozen=True)
class Batch:
    """Completions that a trainer had scored in one call, with their outcomes.

    `columns` are the columns to record (see `recorded_columns`), each with `count`
    values. `rewards` are those that the trainer got, (count,), NaN if not judged.
    """

    columns: Mapping[str, Column]
    count: int
    outcomes: Outcomes
    rewards: Floats

    @property
    def steps(self) -> Column | None:
        """Return the step of each row, or None if a row has none."""
        steps = self.columns.get("step", [None])
        for step in steps:
            if not isinstance(step, int | np.integer) or isinstance(step, bool):
                return None
        return steps

    @property
    def trainer_step(self) -> int | None:
        """Return the step that all rows of the batch share, or None.

        None also for a single row: its step may be a column of the data set.
        """
        steps = self.steps
        if steps is None or len(steps) < 2 or len(set(steps)) > 1:
            return None
        return int(steps[0])

    @property
    def characters(self) -> int:
        """Return the number of characters of the completions."""
        texts = self.columns.get("completion", ())
        return sum(len(text) for text in texts if isinstance(text, str))


def recorded_columns(
    columns: Mapping[str, Column], reward: Reward
) -> dict[str, Column]:
    """Return the columns to record, canonical ones first.

    They are the canonical columns, those that the reward needs, and others with plain
    values. Token ids, tensors and images are left out, and so is `messages` unless the
    reward needs it.
    """
    columns_needed = {*reward.needs, reward.routed_by}
    recorded: dict[str, Column] = {}
    for name in ALIASES:
        if name in columns and (name != "messages" or name in columns_needed):
            recorded[name] = columns[name]
    for name, values in columns.items():
        is_result = name in ("reward", "reward_raw") or name.startswith(RESULT_PREFIXES)
        if name in recorded or is_result:
            continue
        is_other = name not in ALL_ALIASES and _are_plain(values)
        if name in columns_needed or is_other:
            recorded[name] = values
    return recorded


def _are_plain(values: Column) -> bool:
    plain = str | int | float | bool | np.generic | None
    return all(isinstance(value, plain) for value in values)


def as_scores(
    batches: Sequence[Batch],
    reward: Reward,
    *,
    ids: Sequence[str],
    steps: Column,
    source: str,
    run: Mapping[str, Any],
) -> Scores:
    """Join batches to one scored table.

    Args:
        batches: At least one batch.
        reward: The reward that scored them.
        ids: The `rollout_id` of each row.
        steps: The step of each row.
        source: The name of the source of the rollouts.
        run: The run record.
    """
    import pandas as pd

    from rewardkit.rewards.route import bind
    from rewardkit.rollouts.load import group_key
    from rewardkit.rollouts.table import Rollouts
    from rewardkit.rollouts.values import as_column, present
    from rewardkit.scoring.scored import result_columns
    from rewardkit.scoring.scores import Scores

    columns = stack_columns([(batch.columns, batch.count) for batch in batches])
    columns["rollout_id"], columns["step"] = list(ids), list(steps)
    canonical = {name: columns[name] for name in ALIASES if name in columns}
    columns = canonical | columns
    plan = bind(reward, columns, len(ids))
    parts = []
    start = 0
    for batch in batches:
        parts.append((np.arange(start, start + batch.count), batch.outcomes))
        start += batch.count
    outcomes = Outcomes.join(plan, parts)
    final = np.concatenate([batch.rewards for batch in batches])
    series = {}
    for name, values in columns.items():
        series[name] = as_column(list(map(present, values)))
    table = pd.DataFrame(series)
    results = result_columns(outcomes, outcomes.rewards, final)
    key = [name for name in group_key(columns, None) if name != "step"]
    if any(batch.count > 1 or batch.steps is not None for batch in batches):
        key.append("step")  # else each call is one row and its number is the step
    rollouts = Rollouts(table, {}, tuple(key), source=source)
    return Scores(pd.concat([table, results], axis=1), reward, rollouts, run)


# --- samples of groups, and redaction


def sample_mask(scores: Scores, share: float) -> NDArray[np.bool_]:
    """Return the rows of a sample of whole groups as a mask, (rows,).

    The hash of a group's key decides, so processes with rows of the same group agree.
    """
    rollouts = scores.rollouts
    return (rollouts.group_hashes < share * 2.0**64)[rollouts.groups]


def redact(scores: Scores) -> Scores:
    """Return the scores with texts replaced by hashes and reasons without quotes.

    Numbers, statuses and the columns that identify a row stay. A hash hides a text from
    readers, not from an attacker: a short text can be found by brute force.
    """
    recorded = {*READABLE_COLUMNS, scores.reward.routed_by}
    table = scores.table.copy()
    logged = scores.rollouts.table.copy()
    for name in table.columns:
        if name.startswith(("error/", "failed/", "reason/")):
            continue
        if name not in recorded and table[name].dtype == object:
            table[name] = _hashed(table[name])
        if name in logged:
            logged[name] = table[name]
    _redact_reasons(table)
    return replace(scores, table=table, rollouts=replace(scores.rollouts, table=logged))


def _redact_reasons(table: pd.DataFrame) -> None:
    from rewardkit.reasons import read_reasons
    from rewardkit.scoring.scores import reason_columns

    for column in [name for name in table.columns if name.startswith("reason/")]:
        name = column.removeprefix("reason/")
        reasons = {}
        for row, reason in enumerate(read_reasons(table[column])):
            if reason is not None:
                reasons[row] = reason.redacted()
        kind = "failed" if f"failed/{name}" in table else "error"
        written = reason_columns(reasons, len(table))
        table[f"{kind}/{name}"], table[column] = written


def _hashed(column: pd.Series[Any]) -> pd.Series[Any]:
    from rewardkit.rollouts.values import as_column

    values = []
    for value in column.tolist():
        if isinstance(value, dict):  # a judge's verdict: its numbers stay
            value = {
                key: number
                for key, number in value.items()
                if isinstance(number, int | float | None)
            }
        elif isinstance(value, list):
            value = json.dumps(value, default=str)
        values.append(_hash(value) if isinstance(value, str) else value)
    return as_column(values)


def _hash(text: str) -> str:
    """Return the hash of a text; it is the same in every process."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:HASH_DIGITS]
