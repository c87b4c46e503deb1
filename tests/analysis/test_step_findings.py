"""Trends over the steps of a run: planted drifts, and runs that only get better."""

import numpy as np
import pytest
from planted.faults import run

import rewardkit as rk
from rewardkit.analysis.statistics.pairs import alike


def made(seed=0, **changes):
    return run(np.random.default_rng(seed), **changes)


def drifts(scores, **options):
    return rk.diagnose(scores, by=[], **options)["drift"]


@pytest.mark.parametrize("seed", range(3))
def test_a_label_that_falls_while_the_reward_rises_is_of_high_severity(seed):
    scores = made(seed, label=-0.6)
    (found,) = drifts(scores, label="is_good")
    assert found.severity == "high" and found.evidence["what"] == "is_good"
    assert found.evidence["interval"][1] < 0 < found.evidence["reward_interval"][0]
    assert "the reward rises by 0." in found.sentence and " while is_good falls" in found.sentence
    rows = scores.rollouts.table  # the change is that of a line of least squares
    slopes = [
        np.polyfit(rows["step"] / 5, values, 1)[0] for values in (rows["is_good"] * 1.0, scores.rewards)
    ]
    assert (found.evidence["value"], found.evidence["reward_change"]) == pytest.approx(slopes)


def test_the_share_of_equal_siblings_is_counted_by_hand():
    texts, groups = ["a", "a", "b", "a", "c", "c"], np.array([0, 0, 0, 1, 2, 2])
    np.testing.assert_allclose(alike(texts, groups), [0.5, 0.5, 0, np.nan, 1, 1])
