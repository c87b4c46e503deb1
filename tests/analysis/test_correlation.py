"""Correlations against numpy's, and what `redundant` says of the same pair."""

import numpy as np
import pytest
from planted.tables import scores_of

from rewardkit.analysis.diagnosis import make_views

NAN = np.nan


def of(**columns):
    groups = np.arange(len(columns["a"])) // 4
    return make_views(scores_of(columns, groups, on_missing="skip"))[0].correlations


def test_a_pair_has_the_correlation_of_the_rows_that_both_score():
    a, b = np.random.default_rng(0).random((2, 40))
    b[:10], a[35:] = NAN, NAN
    found, groups = of(a=a, b=b), (np.arange(40) // 4)[10:35]
    a, b = a[10:35], b[10:35]
    means = [[x[groups == group].mean() for group in groups] for x in (a, b)]  # of those that both score
    expected = np.corrcoef(a - means[0], b - means[1])[0, 1]
    np.testing.assert_allclose(found.matrix, [[1, expected], [expected, 1]])
    assert found.rows.tolist() == [[35, 25], [25, 30]]
    (pair,) = found.record()
    assert pair == {"first": "a", "second": "b", "value": pytest.approx(expected), "rows": 25, "why_not": ""}


SAME, SIX, TEN = "'b' is the same among siblings in all {} rows", np.arange(6) / 5, np.arange(10) / 10


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        pytest.param(SIX, [0.5] * 6, SAME.format(6), id="constant"),
        pytest.param(SIX, [0.1 + 0.2, 0.3] * 3, SAME.format(6), id="rounding"),
        pytest.param(SIX, [NAN] * 5 + [1.0], "both are scored in 1 row only", id="one row"),
        pytest.param(SIX, [NAN] * 4 + [0, 1], "both are scored in 2 rows only", id="two rows make a line"),
    ],
)
def test_where_there_is_none_the_record_says_why(a, b, why):
    found = of(a=a, b=b)
    assert np.isnan(found.matrix[0, 1]) and found.why_not == {("a", "b"): why}
