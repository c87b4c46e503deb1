"""Scoring in worker processes."""

from __future__ import annotations

from collections.abc import Iterator

from rewardkit.rewards.plan import Rows
from rewardkit.scoring.engines.engine import Job
from rewardkit.scoring.outcomes import Outcomes


class WorkerProcesses:
    """The engine of several processes."""

    def __init__(self, workers: int, *, timeout: float | None = None, patience: int | None = None) -> None:
        raise NotImplementedError

    def run(self, job: Job) -> Iterator[tuple[Rows, Outcomes]]:
        """Shards as they are done."""
        raise NotImplementedError

    def close(self) -> None:
        """End the processes."""
