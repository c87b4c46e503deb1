"""Trends over the steps of a run: planted drifts, and runs that only get better."""

import re

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.analysis.statistics.pairs import alike

STEPS, PROMPTS, SIBLINGS = 6, 20, 4


def run(seed, *, reward, label=None, length=None, same=None):
    """Scores of a run whose figures are functions of the time from 0 to 1, with noise over rows."""
    generator = np.random.default_rng(seed)
    rows = []
    for step in range(STEPS):
        time = step / (STEPS - 1)
        for prompt in range(PROMPTS):
            for sibling in range(SIBLINGS):
                size = int((length or (lambda time: 60))(time) + generator.integers(-5, 6))
                repeated = generator.random() < (same or (lambda time: 0.0))(time)
                text = f"p{prompt} " + ("x" * 62 if repeated else "x" * size + f" {sibling}")
                row = {"prompt_id": f"p{prompt}", "step": step, "completion": text}
                row["paid"] = float(np.clip(reward(time) + generator.normal(0, 0.2), 0, 1))
                row["truth"] = bool(generator.random() < (label or (lambda time: 0.5))(time))
                rows.append(row)
    made = rk.Reward("r", components=[rk.Component("paid_for", lambda paid: paid)])
    return rk.score(made, rk.load_rollouts(rows))


def rising(time):
    return 0.3 + 0.4 * time


def drifts(scores, **options):
    return [item for item in rk.diagnose(scores, by=[], **options).findings if item.code == "drift"]


@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_gets_better_drifts_nowhere(seed):
    assert drifts(run(seed, reward=rising, label=rising), label="truth") == []


@pytest.mark.parametrize("seed", range(3))
def test_a_label_that_falls_while_the_reward_rises_is_of_high_severity(seed):
    (found,) = drifts(run(seed, reward=rising, label=lambda time: 0.8 - 0.6 * time), label="truth")
    assert found.severity == "high" and found.evidence["what"] == "truth"
    assert found.evidence["interval"][1] < 0 < found.evidence["reward_interval"][0]
    assert re.search(r"the reward rises by 0\.[34]\d* while truth falls", found.sentence)


def test_the_change_is_that_of_a_line_of_least_squares():
    scores = run(1, reward=rising, label=lambda time: 0.8 - 0.6 * time)
    (found,) = drifts(scores, label="truth")
    steps = np.array([row["step"] for row in scores.rollouts]) / (STEPS - 1)
    truth = np.array([float(row["truth"]) for row in scores.rollouts])
    assert found.evidence["value"] == pytest.approx(np.polyfit(steps, truth, 1)[0])
    assert found.evidence["reward_change"] == pytest.approx(np.polyfit(steps, scores.rewards, 1)[0])


@pytest.mark.parametrize(("end", "word"), [(120, "rises"), (20, "falls")])
def test_answers_that_grow_or_shrink_with_the_reward_are_found(end, word):
    (found,) = drifts(run(2, reward=rising, length=lambda time: 60 + (end - 60) * time))
    assert found.severity == "warn" and f"length in characters {word}" in found.sentence
    assert drifts(run(2, reward=rising, length=lambda time: 60 + 8 * time)) == []  # a little
    assert drifts(run(2, reward=lambda time: 0.5, length=lambda time: 60 + (end - 60) * time)) == []  # unpaid


def test_siblings_that_come_to_say_the_same_are_found():
    (found,) = drifts(run(3, reward=rising, same=lambda time: 0.9 * time))
    assert "share of siblings with the same text rises" in found.sentence
    assert found.evidence["value"] > 0.3


def test_two_steps_are_no_trend():
    scores = run(4, reward=rising, label=lambda time: 1 - time)
    rows = [row for row in scores.rollouts if row["step"] in (0, STEPS - 1)]
    assert drifts(rk.score(scores.reward, rk.load_rollouts(rows)), label="truth") == []


def test_the_share_of_equal_siblings_is_counted_by_hand():
    texts, groups = ["a", "a", "b", "a", "c", "c"], np.array([0, 0, 0, 1, 2, 2])
    np.testing.assert_allclose(alike(texts, groups), [0.5, 0.5, 0, np.nan, 1, 1])
