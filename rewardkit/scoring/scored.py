"""Score rollouts in memory: from a plan's shards to the scored table."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.errors import Interrupted, RewardError, RolloutsError, preview
from rewardkit.plain import Plain, Record
from rewardkit.primitives.primitive import VERDICT
from rewardkit.rewards.reward import ROLLOUT, Floats, Reward, Rows
from rewardkit.rewards.route import bind
from rewardkit.rollouts.columns import lists_of_columns
from rewardkit.rollouts.paths import SAVED_SCORES
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import as_column, column_values
from rewardkit.scoring.callers import RowColumns
from rewardkit.scoring.calls import CALLED, prepare
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.scores import (
    UNFINISHED,
    Scores,
    is_result,
    is_unfinished,
    reason_columns,
    status_column,
    versions,
)
from rewardkit.scoring.shards import NO_ROWS, Settings, run_shards
from rewardkit.scoring.stored import join_tables, read_stored


def score_rollouts(
    reward: Reward,
    rollouts: Rollouts,
    settings: Settings,
    limit: TimeLimit | None = None,
    *,
    progress: bool = False,
    unfinished: Scores | None = None,
    is_part: bool = False,
) -> Scores:
    """Score rollouts in memory; for arguments and errors see `score`.

    Several calls may share one `limit` of the settings. Judges begin a run here, unless
    the rollouts are a part of a run (`is_part`).
    """
    clashes = list(filter(is_result, rollouts.names))
    if clashes:
        raise RolloutsError(
            f"the rollouts have columns of a scored table: {preview(clashes)}; rename "
            "them, or give the log that was scored (load_scores(...).rollouts)"
        )
    columns = read_columns(reward, rollouts)
    plan = bind(reward, columns, len(rollouts))
    if not is_part:
        prepare(reward.functions)
    scored: list[tuple[Rows, Outcomes]] = []
    done_rows = NO_ROWS
    if unfinished is not None:
        done_rows = _rows_done(unfinished, reward, rollouts)
        scored.append((done_rows, unfinished.outcomes))
    shards = run_shards(plan, columns, rollouts.groups, settings, limit, done_rows)
    bar = progress_bar(len(rollouts) - len(done_rows), "rollouts", is_shown=progress)
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
    run = {
        "versions": versions(),
        "ignore_gates": settings.ignore_gates,
        "timeout": settings.timeout,
    }
    if not is_interrupted:
        return _make_scores(Outcomes.join(plan, scored), rollouts, run)
    rows = np.sort(np.concatenate([shard for shard, _ in scored]))
    parts = [(np.searchsorted(rows, shard), outcomes) for shard, outcomes in scored]
    outcomes = Outcomes.join(plan.take(rows), parts)
    run[UNFINISHED] = {
        "rollouts": rollouts.fingerprint,
        "rows": rows.tolist(),
        "rows_given": len(rollouts),
    }
    scores = _make_scores(outcomes, rollouts.select(rows.tolist()), run)
    raise Interrupted(scores, len(rollouts))


def read_unfinished(
    folder: Path, reward: Reward, rollouts: Rollouts, ignore_gates: bool = False
) -> Scores | None:
    """Return the scores of an interrupted scoring in a folder, or None."""
    file = folder / SAVED_SCORES
    with suppress(ValueError):  # a broken or missing file is scored anew
        run = read_stored(file).record
        has_same_gates = run.get("ignore_gates") == ignore_gates
        if has_same_gates and is_unfinished(run, reward, rollouts):
            table = join_tables([read_stored(file, None)])
            rollouts = rollouts.select(run[UNFINISHED]["rows"])
            return Scores(table, reward, rollouts, {UNFINISHED: run[UNFINISHED]})
    return None


def _rows_done(unfinished: Scores, reward: Reward, rollouts: Rollouts) -> Rows:
    """Return the rows of an interrupted scoring; RewardError: it is a different one."""
    if not is_unfinished(unfinished.record, reward, rollouts):
        raise RewardError(
            f"unfinished={preview(unfinished.reward.name)} is no interrupted scoring "
            "of this reward on these rollouts; score them without it"
        )
    return np.array(unfinished.run[UNFINISHED]["rows"], dtype=np.intp)


def read_columns(reward: Reward, rollouts: Rollouts) -> RowColumns:
    """Return the columns that a reward needs, by name.

    Raises:
        RewardError: A column is missing or has the name of a field or component.
    """
    names = rollouts.names
    reward.check_columns(names, rollouts.mapping)
    sources = dict.fromkeys(reward.needs, "")
    if reward.is_scheduled and "step" in names:
        sources["step"] = ""
    if ROLLOUT in sources and ROLLOUT not in names:
        sources = {}
        for name, source in rollouts.mapping.items():
            if name in names:
                sources[source] = name
        sources |= dict.fromkeys(names, "")

    def read_source(name: str) -> Sequence[Any]:
        if sources[name]:
            return columns[sources[name]]
        return column_values(rollouts.table.iloc[:, names.index(name)])

    columns = RowColumns(sources, len(rollouts), read_source)
    return columns


def progress_bar(total: int, unit: str, *, is_shown: bool) -> Any:
    """Return a context of a progress bar for scoring, or of None if it is not shown."""
    if not is_shown:
        return nullcontext()
    from tqdm.auto import tqdm  # slow to import

    return tqdm(total=total, desc="scoring", unit=f" {unit}", leave=False)


def _count_calls(bar: Any) -> Callable[[Plain], None]:
    """Return a callback that shows calls, their rate and their cost next to a bar."""
    began, calls, cost = time.perf_counter(), 0, 0.0

    def count(notes: Plain) -> None:
        nonlocal calls, cost
        calls += 1
        cost += notes.get(VERDICT, {}).get("cost") or 0.0
        rate = calls / max(time.perf_counter() - began, 1e-9)
        text = f"{calls:,} calls, {rate:.1f}/s"
        bar.set_postfix_str(f"{text}, cost {cost:.4g}" if cost else text)

    return count


def _make_scores(outcomes: Outcomes, rollouts: Rollouts, run: Plain) -> Scores:
    """Combine the scores, apply the transform, and make the scored table."""
    if outcomes.printed:
        run = {**run, "printed": outcomes.printed.record()}
    raw = outcomes.rewards
    final = outcomes.plan.transform(raw, rollouts.groups)
    if not isinstance(rollouts.table.index, pd.RangeIndex):
        rollouts = replace(rollouts, table=rollouts.table.reset_index(drop=True))
    results = result_columns(outcomes, raw, final)
    table = pd.concat([rollouts.table, results], axis=1)
    return Scores(table, outcomes.plan.reward, rollouts, run)


def outcome_columns(outcomes: Outcomes, names: Collection[str]) -> Record:
    """Return the columns of these fields and components, see `Scores`."""
    rows = len(outcomes.gate)
    columns: Record = {}
    for name, values in outcomes.fields.items():
        if name not in names:
            continue
        columns[f"field/{name}"] = as_column(values)
        if outcomes.failed.get(name):
            written = reason_columns(outcomes.failed[name], rows)
            columns[f"failed/{name}"], columns[f"reason/{name}"] = written
    for name, outcome in outcomes.components.items():
        if name not in names:
            continue
        columns[f"score/{name}"] = outcome.scores
        columns[f"status/{name}"] = status_column(outcome.status)
        written = reason_columns(outcome.reasons, rows)
        columns[f"error/{name}"], columns[f"reason/{name}"] = written
        if outcome.verdicts:
            verdicts = [outcome.verdicts.get(row) for row in range(rows)]
            costs = [outcome.verdicts.get(row, {}).get("cost") for row in range(rows)]
            columns[f"verdict/{name}"] = as_column(verdicts)
            columns[f"cost/{name}"] = np.array(costs, dtype=float)
    return columns


def result_columns(outcomes: Outcomes, raw: Floats, final: Floats) -> pd.DataFrame:
    """Return the columns of a scored table besides the rollouts', see `Scores`."""
    columns = outcome_columns(outcomes, {*outcomes.fields, *outcomes.components})
    for name, notes in lists_of_columns(outcomes.notes or []).items():
        columns[f"note/{name}"] = as_column(notes)
    if not (outcomes.gate == 1).all():
        columns["gate/reward"] = outcomes.gate
    return pd.DataFrame({**columns, "reward_raw": raw, "reward": final})
