"""`rewardkit new`: the first hour of a new task."""

from __future__ import annotations

from pathlib import Path

import rewardkit as rk
from rewardkit.cli.command import Answer, Options, command
from rewardkit.cli.options import ANY_LOG


@command(
    "NAME --seed READING --json",
    {
        "--log ROLLOUTS": (f"{ANY_LOG}", {"required": True}),
        "-o --output FOLDER": "Folder for the files; made if missing.  [default: NAME]",
    },
)
def new(options: Options) -> Answer:
    """Start a task from a log: a first reward, cases to decide, a notebook.

    The reward reads answers as the log's completions state them, and its comments say
    what was measured. The cases are completions where ways to read the answer differ,
    at thresholds and at the top of the reward. Nothing that is there is written over.

    Example:
      rewardkit new sums --log gallery:arithmetic
    """
    folder = Path(options.name) if options.output is None else options.output
    started = rk.start(
        options.name, options.log, folder, **options.reading, seed=options.seed
    )
    return Answer(started.record(), str(started))
