"""Ties against pairs counted one by one."""

import itertools

import numpy as np
import pytest
from score_tables import scores_of

from rewardkit.analysis.diagnosis import make_views
from rewardkit.analysis.tables import ties

NAN = np.nan
GROUPS = [0, 0, 0, 1, 1, 1, 2, 2, 3]
A = [1.0, 1.0, 0.0, 0.5, 0.5, 0.5, 0.0, 1.0, 1.0]
B = [0.1, 0.2, 0.3, NAN, NAN, 0.3, 0.4, 0.4, 0.4]


def counted(values):
    """(equal pairs, pairs of which both are there) by brute force."""
    pairs = [
        (values[i], values[j])
        for i, j in itertools.combinations(range(len(values)), 2)
        if GROUPS[i] == GROUPS[j] and not np.isnan([values[i], values[j]]).any()
    ]
    return sum(x == y for x, y in pairs), len(pairs)


@pytest.fixture(scope="module")
def found():
    (view,) = make_views(scores_of({"a": A, "b": B}, GROUPS, on_missing="skip"))
    return {tie.component: tie for tie in ties(view)}


@pytest.mark.parametrize(("name", "values"), [("a", A), ("b", B)])
def test_the_share_is_that_of_all_pairs_of_siblings_counted_one_by_one(found, name, values):
    equal, pairs = counted(values)
    assert (found[name].share, found[name].pairs) == (equal / pairs, pairs)
    assert found[name].of_all == pairs / 7  # 3 + 3 + 1 pairs of siblings


def test_a_tie_of_the_reward_needs_one_of_the_sum_and_not_of_each_component(found):
    total = [a + (0 if np.isnan(b) else b) for a, b in zip(A, B, strict=True)]
    equal, pairs = counted(total)
    assert list(found) == [None, "a", "b"]
    assert (found[None].share, found[None].pairs) == (equal / pairs, pairs)


def test_whole_groups_are_those_of_several_scores_that_are_all_equal(found):
    assert found["a"].whole_groups == 1 / 3
    assert found["b"].whole_groups == 1 / 2  # the group with one score is none, nor is the single row


def test_the_interval_holds_the_share_and_one_prompt_has_none(found):
    low, high = found["a"].interval
    assert low <= found["a"].share <= high
    (view,) = make_views(scores_of({"a": [1.0, 0.0]}, [0, 0]))
    assert np.isnan(ties(view)[0].interval).all()


@pytest.mark.filterwarnings("ignore:All-NaN slice")  # of the table that is made
@pytest.mark.parametrize(
    ("values", "groups"),
    [
        pytest.param([1.0, 0.0], [0, 1], id="groups of one"),
        pytest.param([NAN, NAN], [0, 0], id="nothing judged"),
        pytest.param([1.0], [0], id="one row"),
    ],
)
def test_without_a_pair_nothing_is_said(values, groups):
    (view,) = make_views(scores_of({"a": values}, groups))
    for tie in ties(view):
        assert np.isnan(tie.share) and np.isnan(tie.whole_groups) and tie.pairs == 0
        assert tie.record()["of_all"] == 0
