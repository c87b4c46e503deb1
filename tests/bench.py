"""Benchmarks, run by `make bench`: each prints a ratio against a named alternative on the same input.

Not a test: nothing here fails. Figures are medians of several runs in turn, so that a machine that changes
its speed changes both sides.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import pandas as pd

import rewardkit as rk

ROWS = 100_000
RUNS = 7


def repeated(rows: int) -> rk.Rollouts:
    """The bundled arithmetic rollouts, repeated; each copy has prompts, and so groups, of its own."""
    table = rk.load_rollouts("gallery:arithmetic").table
    copies = -(-rows // len(table))
    whole = pd.concat(
        [table.assign(prompt_id=table.prompt_id + f"-{copy}") for copy in range(copies)]
    )
    return rk.load_rollouts(whole.head(rows).drop(columns="rollout_id"))


def by_hand(rows: list[dict[str, object]]) -> list[float]:
    """The gallery's arithmetic reward as the loop a person would write; range and NaN are checked."""
    answer, tags = rk.extract.tag("answer"), rk.measure.tags("think", "answer")
    concise, repetition = (
        rk.measure.length(full_until=14, zero_from=24),
        rk.measure.repetition(ngram=4),
    )

    def checked(value: float | None) -> float:
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


def in_turn(*sides: Callable[[], object], runs: int = RUNS) -> list[list[float]]:
    """Seconds of each side, so many times in turn after one run that does not count."""
    seconds: list[list[float]] = [[] for _ in sides]
    for run in range(runs + 1):
        for side, measured in zip(sides, seconds, strict=True):
            started = time.perf_counter()
            side()
            if run:
                measured.append(time.perf_counter() - started)
    return seconds


def compare(
    title: str, ours: Callable[[], object], name: str, theirs: Callable[[], object]
) -> None:
    """Print the seconds of both sides and their ratio, run by run."""
    first, second = in_turn(ours, theirs)
    ratios = [a / b for a, b in zip(first, second, strict=True)]
    print(title)
    print(f"  rk.score           {statistics.median(first):6.3f} s")
    print(f"  {name:<18} {statistics.median(second):6.3f} s")
    middle = statistics.median(ratios)
    print(
        f"  ratio              {middle:6.3f}    (lowest {min(ratios):.3f}, highest {max(ratios):.3f})"
    )


def scoring() -> None:
    """rk.score against the loop: same primitives, same checks, same rows."""
    reward, rollouts = rk.load_reward("gallery:arithmetic"), repeated(ROWS)
    rows = list(rollouts)
    scores = rk.score(reward, rollouts)
    difference = max(
        abs(a - b) for a, b in zip(scores.rewards, by_hand(rows), strict=True)
    )
    title = f"scoring {len(rollouts):,} rollouts, 1 field, 4 components of the gallery's arithmetic"
    compare(
        title,
        lambda: rk.score(reward, rollouts),
        "hand-written loop",
        lambda: by_hand(rows),
    )
    print(f"  largest difference of a reward: {difference:.1e}")


def starting() -> None:
    """Seconds until rewardkit is imported, and until a first score, against `import pandas`."""
    first = (
        "import rewardkit as rk\n"
        "reward = rk.Reward('r', components=[rk.Component('c', lambda completion: 1.0)])\n"
        "rk.score(reward, [{'completion': 'x', 'prompt_id': 'p'}])"
    )

    def run(code: str) -> Callable[[], object]:
        return lambda: subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True
        )

    nothing, ours, scored, pandas = in_turn(
        run("pass"), run("import rewardkit"), run(first), run("import pandas")
    )
    for name, measured in (("import rewardkit", ours), ("first rk.score", scored)):
        ratios = [
            (a - n) / (b - n) for a, b, n in zip(measured, pandas, nothing, strict=True)
        ]
        print(
            f"{name} / import pandas (both without Python's own start)  {statistics.median(ratios):.2f}"
        )


if __name__ == "__main__":
    scoring()
    starting()
