"""Probing: the runner against a plain loop, and whole runs."""

from __future__ import annotations

import time

from benches.inputs import repeated
from benches.table import Row, in_turn

import rewardkit as rk
from rewardkit.probes.runner import Tries
from rewardkit.scoring.deadlines import time_limit

ROWS = 2_000
BUDGET = 600.0


def busy(seconds):
    """Return a reward of about so many seconds a call, that finds the truth in the completion."""

    def score(completion, ground_truth):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass
        return float(
            completion.rpartition("<answer>")[2].partition("</answer>")[0].strip()
            == ground_truth
        )

    return score


def runner(tried, name, score, runs):
    """Compare calls under a time limit in workers with a loop without any."""
    reward = rk.Reward("r", components=[rk.Component("c", score)])
    with time_limit(5.0) as limit:
        ours, loop = in_turn(
            lambda: Tries(reward, limit, BUDGET).outcomes(tried),
            lambda: [score(row["completion"], row["ground_truth"]) for row in tried],
            runs=runs,
        )
    what = f"probes' runner, {ROWS:,} calls of {name} with a time limit"
    return Row(what, ours, "plain loop without one", loop)


def rows(runs):
    """Compare the runner with a loop, and time whole runs."""
    rollouts = repeated(ROWS)
    tried = [dict(rollouts[place]) for place in range(ROWS)]
    yield runner(tried, "50 µs", busy(50e-6), runs)
    score = busy(1e-3)
    yield runner(tried, "1 ms", score, runs)
    reward = rk.Reward("r", components=[rk.Component("c", score)])
    began = time.perf_counter()
    result = rk.probe(reward, "gallery:arithmetic")
    seconds = time.perf_counter() - began
    yield Row(f"rk.probe, {result.calls:,} calls of 1 ms", [seconds])
    gallery = rk.load_reward("gallery:arithmetic")
    (mutants,) = in_turn(lambda: rk.mutants(gallery, "gallery:arithmetic"), runs=runs)
    yield Row("rk.mutants, the gallery's arithmetic and its cases", mutants)
