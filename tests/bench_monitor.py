"""Seconds and memory of a monitor of a million rollouts, against polars' mean and std by step: `make bench`.

A monitor does more: advantages, changes with their steps, 20,000 completions read, what is newly paid.
"""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np
from bench import in_turn
from bench_diagnosis import SIBLINGS, WEIGHTS, most_memory, scored

import rewardkit as rk
from rewardkit.rollouts.table import Rollouts

ROWS = 1_000_000
STEPS = 500
RUNS = 3


def with_steps(scores: rk.Scores) -> rk.Scores:
    """Return the scores as those of a run of so many steps, whole groups in each."""
    groups = len(scores) // SIBLINGS
    steps = np.repeat(np.arange(groups) * STEPS // groups, SIBLINGS)
    own = scores.rollouts.table.assign(step=steps)
    rollouts = Rollouts(own, {}, ("prompt_id", "step"))
    return replace(scores, table=scores.table.assign(step=steps), rollouts=rollouts)


def main() -> None:
    """Print seconds, their ratio, and the memory that the monitor takes beside the table."""
    import polars as pl  # of the extra `bench`

    scores = with_steps(scored(ROWS))
    assert int(scores.groups.max()) > 0  # once for all that is done with the rollouts
    frame = pl.DataFrame(
        {name: scores.table[f"score/{name}"].to_numpy() for name in WEIGHTS}
    ).with_columns(pl.Series("step", scores.table["step"].to_numpy()))
    by_step = pl.exclude("step")
    measures = by_step.mean().name.suffix("_mean"), by_step.std().name.suffix("_std")
    before = most_memory(reset=True)
    rk.monitor(scores).page()
    after = most_memory()
    ours, theirs = in_turn(
        lambda: rk.monitor(scores).page(),
        lambda: frame.group_by("step").agg(*measures),
        runs=RUNS,
    )
    print(
        f"monitor of {ROWS:,} rollouts in {STEPS} steps, {len(WEIGHTS)} components\n"
        f"  rk.monitor and its page      {statistics.median(ours):6.2f} s\n"
        f"  polars, mean and std by step {statistics.median(theirs):6.2f} s\n"
        f"  ratio                        {statistics.median(ours) / statistics.median(theirs):6.1f}"
    )
    if before is not None and after is not None:
        print(f"  memory beside the table      {(after - before) / 1e6:6.0f} MB")


if __name__ == "__main__":
    main()
