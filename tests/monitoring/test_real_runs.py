"""Real trainings: what the monitor says of them, by what became of the task. `make planted` prints all of them."""

from functools import cache

import numpy as np
import pytest
from histories import GENERATIONS, spliced
from real_runs import Run, all_runs

import rewardkit as rk

LOST = (
    "sums-hard-short-3e-4-0",
    "sums-hard-fillers-1.5e-4-0",
    "sums-hard-contains-3e-4-0",
    "brackets-hard-majority-3e-4-0",
    "brackets-hard-form_alone-3e-4-1",
    "sums-hard-noisy-3e-4-0",
)
KEPT = (
    "sums-hard-exact-3e-4-0",
    "sums-hard-short_gated-3e-4-0",
    "sums-hard-cosine-3e-4-0",
    "brackets-hard-partial-3e-4-0",
    "brackets-hard-long-3e-4-1",
    "brackets-hard-short_gdpo-3e-4-1",
    "brackets-hard-ahead_changed-3e-4-0",  # takes answers without a closing tag
)
NEAR = 16
"""Steps, a tenth of a run, between the last good one and the one that is told."""

LIKE_RIGHT = "are wrong and paid like right ones"


@cache
def watched(name):
    """What the monitor says of the run of this name."""
    return Run(name).monitor()


def test_every_run_is_one_of_those_that_were_made():
    assert {*LOST, *KEPT} <= {run.name for run in all_runs()}


@pytest.mark.parametrize("name", LOST)
def test_a_run_that_lost_its_task_is_stopped_near_the_step(name):
    run, monitor = Run(name), watched(name)
    assert (run.outcome(), monitor.verdict) == ("lost", "stop")
    alarm = monitor.alarms[0]
    assert alarm.code == "task_falls"
    low, high = alarm.evidence["since_interval"]
    onset = run.onset()
    assert low <= onset <= high or abs(monitor.since - onset) <= NEAR


@pytest.mark.parametrize("name", KEPT)
def test_a_run_that_kept_its_task_is_healthy(name):
    assert (Run(name).outcome(), watched(name).alarms) == ("kept", ())


def test_wrong_completions_that_are_paid_like_right_ones_are_named_first():
    """Answers that run on hold the truth, and a containment pays them; `so` was lost long before."""
    monitor = watched("sums-hard-contains-3e-4-0")
    paid = monitor.newly_paid[0]
    assert (paid.words, paid.component) == (LIKE_RIGHT, "contains")
    assert abs(paid.change.since - 125) <= NEAR
    assert LIKE_RIGHT in monitor.sentence and "lack `so`" not in str(monitor)
    for name in KEPT[:3]:
        words = [item.words for item in watched(name).newly_paid]
        assert LIKE_RIGHT not in words


def test_of_two_runs_with_the_same_reward_curve_the_one_that_lost_is_told():
    hacked, honest = spliced(0, "sums-hard-form_alone-3e-4-0", KEPT[0])
    curves = [
        history.table.groupby("step")["total"].mean() for history in (hacked, honest)
    ]
    assert np.abs(curves[0] - curves[1]).max() < 0.2
    assert (hacked.monitor().verdict, honest.monitor().verdict) == ("stop", "healthy")


def test_brevity_is_told_from_the_log_alone_with_the_weights_that_its_advantages_have():
    monitor = rk.monitor("gallery:brevity")
    assert monitor.verdict == "stop" and 20 <= monitor.since <= 40
    assert monitor.weights["short"]["weight"] == 0.3
    assert monitor.newly_paid[0].words == "are empty"
    assert monitor.newly_paid[0].component == "short"
    assert len(monitor.scores) == 128 * GENERATIONS


def test_a_forecast_begins_as_the_run_did_and_not_with_the_mean_of_all_that_it_wrote():
    """The run came to write empty completions; another reward is trained from its start."""
    scores = Run(LOST[0]).scores("exact")
    forecast = rk.forecast(scores)
    is_start = scores.table["step"] <= 20
    start = scores.score("exact")[is_start].mean()
    assert scores.score("exact").mean() < start / 3
    assert forecast.outlook.start == forecast.best_of[""].before == pytest.approx(start)
    assert forecast.outlook.task == "rises"
    assert "begin as the run did up to step 20" in str(forecast)
