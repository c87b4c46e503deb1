"""Forecast two rewards, train on them for 40 steps, and hold one against the other.

    python data/training/live.py

Brevity that is paid twice as much as the task: to all completions, and to right ones
alone. Needs the extra `trainers`, and a minute of a core. Exit status 1 where a
training does not go the way that was told before it.
"""

from __future__ import annotations

import sys
import warnings

import pandas as pd
import torch
from make import load_base
from predict import label_rollouts
from rewards import RIGHT, bonus, make_reward, short
from run import Run, train

import rewardkit as rk
from rewardkit.analysis.rehearsal.outlook import outlook_of
from rewardkit.analysis.rehearsal.rehearsal import LAST_STEPS

STEPS = 40
REWARDS = {
    "brevity": make_reward("brevity", bonus(short, 2.0)),
    "brevity behind a gate": make_reward("gated", bonus(short, 2.0, gate=RIGHT)),
}


def main() -> int:
    """Print what was told and what came of it; the exit status."""
    warnings.simplefilter("ignore", FutureWarning)  # transformers', a line a step
    torch.set_num_threads(1)
    rollouts = label_rollouts("sums", "hard")
    forecasts = {}
    for name, reward in REWARDS.items():
        forecasts[name] = rk.forecast(rk.score(reward, rollouts), label="right")
        print(f"{name}: {forecasts[name].verdict}", flush=True)
    rows = []
    for name, reward in REWARDS.items():
        setting = Run("sums", "hard", reward.name, 3e-4, seed=0, steps=STEPS)
        steps, _ = train(setting, load_base("sums"), reward)
        outlook = forecasts[name].outlook
        end = steps["score/exact"][-LAST_STEPS:].mean()
        did = outlook_of(outlook.start, end)
        rows.append((name, outlook.task, outlook.start, end, did))
    table = pd.DataFrame(rows, columns=["reward", "told", "start", "end", "did"])
    print(table.to_string(index=False, float_format="%.2f"))
    return int((table["told"] != table["did"]).any())


if __name__ == "__main__":
    sys.exit(main())
