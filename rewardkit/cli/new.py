"""`rewardkit new`: the first hour of a new task."""

from __future__ import annotations

from pathlib import Path

import rewardkit as rk
from rewardkit.cli.command import Answer, Asked, command
from rewardkit.cli.options import ANY_LOG


@command(
    "NAME --seed READING --json",
    {
        "--log ROLLOUTS": (f"{ANY_LOG}", {"required": True}),
        "-o --output FOLDER": "Folder for the files; made if missing.  [default: NAME]",
    },
)
def new(asked: Asked) -> Answer:
    """Start a task from a log: a first reward, cases to decide, a notebook.

    The reward reads answers as the log's completions state them, and its comments say what was measured. The
    cases are completions where ways to read the answer differ, at thresholds and at the top of the reward.
    Nothing that is there is written over.

    Example:
      rewardkit new sums --log gallery:arithmetic
    """
    folder = Path(asked.name) if asked.output is None else asked.output
    made = rk.start(asked.name, asked.log, folder, **asked.reading, seed=asked.seed)
    return Answer(made.record(), str(made))
