"""Statistics of groups and the bootstrap over prompts, by hand and by numpy."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.groups import (
    between_share,
    effective_levels,
    group_stats,
    tie_rate,
    within,
)

NAN = np.nan
STATS = {
    "ragged groups as numpy has each; one of one value is neither live nor dead": (
        [1, 2, 4, 5, 5, 7, NAN, 9], [0, 0, 0, 1, 1, 2, 2, 3],
        {"count": [3, 2, 1, 1], "mean": [7 / 3, 5, 7, 9], "std": [np.std([1, 2, 4], ddof=1), 0, 0, 0],
         "live": [1, 0, 0, 0], "dead": [0, 1, 0, 0], "low": [1, 5, 7, 9], "high": [4, 5, 7, 9]}),
    "equal values whose mean is inexact are a dead group": ([0.1] * 7, [0] * 7, {"std": [0], "dead": [1]}),
}  # fmt: skip


@pytest.mark.parametrize(("values", "groups", "expected"), STATS.values(), ids=list(STATS))
def test_statistics_of_groups(values, groups, expected):
    found = group_stats(np.array(values, dtype=float), np.array(groups))
    for name, right in expected.items():
        np.testing.assert_allclose(getattr(found, name), right, rtol=1e-12)


def test_groups_of_one_size_in_a_row_have_the_statistics_of_the_same_rows_in_any_order():
    draw = np.random.default_rng(0)
    groups = np.repeat(np.arange(50), 6)
    values = draw.normal(1e6, 1e-3, 300)  # where sums of squares would have lost every digit
    values[12:18], values[40] = 0.1 + 0.2, 1e9
    order = draw.permutation(300)
    table, any_order = group_stats(values, groups), group_stats(values[order], groups[order])
    by_hand = values.reshape(50, 6)
    for name, expected in (("mean", by_hand.mean(1)), ("std", by_hand.std(1, ddof=1))):
        np.testing.assert_allclose(getattr(table, name), expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(getattr(any_order, name), expected, rtol=1e-9, atol=1e-12)
    assert table.std[2] == any_order.std[2] == 0.0
    for stats in (table, any_order):
        assert (stats.low.tolist(), stats.high.tolist()) == (by_hand.min(1).tolist(), by_hand.max(1).tolist())


VALUES = st.sampled_from([0.0, 0.5, 1.0, np.nan])


@given(
    st.lists(st.tuples(VALUES, st.integers(0, 4)), min_size=2, max_size=40)
    | st.lists(st.lists(VALUES, min_size=4, max_size=4), min_size=1, max_size=6).map(
        lambda table: [(value, group) for group, values in enumerate(table) for value in values]
    )
)
def test_tie_rate_equals_counting_the_pairs(rows):
    values = np.array([value for value, _ in rows])
    groups = np.array([group for _, group in rows])
    equal, pairs = tie_rate(values, groups)
    known = np.flatnonzero(~np.isnan(values))
    for group in range(len(pairs)):
        together = [(a, b) for a, b in combinations(known, 2) if groups[a] == groups[b] == group]
        assert pairs[group] == len(together)
        assert equal[group] == sum(values[a] == values[b] for a, b in together)


BETWEEN = {
    # two groups of two: means 1 and 5, MSB = 2 * (4 + 4) / 1 = 16, MSW = (2 + 2) / 2 = 2, n0 = 2
    "two groups of two": ([0, 2, 4, 6], [0, 0, 1, 1], (16 - 2) / (16 + 2)),
    # means 0, 3, 7 of sizes 1, 2, 5: MSB = 52.875 / 2, MSW = 6 / 5, n0 = (8 - 30 / 8) / 2, not 8 / 3
    "unequal sizes use n0": (
        [0, 2, 4, 6, 6, 7, 8, 8], [0, 1, 1, 2, 2, 2, 2, 2], (26.4375 - 1.2) / (26.4375 + 1.125 * 1.2)),
    "one group": ([1, 2], [0, 0], NAN),
    "no variance": ([1, 1, 1, 1], [0, 0, 1, 1], NAN),
}  # fmt: skip


@pytest.mark.parametrize(("values", "groups", "expected"), BETWEEN.values(), ids=list(BETWEEN))
def test_between_share_equals_the_anova_by_hand(values, groups, expected):
    found = between_share(np.array(values, dtype=float), np.array(groups))
    assert found == pytest.approx(expected, nan_ok=True)


def test_levels_are_as_many_as_equally_likely_values_and_a_deviation_is_from_the_mean_of_its_group():
    assert effective_levels(np.array([0.0, 1.0, 2.0, 3.0])) == pytest.approx(4)
    assert effective_levels(np.array([1.0, 1.0, NAN])) == pytest.approx(1)
    assert np.isnan(effective_levels(np.array([NAN])))
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
    sums = [np.random.default_rng(0).random(240), np.ones(240)]
    first, again, other = (Bootstrap(prompts, seed=seed).interval(sums, prompts) for seed in (3, 3, 4))
    assert first == again != other


def test_of_many_prompts_groups_drawn_together_give_the_interval_that_prompts_do():
    draw = np.random.default_rng(0)
    rates = draw.beta(0.5, 0.5, 20_000)
    values = (draw.random((20_000, 4)) < rates[:, None]).astype(float)
    prompts = np.repeat(np.arange(20_000), 4)
    bootstrap = Bootstrap(prompts)
    low, high = bootstrap.interval([values.ravel(), np.ones(80_000)], prompts)
    error = values.mean(1).std(ddof=1) / np.sqrt(20_000)
    assert bootstrap.units == Bootstrap.MOST_UNITS < bootstrap.total
    assert (low + high) / 2 == pytest.approx(values.mean(), abs=0.2 * error)
    # 1 / sqrt(2 * 4,096) of the width is 1 %, and percentiles of 1,000 draws have an error of some 4 %
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_of_several_tests_each_interval_is_wider_and_there_are_resamples_beyond_its_ends():
    prompts, values = np.repeat(np.arange(80), 3), np.random.default_rng(0).random(240)
    sums = [values, np.ones(240)]
    one, many = Bootstrap(prompts), Bootstrap(prompts, tests=25)
    assert many.resamples == 5000 > one.resamples
    width = np.ptp(many.interval(sums, prompts)) / np.ptp(one.interval(sums, prompts))
    assert width == pytest.approx(3.09 / 1.96, rel=0.1)  # quantiles at .001 and .025 of a normal distribution
