"""Weights, transforms and gates against hand arithmetic, numpy and scipy; what is missing or refused."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from tabled import table

import rewardkit as rk
from rewardkit.primitives.weights import aggregate, min_max, rank, standardise

G, M, NAN = "gated", "missing", math.nan
ON_MISSING = ("nan", "zero", "skip")


def rewards_of(*rows, weights, **options):
    """Rewards of rows whose cells are scores, G or M."""
    scores = np.array(
        [[NAN if cell in (G, M) else cell for cell in row] for row in rows], dtype=float
    )
    gated = np.array([[cell == G for cell in row] for row in rows])
    return aggregate(scores, gated, np.array(weights, dtype=float), **options).tolist()


def same(found, expected):
    return np.array_equal(
        np.array(found, dtype=float), np.array(expected, dtype=float), equal_nan=True
    )


# Weights 3 and 1, a penalty of 0.5, and a component that is only recorded; weights 2 and 1, and one recorded.
SUM, MEAN, PRODUCT, MINIMUM = ("weighted_sum", "weighted_mean", "product", "minimum")
AGGREGATED = (
    # row, then for on_missing nan, zero, skip
    (SUM, (0.5, G, 0.5, M), (1.25, 1.25, 1.25), "a gated one gives 0"),
    (MEAN, (0.5, G, 0.5, M), (0.3125, 0.3125, 0.3125), "and its weight is kept"),
    (SUM, (M, 1.0, 0.5, M), (NAN, 0.75, 0.75), "missing in a sum"),
    (MEAN, (M, 1.0, 0.5, M), (NAN, 0.1875, 0.75), "missing in a mean"),
    (SUM, (M, M, 0.5, M), (NAN, -0.25, -0.25), "only the penalty is left"),
    (MEAN, (M, M, 0.5, M), (NAN, -0.0625, NAN), "a mean of nothing"),
    (PRODUCT, (0.5, G, 0.0), (0.25, 0.25, 0.25), "gated: no factor"),
    (MINIMUM, (0.5, G, 0.0), (0.5, 0.5, 0.5), "gated: left out"),
    (PRODUCT, (0.5, M, 0.0), (NAN, 0.0, 0.25), "missing in a product"),
    (MINIMUM, (0.5, M, 0.0), (NAN, 0.0, 0.5), "missing in a minimum"),
    (PRODUCT, (G, G, 0.0), (NAN, NAN, NAN), "all gated: nothing is left"),
)


@pytest.mark.parametrize(("aggregation", "row", "expected"), table(*AGGREGATED))
def test_aggregations_agree_with_hand_arithmetic(aggregation, row, expected):
    weights = (3, 1, -0.5, 0) if aggregation in (SUM, MEAN) else (2, 1, 0)
    how = {"weights": weights, "aggregation": aggregation}
    assert same(
        [rewards_of(row, on_missing=one, **how) for one in ON_MISSING],
        np.transpose([expected]),
    )


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
