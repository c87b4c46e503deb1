"""Concordance of sibling pairs against counting them one by one."""

from itertools import combinations

import numpy as np
import pytest

from rewardkit.analysis.statistics.pairs import ALL_PAIRS, concordance


def counted(values, order, groups, alike):
    agree, pairs = np.zeros(groups.max() + 1), np.zeros(groups.max() + 1)
    for a, b in combinations(range(len(groups)), 2):
        known = not np.isnan([column[i] for column in (values, order, alike) for i in (a, b)]).any()
        if known and groups[a] == groups[b] and order[a] != order[b] and alike[a] == alike[b]:
            pairs[groups[a]] += 1
            agree[groups[a]] += (np.sign(values[a] - values[b]) * np.sign(order[a] - order[b]) + 1) / 2
    return agree, pairs


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("alike", [False, True])
def test_pairs_are_those_of_a_count_one_by_one(seed, alike):
    generator = np.random.default_rng(seed)
    groups = generator.permutation(np.repeat(np.arange(5), [7, 1, 4, 2, 16]))
    values, order, same = (generator.integers(0, levels, 30).astype(float) for levels in (4, 3, 2))
    values[3], order[5], same[7] = np.nan, np.nan, np.nan
    found = concordance(values, order, groups, same if alike else None)
    np.testing.assert_array_equal(found, counted(values, order, groups, same if alike else np.zeros(30)))


def test_of_very_large_groups_some_pairs_of_each_row_stand_for_all():
    generator = np.random.default_rng(0)
    order = generator.random(3000)
    values = order + generator.normal(size=3000) * 0.5
    agree, pairs = concordance(values, order, np.zeros(3000, dtype=int))
    rows = generator.choice(3000, 400, replace=False)
    few = counted(values[rows], order[rows], np.zeros(400, dtype=int), np.zeros(400))
    assert pairs[0] < 3000 * ALL_PAIRS and abs(agree[0] / pairs[0] - few[0][0] / few[1][0]) < 0.02
