"""Scoring in this process; under a time limit, single calls in processes that can be killed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, chdir

from rewardkit.rewards.plan import Rows
from rewardkit.scoring.deadlines import TimeLimit, time_limit
from rewardkit.scoring.engines.engine import Job
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.printed import caught_prints

__all__ = ["Inline"]

FIRST_SHARD = 256  # rows
SHARD_SECONDS = 0.25
"""A shard that took less is followed by one twice its size. Our choice: what an interrupt may lose."""


class Inline:
    """The engine of one process."""

    def __init__(
        self, timeout: float | None = None, *, patience: int | None = None, limit: TimeLimit | None = None
    ) -> None:
        self._open = ExitStack()
        self._limit = limit or self._open.enter_context(time_limit(timeout, patience=patience))

    def run(self, job: Job) -> Iterator[tuple[Rows, Outcomes]]:
        """Shards of rows, small first, so that progress is seen and an interrupt keeps what is done."""
        order, start, size = job.order(FIRST_SHARD), 0, FIRST_SHARD
        while start < job.rows or not start:
            rows = order[start : (end := job.end(order, start, size))]
            began = time.perf_counter()
            yield rows, evaluate_job(job.shard(rows), self._limit)
            size *= 1 + (time.perf_counter() - began < SHARD_SECONDS)
            start = end or 1

    def close(self) -> None:
        """End the processes of a time limit."""
        self._open.close()


def evaluate_job(job: Job, limit: TimeLimit | None = None) -> Outcomes:
    """The outcomes of a job, here and now, with what users' functions printed; the working folder stays."""
    with caught_prints() as printed, chdir(os.getcwd()):
        found = evaluate(
            job.plan,
            job.columns,
            groups=job.groups,
            ignore_gates=job.ignore_gates,
            notes=job.notes,
            limit=limit,
        )
    found.printed = printed
    return found
