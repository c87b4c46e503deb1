"""Where the calls of a scoring run are made: here or in worker processes, by shards."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from rewardkit.errors import RewardError
from rewardkit.rewards.reward import Columns, Reward, Rows
from rewardkit.rewards.route import Plan
from rewardkit.scoring.deadlines import TimeLimit, time_limit
from rewardkit.scoring.evaluate import at_rows, evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.printed import caught_prints
from rewardkit.workers.pool import CannotSend, Lost, WorkerEnded, Workers

FIRST_SHARD: Final = 4
"""Rows of the first shard that is scored in this process."""

FIRST_ASYNC_SHARD: Final = 512
"""The same with async components, whose calls wait together. Our choice."""

FIRST_PATIENT_SHARD: Final = 256
"""The same with patience: late calls are counted by shard."""

SHARD_SECONDS: Final = 0.25
"""Target seconds per shard. Our choice: an interrupt loses about this much work."""

FASTEST_GROWTH: Final = 8
"""How many times as large as the last one a shard may be."""

WORKER_SHARD: Final = 512
"""Rows of a shard in a worker. Our choice: milliseconds that a lost worker repeats."""

SHARDS_PER_WORKER: Final = 8
"""Shards at least, so that workers end at about the same time. Our choice."""

NO_LIMIT: Final = 1e6
"""Seconds of a call without a time limit."""


def run(
    plan: Plan,
    columns: Columns,
    groups: Rows,
    options: Mapping[str, Any],
    timeout: float | None,
    patience: int | None,
    workers: int | None,
) -> Generator[tuple[Rows, Outcomes]]:
    """Evaluate a plan shard by shard; groups are kept together.

    Async components are always awaited together, in this process unless there is a
    `timeout`.

    Args:
        plan: the reward, bound to all rows.
        columns: column -> one value a row.
        groups: group code of each row, (rows,).
        options: those of `evaluate`.
        timeout: seconds that a call of a user's function may take; each is then made by
            itself in a worker process.
        patience: late calls of a component after which its others are not made.
        workers: worker processes that share the shards; None for this process.

    Yields:
        The rows of a shard and their outcomes, as they are done.

    Raises:
        RewardError: an invalid workers or timeout, what cannot be sent to a worker,
            workers that do not start.
        InputError: a model that cannot be asked.
    """
    reward = plan.reward
    if workers is not None and (type(workers) is not int or workers < 1):
        raise RewardError(
            f"workers={workers!r} is not a number of processes; give 1 or more, or None"
        )
    prepare(reward)
    count = len(groups)
    # a part of the rows would be another call, where a component has all rows in one
    is_whole = not count or any(item.batch is True for item in reward.all_components)
    order = np.arange(count) if is_whole else np.argsort(groups, kind="stable")
    codes = groups[order]

    def cut_shard(start: int, size: int) -> Rows:
        """Return so many rows from a place of the order on, and the rest of a group."""
        if is_whole:
            return order[start:]
        last = codes[min(start + size, count) - 1]
        return order[start : np.searchsorted(codes, last, side="right")]

    def arguments_of(rows: Rows) -> tuple[Rows, Columns, Rows]:
        some = {name: at_rows(values, rows) for name, values in columns.items()}
        return rows, some, groups[rows]

    evaluate_shard = partial(_evaluate_shard, plan, options)
    if workers is not None and timeout is None and not reward.is_async:
        size = min(WORKER_SHARD, count // (SHARDS_PER_WORKER * workers) + 1)
        shards: list[Rows] = []
        start = 0
        while start < count or not shards:
            shards.append(cut_shard(start, size))
            start += len(shards[-1])
        arguments = [arguments_of(rows) for rows in shards]
        for place, outcomes in _in_workers(evaluate_shard, arguments, workers):
            yield shards[place], outcomes
        return
    size = FIRST_SHARD if patience is None else FIRST_PATIENT_SHARD
    least = FIRST_ASYNC_SHARD if reward.is_async else 1
    with time_limit(timeout, patience=patience, processes=workers) as limit:
        start = 0
        while start < count or not start:  # small ones first, for an early interrupt
            began = time.perf_counter()
            rows = cut_shard(start, max(size, least))
            outcomes = evaluate_shard(*arguments_of(rows), limit)
            if outcomes.unfinished:
                places, outcomes = outcomes.finished()
                yield rows[places], outcomes
                raise KeyboardInterrupt
            yield rows, outcomes
            growth = SHARD_SECONDS / max(time.perf_counter() - began, 1e-9)
            size = max(1, int(size * min(growth, FASTEST_GROWTH)))
            start += len(rows) or 1


def prepare(reward: Reward) -> None:
    """Let functions that ask a model see whether it can be asked, before any call.

    Raises:
        InputError: it cannot.
    """
    for function in reward.functions:
        prepare_function = getattr(function, "prepare", None)
        if callable(prepare_function):
            prepare_function()


def _evaluate_shard(
    plan: Plan,
    options: Mapping[str, Any],
    rows: Rows,
    columns: Columns,
    groups: Rows,
    limit: TimeLimit | None = None,
) -> Outcomes:
    """Evaluate these rows here, and keep what users' functions print.

    The working folder stays. Outcomes leave without their plan, as a worker cannot send
    functions back.
    """
    with caught_prints() as printed, chdir(os.getcwd()):
        outcomes = evaluate(
            plan.take(rows), columns, groups=groups, limit=limit, **options
        )
    return replace(outcomes, plan=None, printed=printed)  # type: ignore[arg-type]


def _in_workers(
    evaluate_shard: partial[Outcomes],
    shards: Sequence[tuple[Rows, Columns, Rows]],
    workers: int,
) -> Iterator[tuple[int, Outcomes]]:
    """Evaluate each shard in a worker, and yield its place with the outcomes.

    A shard whose worker dies is evaluated again call by call, so that one row is an
    error.
    """
    name = evaluate_shard.args[0].reward.name
    with (
        Workers(seconds=NO_LIMIT, count=workers) as pool,
        TimeLimit(NO_LIMIT, processes=workers) as limit,
    ):
        try:
            for place, outcomes in pool.map(evaluate_shard, shards, chunk=2):
                if isinstance(outcomes, Lost):
                    outcomes = evaluate_shard(*shards[place], limit)
                yield place, outcomes
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
