"""Seconds and memory of a diagnosis of many rollouts, against polars' mean and std by group: `make bench`.

The figures on the right are of the same columns of scores, grouped by the same texts. A diagnosis does more:
levels, ties, advantages, effective weights, correlations, lengths, identical answers, intervals.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from bench import in_turn

import rewardkit as rk
from rewardkit.rewards.route import add_up
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.scores import status_column

ROWS = 10_000_000
SIBLINGS = 8
RUNS = 3
WEIGHTS = {
    "correct": 1.0,
    "format": 0.2,
    "concise": 0.1,
    "close": 0.3,
    "repetition": -0.2,
}


def given(completion: str) -> float:
    """Stands for the functions that gave the scores; it is not called."""
    raise NotImplementedError


def scored(rows: int) -> rk.Scores:
    """Five components of prompts with pass rates of all kinds, one of them behind a gate, scored by hand."""
    draw = np.random.default_rng(0)
    groups = rows // SIBLINGS
    correct = (draw.random(rows) < np.repeat(draw.beta(1, 1, groups), SIBLINGS)).astype(
        float
    )
    columns = {
        "correct": correct,
        "format": (draw.random(rows) < 0.9).astype(float),
        "concise": np.where(correct == 1, draw.random(rows), np.nan),
        "close": np.where(correct == 1, 1.0, np.round(draw.random(rows), 2)),
        "repetition": np.where(draw.random(rows) < 0.05, draw.random(rows), 0.0),
    }
    gate = rk.gate("correct", at_least=1.0)
    reward = rk.Reward(
        "made",
        components=[
            rk.Component(
                name, given, weight=weight, gate=gate if name == "concise" else None
            )
            for name, weight in WEIGHTS.items()
        ],
    )
    own = pd.DataFrame(
        {
            "rollout_id": np.arange(rows),
            "prompt_id": pd.Series(
                [f"prompt-{row // SIBLINGS}" for row in range(rows)], dtype=object
            ),
            "completion": pd.Series(
                [f"the answer is {value}" for value in draw.integers(0, 10**6, rows)],
                dtype=object,
            ),
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


def most_memory(reset: bool = False) -> float | None:
    """The most bytes that this process has had in memory, since the last reset; ``None`` where not told."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024.0 * next(
            int(line.split()[1]) for line in lines if line.startswith("VmHWM")
        )
    except OSError:
        return None


def main(rows: int) -> None:
    """Print seconds, their ratio, and the memory that the diagnosis takes beside the table."""
    import polars as pl  # of the extra `bench`; pytest looks into this file without it

    scores = scored(rows)
    started = time.perf_counter()
    groups = int(scores.groups.max()) + 1
    grouping = time.perf_counter() - started
    frame = pl.DataFrame(
        {name: scores.table[f"score/{name}"].to_numpy() for name in WEIGHTS}
    ).with_columns(pl.Series("prompt_id", scores.table["prompt_id"].tolist()))
    size = float(scores.table.memory_usage(deep=True).sum())
    before = most_memory(reset=True)
    rk.diagnose(scores)
    after = most_memory()
    by_group = pl.exclude("prompt_id")
    measures = by_group.mean().name.suffix("_mean"), by_group.std().name.suffix("_std")
    ours, theirs = in_turn(
        lambda: rk.diagnose(scores),
        lambda: frame.group_by("prompt_id").agg(*measures),
        runs=RUNS,
    )
    print(
        f"diagnosis of {rows:,} rollouts in {groups:,} groups, {len(WEIGHTS)} components"
    )
    print(f"  rk.diagnose                  {statistics.median(ours):6.2f} s")
    print(
        f"  the groups from their texts  {grouping:6.2f} s  (once for all that is done with the rollouts)"
    )
    print(
        f"  polars, mean and std         {statistics.median(theirs):6.2f} s  (from the texts of the groups)"
    )
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    with_groups = (statistics.median(ours) + grouping) / statistics.median(theirs)
    ratio = statistics.median(ratios)
    print(
        f"  ratio                        {ratio:6.2f}    (with the groups {with_groups:.2f})"
    )
    if before is not None and after is not None:
        print(
            f"  memory: table {size / 1e9:.2f} GB, {(after - before) / size:.2f} times that on top of it"
        )


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS)
