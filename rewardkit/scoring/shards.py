"""Shards: subsets of the rows, evaluated one after another or in workers."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, chdir, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from rewardkit.errors import RewardError
from rewardkit.reasons import Reason
from rewardkit.rewards.reward import Columns, Rows
from rewardkit.rewards.route import Plan
from rewardkit.scoring.callers import RowColumns, at_rows
from rewardkit.scoring.deadlines import TimeLimit, ran_out_of_memory, time_limit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.prints import caught_prints
from rewardkit.workers.pool import CannotSend, Lost, WorkerEnded, Workers

FIRST_SHARD: Final = 4
"""Rows of the first shard in this process."""

FIRST_ASYNC_SHARD: Final = 256
"""Rows of the first shard with async components, which run concurrently. Our choice."""

FIRST_PATIENT_SHARD: Final = 256
"""Rows of the first shard with patience, as late calls are counted by shard."""

SHARD_SECONDS: Final = 0.25
"""Target seconds per shard. Our choice: an interrupt loses about this much work."""

FASTEST_GROWTH: Final = 8
"""Most growth from one shard to the next, as a factor."""

WORKER_SHARD: Final = 512
"""Most rows of a shard in a worker. Our choice: repeating one takes milliseconds."""

SHARDS_PER_WORKER: Final = 8
"""Fewest shards per worker, so that all end at about the same time. Our choice."""

ROWS_MEMORY: Final = 2_000_000_000
"""Bytes for the rows in memory. Our choice."""

NO_LIMIT: Final = 1e6
"""Seconds of a call without a time limit."""

NO_ROWS: Final[Rows] = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Settings:
    """Options of a scoring, see `score`."""

    ignore_gates: bool = False
    notes: bool = False
    timeout: float | None = None
    patience: int | None = None
    workers: int | None = None

    def check(self) -> None:
        """Raise a RewardError if `workers` is not a number of processes."""
        workers = self.workers
        if workers is not None and (type(workers) is not int or workers < 1):
            raise RewardError(
                f"workers={workers!r} is not a number of processes; give 1 or more, or "
                "None"
            )

    def time_limit(self) -> AbstractContextManager[TimeLimit | None]:
        """Return the time limit of calls; RewardError: `timeout` is not above 0."""
        return time_limit(self.timeout, patience=self.patience, processes=self.workers)


def run_shards(
    plan: Plan,
    columns: Columns,
    groups: Rows,
    settings: Settings,
    limit: TimeLimit | None,
    done_rows: Rows,
) -> Generator[tuple[Rows, Outcomes]]:
    """Evaluate a plan shard by shard; groups are kept together.

    Async components run concurrently in this process, unless there is a time limit.

    Args:
        plan: The reward, bound to all rows.
        columns: Column -> one value per row.
        groups: Group code of each row, (rows,).
        settings: Options of the scoring.
        limit: The time limit of the settings, if several plans share one.
        done_rows: Rows of whole groups to leave out.

    Yields:
        The rows of a shard and their outcomes, in the order they finish.

    Raises:
        RewardError: An option is invalid, a function cannot be sent to a worker, or no
            worker starts.
    """
    reward = plan.reward
    workers = settings.workers
    settings.check()
    # a batch=True component has all rows in one call
    is_whole = not len(groups)
    is_whole |= any(item.batch is True for item in reward.all_components)
    order = np.arange(len(groups)) if is_whole else np.argsort(groups, kind="stable")
    order = order[~np.isin(order, done_rows)]
    codes = groups[order]
    count = len(order)

    def cut_shard(start: int, size: int) -> Rows:
        """Return `size` rows from position `start`, extended to whole groups."""
        if is_whole:
            return order[start:]
        last = codes[min(start + size, count) - 1]
        return order[start : np.searchsorted(codes, last, side="right")]

    def arguments_of(rows: Rows) -> tuple[Rows, Columns, Rows]:
        def read_column(name: str) -> Sequence[Any]:
            return at_rows(columns[name], rows)

        return rows, RowColumns(columns, len(rows), read_column), groups[rows]

    evaluate_shard = partial(_evaluate_shard, plan, settings)
    if workers is not None and settings.timeout is None and not reward.is_async:
        size = min(WORKER_SHARD, count // (SHARDS_PER_WORKER * workers) + 1)
        shards: list[Rows] = []
        start = 0
        while start < count or not shards:
            shards.append(cut_shard(start, size))
            start += len(shards[-1])
        arguments = []
        for rows, shard_columns, codes_of_rows in map(arguments_of, shards):
            arguments.append((rows, dict(shard_columns), codes_of_rows))
        for place, outcomes in _in_workers(evaluate_shard, arguments, workers):
            yield shards[place], outcomes
        return
    least = FIRST_ASYNC_SHARD if reward.is_async else 1
    first = FIRST_SHARD if settings.patience is None else FIRST_PATIENT_SHARD
    size = max(first, least)
    with nullcontext(limit) if limit else settings.time_limit() as limit:
        start = 0
        while start < count or not start:  # small shards first, for an early interrupt
            began = time.perf_counter()
            rows = cut_shard(start, size)
            outcomes = evaluate_shard(*arguments_of(rows), limit)
            yield rows, outcomes
            growth = SHARD_SECONDS / max(time.perf_counter() - began, 1e-9)
            size = max(least, int(size * min(growth, FASTEST_GROWTH)))
            start += len(rows) or 1


def _evaluate_shard(
    plan: Plan,
    settings: Settings,
    rows: Rows,
    columns: Columns,
    groups: Rows,
    limit: TimeLimit | None = None,
) -> Outcomes:
    """Evaluate these rows in this process, and catch the output of users' functions.

    The working folder is restored. The outcomes have no plan, as a worker cannot send
    functions back.
    """
    with caught_prints() as printed, chdir(os.getcwd()):
        outcomes = evaluate(
            plan.take(rows),
            columns,
            groups=groups,
            ignore_gates=settings.ignore_gates,
            notes=settings.notes,
            limit=limit,
        )
    return replace(outcomes, plan=None, printed=printed)  # type: ignore[arg-type]


def _in_workers(
    evaluate_shard: partial[Outcomes],
    shards: Sequence[tuple[Rows, Columns, Rows]],
    workers: int,
) -> Iterator[tuple[int, Outcomes]]:
    """Evaluate each shard in a worker; yield its place and its outcomes.

    If a worker dies or runs out of memory, its shard is evaluated again call by call,
    so that only one row is an error.
    """
    name = evaluate_shard.args[0].reward.name
    with (
        Workers(seconds=NO_LIMIT, count=workers) as pool,
        TimeLimit(NO_LIMIT, processes=workers) as limit,
        worker_errors(name),
    ):
        for place, outcomes in pool.map(evaluate_shard, shards, chunk=2):
            if isinstance(outcomes, Lost) or _ran_out_of_memory(outcomes):
                outcomes = evaluate_shard(*shards[place], limit)
            yield place, outcomes


def _ran_out_of_memory(outcomes: Outcomes) -> bool:
    """Return whether a component raised a MemoryError on one of the rows."""
    reasons: list[Reason] = []
    for outcome in outcomes.components.values():
        reasons += outcome.reasons.values()
    return ran_out_of_memory(reasons)


@contextmanager
def worker_errors(name: str) -> Iterator[None]:
    """Translate errors of workers to a RewardError that names the reward."""
    try:
        yield
    except WorkerEnded as error:
        raise RewardError(
            f"reward {name!r} cannot be scored in worker processes: {error}"
        ) from error
    except CannotSend as error:
        raise RewardError(
            f"reward {name!r} cannot be scored in worker processes: {error}; make "
            "what its functions hold open (a client, a lock, a file) inside the "
            "call, or score without workers"
        ) from error
