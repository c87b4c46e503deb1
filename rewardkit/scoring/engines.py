"""Where the calls of a scoring run are made: in this process or in worker processes, shard by shard."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rewardkit.errors import RewardError
from rewardkit.rewards.plan import Plan
from rewardkit.rewards.reward import Columns, Reward, Rows
from rewardkit.scoring.deadlines import TimeLimit, time_limit
from rewardkit.scoring.evaluate import at_rows, evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.printed import caught_prints
from rewardkit.workers.pool import CannotSend, Lost, WorkerEnded, Workers

FIRST_SHARD = 4  # rows, in this process
WAITING_SHARD = 512
"""Rows with async components, whose calls wait together. Our choice: the last few to wait cost little."""
FIRST_WITH_PATIENCE = 256  # late calls are counted by shard
SHARD_SECONDS = 0.25
"""That the next shard is to take. Our choice: about what an interrupt may lose, or one call."""

SHARD = 512  # rows, in a worker. Our choice: milliseconds of light components, which a lost worker repeats
FOREVER = 1e6  # seconds; a call without a time limit


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
    waiting = reward.is_async
    # where a component has all rows in one call, a part of them would be another call
    whole = not count or any(item.batch is True for item in reward.all_components)
    order = np.arange(count) if whole else np.argsort(groups, kind="stable")
    codes = groups[order]

    def shard(start: int, size: int) -> Rows:
        """The rows from a place of the order on: so many, and the rest of the last one's group."""
        end = (
            count
            if whole
            else np.searchsorted(
                codes, codes[min(start + size, count) - 1], side="right"
            )
        )
        return order[start:end]

    def part(rows: Rows) -> tuple[Rows, Columns, Rows]:
        some = {name: at_rows(values, rows) for name, values in columns.items()}
        return rows, some, groups[rows]

    outcomes = partial(_outcomes, plan, options)
    if workers is not None and timeout is None and not waiting:
        shards = [shard(0, size := min(SHARD, count // (8 * workers) + 1))]
        while (done := sum(map(len, shards))) < count:
            shards.append(shard(done, size))
        parts = [part(rows) for rows in shards]
        for at, found in _in_workers(outcomes, parts, workers):
            yield shards[at], found
        return
    with time_limit(timeout, patience=patience, processes=workers) as limit:
        done, size = 0, FIRST_SHARD if patience is None else FIRST_WITH_PATIENCE
        least = WAITING_SHARD if waiting else 1
        while (
            done < count or not done
        ):  # small ones first: an interrupt keeps what is done
            began = time.perf_counter()
            rows = shard(done, max(size, least))
            found = outcomes(*part(rows), limit)
            if found.unfinished:
                kept, found = found.finished()
                yield rows[kept], found
                raise KeyboardInterrupt
            yield rows, found
            share = SHARD_SECONDS / max(time.perf_counter() - began, 1e-9)
            size = max(1, int(size * min(share, 8)))
            done += len(rows) or 1


def prepare(reward: Reward) -> None:
    """Let functions that ask a model see whether it can be asked: InputError before any call, not after."""
    for function in reward.functions:
        if callable(own := getattr(function, "prepare", None)):
            own()


def _outcomes(
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
        found = evaluate(
            plan.take(rows), columns, groups=groups, limit=limit, **options
        )
    return replace(found, plan=None, printed=printed)  # type: ignore[arg-type]


def _in_workers(
    outcomes: partial[Outcomes],
    parts: Sequence[tuple[Rows, Columns, Rows]],
    workers: int,
) -> Iterator[tuple[int, Outcomes]]:
    """Evaluate each part in a worker, and yield its place with the outcomes.

    A part whose worker dies is evaluated again call by call, so that one row is an error.
    """
    name = outcomes.args[0].reward.name
    with (
        Workers(seconds=FOREVER, count=workers) as pool,
        TimeLimit(FOREVER, processes=workers) as alone,
    ):
        try:
            for at, value in pool.map(outcomes, parts, chunk=2):
                yield (
                    at,
                    outcomes(*parts[at], alone) if isinstance(value, Lost) else value,
                )
        except WorkerEnded as error:
            raise RewardError(
                f"reward {name!r} cannot be scored in worker processes: {error}"
            ) from error
        except CannotSend as error:
            raise RewardError(
                f"reward {name!r} cannot be scored in worker processes: {error}; make what "
                "its functions hold open (a client, a lock, a file) inside the call, or score without workers"
            ) from error
