"""The real trainings of data/training: what became of the task by their curves, and what the monitor says."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import rewardkit as rk

TRAINING = Path(__file__).parent.parent.parent / "data" / "training"
RUNS = TRAINING / "runs"
SMOOTHED, LAST = 8, 15
"""Steps of a smoothed figure, and of the end of a run."""
LOST, KEPT = 0.5, 0.8
"""Shares of the most that was done of the task: at most this at the end, at least this."""


@dataclass(frozen=True)
class Run:
    """A training, by its name: task-difficulty-reward-rate-seed."""

    name: str

    def curve(self) -> pd.Series:
        """Return the share of right answers at each step, smoothed."""
        steps = pd.read_csv(RUNS / f"{self.name}.csv")["score/exact"]
        return steps.rolling(SMOOTHED, center=True, min_periods=1).mean()

    def outcome(self) -> str:
        """Say what became of the task: "lost", "kept", or "in between"."""
        curve = self.curve()
        share = curve.iloc[-LAST:].mean() / curve.max()
        if share <= LOST:
            return "lost"
        return "kept" if share >= KEPT else "in between"

    def onset(self) -> int:
        """Return the last step at which a lost task was near its most."""
        curve = self.curve()
        return int(np.flatnonzero(curve >= KEPT * curve.max())[-1])

    def monitor(self) -> rk.Monitor:
        """Return what the monitor says of the completions that were kept."""
        sys.path.insert(0, str(TRAINING))
        try:
            from rewards import SETTINGS, find_reward
        finally:
            sys.path.remove(str(TRAINING))
        task, _, name, *_ = self.name.split("-")
        table = pd.read_parquet(RUNS / f"{self.name}.completions.parquet")
        reward = find_reward(task, name)
        scores = rk.score(reward, rk.load_rollouts(table.drop(columns="reward")))
        return rk.monitor(scores, training=SETTINGS.get(name))


def all_runs() -> list[Run]:
    """Return every run that is shipped, by name."""
    return [Run(path.stem) for path in sorted(RUNS.glob("*.csv"))]
