"""Correlations against numpy's, and what `redundant` says of the same pair."""

import numpy as np
import pytest
from score_tables import scores_of

import rewardkit as rk
from rewardkit.analysis.diagnosis import make_views

NAN = np.nan


def of(columns, **options):
    rows = len(next(iter(columns.values())))
    (view,) = make_views(scores_of(columns, np.arange(rows) // 4, **options))
    return view.correlations


def test_a_pair_has_the_correlation_of_the_rows_that_both_score():
    generator = np.random.default_rng(0)
    a, b = generator.random(40), generator.random(40)
    b[:10], a[35:] = NAN, NAN
    found = of({"a": a, "b": b}, on_missing="skip")
    groups = (np.arange(40) // 4)[10:35]
    a, b = a[10:35], b[10:35]
    means = [[x[groups == group].mean() for group in groups] for x in (a, b)]  # of those that both score
    expected = np.corrcoef(a - means[0], b - means[1])[0, 1]
    np.testing.assert_allclose(found.matrix, [[1, expected], [expected, 1]])
    assert found.rows.tolist() == [[35, 25], [25, 30]]
    (pair,) = found.record()
    assert pair == {"first": "a", "second": "b", "value": pytest.approx(expected), "rows": 25, "why_not": ""}


@pytest.mark.filterwarnings("ignore:All-NaN slice")  # of the table that is made
@pytest.mark.parametrize(
    ("other", "why"),
    [
        pytest.param([0.5] * 6, "'b' is the same among siblings in all 6 rows", id="constant"),
        pytest.param([0.5] * 4 + [0.7] * 2, "'b' is the same among siblings in all 6 rows", id="by prompt"),
        pytest.param([NAN] * 6, "both are scored in 0 rows only", id="nothing in common"),
        pytest.param([NAN] * 5 + [1.0], "both are scored in 1 row only", id="one row"),
        pytest.param([NAN] * 4 + [0.0, 1.0], "both are scored in 2 rows only", id="two rows make a line"),
        pytest.param([0.1 + 0.2, 0.3] * 3, "'b' is the same among siblings in all 6 rows", id="rounding"),
    ],
)
def test_where_there_is_none_the_record_says_why(other, why):
    found = of({"a": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0], "b": other}, on_missing="skip")
    assert np.isnan(found.matrix[0, 1]) and found.why_not == {("a", "b"): why}


def test_a_component_that_varies_only_where_the_other_is_missing_has_none():
    other = [0.9] * 2 + [0.3] * 10  # differences to 0.9 are not exact
    found = of({"a": [NAN] * 2 + (np.arange(10) / 10).tolist(), "b": other}, on_missing="skip")
    assert np.isnan(found.matrix[0, 1]) and found.matrix[1, 1] == 1
    assert found.why_not == {("a", "b"): "'b' is the same among siblings in all 10 rows"}


def test_redundant_says_the_number_that_stands_in_the_matrix():
    diagnosis = rk.diagnose(rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic"))
    (item,) = diagnosis["redundant"]
    found = diagnosis.views[0].correlations
    at = found.names.index(item.component), found.names.index(item.evidence["other"])
    assert found.matrix[at] == pytest.approx(item.evidence["value"])


def test_one_component_has_nothing_to_agree_with():
    found = of({"a": [0.0, 1.0, 0.0, 1.0]})
    assert (found.matrix.tolist(), found.record()) == ([[1.0]], [])
