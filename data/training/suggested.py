"""What rk.suggest would change first of each reward.

    python data/training/suggested.py OUTPUT [REWARD ...]

Writes a row a task and reward, of all rewards or of those named: the line that makes
the change, and what a rehearsed training makes of the task before and after it. In
`suggestions.csv` `offered` says whether that change is still the first one. Needs the
package alone.
"""

from __future__ import annotations

import argparse

import pandas as pd
from predict import scored
from rewards import REWARDS, SETTINGS
from tasks import TASKS

import rewardkit as rk


def suggested(names: list[str]) -> pd.DataFrame:
    """Return the first change of each reward on hard problems, where there is one."""
    rows = []
    for task in TASKS:
        for name in names or REWARDS:
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


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", help="a new CSV file; what is committed stays")
    parser.add_argument("rewards", nargs="*", help="names; all without any")
    options = parser.parse_args()
    table = suggested(options.rewards)
    table.to_csv(options.output, index=False, float_format="%.4g", mode="x")


if __name__ == "__main__":
    main()
