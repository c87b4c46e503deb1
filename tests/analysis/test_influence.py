"""Effective weights under every estimator, Shapley values, and whose word the sign is, by hand."""

from itertools import permutations

import numpy as np
import pytest
from planted.tables import scores_of

import rewardkit as rk
from rewardkit.analysis.statistics.shares import group_shares, shapley

GROUPS = np.repeat([0, 1, 2], [3, 4, 2])
A = np.array([1.0, 0, 0, 1, 1, 0, 0, 0.5, 0.5])
B = np.array([0.2, 0.9, 0.4, 0.1, 0.3, 0.8, 0.7, 0.1, 0.9])
NOT_GATED = dict.fromkeys("abc", np.zeros(9, dtype=bool))


def mean_of_group(values):
    return np.array([values[GROUPS == group].mean() for group in range(3)])[GROUPS]


def view_of(parts, groups, training=None, **options):
    return rk.diagnose(scores_of(parts, groups, **options), training=training).views[0]


def test_shares_are_covariances_with_the_advantage():
    total = 2 * A + B
    found = group_shares({"a": 2 * A, "b": B}, total - mean_of_group(total), GROUPS)
    for group in range(3):
        rows = GROUPS == group
        expected = np.cov(2 * A[rows], total[rows])[0, 1] / np.var(total[rows], ddof=1)
        assert found["a"][group] == pytest.approx(expected)
        assert found["a"][group] + found["b"][group] == pytest.approx(1)
    assert group_shares({"a": A, "b": -A}, np.zeros(9), GROUPS)["a"].tolist() == [0, 0, 0]
    pieces = {"a": np.array([0.1 + 0.2, 0.0]), "b": np.array([-0.3, 0.0])}  # they cancel but for a digit
    shares = group_shares(pieces, np.array([0.5, -0.5]), np.zeros(2, dtype=int))
    assert {name: share.tolist() for name, share in shares.items()} == {"a": [0.0], "b": [0.0]}


def test_a_product_is_shared_out_by_shapley_values():
    a, b = A + 0.1, B
    found = shapley({"a": a, "b": b}, NOT_GATED, np.ones(2), GROUPS, aggregation="product", on_missing="nan")
    m, n = mean_of_group(a), mean_of_group(b)
    np.testing.assert_allclose(found["a"], ((a * n - m * n) + (a * b - m * b)) / 2)
    np.testing.assert_allclose(found["a"] + found["b"], a * b - m * n)


def test_a_minimum_of_three_is_the_mean_over_all_orders():
    parts = {"a": A, "b": B, "c": B[::-1].copy()}
    found = shapley(parts, NOT_GATED, np.ones(3), GROUPS, aggregation="minimum", on_missing="nan")

    def least(there):
        return np.min([x if name in there else mean_of_group(x) for name, x in parts.items()], axis=0)

    for name in parts:
        steps = []
        for order in permutations(parts):
            before = set(order[: order.index(name)])
            steps.append(least(before | {name}) - least(before))
        np.testing.assert_allclose(found[name], np.mean(steps, axis=0))


def test_effective_weights_of_a_product_add_up_and_leave_out_what_is_not_paid():
    parts = {"a": (A + 0.1) / 2, "b": B}
    assert sum(view_of(parts, GROUPS, aggregation="product").effective_weights.values()) == pytest.approx(1)
    weights = view_of(parts, GROUPS, aggregation="product", weights={"b": 0.0}).effective_weights
    assert weights == {"a": pytest.approx(1), "b": 0.0}
    parts = {f"c{at}": np.clip(B + at / 100, 0.05, 1) for at in range(9)}  # too many
    assert view_of(parts, GROUPS, aggregation="product").effective_weights == {}


@pytest.mark.parametrize(
    "estimator", [{"scale_rewards": "none"}, {"scale_rewards": "batch"}, {"estimator": "rloo"}], ids=str
)
def test_without_group_scaling_a_group_counts_by_its_spread(estimator):
    view = view_of({"a": A, "b": B}, GROUPS, estimator, weights={"a": 2.0})
    total, part = 2 * A + B, 2 * A
    centred, of_a = total - mean_of_group(total), part - mean_of_group(part)
    pooled = (of_a * centred).sum() / (centred**2).sum()
    if "estimator" in estimator:  # rloo makes more of small groups
        factor = (np.array([3, 4, 2]) / (np.array([3, 4, 2]) - 1)) ** 2
        of_group = np.bincount(GROUPS, of_a * centred), np.bincount(GROUPS, centred**2)
        pooled = (of_group[0] * factor).sum() / (of_group[1] * factor).sum()
    assert view.effective_weights["a"] == pytest.approx(pooled)


def test_the_influence_on_the_sign_is_the_share_of_advantages_that_turn_without_it():
    a, b = [1.0, 0, 0, 0], [0.0, 0.5, 0.1, 0.1]
    view = view_of({"a": a, "b": b}, [0] * 4)
    # 1, .5, .1, .1 have the mean .425: + + - -; without b + - - -; without a, mean .175: - + - -
    assert view.sign_influence == {"a": 1 / 4, "b": 1 / 4}
    assert np.isnan(view_of({"a": a}, [0] * 4).sign_influence["a"])
    assert view_of({"a": a, "b": b}, [0] * 4, weights={"b": 0.0}).sign_influence["b"] == 0.0
