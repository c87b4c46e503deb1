from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.analysis.grouping import (
    Bootstrap,
    between_share,
    effective_levels,
    group_stats,
    tie_rate,
    within,
)

RAGGED = [1.0, 2.0, 4.0, 5.0, 5.0, 7.0, np.nan, 9.0]
GROUPS = np.array([0, 0, 0, 1, 1, 2, 2, 3])


def test_group_statistics_equal_numpy_on_each_group():
    stats = group_stats(np.array(RAGGED), GROUPS)
    assert stats.count.tolist() == [3, 2, 1, 1]
    np.testing.assert_allclose(stats.mean, [7 / 3, 5, 7, 9])
    np.testing.assert_allclose(stats.std, [np.std([1, 2, 4], ddof=1), 0, 0, 0])


def test_a_group_of_one_is_neither_live_nor_dead():
    stats = group_stats(np.array(RAGGED), GROUPS)
    assert stats.live.tolist() == [True, False, False, False]
    assert stats.dead.tolist() == [False, True, False, False]


def test_equal_values_whose_mean_is_inexact_are_a_dead_group():
    stats = group_stats(np.full(7, 0.1), np.zeros(7, dtype=int))
    assert stats.std.tolist() == [0.0]
    assert stats.dead.all()


def test_a_group_without_values_has_no_mean():
    stats = group_stats(np.array([np.nan, np.nan, 1.0]), np.array([0, 0, 1]))
    assert np.isnan(stats.mean[0])
    assert np.isnan(stats.std[0])


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 4)), min_size=2, max_size=40))
def test_tie_rate_equals_counting_the_pairs(rows):
    values = np.array([value for value, _ in rows])
    groups = np.array([group for _, group in rows])
    equal, pairs = tie_rate(values, groups)
    together = [(a, b) for a, b in combinations(range(len(rows)), 2) if groups[a] == groups[b]]
    assert pairs.sum() == len(together)
    assert equal.sum() == sum(values[a] == values[b] for a, b in together)


def test_between_share_equals_the_anova_by_hand():
    # two groups of two: means 1 and 5, MSB = 2 * (4 + 4) / 1 = 16, MSW = (2 + 2) / 2 = 2, n0 = 2
    values, groups = np.array([0.0, 2.0, 4.0, 6.0]), np.array([0, 0, 1, 1])
    assert between_share(values, groups) == pytest.approx((16 - 2) / (16 + 2))


def test_between_share_of_groups_of_unequal_size_uses_n0():
    # sizes 1, 2 and 5: n0 = (8 - (1 + 4 + 25) / 8) / 2 = 2.125, which is not the mean size 8 / 3
    values = np.array([0.0, 2.0, 4.0, 6.0, 6.0, 7.0, 8.0, 8.0])
    groups = np.array([0, 1, 1, 2, 2, 2, 2, 2])
    means, sizes = np.array([0.0, 3.0, 7.0]), np.array([1, 2, 5])
    above = (sizes * (means - values.mean()) ** 2).sum() / 2
    inside = ((values - means[groups]) ** 2).sum() / 5
    assert between_share(values, groups) == pytest.approx((above - inside) / (above + 1.125 * inside))


def test_between_share_is_not_defined_for_one_group_or_single_siblings():
    assert np.isnan(between_share(np.array([1.0, 2.0]), np.array([0, 0])))
    assert np.isnan(between_share(np.array([1.0, 2.0]), np.array([0, 1])))
    assert np.isnan(between_share(np.ones(4), np.array([0, 0, 1, 1])))


def test_effective_levels_is_the_number_of_equally_likely_values():
    assert effective_levels(np.array([0.0, 1.0, 2.0, 3.0])) == pytest.approx(4)
    assert effective_levels(np.array([1.0, 1.0, np.nan])) == pytest.approx(1)
    assert np.isnan(effective_levels(np.array([np.nan])))


def test_within_takes_the_mean_of_each_group_away():
    assert within(np.array([1.0, 3.0, 10.0]), np.array([0, 0, 1])).tolist() == [-1, 1, 0]


def test_the_bootstrap_covers_the_truth_about_as_often_as_it_says():
    # 60 prompts whose 4 siblings are all alike: a bootstrap over rows would be far too narrow
    hits = 0
    for seed in range(200):
        generator = np.random.default_rng(1000 + seed)
        values = np.repeat((generator.random(60) < 0.3).astype(float), 4)
        prompts = np.repeat(np.arange(60), 4)
        low, high = Bootstrap(prompts, seed=seed).interval([values, np.ones(240)], prompts)
        hits += low <= 0.3 <= high
    assert 180 <= hits <= 198  # 95 % of 200 is 190; a binomial leaves 180 to 198 in more than 99 of 100 runs


def test_the_bootstrap_is_the_same_for_the_same_seed():
    prompts, values = np.repeat(np.arange(20), 3), np.random.default_rng(0).random(60)
    first = Bootstrap(prompts, seed=3).interval([values, np.ones(60)], prompts)
    assert first == Bootstrap(prompts, seed=3).interval([values, np.ones(60)], prompts)
    assert first != Bootstrap(prompts, seed=4).interval([values, np.ones(60)], prompts)


def test_one_prompt_has_no_interval():
    low, high = Bootstrap(np.zeros(5, dtype=int)).interval([np.ones(5), np.ones(5)], np.zeros(5, dtype=int))
    assert np.isnan(low)
    assert np.isnan(high)
