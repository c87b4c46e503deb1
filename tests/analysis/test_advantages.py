import numpy as np
import pytest

from rewardkit.analysis.advantages import ESTIMATORS, batch, dr_grpo, grpo, normalize_then_sum

REWARDS = np.array([1.0, 0.0, 0.0, 3.0, 5.0])
GROUPS = np.array([0, 0, 0, 1, 1])


def test_grpo_divides_by_the_standard_deviation_of_the_group():
    std = np.sqrt(((2 / 3) ** 2 + 2 * (1 / 3) ** 2) / 2)
    expected = [
        (2 / 3) / (std + 1e-4),
        *[-(1 / 3) / (std + 1e-4)] * 2,
        -1 / (np.sqrt(2) + 1e-4),
        1 / (np.sqrt(2) + 1e-4),
    ]
    np.testing.assert_allclose(grpo(REWARDS, GROUPS), expected)


def test_dr_grpo_only_centres():
    np.testing.assert_allclose(dr_grpo(REWARDS, GROUPS), [2 / 3, -1 / 3, -1 / 3, -1, 1])


def test_batch_divides_by_the_standard_deviation_of_all_rewards():
    np.testing.assert_allclose(
        batch(REWARDS, GROUPS), dr_grpo(REWARDS, GROUPS) / (REWARDS.std(ddof=1) + 1e-4)
    )


def test_normalize_then_sum_equals_its_steps_by_hand():
    scores = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    groups = np.array([0, 0, 1, 1])
    half = 0.5 / (np.sqrt(0.5) + 1e-4)
    total = np.array([2 * half - half, -2 * half + half, 2 * half, -2 * half])
    expected = (total - total.mean()) / (total.std(ddof=1) + 1e-4)
    np.testing.assert_allclose(normalize_then_sum(scores, np.array([2.0, 1.0]), groups), expected)


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_a_missing_reward_has_no_advantage_and_changes_no_sibling(name):
    with_missing = ESTIMATORS[name](np.append(REWARDS, np.nan), np.append(GROUPS, 1))
    assert np.isnan(with_missing[-1])
    np.testing.assert_allclose(with_missing[:-1], ESTIMATORS[name](REWARDS, GROUPS))


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_a_group_whose_siblings_are_equal_has_no_advantage(name):
    advantages = ESTIMATORS[name](np.array([0.3, 0.3, 0.3, 0.0, 1.0]), GROUPS)
    np.testing.assert_allclose(advantages[:3], 0, atol=1e-12)


def test_components_that_sum_to_a_constant_cancel_when_summed_first_but_not_in_gdpo_with_unequal_weights():
    """DIAGNOSTICS: under GDPO they cancel only with equal weights."""
    s = np.array([1.0, 0.0, 0.0, 1.0])
    scores, groups = np.column_stack([s, 1 - s]), np.array([0, 0, 1, 1])
    np.testing.assert_allclose(grpo(scores.sum(axis=1), groups), 0)
    np.testing.assert_allclose(normalize_then_sum(scores, np.array([1.0, 1.0]), groups), 0, atol=1e-9)
    assert np.abs(normalize_then_sum(scores, np.array([1.0, 0.5]), groups)).min() > 0.5


def test_a_row_without_any_score_has_no_gdpo_advantage_and_one_with_some_has():
    scores = np.array([[1.0, 0.0], [0.0, np.nan], [np.nan, np.nan], [1.0, 1.0]])
    advantages = normalize_then_sum(scores, np.array([1.0, 1.0]), np.array([0, 0, 1, 1]))
    assert np.isnan(advantages).tolist() == [False, False, True, False]
