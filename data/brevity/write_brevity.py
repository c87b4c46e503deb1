"""Write the log of a real training that collapsed, as TRL logs it.

    python data/brevity/write_brevity.py

The completions are those of `data/training/runs/sums-hard-short-3e-4-0` (every 20th
step); scores and advantages are what TRL computed of them: `exact` plus 0.3 `short`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
TRAINING = HERE.parent / "training"
RUN = TRAINING / "runs" / "sums-hard-short-3e-4-0.completions.parquet"


def rows() -> list[dict[str, object]]:
    """Return the log, a row a completion."""
    sys.path.insert(0, str(TRAINING))
    try:
        from rewards import REWARDS
    finally:
        sys.path.remove(str(TRAINING))
    import rewardkit as rk

    table = pd.read_parquet(RUN).drop(columns="reward")
    scores = rk.score(REWARDS["short"], rk.load_rollouts(table))
    (view,) = rk.diagnose(scores).views
    lines = []
    for place, row in enumerate(table.to_dict("records")):
        lines.append(
            {
                "step": row["step"],
                "prompt": row["prompt"],
                "completion": row["completion"],
                "exact": float(np.float32(scores.score("exact")[place])),
                "short": float(np.float32(scores.score("short")[place])),
                "advantage": float(np.float32(view.advantages[place])),
                "ground_truth": row["ground_truth"],
            }
        )
    return lines


if __name__ == "__main__":
    text = "".join(json.dumps(row) + "\n" for row in rows())
    (HERE / "rollouts.jsonl").write_text(text, encoding="utf-8")
