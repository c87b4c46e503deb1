"""Advantages against hand arithmetic; against the trainers' own code in tests/trainers."""

from functools import partial

import numpy as np
import pytest

from rewardkit.analysis.statistics.advantages import batch, dapo, dr_grpo, gdpo, grpo, reinforce_pp, rloo

REWARDS = np.array([1.0, 0.0, 0.0, 3.0, 5.0])
GROUPS = np.array([0, 0, 0, 1, 1])
OF_REWARDS = {
    "grpo": grpo,
    "dr_grpo": dr_grpo,
    "batch": batch,
    "rloo": rloo,
    "reinforce_pp": reinforce_pp,
    "dapo": dapo,
}


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


def test_gdpo_equals_its_steps_by_hand():
    scores = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    groups = np.array([0, 0, 1, 1])
    half = 0.5 / (np.sqrt(0.5) + 1e-4)
    total = np.array([2 * half - half, -2 * half + half, 2 * half, -2 * half])
    expected = (total - total.mean()) / (total.std(ddof=1) + 1e-4)
    np.testing.assert_allclose(gdpo(scores, np.array([2.0, 1.0]), groups), expected)


@pytest.mark.parametrize("name", OF_REWARDS)
def test_a_missing_reward_has_no_advantage_and_changes_no_sibling(name):
    with_missing = OF_REWARDS[name](np.append(REWARDS, np.nan), np.append(GROUPS, 1))
    assert np.isnan(with_missing[-1])
    np.testing.assert_allclose(with_missing[:-1], OF_REWARDS[name](REWARDS, GROUPS))


@pytest.mark.parametrize("name", [name for name in OF_REWARDS if name not in ("dapo", "reinforce_pp")])
def test_a_group_whose_siblings_are_equal_has_no_advantage(name):
    advantages = OF_REWARDS[name](np.array([0.3, 0.3, 0.3, 0.0, 1.0]), GROUPS)
    np.testing.assert_allclose(advantages[:3], 0, atol=1e-12)


def test_components_that_sum_to_a_constant_cancel_when_summed_first_but_not_in_gdpo_with_unequal_weights():
    """DIAGNOSTICS: under GDPO they cancel only with equal weights."""
    s = np.array([1.0, 0.0, 0.0, 1.0])
    scores, groups = np.column_stack([s, 1 - s]), np.array([0, 0, 1, 1])
    np.testing.assert_allclose(grpo(scores.sum(axis=1), groups), 0)
    np.testing.assert_allclose(gdpo(scores, np.array([1.0, 1.0]), groups), 0, atol=1e-9)
    assert np.abs(gdpo(scores, np.array([1.0, 0.5]), groups)).min() > 0.5


def test_a_row_without_any_score_has_no_gdpo_advantage_and_one_with_some_has():
    scores = np.array([[1.0, 0.0], [0.0, np.nan], [np.nan, np.nan], [1.0, 1.0]])
    advantages = gdpo(scores, np.array([1.0, 1.0]), np.array([0, 0, 1, 1]))
    assert np.isnan(advantages).tolist() == [False, False, True, False]


def test_reinforce_pp_standardises_what_is_centred_over_the_batch():
    centred = np.array([2 / 3, -1 / 3, -1 / 3, -1, 1])
    np.testing.assert_allclose(reinforce_pp(REWARDS, GROUPS), centred / (centred.std(ddof=1) + 1e-4))


def test_rloo_takes_the_mean_of_the_others_away():
    np.testing.assert_allclose(rloo(REWARDS, GROUPS), [1, -0.5, -0.5, -2, 2])
    rewards = np.array([1.0, 0.0, np.nan, 3.0])
    np.testing.assert_allclose(rloo(rewards, np.array([0, 0, 0, 1])), [1, -1, np.nan, 0])


@pytest.mark.parametrize(
    "estimator",
    [batch, reinforce_pp, lambda r, g, b: gdpo(r[:, None], np.ones(1), g, b)],
    ids=["batch", "r++", "gdpo"],
)
def test_each_batch_is_scaled_by_itself(estimator):
    rewards, groups = np.array([1.0, 0, 0, 3, 5, 9, 2, 2, 7, 1]), np.repeat([0, 1, 2, 3, 4], 2)
    batches = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    alone = [
        estimator(rewards[batches == b], groups[batches == b] - groups[batches == b].min(), None)
        for b in (0, 1)
    ]
    together = estimator(rewards, groups, batches)
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-12)
    assert np.abs(together - estimator(rewards, groups, None)).max() > 0.1


def test_dapo_drops_groups_by_its_metric_and_not_by_what_is_paid():
    rewards, groups = np.array([1.0, 1, 0, 2, 5]), np.array([0, 0, 1, 1, 2])
    kept = grpo(rewards, groups)
    np.testing.assert_allclose(dapo(rewards, groups), [np.nan, np.nan, *kept[2:]])
    metric = np.array([0.0, 1, 1, 1, 0])
    np.testing.assert_allclose(dapo(rewards, groups, metric), [*kept[:2], np.nan, np.nan, 0])


def test_the_small_number_in_the_denominator_is_the_trainers():
    first = [estimator(REWARDS, GROUPS)[0] for estimator in (grpo, partial(grpo, eps=1e-6))]
    std = REWARDS[:3].std(ddof=1)
    np.testing.assert_allclose(first, [2 / 3 / (std + 1e-4), 2 / 3 / (std + 1e-6)], rtol=1e-12)
