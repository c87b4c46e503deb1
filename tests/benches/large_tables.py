"""Diagnosis and monitor of many scored rows, against polars' mean and std of the same columns.

The alternative does less: a diagnosis has levels, ties, advantages, effective weights, correlations, lengths,
identical answers and intervals; a monitor advantages, changes with their steps, 20,000 completions read, what is
newly paid.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from benches.inputs import SIBLINGS
from benches.table import Row, in_turn

import rewardkit as rk
from rewardkit.history.files import RECORDER, part_name
from rewardkit.monitoring.readings import CompletionReader
from rewardkit.rewards.route import add_up
from rewardkit.rollouts.file_cache import FileCache
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.part_job import peak_memory
from rewardkit.scoring.scores import status_column
from rewardkit.scoring.stored import write_table

ROWS, MOST_ROWS, STEPS = 1_000_000, 10_000_000, 500
RECORDED_ROWS = 64_000
AIM_DIAGNOSIS, AIM_MEMORY, AIM_MONITOR, AIM_LOOK = 2.0, 2.0, 3.0, 0.3
WEIGHTS = {
    "correct": 1.0,
    "format": 0.2,
    "concise": 0.1,
    "close": 0.3,
    "repetition": -0.2,
}


def given(completion):
    """Stand for the functions that gave the scores; it is not called."""
    raise NotImplementedError


def scored(rows):
    """Return five components of prompts with pass rates of all kinds, one of them behind a gate, scored by hand."""
    draw = np.random.default_rng(0)
    groups = rows // SIBLINGS
    rates = np.repeat(draw.beta(1, 1, groups), SIBLINGS)
    correct = (draw.random(rows) < rates).astype(float)
    columns = {
        "correct": correct,
        "format": (draw.random(rows) < 0.9).astype(float),
        "concise": np.where(correct == 1, draw.random(rows), np.nan),
        "close": np.where(correct == 1, 1.0, np.round(draw.random(rows), 2)),
        "repetition": np.where(draw.random(rows) < 0.05, draw.random(rows), 0.0),
    }
    components = {
        name: rk.Component(name, given, weight=weight)
        for name, weight in WEIGHTS.items()
    }
    gate = rk.gate("correct", at_least=1.0)
    components["concise"] = replace(components["concise"], gate=gate)
    reward = rk.Reward("made", components=list(components.values()))
    prompts = [f"prompt-{row // SIBLINGS}" for row in range(rows)]
    texts = [f"the answer is {value}" for value in draw.integers(0, 10**6, rows)]
    own = pd.DataFrame(
        {
            "rollout_id": np.arange(rows),
            "prompt_id": pd.Series(prompts, dtype=object),
            "completion": pd.Series(texts, dtype=object),
        }
    )
    table = own.copy(deep=False)
    for name, values in columns.items():
        table[f"score/{name}"] = values
        table[f"status/{name}"] = status_column(np.isnan(values).astype(np.int8))
        for column in ("error", "reason"):
            table[f"{column}/{name}"] = pd.Series(np.full(rows, None, dtype=object))
    gated = {name: np.isnan(values) for name, values in columns.items()}
    table["reward"] = table["reward_raw"] = add_up(
        reward, columns, gated, np.ones(rows)
    )
    return rk.Scores(table, reward, Rollouts(own, {}, ("prompt_id",)))


def memory_of(call):
    """Return the megabytes that a call takes beside what is held before it; None where nothing tells."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    before = peak_memory()
    call()
    return (peak_memory() - before) / 1e6


def by_polars(table, key):
    """Return a call that takes mean and std of the scores by a column, from its texts or numbers."""
    import polars as pl  # of the extra `bench`

    columns = {name: table[f"score/{name}"].to_numpy() for name in WEIGHTS}
    frame = pl.DataFrame({**columns, key: table[key].tolist()})
    scores = pl.exclude(key)
    measures = scores.mean().name.suffix("_mean"), scores.std().name.suffix("_std")
    return lambda: frame.group_by(key).agg(*measures)


def diagnosis(runs, rows=ROWS):
    """Compare a diagnosis by group, without and with the groups from their texts."""
    scores = scored(rows)
    polars = by_polars(scores.table, "prompt_id")
    started = time.perf_counter()
    groups = int(scores.groups.max()) + 1
    grouping = time.perf_counter() - started
    megabytes = memory_of(lambda: rk.diagnose(scores))
    ours, theirs = in_turn(lambda: rk.diagnose(scores), polars, runs=runs)
    what, against = f"diagnose {rows:,} rows x 5", "polars, mean and std by group"
    yield Row(f"{what}, {groups:,} groups", ours, against, theirs, aim=AIM_DIAGNOSIS)
    with_groups = [seconds + grouping for seconds in ours]
    yield Row(f"{what}, with the groups from their texts", with_groups, against, theirs)
    if megabytes is not None:
        size = float(scores.table.memory_usage(deep=True).sum()) / 1e6
        memory = [megabytes], "the table itself", [size]
        yield Row(f"{what}: memory beside it", *memory, unit="MB", aim=AIM_MEMORY)


def largest(runs):
    """Compare a diagnosis at scale."""
    yield from diagnosis(runs, MOST_ROWS)


def scored_run(rows):
    """Return five components of a run; whole groups are in each step."""
    scores = scored(rows)
    groups = rows // SIBLINGS
    steps = np.repeat(np.arange(groups) * STEPS // groups, SIBLINGS)
    own = scores.rollouts.table.assign(step=steps)
    rollouts = Rollouts(own, {}, ("prompt_id", "step"))
    return replace(scores, table=scores.table.assign(step=steps), rollouts=rollouts)


def monitor(runs):
    """Compare a monitor and its page, by step."""
    scores = scored_run(ROWS)
    table = scores.table
    assert int(scores.groups.max()) > 0  # once for all that is done with the rollouts
    megabytes = memory_of(lambda: rk.monitor(scores).page())
    ours, theirs = in_turn(
        lambda: rk.monitor(scores).page(), by_polars(table, "step"), runs=runs
    )
    what, against = f"monitor {ROWS:,} rows x 5", "polars, mean and std by step"
    yield Row(f"{what}, {STEPS} steps", ours, against, theirs, aim=AIM_MONITOR)
    if megabytes is not None:
        yield Row(f"{what}: memory beside the table", [megabytes], unit="MB")
    yield from further_looks(runs)


def further_looks(runs):
    """Compare a further look at a recorded run, of which the last part is new, with one at all of it."""
    scores = scored_run(RECORDED_ROWS)
    about = {"session": "bench", "run": "bench", "before": {}, "steps": "trainer"}
    about |= {"redacted": False, "sample": 1.0, "rows_left_out": 0}
    record = scores.record_with("")
    cache, reader = FileCache(), CompletionReader()
    with tempfile.TemporaryDirectory() as folder:
        for step, rows in scores.table.groupby("step"):
            path = Path(folder, part_name("bench", step + 1))
            recorder = {RECORDER: {**about, "part": step + 1}}
            write_table(path, rows, {**record, **recorder})

        def further():
            path.touch()
            recorded = rk.load_scores(folder, cache=cache)
            return rk.monitor(recorded, reader=reader)

        def all_of_it():
            return rk.monitor(rk.load_scores(folder))

        assert further().record() == all_of_it().record()
        ours, theirs = in_turn(further, all_of_it, runs=runs)
    what = f"a further look at {RECORDED_ROWS:,} rows in {STEPS} parts"
    yield Row(what, ours, "a look at all of it", theirs, aim=AIM_LOOK)
