"""Predict every run of data/training from its first rollouts, before it is made.

    python data/training/predict.py OUTPUT [REWARD ...]

Writes a row a task, difficulty, reward and pace, of all rewards or of those named: what
becomes of the task, where the median learner ends, the share of learners that fail, and
what takes over. Needs the package alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from make import ON_MIXED
from rewards import CHANGED, REWARDS, SETTINGS, find_reward, read_suggestions

import rewardkit as rk
from rewardkit.analysis.rehearsal.outlook import outlook_of
from rewardkit.analysis.rehearsal.reach import HALF

HERE = Path(__file__).parent


def label_rollouts(task: str, difficulty: str) -> rk.Rollouts:
    """Return the first rollouts, with a label "right" by `exact`."""
    table = pd.read_parquet(HERE / "rollouts" / f"{task}-{difficulty}.parquet")
    labels = rk.score(REWARDS["exact"], rk.load_rollouts(table)).score("exact")
    return rk.load_rollouts(table.assign(right=labels == 1))


def scored(task: str, difficulty: str, reward: str) -> rk.Scores:
    """Return the scores of the labelled first rollouts."""
    return rk.score(find_reward(task, reward), label_rollouts(task, difficulty))


def predict(forecast: rk.Forecast) -> Iterator[dict[str, Any]]:
    """Yield what a forecast says of each pace."""
    (run,) = forecast.rehearsals.values()
    outlook = forecast.outlook
    ends, sound = run.ends, run.sound
    for pace in ("gentle", "fast"):
        is_pace = run.pace == pace
        end = run.end(pace)
        grows = outlook.takes_over
        yield {
            "pace": pace,
            "start": outlook.start,
            "end": end,
            "outlook": outlook_of(outlook.start, end),
            "fails": float((ends < HALF * sound)[is_pace].mean()),
            "fragility": outlook.fragility,
            "takes_over": grows.kind if grows else "",
            "component": grows.component if grows else "",
        }


def all_settings() -> Iterator[tuple[str, str, str]]:
    """Yield task, difficulty and reward of each run."""
    for task in ("sums", "brackets"):
        for reward in REWARDS:
            yield task, "hard", reward
        for reward in ON_MIXED:
            yield task, "mixed", reward
    for change in read_suggestions().itertuples():
        yield change.task, "hard", f"{change.reward}{CHANGED}"


def main() -> None:
    """Write the predictions of all runs, and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", help="a new CSV file; what is committed stays")
    parser.add_argument("rewards", nargs="*", help="names; all without any")
    options = parser.parse_args()
    rows = []
    for task, difficulty, reward in all_settings():
        if options.rewards and reward not in options.rewards:
            continue
        setting = {"task": task, "difficulty": difficulty, "reward": reward}
        scores = scored(task, difficulty, reward)
        training = SETTINGS.get(reward.removesuffix(CHANGED))
        for row in predict(rk.forecast(scores, label="right", training=training)):
            rows.append(setting | row)
            print(*rows[-1].values(), sep=" | ", flush=True)
    table = pd.DataFrame(rows)
    table.to_csv(options.output, index=False, float_format="%.4g", mode="x")


if __name__ == "__main__":
    main()
