"""Score against the loop that a person would write, and the start of it against `import pandas`."""

from __future__ import annotations

import compileall
import math
import subprocess
import sys
import time
from pathlib import Path

from benches.inputs import repeated
from benches.table import Row, in_turn

import rewardkit as rk

ROWS = 100_000
AIM, AIM_START, AIM_IMPORT = 1.2, 1.25, 0.15
LOOP = "hand-written loop"
FIRST_SCORE = """
import rewardkit as rk
reward = rk.Reward('r', components=[rk.Component('c', lambda completion: 1.0)])
rk.score(reward, [{'completion': 'x', 'prompt_id': 'p'}])
"""


def by_hand(rows):
    """Return the rewards of the gallery's arithmetic; range and NaN are checked."""
    answer, tags = rk.extract.tag("answer"), rk.measure.tags("think", "answer")
    concise, repetition = (
        rk.measure.length(full_until=14, zero_from=24),
        rk.measure.repetition(ngram=4),
    )

    def checked(value):
        if value is None or math.isnan(value):
            return math.nan
        if not 0.0 <= value <= 1.0:
            raise ValueError(value)
        return float(value)

    rewards = []
    for row in rows:
        completion = row["completion"]
        prediction = answer(completion)
        correct = checked(rk.verify.numbers_equal(prediction, row["ground_truth"]))
        reward = 1.0 * correct + 0.2 * checked(tags(completion))
        if correct >= 1.0:
            reward += 0.1 * checked(concise(completion))
        reward += -0.2 * checked(repetition(completion))
        rewards.append(reward)
    return rewards


def compare(
    what,
    reward,
    rollouts,
    against,
    loop,
    aim,
    runs,
):
    """Return the processor time of `rk.score` and of a loop that must give the same rewards."""
    assert abs(rk.score(reward, rollouts).rewards - loop()).max() < 1e-12
    ours, theirs = in_turn(
        lambda: rk.score(reward, rollouts), loop, runs=runs, clock=time.process_time
    )
    return Row(what, ours, against, theirs, aim=aim)


def scoring(runs):
    """Compare rewards of primitives: same primitives, same checks, same rows."""
    rollouts = repeated(ROWS)
    rows = list(rollouts)
    yield compare(
        f"score {ROWS:,} rows: 4 primitives, a field, a gate",
        rk.load_reward("gallery:arithmetic"),
        rollouts,
        LOOP,
        lambda: by_hand(rows),
        AIM,
        runs,
    )
    for name, function in {
        "measure.tags": rk.measure.tags("think", "answer"),
        "measure.length": rk.measure.length(full_until=200, zero_from=900),
    }.items():
        reward = rk.Reward("one", components=[rk.Component("only", function)])
        what = f"score {ROWS:,} rows: {name} alone"

        def loop(function=function):
            return [function(row["completion"]) for row in rows]

        yield compare(what, reward, rollouts, LOOP, loop, AIM, runs)


def starting(runs):
    """Compare imports of compiled modules, without the start of Python itself."""
    # as pip does with pandas, when it installs a wheel
    compileall.compile_dir(Path(rk.__file__).parent, quiet=1)

    def run(code):
        command = [sys.executable, "-c", code]
        return lambda: subprocess.run(command, check=True, capture_output=True)

    codes = "pass", "import rewardkit", FIRST_SCORE, "import pandas"
    bare, *others = in_turn(*map(run, codes), runs=runs)
    imported, scored, pandas = (
        [a - b for a, b in zip(seconds, bare, strict=True)] for seconds in others
    )
    against = "import pandas"
    yield Row("import rewardkit", imported, against, pandas, aim=AIM_IMPORT)
    yield Row("first rk.score, with its import", scored, against, pandas, aim=AIM_START)
