"""Ties against pairs counted one by one."""

from itertools import combinations

import numpy as np
import pytest
from score_tables import scores_of

from rewardkit.analysis.diagnosis import make_views
from rewardkit.analysis.tables import ties

NAN = np.nan
GROUPS = [0, 0, 0, 1, 1, 1, 2, 2, 3]
A = [1.0, 1.0, 0.0, 0.5, 0.5, 0.5, 0.0, 1.0, 1.0]
B = [0.1, 0.2, 0.3, NAN, NAN, 0.3, 0.4, 0.4, 0.4]


@pytest.fixture(scope="module")
def found():
    (view,) = make_views(scores_of({"a": A, "b": B}, GROUPS, on_missing="skip"))
    return {tie.component: tie for tie in ties(view)}


@pytest.mark.parametrize(("name", "values"), [("a", A), ("b", B), (None, np.add(A, np.nan_to_num(B)))])
def test_the_share_is_that_of_all_pairs_of_siblings_counted_one_by_one(found, name, values):
    """A tie of the reward needs one of the sum, and not of each component."""
    pairs = [
        (values[i], values[j])
        for i, j in combinations(range(len(values)), 2)
        if GROUPS[i] == GROUPS[j] and not np.isnan([values[i], values[j]]).any()
    ]
    assert (found[name].share, found[name].pairs) == (sum(x == y for x, y in pairs) / len(pairs), len(pairs))
    assert found[name].of_all == len(pairs) / 7  # 3 + 3 + 1 pairs of siblings
    assert found[name].interval[0] <= found[name].share <= found[name].interval[1]


def test_whole_groups_are_those_of_several_scores_that_are_all_equal(found):
    assert found["a"].whole_groups == 1 / 3
    assert found["b"].whole_groups == 1 / 2  # the group with one score is none, nor is the single row
    (view,) = make_views(scores_of({"a": [1.0, 0.0]}, [0, 0]))
    assert np.isnan(ties(view)[0].interval).all()  # of one prompt


@pytest.mark.parametrize(
    ("values", "groups"), [([1.0, 0.0], [0, 1]), ([NAN, NAN], [0, 0]), ([1.0], [0])], ids=str
)
def test_without_a_pair_nothing_is_said(values, groups):
    (view,) = make_views(scores_of({"a": values}, groups))
    for tie in ties(view):
        assert np.isnan(tie.share) and np.isnan(tie.whole_groups) and tie.pairs == 0
        assert tie.record()["of_all"] == 0
