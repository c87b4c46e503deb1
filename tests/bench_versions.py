"""Seconds of `rewardkit runs` and `compare --last 3` of ten kept versions on 1,600 rows, and their disk: `make bench`.

Each is a process of its own, as a person starts it; the start of Python and its imports are in the time.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

VERSIONS, PROMPTS, SIBLINGS, RUNS = 10, 200, 8, 5
SOURCE = """import rewardkit as rk

def short(completion):
    return max(0.0, 1 - len(completion) / 400)

correct = rk.Component("correct", rk.verify.matches, columns={"prediction": "number"})
reward = rk.Reward(
    "sums",
    {"number": rk.extract.number(which="last")},
    [correct, rk.Component("short", short, weight=WEIGHT)],
)
"""


def write_log(path: Path) -> None:
    """Write a log of sums, of which about half are right, in up to 400 characters."""
    draw = random.Random(0)
    rows = []
    for prompt in range(PROMPTS):
        for _ in range(SIBLINGS):
            answer = prompt + 7 + draw.randint(0, 1)
            words = "".join(draw.choices("abcdefgh ", k=draw.randint(20, 400)))
            row = {"prompt": f"{prompt} + 7?", "completion": f"{words} {answer}"}
            rows.append({**row, "ground_truth": str(prompt + 7)})
    pd.DataFrame(rows).to_json(path, orient="records", lines=True)


def rewardkit(*arguments: str) -> float:
    """Run the command, and return the seconds it took."""
    words = [sys.executable, "-m", "rewardkit", *arguments]
    root = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root}
    began = time.perf_counter()
    subprocess.run(words, check=True, capture_output=True, env=environment)
    return time.perf_counter() - began


def size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def main() -> None:
    """Keep the versions, and print the seconds and the bytes."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_log(Path("log.jsonl"))
        for version in range(VERSIONS):
            Path("my.py").write_text(SOURCE.replace("WEIGHT", str(version / 10)))
            rewardkit("score", "my.py", "log.jsonl", "--keep")
        first = rewardkit("compare", "--last", "3")
        print(f"{VERSIONS} versions on {PROMPTS * SIBLINGS:,} rows")
        for command in (("runs",), ("compare", "--last", "3")):
            seconds = statistics.median(rewardkit(*command) for _ in range(RUNS))
            print(f"  rewardkit {' '.join(command):18} {seconds:5.2f} s")
        print(f"  the first comparison, which rehearses   {first:5.2f} s")
        start = statistics.median(rewardkit("--version") for _ in range(RUNS))
        print(f"  of it the start of the command line     {start:5.2f} s")
        share = size(Path("runs")) / size(Path("log.jsonl"))
        print(f"  disk, as a share of the log             {share:5.2f}")
        os.chdir("/")


if __name__ == "__main__":
    main()
