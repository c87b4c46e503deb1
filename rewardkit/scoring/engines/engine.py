"""What an engine is: it takes a job and gives the outcomes of its rows, shard by shard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rewardkit.rewards.plan import Columns, Plan, Rows
from rewardkit.scoring.outcomes import Outcomes

__all__ = ["Engine", "Job"]


@dataclass(frozen=True, eq=False)
class Job:
    """A plan, its columns (lists), and the group code of each row."""

    plan: Plan
    columns: Columns
    groups: Rows
    ignore_gates: bool = False
    notes: bool = False

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.plan.rows

    @property
    def in_one_piece(self) -> bool:
        """Whether a component has all rows in one call, so that a part of them is another call."""
        return any(item.batch is True for inner in self.plan.reward.inner for item in inner.components)

    def order(self, size: int) -> Rows:
        """The rows as they are cut into shards of about `size`.

        As they come, or group by group where any step sees a group and there are several shards.
        """
        if self.in_one_piece or size >= self.rows:
            return np.arange(self.rows)
        together = any(
            item.group or item.batch for inner in self.plan.reward.inner for item in inner.components
        ) or any(getattr(function, "together", "") for function in self.plan.reward.fields.values())
        return np.argsort(self.groups, kind="stable") if together else np.arange(self.rows)

    def end(self, order: Rows, start: int, size: int) -> int:
        """Where the shard that begins at `start` of this order ends: `size` rows on, or after its group."""
        if self.in_one_piece or start + size >= self.rows:
            return self.rows
        end, codes = start + size, self.groups
        while end < self.rows and codes[order[end]] == codes[order[end - 1]]:
            end += 1
        return end

    def shard(self, rows: Rows) -> Job:
        """The job of these rows alone."""
        if len(rows) == self.rows and (rows == np.arange(self.rows)).all():
            return self
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            columns: dict[str, Any] = {
                name: values[rows[0] : rows[-1] + 1] for name, values in self.columns.items()
            }
        else:
            places = rows.tolist()
            columns = {name: [values[row] for row in places] for name, values in self.columns.items()}
        reward = self.plan.reward
        plan = Plan(reward, len(rows), tuple(reward.parts(columns, len(rows))))
        return Job(plan, columns, self.groups[rows], self.ignore_gates, self.notes)


class Engine(Protocol):
    """Makes the calls of a job. `close` ends what it has started."""

    def run(self, job: Job) -> Iterator[tuple[Rows, Outcomes]]:
        """Rows and their outcomes, shard by shard as they are done; each row once."""
        ...

    def close(self) -> None:
        """End the processes that it started."""
        ...
