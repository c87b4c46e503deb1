"""Predict the trainings of Gemma 3 270M, and hold that against what they did.

    python data/training/gemma_proof.py [--predict OUTPUT]

`--predict` writes a row a reward and pace, from the log of data/arithmetic: what
`rk.forecast` says with the settings of `gemma_runs.py`. Needs the package alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rewardkit as rk
from rewardkit.analysis.rehearsal.outlook import outlook_of
from rewardkit.analysis.rehearsal.reach import HALF
from rewardkit.analysis.rehearsal.rehearsal import UNLUCKY

LOG = Path(__file__).parent.parent / "arithmetic" / "rollouts.jsonl"
REWARDS = {"sound": "gallery:arithmetic", "flawed": "gallery:arithmetic.flawed"}
TRAINING = rk.Training(num_generations=8, prompts_per_batch=4, max_completion_length=64)
STEPS = (30, 60, 160)
"""Steps of a rehearsal at which the task is predicted."""


def read_log() -> rk.Rollouts:
    """Return the completions after five examples, with a label "right"."""
    table = pd.read_json(LOG, lines=True, dtype={"ground_truth": str})
    table = table[table["policy"] == "five-shot"]
    sound = rk.score(rk.load_reward(REWARDS["sound"]), rk.load_rollouts(table))
    return rk.load_rollouts(table.assign(right=sound.score("correct") == 1))


def predict() -> Iterator[dict[str, Any]]:
    """Yield a row a reward and pace."""
    for name, source in REWARDS.items():
        scores = rk.score(rk.load_reward(source), read_log())
        forecast = rk.forecast(scores, label="right", training=TRAINING)
        (run,) = forecast.rehearsals.values()
        outlook = forecast.outlook
        task = run.course.mean(run.rows.task)  # (steps, learners)
        for pace in ("gentle", "fast"):
            learners = run.judges_reward(pace)
            row = {"reward": name, "pace": pace, "start": outlook.start}
            for step in STEPS:
                before = task[step - 10 : step, learners].mean(axis=0)
                row[f"task_{step}"] = float(np.quantile(before, UNLUCKY))
            row |= {
                "outlook": outlook_of(outlook.start, run.end(pace)),
                "fails": float((run.ends < HALF * run.sound)[run.pace == pace].mean()),
                "fragility": outlook.fragility,
                "takes_over": outlook.takes_over.kind if outlook.takes_over else "",
                "component": outlook.takes_over.component if outlook.takes_over else "",
            }
            yield row


def main() -> None:
    """Write the predictions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--predict", help="a new CSV file; what is committed stays")
    options = parser.parse_args()
    if options.predict:
        table = pd.DataFrame(predict())
        table.to_csv(options.predict, index=False, float_format="%.4g", mode="x")
        print(table.to_string())


if __name__ == "__main__":
    main()
