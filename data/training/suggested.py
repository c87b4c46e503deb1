"""What rk.suggest would change first of each reward, and the changed rewards to train.

    python data/training/suggested.py OUTPUT

Writes a row a task and reward: the line that makes the change, and what a rehearsed
training makes of the task before and after it. Needs the package alone.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
from predict import scored
from rewards import REWARDS, SETTINGS
from tasks import TASKS

import rewardkit as rk

HERE = Path(__file__).parent
CHANGED = "_changed"
"""How the name of a changed reward ends."""
REWEIGH = "scores.reweigh("


def suggested() -> pd.DataFrame:
    """Return the first change of each reward on hard problems, where there is one."""
    rows = []
    for task in TASKS:
        for name in REWARDS:
            scores, training = scored(task, "hard", name), SETTINGS.get(name)
            diagnosis = rk.diagnose(scores, label="right", training=training)
            for first in rk.suggest(diagnosis).changes[:1]:
                trained = first.trained
                row = {"task": task, "reward": name, "code": first.code}
                row |= {"verdict": first.verdict, "line": first.line}
                row |= {"before": trained.before.fast, "after": trained.after.fast}
                rows.append(row | {"gain": trained.gain})
                print(*rows[-1].values(), sep=" | ", flush=True)
    return pd.DataFrame(rows)


def read_changed(task: str, name: str) -> rk.Reward:
    """Return a reward with the change that `suggestions.csv` has of it."""
    table = pd.read_csv(HERE / "suggestions.csv").set_index(["task", "reward"])
    line, reward = table.loc[(task, name), "line"], REWARDS[name]
    if line.startswith(REWEIGH):
        weights = eval(line.removeprefix(REWEIGH).removesuffix(")"))
        items = [
            replace(item, weight=weights.get(item.name, item.weight))
            for item in reward.components
        ]
        return replace(reward, components=items)
    names = {"rk": rk, "replace": replace, "partial": partial, "reward": reward}
    made = eval(line, names)
    if isinstance(made, rk.Component):
        return replace(reward, components=[*reward.components, made])
    return made


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", help="a new CSV file; what is committed stays")
    output = parser.parse_args().output
    suggested().to_csv(output, index=False, float_format="%.4g", mode="x")


if __name__ == "__main__":
    main()
