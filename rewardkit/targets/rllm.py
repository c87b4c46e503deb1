"""rllm's rewards: f(task_info, action) -> RewardOutput, or a class with such a call.

Source: `RewardFunction` in rllm/rewards/reward_types.py and the environments that call
it by keyword, with the row of the data set as `task_info` and the agent's output as
`action` (2026-10). The reward is `reward` of a `RewardOutput`. They are only read so
far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.scoring.callers import MadeColumn, RowColumns
from rewardkit.targets.adapter import PAID_KEYS, Adapter, Arguments
from rewardkit.targets.columns import GENERATED, AliasedRow, Row, called_parameters
from rewardkit.targets.target import Target, TrainerReading

RLLM_ARGUMENTS = {"task_info": "the other columns", "action": "completion"}


class Function(Adapter):
    """A function of a task and an action, or ``__call__`` of an object."""

    gives_row = True

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the columns of the data set as tasks, and the completions."""
        tasks = MadeColumn(task_info, rows.without(GENERATED).rows())
        return (), {"task_info": tasks, "action": rows.column("completion")}


def task_info(row: Row) -> AliasedRow:
    """Return the columns of the data set, and the keys of a column `task`."""
    task = row.get("task")
    if isinstance(task, Mapping):
        row = {**row, **task}
    return AliasedRow(row)


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a callable of `task_info` and `action`."""
    if called_parameters(value) != list(RLLM_ARGUMENTS):
        return []
    method = "__call__" if isinstance(value, type) else ""
    adapter = Function(value, needs=("completion",), method=method)
    reason = "it takes task_info and action"
    return [TrainerReading(reason, adapter, RLLM_ARGUMENTS, main=PAID_KEYS, sure=True)]


RLLM = Target(
    name="rllm",
    title="rllm",
    versions="2026-10",
    form="f(task_info, action) -> RewardOutput",
    readings=readings,
)
