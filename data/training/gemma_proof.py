"""Predict the trainings of Gemma 3 270M, and hold that against what they did.

    python data/training/gemma_proof.py [--predict OUTPUT]

`--predict` writes a row a reward and pace, from the log of data/arithmetic: what
`rk.forecast` says with the settings of `gemma_runs.py`. Without it, both are printed.
Needs the package alone.
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
from rewardkit.analysis.rehearsal.rehearsal import LAST_STEPS, UNLUCKY

HERE = Path(__file__).parent
LOG = HERE.parent / "arithmetic" / "rollouts.jsonl"
RUNS = HERE / "runs_of_gemma"
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


def right_by_prompt(name: str, steps: int) -> pd.Series:
    """Return the share right of each prompt of the last of so many first steps."""
    table = pd.read_parquet(RUNS / f"{name}.completions.parquet")
    last = table[table["step"].between(steps - LAST_STEPS, steps - 1)]
    return last.groupby(["step", "prompt"])["right"].mean()


def outcome(name: str) -> dict[str, Any]:
    """Return what a training did: its last steps beside the log, and the monitor."""
    steps = pd.read_csv(RUNS / f"{name}.csv")
    table = pd.read_parquet(RUNS / f"{name}.completions.parquet")
    log = read_log().table
    of_log = log.groupby(log["prompt"].str.split("Question: ").str[1])["right"].mean()
    asked = table["prompt"].str.removeprefix("Question: ").str.strip()
    last = table["step"] > table["step"].max() - LAST_STEPS
    start, end = asked.map(of_log)[last].mean(), table["right"][last].mean()
    scores = rk.score(rk.load_reward(REWARDS[name]), rk.load_rollouts(table))
    return {
        "reward": name,
        "steps": len(steps),
        "same_prompts_in_log": start,
        "task": end,
        "did": outlook_of(start, end),
        "words_at_first": steps["words"][:LAST_STEPS].mean(),
        "words": steps["words"][-LAST_STEPS:].mean(),
        "cut": steps["cut"][-LAST_STEPS:].mean(),
        "unscored": steps["unscored"][-LAST_STEPS:].mean(),
        "monitor": rk.monitor(scores, training=TRAINING).verdict,
    }


def main() -> None:
    """Write the predictions, or print them beside what the trainings did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--predict", help="a new CSV file; what is committed stays")
    options = parser.parse_args()
    if options.predict:
        table = pd.DataFrame(predict())
        table.to_csv(options.predict, index=False, float_format="%.4g", mode="x")
        return
    told = pd.read_csv(HERE / "predictions_of_gemma.csv")
    print(told.drop(columns=["component"]).to_string(index=False))
    if not RUNS.is_dir():
        print("No training that decides is there yet.")
        return
    outcomes = pd.DataFrame([outcome(name) for name in REWARDS])
    print(outcomes.round(2).T.to_string(header=False))
    steps = int(outcomes["steps"].min())
    sound, flawed = (right_by_prompt(name, steps) for name in ("sound", "flawed"))
    ahead = (sound - flawed).dropna()
    error = 1.96 * ahead.std() / len(ahead) ** 0.5
    print(
        f"sound above flawed on {len(ahead)} prompts that both had at the same steps: "
        f"{ahead.mean():.2f} ({ahead.mean() - error:.2f} to {ahead.mean() + error:.2f})"
    )


if __name__ == "__main__":
    main()
