"""score(): a reward over rollouts."""

from __future__ import annotations

import os
import time
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import chdir, closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from rewardkit.errors import Interrupted, RewardError, RolloutsError, preview
from rewardkit.primitives.primitive import VERDICT
from rewardkit.rewards.reward import (
    ROLLOUT,
    Columns,
    Floats,
    Reward,
    Rows,
    check_reward,
)
from rewardkit.rewards.route import Plan, bind
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import as_column, column_values
from rewardkit.scoring.callers import RowColumns, at_rows
from rewardkit.scoring.calls import CALLED, prepare
from rewardkit.scoring.deadlines import TimeLimit, time_limit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.prints import caught_prints
from rewardkit.scoring.scores import (
    UNFINISHED,
    Scores,
    is_result,
    is_unfinished,
    reason_columns,
    status_column,
    versions,
)
from rewardkit.workers.pool import CannotSend, Lost, WorkerEnded, Workers

FIRST_SHARD: Final = 4
"""Rows of the first shard that is scored in this process."""

FIRST_ASYNC_SHARD: Final = 256
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

NO_ROWS: Final[Rows] = np.empty(0, dtype=np.intp)


def score(
    reward: Reward,
    rollouts: Rollouts | str | Path | pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    ignore_gates: bool = False,
    notes: bool = False,
    timeout: float | None = None,
    patience: int | None = None,
    workers: int | None = None,
    progress: bool = False,
    unfinished: Scores | None = None,
) -> Scores:
    """Score every rollout, a row a completion in the order given.

    What a component does wrong becomes the status of its row, never an exception. In
    worker processes calls must not depend on one another, and what they change stays
    there. Three lines of what users' functions print are shown, with a count; the rest
    stands in the run record.

    Args:
        reward: what scores.
        rollouts: rollouts, or what `load_rollouts` takes.
        ignore_gates: whether every component is called and counted as if its gate were
            open.
        notes: whether to add what `rk.note` left, as columns.
        timeout: seconds that a call of a function may take that is not rewardkit's own.
            It runs in a worker process, which is killed when it takes longer or ends,
            and its row gets status ``error``.
        patience: late calls of a component after which its others are not made.
        workers: processes that share the rollouts, groups kept together, with the same
            scores to the last bit. A reward with a ``batch=True`` component is one call
            over all rows, and so one process.
        progress: whether to show a bar with the rollouts a second.
        unfinished: what an interrupted scoring of the same reward on the same rollouts
            left, as `Interrupted.scores` or `load_scores` have it; its rows are not
            scored again.

    Raises:
        RewardError: a column is asked for that is not there, or has the name of a field
            or component; a function cannot be sent to another process; what is
            unfinished is another scoring.
        RolloutsError: the rollouts have columns of a scored table.
        Interrupted: a KeyboardInterrupt; its `scores` are of the rollouts that were
            scored.
    """
    check_reward(reward, "score")
    if not isinstance(rollouts, Rollouts):
        rollouts = load_rollouts(rollouts)
    clashes = list(filter(is_result, map(str, rollouts.table.columns)))
    if clashes:
        raise RolloutsError(
            f"the rollouts have columns of a scored table: {clashes}; rename them, or "
            "read a scored table with load_scores"
        )
    columns = read_columns(reward, rollouts)
    options = {"ignore_gates": ignore_gates, "notes": notes}
    plan = bind(reward, columns, len(rollouts))
    scored: list[tuple[Rows, Outcomes]] = []
    if unfinished is not None:
        scored.append((_rows_done(unfinished, reward, rollouts), unfinished.outcomes))
    done = scored[0][0] if scored else NO_ROWS
    shards = run_shards(
        plan, columns, rollouts.groups, options, timeout, patience, workers, done
    )
    bar: Any = nullcontext()
    if progress:
        from tqdm.auto import tqdm  # slow to import

        count = len(rollouts) - len(done)
        bar = tqdm(total=count, desc="scoring", unit=" rollouts", leave=False)
    token = CALLED.set(_count_calls(bar) if progress else None)
    is_interrupted = False
    try:
        with closing(shards), bar:
            for rows, outcomes in shards:
                scored.append((rows, outcomes))
                if progress:
                    bar.update(len(rows))
    except KeyboardInterrupt:
        if not any(len(rows) for rows, _ in scored):
            raise
        is_interrupted = True
    finally:
        CALLED.reset(token)
    run = {"versions": versions(), "ignore_gates": ignore_gates, "timeout": timeout}
    if not is_interrupted:
        return _make_scores(Outcomes.join(plan, scored), rollouts, run)
    rows = np.sort(np.concatenate([shard for shard, _ in scored]))
    parts = [(np.searchsorted(rows, shard), outcomes) for shard, outcomes in scored]
    outcomes = Outcomes.join(plan.take(rows), parts)
    run[UNFINISHED] = {"rollouts": rollouts.fingerprint, "rows": rows.tolist()}
    scores = _make_scores(outcomes, rollouts.select(rows.tolist()), run)
    raise Interrupted(scores, len(rollouts))


def _rows_done(unfinished: Scores, reward: Reward, rollouts: Rollouts) -> Rows:
    """Return the rows that an interrupted scoring has done; RewardError: of others."""
    if not is_unfinished(unfinished.record, reward, rollouts):
        raise RewardError(
            f"unfinished={preview(unfinished.reward.name)} is no interrupted scoring "
            "of this reward on these rollouts; score them without it"
        )
    return np.array(unfinished.run[UNFINISHED]["rows"], dtype=np.intp)


def read_columns(reward: Reward, rollouts: Rollouts) -> RowColumns:
    """Return the columns that a reward may ask for, by name.

    Raises:
        RewardError: no such column, or one with the name of a field or component.
    """
    names = [str(name) for name in rollouts.table.columns]
    reward.check_columns(names)
    sources = dict.fromkeys(reward.needs, "")
    if reward.is_scheduled and "step" in names:
        sources["step"] = ""
    if ROLLOUT in sources and ROLLOUT not in names:
        sources = {}
        for name, source in rollouts.mapping.items():
            if name in names:
                sources[source] = name
        sources |= dict.fromkeys(names, "")

    def read(name: str) -> Sequence[Any]:
        if sources[name]:
            return columns[sources[name]]
        return column_values(rollouts.table.iloc[:, names.index(name)])

    columns = RowColumns(sources, len(rollouts), read)
    return columns


def run_shards(
    plan: Plan,
    columns: Columns,
    groups: Rows,
    options: Mapping[str, Any],
    timeout: float | None,
    patience: int | None,
    workers: int | None,
    done: Rows = NO_ROWS,
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
        done: rows, of whole groups, that are left out.

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
    prepare(reward.functions)
    # a part of the rows would be another call, where a component has all rows in one
    is_whole = not len(groups)
    is_whole |= any(item.batch is True for item in reward.all_components)
    order = np.arange(len(groups)) if is_whole else np.argsort(groups, kind="stable")
    order = order[~np.isin(order, done)]
    codes = groups[order]
    count = len(order)

    def cut_shard(start: int, size: int) -> Rows:
        """Return so many rows from a place of the order on, and the rest of a group."""
        if is_whole:
            return order[start:]
        last = codes[min(start + size, count) - 1]
        return order[start : np.searchsorted(codes, last, side="right")]

    def arguments_of(rows: Rows) -> tuple[Rows, Columns, Rows]:
        def read(name: str) -> Sequence[Any]:
            return at_rows(columns[name], rows)

        return rows, RowColumns(columns, len(rows), read), groups[rows]

    evaluate_shard = partial(_evaluate_shard, plan, options)
    if workers is not None and timeout is None and not reward.is_async:
        size = min(WORKER_SHARD, count // (SHARDS_PER_WORKER * workers) + 1)
        shards: list[Rows] = []
        start = 0
        while start < count or not shards:
            shards.append(cut_shard(start, size))
            start += len(shards[-1])
        arguments = []
        for rows, some, codes_of_rows in map(arguments_of, shards):
            arguments.append((rows, dict(some), codes_of_rows))
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
            yield rows, outcomes
            growth = SHARD_SECONDS / max(time.perf_counter() - began, 1e-9)
            size = max(1, int(size * min(growth, FASTEST_GROWTH)))
            start += len(rows) or 1


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


def _count_calls(bar: Any) -> Callable[[Mapping[str, Any]], None]:
    """Return what shows calls beside a bar: how many, their rate, their cost."""
    began, calls, cost = time.perf_counter(), 0, 0.0

    def count(notes: Mapping[str, Any]) -> None:
        nonlocal calls, cost
        calls += 1
        cost += notes.get(VERDICT, {}).get("cost") or 0.0
        rate = calls / max(time.perf_counter() - began, 1e-9)
        text = f"{calls:,} calls, {rate:.1f}/s"
        bar.set_postfix_str(f"{text}, cost {cost:.4g}" if cost else text)

    return count


def _make_scores(
    outcomes: Outcomes, rollouts: Rollouts, run: Mapping[str, Any]
) -> Scores:
    """Add up weights, apply the transform, and make the scored table."""
    if outcomes.printed:
        outcomes.printed.show()
        run = {**run, "printed": outcomes.printed.record()}
    raw = outcomes.rewards
    final = outcomes.plan.transform(raw, rollouts.groups)
    logged = rollouts.table.reset_index(drop=True)
    table = pd.concat([logged, result_columns(outcomes, raw, final)], axis=1)
    return Scores(table, outcomes.plan.reward, replace(rollouts, table=logged), run)


def outcome_columns(outcomes: Outcomes, names: Collection[str]) -> dict[str, Any]:
    """Return the columns of these fields and components, see `Scores`."""
    rows = len(outcomes.gate)
    columns: dict[str, Any] = {}
    for name, values in outcomes.fields.items():
        if name not in names:
            continue
        columns[f"field/{name}"] = as_column(values)
        if outcomes.failed.get(name):
            texts, records = reason_columns(outcomes.failed[name], rows)
            columns[f"failed/{name}"], columns[f"reason/{name}"] = texts, records
    for name, outcome in outcomes.components.items():
        if name not in names:
            continue
        columns[f"score/{name}"] = outcome.scores
        columns[f"status/{name}"] = status_column(outcome.status)
        texts, records = reason_columns(outcome.reasons, rows)
        columns[f"error/{name}"], columns[f"reason/{name}"] = texts, records
        if outcome.verdicts:
            verdicts = [outcome.verdicts.get(row) for row in range(rows)]
            costs = [outcome.verdicts.get(row, {}).get("cost") for row in range(rows)]
            columns[f"verdict/{name}"] = as_column(verdicts)
            columns[f"cost/{name}"] = np.array(costs, dtype=float)
    return columns


def result_columns(outcomes: Outcomes, raw: Floats, final: Floats) -> pd.DataFrame:
    """Return what a scored table has beside the rollouts, see `Scores`."""
    columns = outcome_columns(outcomes, {*outcomes.fields, *outcomes.components})
    notes = outcomes.notes or []
    for name in dict.fromkeys(name for noted in notes for name in noted):
        columns[f"note/{name}"] = as_column([noted.get(name) for noted in notes])
    if not (outcomes.gate == 1).all():
        columns["gate/reward"] = outcomes.gate
    return pd.DataFrame({**columns, "reward_raw": raw, "reward": final})
