"""Advantages against hand arithmetic; against the trainers' own code in tests/trainers."""

from functools import partial

import numpy as np
import pytest

from rewardkit.analysis.statistics.advantages import batch, dapo, dr_grpo, gdpo, grpo, reinforce_pp, rloo

NAN = np.nan
REWARDS, GROUPS = np.array([1.0, 0.0, 0.0, 3.0, 5.0]), np.array([0, 0, 0, 1, 1])
CENTRED = np.array([2 / 3, -1 / 3, -1 / 3, -1, 1])
STD = np.repeat([((4 / 9 + 2 / 9) / 2) ** 0.5, 2**0.5], [3, 2])
BY_HAND = {
    "the standard deviation of the group divides": (grpo, CENTRED / (STD + 1e-4)),
    "the small number in the denominator is the trainer's": (partial(grpo, eps=1e-6), CENTRED / (STD + 1e-6)),
    "what is centred only": (dr_grpo, CENTRED),
    "the standard deviation of all rewards divides": (batch, CENTRED / (REWARDS.std(ddof=1) + 1e-4)),
    "what is centred is standardised": (reinforce_pp, CENTRED / (CENTRED.std(ddof=1) + 1e-4)),
    "the mean of the others is taken away": (rloo, [1, -0.5, -0.5, -2, 2]),
    "no group is dropped that varies": (dapo, CENTRED / (STD + 1e-4)),
}


@pytest.mark.parametrize(("estimator", "expected"), BY_HAND.values(), ids=list(BY_HAND))
def test_advantages_by_hand_and_a_missing_reward_has_none_and_changes_no_sibling(estimator, expected):
    np.testing.assert_allclose(estimator(REWARDS, GROUPS), expected, rtol=1e-12)
    missing = estimator(np.append(REWARDS, NAN), np.append(GROUPS, 1))
    np.testing.assert_allclose(missing, [*expected, NAN], rtol=1e-12)


def test_gdpo_equals_its_steps_by_hand():
    scores = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    groups = np.array([0, 0, 1, 1])
    half = 0.5 / (np.sqrt(0.5) + 1e-4)
    total = np.array([2 * half - half, -2 * half + half, 2 * half, -2 * half])
    expected = (total - total.mean()) / (total.std(ddof=1) + 1e-4)
    np.testing.assert_allclose(gdpo(scores, np.array([2.0, 1.0]), groups), expected)
    some = gdpo(np.array([[1.0, 0.0], [0.0, NAN], [NAN, NAN], [1.0, 1.0]]), np.ones(2), groups)
    assert np.isnan(some).tolist() == [False, False, True, False]  # one score of a row is enough


def test_rloo_of_a_group_with_a_missing_reward_and_of_one_alone():
    found = rloo(np.array([1.0, 0.0, NAN, 3.0]), np.array([0, 0, 0, 1]))
    np.testing.assert_allclose(found, [1, -1, NAN, 0])


@pytest.mark.parametrize(
    "estimator", [batch, reinforce_pp, lambda r, g, b: gdpo(r[:, None], np.ones(1), g, b)]
)
def test_each_batch_is_scaled_by_itself(estimator):
    rewards, groups = np.array([1.0, 0, 0, 3, 5, 9, 2, 2, 7, 1]), np.repeat([0, 1, 2, 3, 4], 2)
    batches = np.repeat([0, 1], [4, 6])
    alone = [estimator(rewards[batches == b], groups[batches == b] - 2 * b, None) for b in (0, 1)]
    together = estimator(rewards, groups, batches)
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-12)
    assert np.abs(together - estimator(rewards, groups, None)).max() > 0.1


def test_dapo_drops_groups_by_its_metric_and_not_by_what_is_paid():
    rewards, groups = np.array([1.0, 1, 0, 2, 5]), np.array([0, 0, 1, 1, 2])
    kept = grpo(rewards, groups)
    np.testing.assert_allclose(dapo(rewards, groups), [NAN, NAN, *kept[2:]])
    metric = np.array([0.0, 1, 1, 1, 0])
    np.testing.assert_allclose(dapo(rewards, groups, metric), [*kept[:2], NAN, NAN, 0])
