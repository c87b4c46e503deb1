"""Seconds, memory and disk of `rewardkit score` on logs of millions of rows, run by `make bench-full`.

Named beside it is the way that a person writes by hand: json, a loop over the functions, pyarrow. It holds all
rows, and is run for a million of them alone. Seconds of the processor are those of all processes.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIBLINGS = 8
MOST_BY_HAND = 1_000_000
REWARD = """
import re
import rewardkit as rk

ANSWER = re.compile(r"<answer>\\s*(-?\\d+)\\s*</answer>")

def exact(completion, ground_truth):
    answer = ANSWER.search(completion)
    return float(answer is not None and answer[1] == ground_truth)

def tagged(completion):
    return float(completion.startswith("<think>") and "</think>" in completion)

def brief(completion):
    return max(0.0, 1 - len(completion) / 1000)

parts = [rk.Component("exact", exact), rk.Component("tagged", tagged, weight=0.2), rk.Component("brief", brief, weight=0.1)]
reward = rk.Reward("sums", components=parts)
"""
BY_HAND = """
import json, sys
import pyarrow as pa, pyarrow.parquet as pq
from reward import exact, tagged, brief

names = "step prompt completion ground_truth logged_score logged_acc exact tagged brief reward"
columns = {name: [] for name in names.split()}
with open(sys.argv[1]) as lines:
    for line in lines:
        row = json.loads(line)
        scores = exact(row["output"], row["gts"]), tagged(row["output"]), brief(row["output"])
        reward = scores[0] + 0.2 * scores[1] + 0.1 * scores[2]
        logged = row["step"], row["input"], row["output"], row["gts"], row["score"], row["acc"]
        for name, value in zip(columns, (*logged, *scores, reward)):
            columns[name].append(value)
pq.write_table(pa.table(columns), sys.argv[2])
"""


def write_log(path: Path, rows: int) -> None:
    """Write a log as verl does: sums, of which about half are right, 8 completions a prompt."""
    draw = random.Random(0)
    words = "so we add the two numbers and then carry the one to get what is asked for here".split()
    with path.open("w") as file:
        for group in range(rows // SIBLINGS):
            first, second = draw.randint(10, 999), draw.randint(10, 999)
            prompt = f"user\nQuestion {group}: {first} apples and {second} apples, how many? Put it into <answer> tags.\nassistant\n"
            for _ in range(SIBLINGS):
                text = " ".join(draw.choices(words, k=draw.randint(20, 90)))
                answer = first + second + (draw.random() < 0.4) * draw.randint(-9, 9)
                score = float(answer == first + second)
                output = f"<think>{text}</think>\n<answer>{answer}</answer>"
                row = {
                    "input": prompt,
                    "output": output,
                    "gts": str(first + second),
                    "score": score,
                }
                file.write(
                    json.dumps({**row, "step": group // 128, "acc": score}) + "\n"
                )


def run(name: str, folder: Path, *words: str) -> tuple[float, float]:
    """Run a command, print its seconds and what it says of memory; give the seconds."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = [line for line in done.stdout.splitlines() if "memory at most" in line]
    print(
        f"  {name:<26} {seconds:7.1f} s, {processor:7.1f} s of processor  {''.join(said)}",
        flush=True,
    )
    return seconds, processor


def measure(folder: Path, millions: float) -> None:
    """Score a log of so many million rows in each way."""
    rows = int(millions * 1_000_000)
    log = folder / "log.jsonl"
    write_log(log, rows)
    print(f"{rows:,} rows, {log.stat().st_size / 1e9:.2f} GB of JSONL")
    by_hand = None
    if rows <= MOST_BY_HAND:
        by_hand = run("by hand", folder, "hand.py", "log.jsonl", "hand.parquet")
    ways = {
        "one process": "--timeout 0",
        "two workers": "--timeout 0 --workers 2",
        "with a time limit": "--timeout 10",
    }
    for name, options in ways.items():
        seconds = run(
            name,
            folder,
            *"-m rewardkit score reward.py log.jsonl -o out".split(),
            *options.split(),
        )
        if by_hand:
            print(
                f"    / by hand: {seconds[0] / by_hand[0]:.2f}, of processor {seconds[1] / by_hand[1]:.2f}"
            )
        size = sum(path.stat().st_size for path in (folder / "out").iterdir())
        print(f"    {size / 1e9:.2f} GB in {folder.name}/out")
        shutil.rmtree(folder / "out")
    log.unlink()


if __name__ == "__main__":
    for millions in map(float, sys.argv[1:] or ("1", "10")):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            (folder / "reward.py").write_text(REWARD)
            (folder / "hand.py").write_text(BY_HAND)
            measure(folder, millions)
