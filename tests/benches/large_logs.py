"""A verl log file scored into a folder, against the loop by hand: json, the same functions, pyarrow; and two nodes of Ray against one process.

Each is a process of its own, with its start and imports in the time. The loop has no time limit, and holds all rows.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches.inputs import PARTS, REWARD, size, write_verl_log
from benches.table import Row, in_turn

ROWS, COPIES, RAY_ROWS = 1_000_000, 10, 900_000
AIM, AIM_WORKERS, AIM_MEMORY, AIM_RAY = 1.3, 0.75, 1.5, 0.65
BY_HAND = f"""{PARTS}
import json, sys
import pyarrow as pa, pyarrow.parquet as pq
from rewardkit.scoring.part_job import peak_memory

names = "prompt completion ground_truth logged_score step logged_acc exact tagged brief reward"
columns = {{name: [] for name in names.split()}}
with open("log.jsonl") as file:
    for line in file:
        row = json.loads(line)
        text = row["output"]
        parts = exact(text, row["gts"]), tagged(text), brief(text)
        reward = parts[0] + 0.2 * parts[1] + 0.1 * parts[2]
        for column, value in zip(columns.values(), (*row.values(), *parts, reward)):
            column.append(value)
pq.write_table(pa.table(columns), "by_hand.parquet")
print(peak_memory())
"""
OURS = """
import sys, rewardkit as rk
timeout, workers = (float(word) or None for word in sys.argv[1:])
reward = rk.load_reward("my.py")
workers = int(workers) if workers else None
options = {"timeout": timeout, "workers": workers, "to": "scores", "force": True}
print(rk.score(reward, "log.jsonl", **options).memory)
"""
"""With a time limit for a call in seconds, and workers; 0 for none."""

SLOW = '''"""A function of 50 microseconds of the processor, whatever else runs."""
import time

def reward(completion):
    end = time.thread_time_ns() + 50_000
    while time.thread_time_ns() < end:
        pass
    return len(completion) / 1000
'''
ON_RAY = """
import sys, rewardkit as rk
engine = rk.Ray(sys.argv[1]) if sys.argv[1:] else None
reward = rk.load_reward("my.py")
print(rk.score(reward, "log.jsonl", to="scores", force=True, engine=engine).memory)
"""
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}


def prepare(folder, reward=REWARD, rows=ROWS):
    """Write the reward and the log into a folder, and return the log."""
    (folder / "my.py").write_text(reward)
    write_verl_log(folder / "log.jsonl", rows)
    return folder / "log.jsonl"


def run(folder, code, *words):
    """Run a script in the folder, and return the gigabytes that it held at most.

    Parts that are there would be taken for done.
    """
    shutil.rmtree(folder / "scores", ignore_errors=True)
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=folder
    )
    return int(done.stdout.split()[-1]) / 1e9


def rows(runs):
    """Compare seconds and memory of a million rows."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        prepare(folder)
        memory: dict[str, float] = {}
        plain, both, limited, loop = in_turn(
            lambda: memory.update(plain=run(folder, OURS, "0", "0")),
            lambda: memory.update(both=run(folder, OURS, "0", "2")),
            lambda: run(folder, OURS, "10", "0"),
            lambda: memory.update(loop=run(folder, BY_HAND)),
            runs=runs,
        )
    against, what = "json, loop, pyarrow by hand", f"score a log of {ROWS:,} rows"
    yield Row(f"{what} to a folder", plain, against, loop, aim=AIM)
    yield Row(f"{what}, two workers", both, against, loop, aim=AIM_WORKERS)
    yield Row(f"{what}, a limit of 10 s for a call", limited, against, loop)
    for name, count in (("plain", "one process"), ("both", "two workers")):
        peak = [memory[name]], against, [memory["loop"]]
        yield Row(f"{what}: memory of {count}", *peak, unit="GB")


def largest(runs):
    """Time ten times the rows once, whatever the runs; the prompts of each copy are its own."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        log = prepare(folder)
        lines = log.read_text().splitlines(keepends=True)
        with log.open("a") as file:
            for copy in range(1, COPIES):
                for line in lines:
                    file.write(line.replace("What", f"{copy}. What", 1))
        what = f"score a log of {COPIES * ROWS:,} rows to a folder"
        for workers, name in (("0", what), ("2", f"{what}, two workers")):
            began = time.perf_counter()
            memory = run(folder, OURS, "0", workers)
            yield Row(name, [time.perf_counter() - began])
            yield Row(f"{name}: memory", [memory], unit="GB", aim=AIM_MEMORY)
        disk = [size(folder / "scores")], "the log", [log.stat().st_size / 1e6]
        yield Row(f"{what}: disk", *disk, unit="MB")


def ray_nodes(runs):
    """Compare two nodes of a Ray cluster on this machine, a processor each, with one process."""
    from ray.cluster_utils import Cluster

    # else Ray's processes wait for whatever else the machine does
    os.environ["RAY_worker_niceness"] = "0"
    cluster = Cluster(True, head_node_args={**NODE, "include_dashboard": False})
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        prepare(folder, SLOW, RAY_ROWS)
        try:
            cluster.add_node(**NODE)
            nodes, one = in_turn(
                lambda: run(folder, ON_RAY, cluster.address),
                lambda: run(folder, ON_RAY),
                runs=runs,
            )
        finally:
            cluster.shutdown()
    what = f"score a log of {RAY_ROWS:,} rows, 50 µs a call, two local nodes of Ray"
    yield Row(what, nodes, "one process", one, aim=AIM_RAY)
