"""Ratings: kappa, AUC and rank correlation by hand and by scipy; intervals over prompts; what is left out."""

import math

import numpy as np
import pytest
from scipy import stats

from rewardkit.analysis.statistics.ratings import Ratings, auc, estimate, kappa, nearest, rank_correlation

NAN = math.nan
YES_NO, THREE = np.array([0.0, 1.0]), np.array([0.0, 0.5, 1.0])


def ratings(scores, labels, grid=YES_NO, prompts=None, lengths=None):
    rows = len(scores)
    return Ratings(
        np.array(scores, dtype=float),
        np.array(labels, dtype=float),
        np.arange(rows) if prompts is None else np.array(prompts),
        np.arange(rows, dtype=float) if lengths is None else np.array(lengths, dtype=float),
        grid,
    )


@pytest.mark.parametrize(
    ("counts", "grid", "weighted", "expected"),
    [
        # Cohen's textbook case: 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no; (0.7 - 0.5) / (1 - 0.5)
        ([[15, 10], [5, 20]], YES_NO, False, 0.4),
        ([[15, 10], [5, 20]], YES_NO, True, 0.4),  # two levels: weights change nothing
        # three levels, every row one step too high: no agreement, but near
        ([[0, 4, 0], [0, 0, 4], [0, 0, 0]], THREE, False, 1 - 1 / (1 - 16 / 64)),
        # by hand: observed 8 * 0.25 = 2; expected (0-.5) .25*2 + (0-1) 1*2 + (.5-1) .25*2 = 3
        ([[0, 4, 0], [0, 0, 4], [0, 0, 0]], THREE, True, 1 - 2 / 3),
        ([[9, 0], [0, 0]], YES_NO, False, NAN),  # one level alone
    ],
)
def test_kappa_is_what_hand_arithmetic_gives(counts, grid, weighted, expected):
    first, second = np.array(
        [(a, b) for a, row in enumerate(counts) for b, n in enumerate(row) for _ in range(n)]
    ).T
    assert kappa(first, second, grid, weighted=weighted) == pytest.approx(expected, nan_ok=True)
    assert kappa(second, first, grid, weighted=weighted) == pytest.approx(expected, nan_ok=True)


def test_auc_and_rank_correlation_are_those_of_scipy_ties_included():
    draw = np.random.default_rng(3)
    scores, other = draw.integers(0, 4, 60) / 3, draw.integers(0, 5, 60) * 1.0
    positive = draw.random(60) < 0.4
    wins = stats.mannwhitneyu(scores[positive], scores[~positive]).statistic
    assert auc(scores, positive) == pytest.approx(wins / (positive.sum() * (~positive).sum()))
    assert rank_correlation(scores, other) == pytest.approx(stats.spearmanr(scores, other).statistic)
    assert math.isnan(auc(scores, np.ones(60, dtype=bool)))
    assert math.isnan(rank_correlation(scores, np.ones(60)))


def test_rows_without_a_score_or_a_label_are_in_no_figure():
    whole = ratings([1, 0, 1, NAN, 0], [1, 0, 0, 1, NAN])
    assert whole.rows.tolist() == [0, 1, 2]
    assert (whole.agreement.n, whole.agreement.value) == (3, pytest.approx(2 / 3))
    alone = ratings([1, 0, 1], [1, 0, 0])
    for name in ("kappa", "auc", "length_bias"):
        assert getattr(whole, name).value == pytest.approx(getattr(alone, name).value)
    nothing = ratings([NAN], [1])
    assert nothing.agreement.n == 0 and math.isnan(nothing.agreement.value)
    assert nothing.mean(np.array([NAN])) is None


def test_prompts_are_drawn_and_not_rows():
    values = np.repeat([0.0, 1.0], 50)
    few = estimate(lambda at: float(values[at].mean()), np.repeat(np.arange(4), 25), 0)
    many = estimate(lambda at: float(values[at].mean()), np.arange(100), 0)
    assert (few.low, few.high) == (0.0, 1.0)
    assert 0.38 < many.low < 0.43 and 0.57 < many.high < 0.62  # 0.5 +- 1.96 * 0.05
    one = estimate(lambda at: float(values[at].mean()), np.zeros(100, dtype=int), 0)
    assert one.value == 0.5 and math.isnan(one.low) and str(one) == "0.50 (n = 100)"


def test_figures_of_levels_by_hand():
    assert nearest(np.array([0.24, 0.25, 0.26, 0.9]), THREE).tolist() == [0, 0, 1, 2]  # half way: the lower
    found = ratings([1, 0.5, 0, 1], [1, 0.5, 0, 0], THREE).auc  # without labels in the middle
    assert (found.n, found.value) == (3, 0.75)  # of two pairs one is won and one tied
    found = ratings([1, 0, 1, 0], [1, 0, 0, 0]).stability(np.array([[1, 0, 0, NAN], [1, 0, 1, 0]]))
    assert (found.n, found.value) == (3, pytest.approx(2 / 3))
    found = ratings([1, 1, 0.5, 0], [1, 0, 0.5, 0], THREE).calibration
    assert [(score, mean.value, mean.n) for score, mean in found] == [(0, 0, 1), (0.5, 0.5, 1), (1, 0.5, 2)]
