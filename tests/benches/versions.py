"""`rewardkit runs` and `compare --last 3` of ten kept versions on 1,600 rows, and their disk.

Each is a process of its own, as a person starts it; the start of Python and its imports are in the time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches.inputs import REWARD, size, write_verl_log
from benches.table import Row, in_turn

VERSIONS, ROWS = 10, 1_600
AIM = 1.5


def rows(runs):
    """Keep the versions, then list and compare them."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)

        def rewardkit(words):
            command = [sys.executable, "-m", "rewardkit", *words.split()]
            subprocess.run(
                command, check=True, capture_output=True, env=environment, cwd=folder
            )

        write_verl_log(folder / "log.jsonl", ROWS)
        for version in range(VERSIONS):
            source = REWARD.replace("weight=0.1", f"weight={version / 10}")
            (folder / "my.py").write_text(source)
            rewardkit("score my.py log.jsonl --keep")
        began = time.perf_counter()
        rewardkit("compare --last 3")
        first = time.perf_counter() - began
        of = f" of {VERSIONS} versions of {ROWS:,} rows"
        for words, aim in (
            ("runs", AIM),
            ("compare --last 3", AIM),
            ("--version", None),
        ):
            (seconds,) = in_turn(lambda words=words: rewardkit(words), runs=runs)
            yield Row(
                f"rewardkit {words}{of if aim else ', its start alone'}",
                seconds,
                aim=aim,
            )
        yield Row("the first comparison, which rehearses", [first])
        log = [(folder / "log.jsonl").stat().st_size / 1e6]
        yield Row(f"disk{of}", [size(folder / "runs")], "the log", log, unit="MB")
