"""Make all of data/training again: base models, first rollouts, and the runs.

    python data/training/make.py [--only PATTERN] [--processes 2]

Needs the extra `trainers`. A run takes about two minutes on one core; what is there
already is not made again.
"""

from __future__ import annotations

import argparse
import fnmatch
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent
BASES, ROLLOUTS, RUNS = HERE / "bases", HERE / "rollouts", HERE / "runs"
PRETRAINING = {"sums": 1000, "brackets": 650}
"""Task -> steps of imitation: right now and then on hard problems, 1 in 10 or so."""
FIRST_PROMPTS = 200
RATES = (1.5e-4, 3e-4)
"""A gentle one and a fast one; at 6e-4 this base unlearns under any reward."""
SEEDS = (0, 1, 2)
SMALLEST = 22
"""Level of zstd at which files are smallest: all runs must fit into 8 MB."""
REPEATED = ["prompt", "ground_truth", "step", "reward"]
"""Columns of completions that have few different values."""
ON_MIXED = ("exact", "short", "short_gated", "long")
"""Rewards that are trained at the second difficulty too."""


def make_base(task: str) -> None:
    """Train the base of a task, and sample its first rollouts at each difficulty."""
    import torch
    from policy import base, sample
    from safetensors.torch import save_model
    from tasks import TASKS

    torch.set_num_threads(1)
    path = BASES / f"{task}.safetensors"
    if path.is_file():
        return
    learner = base(TASKS[task], steps=PRETRAINING[task])
    BASES.mkdir(exist_ok=True)
    for difficulty in TASKS[task].sizes:
        problems = TASKS[task].problems(difficulty, FIRST_PROMPTS, seed=0)
        prompts = [problem.prompt for problem in problems]
        completions = sample(learner, prompts, generations=8, seed=0)
        rows = [
            {
                "prompt_id": str(place),
                "prompt": problem.prompt,
                "ground_truth": problem.truth,
            }
            for place, problem in enumerate(problems)
            for _ in range(8)
        ]
        table = pd.DataFrame(rows).assign(completion=completions)
        ROLLOUTS.mkdir(exist_ok=True)
        table.to_parquet(ROLLOUTS / f"{task}-{difficulty}.parquet", compression="zstd")
    save_model(learner, str(path))


def load_base(task: str):
    """Return the base of a task, as it is before any training."""
    from policy import model
    from safetensors.torch import load_model

    learner = model()
    load_model(learner, BASES / f"{task}.safetensors")
    return learner


def make_run(run) -> str:
    """Train one run and keep its tables; its name."""
    import torch
    from rewards import find_reward
    from run import train

    torch.set_num_threads(1)
    reward = find_reward(run.task, run.reward)
    steps, completions = train(run, load_base(run.task), reward)
    RUNS.mkdir(exist_ok=True)
    completions.to_parquet(
        RUNS / f"{run.name}.completions.parquet",
        compression="zstd",
        compression_level=SMALLEST,
        use_dictionary=REPEATED,
    )
    steps.to_csv(RUNS / f"{run.name}.csv", index=False, float_format="%.4g")
    return run.name


def all_runs() -> list:
    """Return every run, by seed; then those of changed rewards."""
    from rewards import CHANGED, REWARDS, read_suggestions
    from run import Run
    from tasks import TASKS

    runs = []
    for seed in SEEDS:
        for task in TASKS:
            for rate in RATES:
                for reward in REWARDS:
                    runs.append(Run(task, "hard", reward, rate, seed))
                for reward in ON_MIXED:
                    runs.append(Run(task, "mixed", reward, rate, seed))
    for change in read_suggestions().itertuples():
        name = f"{change.reward}{CHANGED}"
        runs.append(Run(change.task, "hard", name, RATES[1], seed=0))
    return runs


def main() -> None:
    """Make what is missing, and print the name of each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*", help="pattern of names of runs")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    pool = partial(
        ProcessPoolExecutor,
        options.processes,
        mp_context=get_context("spawn"),
        max_tasks_per_child=1,
    )
    with pool() as executor:
        list(executor.map(make_base, PRETRAINING))
    missing = [
        run
        for run in all_runs()
        if fnmatch.fnmatch(run.name, options.only)
        and not (RUNS / f"{run.name}.csv").is_file()
    ]
    with pool() as executor:
        for name in executor.map(make_run, missing):
            print(name, flush=True)


if __name__ == "__main__":
    main()
