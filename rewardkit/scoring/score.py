"""score(): a reward over rollouts."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.errors import Interrupted, RolloutsError
from rewardkit.primitives.primitive import VERDICT
from rewardkit.rewards.reward import ROLLOUT, Floats, Reward, Rows, check_reward
from rewardkit.rewards.route import bind
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import as_column, column_values
from rewardkit.scoring import engines
from rewardkit.scoring.calls import CALLED
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.scores import (
    OWN_COLUMNS,
    OWN_PREFIXES,
    Scores,
    reason_columns,
    status_column,
    versions,
)


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

    Raises:
        RewardError: a column is asked for that is not there, or has the name of a field
            or component; a function cannot be sent to another process.
        RolloutsError: the rollouts have columns of a scored table.
        Interrupted: a KeyboardInterrupt; its `scores` are of the rollouts that were
            scored.
    """
    check_reward(reward, "score")
    if not isinstance(rollouts, Rollouts):
        rollouts = load_rollouts(rollouts)
    names = map(str, rollouts.table.columns)
    clashes = [
        name for name in names if name in OWN_COLUMNS or name.startswith(OWN_PREFIXES)
    ]
    if clashes:
        raise RolloutsError(
            f"the rollouts have columns of a scored table: {clashes}; rename them, or "
            "read a scored table with load_scores"
        )
    columns = read_columns(reward, rollouts)
    options = {"ignore_gates": ignore_gates, "notes": notes}
    plan = bind(reward, columns, len(rollouts))
    shards = engines.run(
        plan, columns, rollouts.groups, options, timeout, patience, workers
    )
    bar: Any = nullcontext()
    if progress:
        from tqdm.auto import tqdm  # slow to import

        bar = tqdm(total=len(rollouts), desc="scoring", unit=" rollouts", leave=False)
    token = CALLED.set(_count_calls(bar) if progress else None)
    scored: list[tuple[Rows, Outcomes]] = []
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
    scores = _make_scores(outcomes, rollouts.select(rows.tolist()), run)
    raise Interrupted(scores, len(rollouts))


def read_columns(reward: Reward, rollouts: Rollouts) -> dict[str, list[Any]]:
    """Return the columns that a reward asks for, by name.

    Raises:
        RewardError: no such column, or one with the name of a field or component.
    """
    names = [str(name) for name in rollouts.table.columns]
    reward.check_columns(names)
    if ROLLOUT in reward.needs and ROLLOUT not in names:
        return rollouts.as_logged()
    return {name: column_values(rollouts.table[name]) for name in reward.needs}


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
    table = pd.concat([logged, _result_columns(outcomes, raw, final)], axis=1)
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


def _result_columns(outcomes: Outcomes, raw: Floats, final: Floats) -> pd.DataFrame:
    """Return what a scored table has beside the rollouts, see `Scores`."""
    columns = outcome_columns(outcomes, {*outcomes.fields, *outcomes.components})
    notes = outcomes.notes or []
    for name in dict.fromkeys(name for noted in notes for name in noted):
        columns[f"note/{name}"] = as_column([noted.get(name) for noted in notes])
    if not (outcomes.gate == 1).all():
        columns["gate/reward"] = outcomes.gate
    return pd.DataFrame({**columns, "reward_raw": raw, "reward": final})
