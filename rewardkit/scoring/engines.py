"""Where the calls of a scoring run are made: in this process or in worker processes, shard by shard."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from contextlib import chdir
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rewardkit.errors import RewardError
from rewardkit.rewards.plan import Columns, Plan, Rows
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.deadlines import TimeLimit, time_limit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.printed import caught_prints
from rewardkit.workers.pool import CannotSend, Lost, WorkerEnded, Workers

__all__ = ["Job", "run"]

FIRST_SHARD = 4  # rows, in this process
FIRST_WITH_PATIENCE = 256  # late calls are counted by shard
SHARD_SECONDS = 0.25
"""A shard that took less is followed by a larger one, one that took more by a smaller one. Our choice: about
what an interrupt may lose, or one call."""

SHARD = 512  # rows, in a worker. Our choice: milliseconds of light components, which a lost worker repeats
FOREVER = 1e6  # seconds; a call without a time limit


@dataclass(frozen=True, eq=False)
class Job:
    """A plan, its columns (lists), and the group code of each row."""

    plan: Plan
    columns: Columns
    groups: Rows
    ignore_gates: bool = False
    notes: bool = False

    @property
    def in_one_piece(self) -> bool:
        """Whether a component has all rows in one call, so that a part of them is another call."""
        return any(item.batch is True for inner in self.plan.reward.inner for item in inner.components)

    def order(self, size: int) -> Rows:
        """The rows as they are cut into shards of about `size`.

        As they come, or group by group where any step sees a group and there are several shards.
        """
        together = any(
            item.group or item.batch for inner in self.plan.reward.inner for item in inner.components
        ) or any(getattr(function, "together", "") for function in self.plan.reward.fields.values())
        if not together or self.in_one_piece or size >= self.plan.rows:
            return np.arange(self.plan.rows)
        return np.argsort(self.groups, kind="stable")

    def end(self, order: Rows, start: int, size: int) -> int:
        """Where the shard that begins at `start` of this order ends: `size` rows on, or after its group."""
        if self.in_one_piece or start + size >= self.plan.rows:
            return self.plan.rows
        end, codes = start + size, self.groups
        while end < self.plan.rows and codes[order[end]] == codes[order[end - 1]]:
            end += 1
        return end

    def shard(self, rows: Rows) -> Job:
        """The job of these rows alone."""
        if len(rows) == self.plan.rows and (rows == np.arange(self.plan.rows)).all():
            return self
        columns: dict[str, Any]
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            columns = {name: values[rows[0] : rows[-1] + 1] for name, values in self.columns.items()}
        else:
            places = rows.tolist()
            columns = {name: [values[row] for row in places] for name, values in self.columns.items()}
        reward = self.plan.reward
        plan = Plan(reward, len(rows), tuple(reward.parts(columns, len(rows))))
        return replace(self, plan=plan, columns=columns, groups=self.groups[rows])

    def outcomes(self, limit: TimeLimit | None = None) -> Outcomes:
        """What comes of it, here and now, with what users' functions print; the working folder stays."""
        with caught_prints() as printed, chdir(os.getcwd()):
            found = evaluate(
                self.plan,
                self.columns,
                groups=self.groups,
                ignore_gates=self.ignore_gates,
                notes=self.notes,
                limit=limit,
            )
        found.printed = printed
        return found


def run(
    job: Job, *, timeout: float | None = None, patience: int | None = None, workers: int | None = None
) -> Generator[tuple[Rows, Outcomes]]:
    """Rows and their outcomes, shard by shard as they are done; each row once.

    In this process or, with `workers`, in so many others; with a `timeout` every call of a user's function is
    made by itself, in one of those. RewardError: options that are none, what cannot be sent there.
    """
    if workers is not None and (type(workers) is not int or workers < 1):
        raise RewardError(f"workers={workers!r} is not a number of processes; give 1 or more, or None")
    if workers is not None and timeout is None:
        yield from _in_workers(job, workers)
        return
    with time_limit(timeout, patience=patience, processes=workers) as limit:
        start, size = 0, FIRST_SHARD if patience is None else FIRST_WITH_PATIENCE
        order = job.order(size)
        while start < job.plan.rows or not start:  # small ones first: an interrupt keeps what is done
            rows = order[start : (end := job.end(order, start, size))]
            began = time.perf_counter()
            yield rows, job.shard(rows).outcomes(limit)
            took = time.perf_counter() - began
            size = (
                size * 8 if took < SHARD_SECONDS / 8 else size * 2 if took < SHARD_SECONDS else size // 2 or 1
            )
            start = end or 1


def _in_workers(job: Job, workers: int) -> Iterator[tuple[Rows, Outcomes]]:
    """Shards whose worker dies are scored again call by call: only the row of the deadly call is an error."""
    size = min(SHARD, job.plan.rows // (8 * workers) + 1)
    order, ends = job.order(size), [0]
    while ends[-1] < job.plan.rows or len(ends) == 1:
        ends.append(job.end(order, ends[-1], size))
    shards = [order[start:end] for start, end in pairwise(ends)]
    parts = [job.shard(rows) for rows in shards]
    score = _Shard(job.plan.reward, job.ignore_gates, job.notes)
    with Workers(seconds=FOREVER, count=workers) as pool, TimeLimit(FOREVER, processes=workers) as alone:
        try:
            for at, value in pool.map(score, [(part.columns, part.groups) for part in parts], chunk=2):
                if isinstance(value, Lost):
                    yield shards[at], parts[at].outcomes(alone)
                else:
                    yield shards[at], replace(value, plan=parts[at].plan)
        except (CannotSend, WorkerEnded) as error:
            raise RewardError(
                f"reward {job.plan.reward.name!r} cannot be scored in worker processes: {error}; make what "
                "its functions hold open (a client, a lock, a file) inside the call, or score without workers"
            ) from error


@dataclass(frozen=True, eq=False)
class _Shard:
    """In the worker: the outcomes of some rows, without their plan."""

    reward: Reward
    ignore_gates: bool
    notes: bool

    def __call__(self, columns: Columns, groups: Rows) -> Outcomes:
        plan = self.reward.bind(columns, len(groups))
        found = Job(plan, columns, groups, self.ignore_gates, self.notes).outcomes()
        return replace(found, plan=None)  # type: ignore[arg-type]  # which the other side has
