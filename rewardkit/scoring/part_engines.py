"""Where the parts of a large log are scored: here, or in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rewardkit.rollouts.whole_groups import Part
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.part_job import PartJob, WrittenPart, write_part
from rewardkit.scoring.shards import NO_LIMIT, worker_errors
from rewardkit.workers.pool import Lost, WorkerEnded, Workers

NumberedPart = tuple[int, Part]
"""A part with its number, from 1."""

PartEngine = Callable[[Sequence[NumberedPart]], Iterator[WrittenPart]]
"""Scores and writes parts, and yields each once it is written, in any order."""


def write_parts(
    job: PartJob, workers: int | None, parts: Sequence[NumberedPart]
) -> Iterator[WrittenPart]:
    """Score and write parts in this process, or in so many workers.

    What is awaited is called in this process, where its limits count for all parts.
    """
    if workers is None or job.reward.is_async:
        with job.settings.time_limit() as limit:
            for number, part in parts:
                yield write_part(job, number, part, limit)
        return
    with (
        Workers(seconds=NO_LIMIT, count=workers) as pool,
        worker_errors(job.reward.name),
    ):
        for place, written in pool.map(PartCall(job), parts, chunk=1):
            if isinstance(written, Lost):
                if not isinstance(written.error, WorkerEnded):
                    raise written.error
                # call by call, so that the row that ended it is an error
                with TimeLimit(NO_LIMIT, processes=workers) as limit:
                    written = write_part(job, *parts[place], limit)
            yield written


class PartCall:
    """Scores and writes parts in another process.

    Its time limit, whose processes take a while to start, is kept from part to part.
    """

    def __init__(self, job: PartJob) -> None:
        self.job = job
        self._limits: dict[bool, Any] = {}

    def __call__(
        self, number: int, part: Part, *, is_limited: bool = False
    ) -> WrittenPart:
        """Score and write a part.

        With `is_limited`, calls of users' functions are made in processes of their own
        though they may take any time: one that ends its process is an error.
        """
        if is_limited not in self._limits:
            limit: Any = None
            if self.job.settings.timeout is not None:
                limit = self.job.settings.time_limit()
            elif is_limited:
                limit = TimeLimit(NO_LIMIT, processes=1)
            self._limits[is_limited] = limit
        return write_part(self.job, number, part, self._limits[is_limited])
