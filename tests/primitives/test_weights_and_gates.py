"""Weights, transforms and gates against hand arithmetic, numpy and scipy; what is missing or refused."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from tabled import table
from tables import read_table

import rewardkit as rk
from rewardkit.primitives.weights import aggregate, min_max, rank, standardise

NAN = math.nan
ON_MISSING = ("nan", "zero", "skip")


def same(found, expected):
    return np.array_equal(
        np.array(found, dtype=float), np.array(expected, dtype=float), equal_nan=True
    )


# An aggregation, the scores of a row, its rewards for on_missing nan, zero and skip.
# Weights of the sum and the mean are 3 and 1, a penalty of 0.5, and 0 (only recorded);
# of the others 2 and 1, and 0.
AGGREGATED = """
weighted_sum :: 0.5 gated 0.5 missing :: 1.25 1.25 1.25 :: a gated one gives 0
weighted_mean :: 0.5 gated 0.5 missing :: 0.3125 0.3125 0.3125 :: and its weight is kept
weighted_sum :: missing 1.0 0.5 missing :: nan 0.75 0.75 :: missing in a sum
weighted_mean :: missing 1.0 0.5 missing :: nan 0.1875 0.75 :: missing in a mean
weighted_sum :: missing missing 0.5 missing :: nan -0.25 -0.25 :: only the penalty is left
weighted_mean :: missing missing 0.5 missing :: nan -0.0625 nan :: a mean of nothing
product :: 0.5 gated 0.0 :: 0.25 0.25 0.25 :: gated: no factor
minimum :: 0.5 gated 0.0 :: 0.5 0.5 0.5 :: gated: left out
product :: 0.5 missing 0.0 :: nan 0.0 0.25 :: missing in a product
minimum :: 0.5 missing 0.0 :: nan 0.0 0.5 :: missing in a minimum
product :: gated gated 0.0 :: nan nan nan :: all gated: nothing is left
"""


@pytest.mark.parametrize(
    ("aggregation", "row", "expected"), table(*read_table(AGGREGATED))
)
def test_aggregations_agree_with_hand_arithmetic(aggregation, row, expected):
    cells = row.split()
    without_score = {"gated": NAN, "missing": NAN}
    scores = np.array([[without_score.get(cell, cell) for cell in cells]], dtype=float)
    gated = np.array([[cell == "gated" for cell in cells]])
    weights = np.array([3, 1, -0.5, 0] if len(cells) == 4 else [2, 1, 0])
    rewards = [
        aggregate(scores, gated, weights, aggregation=aggregation, on_missing=one)
        for one in ON_MISSING
    ]
    assert same(np.concatenate(rewards), expected.split())


EIGHTHS = st.integers(-40, 40).map(lambda eighths: eighths / 8)
ROWS = st.lists(st.tuples(EIGHTHS, st.integers(0, 3)), max_size=24)


def split(rows):
    return np.array([r for r, _ in rows], dtype=float), np.array(
        [g for _, g in rows], dtype=np.intp
    )


def by_scipy(name, rewards):
    if len(rewards) == 1 or (name != "rank" and np.ptp(rewards) == 0):
        return np.zeros(len(rewards))
    if name == "rank":
        return (scipy.stats.rankdata(rewards, method="average") - 1) / (
            len(rewards) - 1
        )
    return scipy.stats.zscore(rewards, ddof=1)


@pytest.mark.parametrize("within", ["group", "batch"])
@pytest.mark.parametrize("name", ["standardise", "rank"])
@given(rows=ROWS, clip=st.floats(0.1, 3))
def test_standardise_and_rank_agree_with_scipy(name, within, rows, clip):
    rewards, groups = split(rows)
    expected = np.empty_like(rewards)
    for members in (
        [groups == g for g in set(groups)]
        if within == "group"
        else [np.full(len(rows), True)]
    ):
        if members.any():
            expected[members] = by_scipy(name, rewards[members])
    found = getattr(rk.weigh, name)(within=within)(rewards, groups)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    if name == "standardise":
        assert same(
            standardise(within=within, clip=clip)(rewards, groups),
            np.clip(found, -clip, clip),
        )


TRANSFORMS = (
    standardise(),
    standardise(clip=2.5, within="batch"),
    min_max(),
    rank(),
    rank(within="batch"),
)


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
@given(
    rows=ROWS,
    seed=st.randoms(use_true_random=False),
    missing=st.sets(st.integers(0, 23)),
)
def test_order_does_not_matter_nan_takes_no_part_and_the_callers_array_is_kept(
    transform, rows, seed, missing
):
    rewards, groups = split(rows)
    rewards[[i for i in missing if i < len(rows)]] = NAN
    before, there = rewards.copy(), ~np.isnan(rewards)
    found = transform(rewards, groups)
    assert same(rewards, before) and np.isnan(found[~there]).all()
    np.testing.assert_allclose(
        found[there], transform(rewards[there], groups[there]), rtol=1e-9, atol=1e-12
    )
    order = list(range(len(rows)))
    seed.shuffle(order)
    np.testing.assert_allclose(
        transform(rewards[order], groups[order]), found[order], rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(
    ("limits", "value", "expected"),
    table(
        ({"at_most": 0.5}, 0.51, False, "above the upper limit"),
        ({"equals": False}, True, False, "equal to False"),
        ({"equals": 0.5, "at_least": 0.2}, 0.3, False, "every condition counts"),
        ({"at_least": 1.0}, math.nan, None, "NaN is missing"),
    ),
)
def test_a_gate_is_open_closed_or_cannot_tell(limits, value, expected):
    assert rk.gate("correct", **limits).admits(value) is expected
