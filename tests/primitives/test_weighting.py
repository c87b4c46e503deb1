"""Weighting: aggregations against hand arithmetic, transforms against hand arithmetic and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rewardkit.primitives.weights import (
    AGGREGATIONS,
    aggregate,
    check_weights,
    min_max,
    rank,
    read_transform,
    standardise,
)

G, M, NAN = "gated", "missing", math.nan


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


def rewards_of(*rows, weights, **options):
    """Rewards of rows whose cells are scores, G or M."""
    scores = np.array([[NAN if cell in (G, M) else cell for cell in row] for row in rows], dtype=float)
    gated = np.array([[cell == G for cell in row] for row in rows])
    return aggregate(scores, gated, np.array(weights, dtype=float), **options).tolist()


def same(found, expected):
    return np.array_equal(np.array(found, dtype=float), np.array(expected, dtype=float), equal_nan=True)


# Weights 3 and 1, a penalty of 0.5, and a component that is only recorded: missing in every row.
SUMS_AND_MEANS = table(
    # row, then (sum, mean) for on_missing nan, zero, skip
    ((0.5, 1.0, 0.5), (2.25, 0.5625), (2.25, 0.5625), (2.25, 0.5625), "all scored"),
    ((0.5, G, 0.5), (1.25, 0.3125), (1.25, 0.3125), (1.25, 0.3125), "gated: 0, its weight kept"),
    ((M, 1.0, 0.5), (NAN, NAN), (0.75, 0.1875), (0.75, 0.75), "missing"),
    ((M, G, 0.5), (NAN, NAN), (-0.25, -0.0625), (-0.25, -0.25), "missing beside gated"),
    ((M, M, 0.5), (NAN, NAN), (-0.25, -0.0625), (-0.25, NAN), "only the penalty is left: a mean of nothing"),
    ((G, G, G), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), "all gated"),
)
ON_MISSING = ("nan", "zero", "skip")


@pytest.mark.parametrize(("row", "nan", "zero", "skip"), SUMS_AND_MEANS)
def test_sum_and_mean_agree_with_hand_arithmetic(row, nan, zero, skip):
    for on_missing, (total, mean) in zip(ON_MISSING, (nan, zero, skip), strict=True):
        options = {"weights": (3, 1, -0.5, 0), "on_missing": on_missing}
        assert same(rewards_of((*row, M), aggregation="weighted_sum", **options), [total])
        assert same(rewards_of((*row, M), aggregation="weighted_mean", **options), [mean])


# Weights 2 and 1, and a component that is only recorded, with a score of 0.
PRODUCTS_AND_MINIMA = table(
    ((1.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), "one 0 takes all"),
    ((0.5, G), (0.25, 0.5), (0.25, 0.5), (0.25, 0.5), "gated: left out"),
    ((0.5, M), (NAN, NAN), (0.0, 0.0), (0.25, 0.5), "missing"),
    ((G, M), (NAN, NAN), (0.0, 0.0), (NAN, NAN), "one gated, one missing"),
    ((G, G), (NAN, NAN), (NAN, NAN), (NAN, NAN), "all gated: nothing is left"),
)


@pytest.mark.parametrize(("row", "nan", "zero", "skip"), PRODUCTS_AND_MINIMA)
def test_product_and_minimum_agree_with_hand_arithmetic(row, nan, zero, skip):
    for on_missing, (product, minimum) in zip(ON_MISSING, (nan, zero, skip), strict=True):
        options = {"weights": (2, 1, 0), "on_missing": on_missing}
        assert same(rewards_of((*row, 0.0), aggregation="product", **options), [product])
        assert same(rewards_of((*row, 0.0), aggregation="minimum", **options), [minimum])


def test_the_default_is_a_weighted_sum_that_a_missing_score_makes_nan():
    assert same(rewards_of((1.0, 0.5), (1.0, M), weights=(1, 2)), [2.0, NAN])


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_rows_do_not_touch_each_other(aggregation):
    rows = [(0.5, 1.0), (G, 0.25), (M, 0.5), (1.0, 0.0), (G, M), (M, M)]
    options = {"weights": (2, 0.5), "aggregation": aggregation, "on_missing": "skip"}
    one_by_one = [rewards_of(row, **options)[0] for row in rows]
    assert same(rewards_of(*rows, **options), one_by_one)
    assert same(rewards_of(*rows[::-1], **options), one_by_one[::-1])


@pytest.mark.parametrize("aggregation", ["weighted_sum", "product", "minimum"])
def test_components_without_weight_leave_nothing_to_count(aggregation):
    assert same(rewards_of((1.0, 0.5), (1.0, G), weights=(0, 0), aggregation=aggregation), [NAN, NAN])


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_no_rows_give_no_rewards_and_nothing_of_the_caller_is_changed(aggregation):
    weights = np.array([1.0, 0.5])
    scores, gated = np.array([[0.5, NAN], [NAN, 0.5]]), np.array([[False, True], [False, False]])
    before = scores.copy(), gated.copy(), weights.copy()
    aggregate(scores, gated, weights, aggregation=aggregation, on_missing="zero")
    assert same(scores, before[0])
    assert (gated == before[1]).all()
    assert (weights == before[2]).all()
    assert aggregate(scores[:0], gated[:0], weights, aggregation=aggregation).shape == (0,)


CELLS = st.sampled_from([0.0, 0.25, 0.5, 1.0, G, M])
WEIGHTS = st.sampled_from([0.25, 0.5, 1.0, 2.0])


@given(
    row=st.lists(st.tuples(CELLS, WEIGHTS), min_size=1, max_size=5),
    aggregation=st.sampled_from(AGGREGATIONS),
    on_missing=st.sampled_from(ON_MISSING),
    seed=st.randoms(use_true_random=False),
)
def test_the_order_of_components_and_unpaid_ones_do_not_matter(row, aggregation, on_missing, seed):
    def reward(pairs):
        cells, weights = zip(*pairs, strict=True)
        return rewards_of(cells, weights=weights, aggregation=aggregation, on_missing=on_missing)

    other = [*row, (seed.choice([0.0, 1.0, G, M]), 0.0)]
    seed.shuffle(other)
    np.testing.assert_allclose(reward(other), reward(row), rtol=1e-12)


@given(row=st.lists(st.tuples(st.floats(0, 1), WEIGHTS), min_size=1, max_size=5))
def test_a_mean_lies_between_the_lowest_and_the_highest_score(row):
    cells, weights = zip(*row, strict=True)
    (mean,) = rewards_of(cells, weights=weights, aggregation="weighted_mean")
    assert mean == pytest.approx(np.average(cells, weights=weights), rel=1e-12)
    assert rewards_of(cells, weights=weights, aggregation="minimum") == [min(cells)]


@pytest.mark.parametrize(
    ("weights", "options", "piece"),
    table(
        ([1.0], {"aggregation": "median"}, "'median' is not known; use one of 'weighted_sum'", "median"),
        ([1.0], {"on_missing": "drop"}, "on_missing='drop' is not known; use one of 'nan'", "drop"),
        ([1.0, NAN], {}, "weights must be finite numbers; got [1.0, nan]", "a weight of NaN"),
        ([math.inf], {}, "weights must be finite numbers", "an infinite weight"),
        ([1.0, -1.0], {"aggregation": "product"}, "'product' has no penalties", "a penalty in a product"),
        ([1.0, -1.0], {"aggregation": "minimum"}, "'minimum' has no penalties", "a penalty in a minimum"),
        (
            [0.0, -1.0],
            {"aggregation": "weighted_mean"},
            "needs at least one weight above 0",
            "a mean of penalties",
        ),
    ),
)
def test_weights_and_options_without_meaning_are_refused_in_a_sentence(weights, options, piece):
    options = {"aggregation": "weighted_sum", "on_missing": "nan", **options}
    with pytest.raises(ValueError) as caught:
        check_weights(np.array(weights), **options)
    assert piece in str(caught.value)
    with pytest.raises(ValueError) as again:
        aggregate(np.ones((1, len(weights))), np.zeros((1, len(weights)), bool), np.array(weights), **options)
    assert str(again.value) == str(caught.value)


ONE_GROUP = np.zeros(4, dtype=np.intp)
ROOT = math.sqrt(3)


@pytest.mark.parametrize(
    ("transform", "rewards", "expected"),
    table(
        (standardise(), [0, 0, 0, 1], [-0.5, -0.5, -0.5, 1.5], "std of ddof 1 is a half"),
        (standardise(clip=1), [0, 0, 0, 1], [-0.5, -0.5, -0.5, 1.0], "clipped"),
        (standardise(clip=0.25), [0, 0, 0, 1], [-0.25, -0.25, -0.25, 0.25], "clipped on both sides"),
        (
            standardise(),
            [0, 1, NAN, NAN],
            [-1 / math.sqrt(2), 1 / math.sqrt(2), NAN, NAN],
            "NaN takes no part",
        ),
        (standardise(), [0.1, 0.1, 0.1, 0.1], [0, 0, 0, 0], "nothing varies"),
        (standardise(), [0.7, NAN, NAN, NAN], [0, NAN, NAN, NAN], "one reward"),
        (standardise(), [NAN] * 4, [NAN] * 4, "no reward"),
        (min_max(), [1, 2, 3, 5], [0, 0.25, 0.5, 1], "from 0 to 1"),
        (min_max(), [-1, NAN, 1, 0], [0, NAN, 1, 0.5], "NaN takes no part in min-max"),
        (rank(), [1, 1, 0, 2], [0.5, 0.5, 0, 1], "ties share their mean rank"),
        (rank(), [1, 1, 1, 1], [0.5] * 4, "all tied"),
        (rank(), [2, NAN, 1, NAN], [1, NAN, 0, NAN], "NaN takes no part in ranks"),
        (rank(), [2, NAN, NAN, NAN], [0, NAN, NAN, NAN], "a single reward"),
    ),
)
def test_transforms_agree_with_hand_arithmetic(transform, rewards, expected):
    found = transform(np.array(rewards, dtype=float), ONE_GROUP)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_groups_are_transformed_apart_wherever_their_rows_stand_and_a_batch_together():
    rewards, groups = np.array([0.0, 10.0, 1.0, 30.0]), np.array([7, 2, 7, 2])
    assert min_max()(rewards, groups).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert min_max(within="batch")(rewards, groups).tolist() == [0.0, 10 / 30, 1 / 30, 1.0]


ROWS = st.lists(
    st.tuples(st.integers(-40, 40).map(lambda eighths: eighths / 8), st.integers(0, 3)), max_size=24
)


def split(rows):
    return np.array([r for r, _ in rows], dtype=float), np.array([g for _, g in rows], dtype=np.intp)


def by_scipy(name, rewards):
    if len(rewards) == 1 or (name != "rank" and np.ptp(rewards) == 0):
        return np.zeros(len(rewards))
    if name == "rank":
        return (scipy.stats.rankdata(rewards, method="average") - 1) / (len(rewards) - 1)
    return scipy.stats.zscore(rewards, ddof=1)


@pytest.mark.parametrize("within", ["group", "batch"])
@pytest.mark.parametrize("transform", [standardise, rank])
@given(rows=ROWS)
def test_standardise_and_rank_agree_with_scipy(transform, within, rows):
    rewards, groups = split(rows)
    expected = np.empty_like(rewards)
    for members in [groups == g for g in set(groups)] if within == "group" else [np.full(len(rows), True)]:
        if members.any():
            expected[members] = by_scipy(transform.__name__, rewards[members])
    np.testing.assert_allclose(transform(within=within)(rewards, groups), expected, rtol=1e-9, atol=1e-12)


TRANSFORMS = (
    standardise(),
    standardise(clip=2.5, within="batch"),
    min_max(),
    min_max(within="batch"),
    rank(),
    rank(within="batch"),
)


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
@given(rows=ROWS, seed=st.randoms(use_true_random=False), missing=st.sets(st.integers(0, 23)))
def test_the_order_of_rows_does_not_matter_nan_stays_and_the_caller_keeps_his_array(
    transform, rows, seed, missing
):
    rewards, groups = split(rows)
    rewards[[i for i in missing if i < len(rows)]] = NAN
    before = rewards.copy()
    found = transform(rewards, groups)
    assert same(rewards, before)
    assert (np.isnan(found) == np.isnan(rewards)).all()
    order = list(range(len(rows)))
    seed.shuffle(order)
    np.testing.assert_allclose(transform(rewards[order], groups[order]), found[order], rtol=1e-9, atol=1e-12)


@given(rewards=hnp.arrays(float, st.integers(1, 12), elements=st.floats(-5, 5)), clip=st.floats(0.1, 3))
def test_a_clipped_standardisation_stays_within_its_limits(rewards, clip):
    groups = np.zeros(len(rewards), dtype=np.intp)
    found = standardise(clip=clip)(rewards, groups)
    assert (np.abs(found) <= clip).all()
    assert same(found, np.clip(standardise()(rewards, groups), -clip, clip))


@pytest.mark.parametrize(
    ("call", "piece"),
    table(
        (
            lambda: read_transform("softmax()"),
            "softmax() is not one of rewardkit's transforms",
            "an unknown name",
        ),
        (lambda: read_transform("rank(1)"), "rank(1) is not one of rewardkit's", "a positional argument"),
        (
            lambda: read_transform("rank(clip=1)"),
            "is not one of rewardkit's transforms",
            "an option it lacks",
        ),
        (lambda: read_transform("rank("), "is not one of rewardkit's transforms", "no call at all"),
        (lambda: read_transform("rank(within=open('x'))"), "is not one of rewardkit's", "code in an option"),
    ),
)
def test_a_transform_without_meaning_is_refused_in_a_sentence(call, piece):
    with pytest.raises(ValueError) as caught:
        call()
    assert piece in str(caught.value)
