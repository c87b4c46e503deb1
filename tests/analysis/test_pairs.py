"""Concordance of sibling pairs against counting them one by one."""

from itertools import combinations

import numpy as np
import pytest

from rewardkit.analysis.statistics.pairs import ALL_PAIRS, concordance


def counted(values, order, groups, alike=None):
    agree, pairs = np.zeros(groups.max() + 1), np.zeros(groups.max() + 1)
    for a, b in combinations(range(len(groups)), 2):
        looked_at = [x[i] for x in (values, order, *([alike] if alike is not None else [])) for i in (a, b)]
        if groups[a] != groups[b] or np.isnan(looked_at).any() or order[a] == order[b]:
            continue
        if alike is not None and alike[a] != alike[b]:
            continue
        pairs[groups[a]] += 1
        if values[a] == values[b]:
            agree[groups[a]] += 0.5
        elif (values[a] > values[b]) == (order[a] > order[b]):
            agree[groups[a]] += 1
    return agree, pairs


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alike", [False, True])
def test_pairs_are_those_of_a_count_one_by_one(seed, alike):
    generator = np.random.default_rng(seed)
    groups = generator.permutation(np.repeat(np.arange(5), [7, 1, 4, 2, 16]))
    values, order = generator.integers(0, 4, 30).astype(float), generator.integers(0, 3, 30).astype(float)
    values[3], order[5] = np.nan, np.nan
    same = generator.integers(0, 2, 30).astype(float) if alike else None
    if alike:
        same[7] = np.nan
    for found, expected in zip(
        concordance(values, order, groups, same), counted(values, order, groups, same), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_of_very_large_groups_some_pairs_of_each_row_stand_for_all():
    generator = np.random.default_rng(0)
    order = generator.random(3000)
    values = order + generator.normal(size=3000) * 0.5
    agree, pairs = concordance(values, order, np.zeros(3000, dtype=int))
    rows = generator.choice(3000, 400, replace=False)
    few = counted(values[rows], order[rows], np.zeros(400, dtype=int))
    assert pairs[0] < 3000 * ALL_PAIRS and abs(agree[0] / pairs[0] - few[0][0] / few[1][0]) < 0.02


def test_without_a_row_there_is_no_pair():
    nothing = np.full(3, np.nan)
    assert [found.tolist() for found in concordance(nothing, nothing, np.array([0, 0, 1]))] == [
        [0, 0],
        [0, 0],
    ]
