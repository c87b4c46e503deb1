"""Score the parts of a large log in this process, in worker processes, or on Ray.

The file of a part has the same name and bytes wherever it is written. So another node
can take over the part of a lost one, and an interrupted scoring can go on elsewhere.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from rewardkit.rollouts.large_file import LargeFile
from rewardkit.rollouts.whole_groups import Part
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.part_job import PartJob, WrittenPart, write_part
from rewardkit.scoring.ray_engine import Cluster, Ray
from rewardkit.scoring.shards import NO_LIMIT, worker_errors
from rewardkit.workers.pool import Lost, WorkerEnded, Workers

SEEN_MARK = ".seen-"
"""Prefix of a file's name; nodes that see the file share the folder."""

NumberedPart = tuple[int, Part]
"""A part with its number, from 1."""

PartEngine = Callable[[Sequence[NumberedPart]], Generator[WrittenPart]]
"""Scores parts and yields each one that is written, in any order.

After the generator is closed no part is written.
"""


def write_parts(
    job: PartJob, workers: int | None, parts: Sequence[NumberedPart]
) -> Generator[WrittenPart]:
    """Score and write parts in this process, or in `workers` processes.

    Async components are called in this process, where their limits span all parts.
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
                # call by call, so that the row that ended the worker is an error
                with TimeLimit(NO_LIMIT, processes=workers) as limit:
                    written = write_part(job, *parts[place], limit)
            yield written


class PartCall:
    """A callable that scores and writes parts in another process.

    It keeps its time limit from part to part, as processes are slow to start.
    """

    def __init__(self, job: PartJob) -> None:
        self.job = job
        self._limits: dict[bool, Any] = {}

    def __call__(
        self, number: int, part: Part, *, is_limited: bool = False
    ) -> WrittenPart:
        """Score and write a part.

        With `is_limited`, users' functions are called in processes of their own even
        without a timeout, so that a call that ends its process is an error.
        """
        if is_limited not in self._limits:
            limit: Any = None
            if self.job.settings.timeout is not None:
                limit = self.job.settings.time_limit()
            elif is_limited:
                limit = TimeLimit(NO_LIMIT, processes=1)
            self._limits[is_limited] = limit
        return write_part(self.job, number, part, self._limits[is_limited])


@contextmanager
def parts_on(engine: Ray, job: PartJob, file: LargeFile) -> Iterator[PartEngine]:
    """Connect to nodes that share the folder of a job and this file of its log.

    For errors see `Ray.connected`.
    """
    folder, path = job.folder.absolute(), file.piece.path.absolute()
    call = PartCall(replace(job, folder=folder))
    mark = folder / f"{SEEN_MARK}{secrets.token_hex(6)}"
    places = {str(mark): str(job.folder), str(path): str(path)}
    mark.touch()
    try:
        with engine.connected(
            call, job.reward, places=places, has_judges=True
        ) as nodes:
            mark.unlink()
            yield partial(_write_on_nodes, nodes)
    finally:
        mark.unlink(missing_ok=True)


def _write_on_nodes(
    nodes: Cluster, parts: Sequence[NumberedPart]
) -> Generator[WrittenPart]:
    """Score and write parts on the nodes."""
    calls = [(number, (number, _absolute(part))) for number, part in parts]
    with closing(nodes.map(deque(calls))) as answers:
        for _, written in answers:
            yield written


def _absolute(part: Part) -> Part:
    """Return a part with absolute paths, as nodes have other working folders."""
    return tuple(piece._replace(path=piece.path.absolute()) for piece in part)
