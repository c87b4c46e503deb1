"""score(): a reward over rollouts, as Scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.errors import Interrupted, RolloutsError
from rewardkit.primitives.notes import VERDICT
from rewardkit.rewards.plan import bind
from rewardkit.rewards.reward import ROLLOUT, Floats, Reward, Rows, check_reward
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
    """Scores of every rollout, one row a completion in the order given.

    ``ignore_gates=True`` runs and counts every component as if its gate were open; ``notes=True`` adds what
    `rk.note` left as columns; ``progress=True`` shows a bar with the rollouts a second. What a component does
    wrong becomes its row's status, never an exception.

    Three lines of what users' functions print are shown, with a count; the rest stands in the run record.

    With ``workers=2`` so many processes score the rollouts, groups kept together, to the same last bit (a
    reward with a ``batch=True`` component is one call over all rows, and so one process). With a `timeout`
    each call of a function that is not rewardkit's own may take so many seconds: it runs in a worker process,
    which is killed and replaced when it takes longer or ends, and its row gets status ``error``; after
    `patience` late calls of a component the others of it are not made. In worker processes calls must not
    depend on one another, and what they change stays there.

    RewardError: a column is asked for that is not there, or has the name of a field or component; a function
    that cannot be sent to another process. Interrupted (a KeyboardInterrupt): its `scores` are those of the
    rollouts that were done.
    """
    check_reward(reward, "score")
    if not isinstance(rollouts, Rollouts):
        rollouts = load_rollouts(rollouts)
    names = [str(name) for name in rollouts.table.columns]
    if taken := [
        name for name in names if name in OWN_COLUMNS or name.startswith(OWN_PREFIXES)
    ]:
        raise RolloutsError(
            f"the rollouts have columns of a scored table: {taken}; rename them, or read a scored table "
            "with load_scores"
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
    token = CALLED.set(_counted(bar) if progress else None)
    done: list[tuple[Rows, Outcomes]] = []
    interrupted = False
    try:
        with closing(shards), bar:
            for rows, outcomes in shards:
                done.append((rows, outcomes))
                if progress:
                    bar.update(len(rows))
    except KeyboardInterrupt:
        if not any(len(rows) for rows, _ in done):
            raise
        interrupted = True
    finally:
        CALLED.reset(token)
    run = {"versions": versions(), "ignore_gates": ignore_gates, "timeout": timeout}
    if not interrupted:
        return _scores(Outcomes.join(plan, done), rollouts, run)
    kept = np.sort(np.concatenate([rows for rows, _ in done]))
    finished = [(np.searchsorted(kept, rows), outcomes) for rows, outcomes in done]
    some = Outcomes.join(plan.take(kept), finished)
    raise Interrupted(_scores(some, rollouts.select(kept.tolist()), run), len(rollouts))


def read_columns(reward: Reward, rollouts: Rollouts) -> dict[str, list[Any]]:
    """Return the columns that a reward asks for, by name.

    Raises:
        RewardError: there is no such column, or it has the name of a field or component.
    """
    names = [str(name) for name in rollouts.table.columns]
    reward.check_columns(names)
    if ROLLOUT in reward.needs and ROLLOUT not in names:
        return rollouts.as_logged()
    return {name: column_values(rollouts.table[name]) for name in reward.needs}


def _counted(bar: Any) -> Callable[[Mapping[str, Any]], None]:
    """What shows beside a bar how many calls were answered, how many a second, and what they cost."""
    began, calls, cost = time.perf_counter(), 0, 0.0

    def called(heard: Mapping[str, Any]) -> None:
        nonlocal calls, cost
        calls, cost = calls + 1, cost + (heard.get(VERDICT, {}).get("cost") or 0.0)
        rate = calls / max(time.perf_counter() - began, 1e-9)
        bar.set_postfix_str(
            f"{calls:,} calls, {rate:.1f}/s" + (f", cost {cost:.4g}" if cost else "")
        )

    return called


def _scores(outcomes: Outcomes, rollouts: Rollouts, run: Mapping[str, Any]) -> Scores:
    """Weights and transform over the outcomes, as the scored table."""
    if outcomes.printed:
        outcomes.printed.show()
        run = {**run, "printed": outcomes.printed.record()}
    raw = outcomes.rewards
    final = outcomes.plan.transform(raw, rollouts.groups)
    own = rollouts.table.reset_index(drop=True)
    table = pd.concat([own, result_columns(outcomes, raw, final)], axis=1)
    return Scores(table, outcomes.plan.reward, replace(rollouts, table=own), run)


def result_columns(outcomes: Outcomes, raw: Floats, final: Floats) -> pd.DataFrame:
    """Return what a scored table has beside the rollouts, see `Scores`."""
    columns: dict[str, Any] = {}
    for name, values in outcomes.fields.items():
        columns[f"field/{name}"] = as_column(values)
        if outcomes.failed.get(name):
            texts, records = reason_columns(outcomes.failed[name], len(raw))
            columns[f"failed/{name}"], columns[f"reason/{name}"] = texts, records
    for name, outcome in outcomes.components.items():
        columns[f"score/{name}"] = outcome.scores
        columns[f"status/{name}"] = status_column(outcome.status)
        texts, records = reason_columns(outcome.reasons, len(raw))
        columns[f"error/{name}"], columns[f"reason/{name}"] = texts, records
        if verdicts := outcome.verdicts:
            columns[f"verdict/{name}"] = as_column(
                [verdicts.get(row) for row in range(len(raw))]
            )
            costs = [verdicts.get(row, {}).get("cost") for row in range(len(raw))]
            columns[f"cost/{name}"] = np.array(costs, dtype=float)
    notes = outcomes.notes or []
    for name in dict.fromkeys(name for heard in notes for name in heard):
        columns[f"note/{name}"] = as_column([heard.get(name) for heard in notes])
    if not (outcomes.gate == 1).all():
        columns["gate/reward"] = outcomes.gate
    return pd.DataFrame({**columns, "reward_raw": raw, "reward": final})
