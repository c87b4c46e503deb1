"""Scoring in worker processes: shards of rows, groups kept together, each evaluated whole over there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rewardkit.errors import RewardError
from rewardkit.rewards.plan import Columns, Rows
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.engines.engine import Job
from rewardkit.scoring.engines.inline import Inline, evaluate_job
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.workers.pool import CannotSend, Lost, WorkerEnded, Workers

__all__ = ["WorkerProcesses"]

SHARD = 512  # rows. Our choice: a few milliseconds of light components, and what a lost worker has to repeat
FOREVER = 1e6  # seconds; a call without a time limit


class WorkerProcesses:
    """The engine of so many processes.

    A shard whose worker dies is scored again call by call, so that only the row of the deadly call is an
    error. With a `timeout` every call of a user's function is made by itself, in one of the processes.
    """

    def __init__(self, workers: int, *, timeout: float | None = None, patience: int | None = None) -> None:
        if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
            raise RewardError(f"workers={workers!r} is not a number of processes; give 1 or more, or None")
        self._alone = TimeLimit(FOREVER if timeout is None else timeout, patience=patience, processes=workers)
        self._by_call = Inline(timeout, limit=self._alone) if timeout is not None else None
        self._workers = Workers(seconds=FOREVER, count=workers)

    def run(self, job: Job) -> Iterator[tuple[Rows, Outcomes]]:
        """Shards as they are done."""
        if self._by_call is not None:
            yield from self._by_call.run(job)
            return
        order, start = job.order(SHARD), 0
        shards: list[Rows] = []
        while start < job.rows or not shards:
            end = job.end(order, start, SHARD)
            shards.append(order[start:end])
            start = end
        score = _Shard(job.plan.reward, job.ignore_gates, job.notes)
        calls = _Lazy(job, shards)
        try:
            for at, value in self._workers.map(score, calls, chunk=2):
                part = job.shard(shards[at])
                if isinstance(value, Lost):
                    yield shards[at], evaluate_job(part, self._alone)
                else:
                    yield shards[at], replace(value, plan=part.plan)
        except (CannotSend, WorkerEnded) as error:
            raise RewardError(
                f"reward {job.plan.reward.name!r} cannot be scored in worker processes: {error}; make what "
                "its functions hold open (a client, a lock, a file) inside the call, or score without workers"
            ) from error

    def close(self) -> None:
        """End the processes."""
        self._workers.close()
        self._alone.__exit__()


@dataclass(frozen=True, eq=False)
class _Shard:
    """In the worker: the outcomes of some rows, without their plan."""

    reward: Reward
    ignore_gates: bool
    notes: bool

    def __call__(self, columns: Columns, groups: Rows) -> Outcomes:
        plan = self.reward.bind(columns, len(groups))
        found = evaluate_job(Job(plan, columns, groups, self.ignore_gates, self.notes))
        return replace(found, plan=None)  # type: ignore[arg-type]  # which the other side has


class _Lazy(Sequence[Any]):
    """The arguments of each shard, made when they are sent."""

    def __init__(self, job: Job, shards: list[Rows]) -> None:
        self._job, self._shards = job, shards

    def __len__(self) -> int:
        return len(self._shards)

    def __getitem__(self, at: Any) -> Any:
        part = self._job.shard(self._shards[at])
        return dict(part.columns), np.ascontiguousarray(part.groups)
