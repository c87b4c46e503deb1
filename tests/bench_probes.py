"""Benchmarks of probing, run by `make bench`: the runner against a plain loop, and whole runs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from bench import in_turn, repeated

import rewardkit as rk
from rewardkit.probes.runner import Tries
from rewardkit.scoring.deadlines import time_limit

ROWS = 2_000
BUDGET = 600.0


def busy(seconds: float) -> Callable[[str, str], float]:
    """A reward of about so many seconds a call, that finds the truth in the completion."""

    def score(completion: str, ground_truth: str) -> float:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass
        return float(
            completion.rpartition("<answer>")[2].partition("</answer>")[0].strip()
            == ground_truth
        )

    return score


def runner(seconds: float) -> None:
    """Rows through the runner, each call under a time limit in a worker, against a loop without any."""
    score, rollouts = busy(seconds), repeated(ROWS)
    rows = [dict(rollouts[place]) for place in range(ROWS)]
    reward = rk.Reward("r", components=[rk.Component("c", score)])
    with time_limit(5.0) as limit:
        ours, loop = in_turn(
            lambda: Tries(reward, limit, BUDGET).outcomes(rows),
            lambda: [score(row["completion"], row["ground_truth"]) for row in rows],
        )
    ratio = statistics.median(b / a for a, b in zip(ours, loop, strict=True))
    print(
        f"completions/s of the probes' runner / plain loop, {1000 * seconds:g} ms a call  {ratio:.2f}"
    )


def whole_runs() -> None:
    """Seconds and calls of rk.probe at 1 ms a call, and of rk.mutants on the gallery's reward and cases."""
    reward = rk.Reward("r", components=[rk.Component("c", busy(0.001))])
    began = time.perf_counter()
    result = rk.probe(reward, "gallery:arithmetic")
    print(
        f"rk.probe at 1 ms a call  {time.perf_counter() - began:.2f} s, {result.calls:,} calls"
    )
    gallery = rk.load_reward("gallery:arithmetic")
    (seconds,) = in_turn(lambda: rk.mutants(gallery, "gallery:arithmetic"))
    print(f"rk.mutants, gallery's reward and cases  {statistics.median(seconds):.2f} s")


if __name__ == "__main__":
    runner(0.00005)
    runner(0.001)
    whole_runs()
