"""A process that records without end, for tests that kill it: python killed.py FOLDER [STEP].

As a script with --times 50 it is killed 50 times at random points, and what is left is read.
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import rewardkit as rk
from rewardkit.history import recorder

ROWS = 8
PART_SECONDS = 0.05


def vowels(completion):
    return min(1.0, sum(letter in "aeiou" for letter in completion) / 4)


def functions(folder, **options):
    """The one function for TRL of a reward that a recorder writes down."""
    reward = rk.Reward("vowels", components=[rk.Component("vowels", vowels)])
    (function,) = rk.targets.trl.functions(reward, record=folder, **options)
    return function


def score_step(function, step, rows=ROWS, characters=0):
    """One call as TRL makes it; the completions end in so many characters that cannot be packed."""
    return function(
        [f"prompt {row // 4}" for row in range(rows)],
        [
            f"{'ae' * row} {step}{random.randbytes(characters // 2).hex()}"
            for row in range(rows)
        ],
        trainer_state=SimpleNamespace(global_step=step),
    )


def record_forever(folder, step):
    recorder.PART_SECONDS = PART_SECONDS
    function = functions(folder)
    while True:
        score_step(function, step)
        print(step, flush=True)
        step += 1
        time.sleep(0.001)


def kill_after(folder, seconds, *, parts=0, step=0):
    """Start such a process, kill it so many seconds after its first step or parts, and return its last step."""
    command = [sys.executable, __file__, str(folder), str(step)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        last = process.stdout.readline()
        while len(list(Path(folder).glob("scores-*"))) < parts:
            time.sleep(0.01)
        time.sleep(seconds)
        process.kill()
        for line in process.stdout:
            if line.endswith("\n"):
                last = line
    return int(last)


def main(times):
    random.seed(0)
    lost, rows = [], 0
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            last = kill_after(folder, random.uniform(0.3, 2))
            if not list(Path(folder).glob("scores-*")):
                lost.append(last + 1)
                continue
            scores = rk.load_scores(folder)
            assert not scores.rollouts.notes
            steps = scores.table["step"].value_counts().sort_index()
            assert set(steps) == {ROWS} and list(steps.index) == list(range(len(steps)))
            lost.append(last + 1 - len(steps))
            rows += len(scores)
    print(f"killed {times} times: {rows:,} rows read, nothing unreadable, no hole; "
          f"steps lost at the end: median {sorted(lost)[times // 2]}, most {max(lost)}")  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1] == "--times":
        main(int(sys.argv[2]))
    else:
        record_forever(sys.argv[1], int(sys.argv[2]))
