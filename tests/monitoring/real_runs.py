"""The real trainings of data/training: what became of the task by their curves, and what the monitor says."""

import importlib
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

    def scores(self, reward: str | None = None) -> rk.Scores:
        """Return what its reward, or another one, gives the completions that were kept."""
        paid = _rewards_module().find_reward(self.task, reward or self.reward)
        table = pd.read_parquet(RUNS / f"{self.name}.completions.parquet")
        rollouts = rk.load_rollouts(table.drop(columns="reward"))
        return rk.score(paid, rollouts)

    @property
    def task(self) -> str:
        """Return the name of the task."""
        return self.name.split("-")[0]

    @property
    def reward(self) -> str:
        """Return the name of the reward that it was trained on."""
        return self.name.split("-")[2]

    def monitor(self) -> rk.Monitor:
        """Return what the monitor says of the completions that were kept."""
        settings = _rewards_module().SETTINGS.get(self.reward)
        return rk.monitor(self.scores(), training=settings)


def _rewards_module():
    """Return data/training/rewards.py, which is no module of a package."""
    sys.path.insert(0, str(TRAINING))
    try:
        return importlib.import_module("rewards")
    finally:
        sys.path.remove(str(TRAINING))


def all_runs() -> list[Run]:
    """Return every run that is shipped, by name."""
    return [Run(path.stem) for path in sorted(RUNS.glob("*.csv"))]
