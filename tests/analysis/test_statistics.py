"""Statistics of groups, pairs, ratings and advantages: by hand, by counting, by numpy, pandas and scipy."""

from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted.tables import scores_of
from scipy import stats
from scipy.stats import kendalltau

from rewardkit.analysis.parts import make_views
from rewardkit.analysis.statistics import (
    Bootstrap,
    between_share,
    count_ties,
    effective_levels,
    group_stats,
    within,
)
from rewardkit.analysis.statistics.advantages import (
    batch,
    dr_grpo,
    gdpo,
    grpo,
    reinforce_pp,
    rloo,
)
from rewardkit.analysis.statistics.distributions import dead_share, outlying, two_piles
from rewardkit.analysis.statistics.pairs import ALL_PAIRS, concordance
from rewardkit.analysis.statistics.ratings import (
    Ratings,
    auc,
    estimate,
    kappa,
    nearest,
    rank_correlation,
)
from rewardkit.rewards.training import Training

NAN = np.nan
BY_SIX = np.repeat(np.arange(50), 6)
ORDER = np.random.default_rng(0).permutation(300)
NAMES = {"mean": "mean", "std": "std", "low": "min", "high": "max"}


@pytest.mark.parametrize(
    "groups",
    [BY_SIX, BY_SIX[ORDER], np.arange(300) ** 2 % 47],
    ids=["in rows", "mixed", "ragged"],
)
def test_statistics_of_groups_are_those_of_pandas(groups):
    """Of values of which sums of squares would have lost every digit, and of a mean that is inexact."""
    values = np.random.default_rng(0).normal(1e6, 1e-3, 300)
    values[groups == 2], values[groups == 4] = 0.1 + 0.2, NAN
    values[np.flatnonzero(groups == 6)[1:]] = NAN
    found = group_stats(values, groups)
    by_pandas = pd.Series(values).groupby(groups).agg([*NAMES.values(), "count"])
    wanted = by_pandas.reindex(range(groups.max() + 1)).fillna(0)
    there = wanted["count"] > 0
    for name, pandas_name in NAMES.items():
        mine, theirs = getattr(found, name)[there], wanted[pandas_name][there]
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found.count, wanted["count"])
    assert found.std[2] == 0.0 and np.flatnonzero(found.dead).tolist() == [2]
    np.testing.assert_array_equal(found.live, (wanted["count"] > 1) & ~found.dead)


VALUES = st.sampled_from([0.0, 0.5, 1.0, np.nan])


@given(
    st.lists(st.tuples(VALUES, st.integers(0, 4)), min_size=2, max_size=40)
    | st.lists(VALUES, min_size=24, max_size=24).map(
        lambda values: [*zip(values, BY_SIX, strict=False)]
    )
)
def test_count_ties_equals_counting_the_pairs(rows):
    values, groups = (np.array(column) for column in zip(*rows, strict=True))
    equal, pairs = count_ties(values, groups)
    known = np.flatnonzero(~np.isnan(values))
    wanted = np.zeros((2, len(pairs)))
    for a, b in combinations(known, 2):
        if groups[a] == groups[b]:
            wanted[:, groups[a]] += values[a] == values[b], 1
    np.testing.assert_array_equal([equal, pairs], wanted)


BETWEEN = {
    # means 0, 3, 7 of sizes 1, 2, 5: MSB = 52.875 / 2, MSW = 6 / 5, n0 = (8 - 30 / 8) / 2, not 8 / 3
    "unequal sizes use n0": (
        [0, 2, 4, 6, 6, 7, 8, 8], [0, 1, 1, 2, 2, 2, 2, 2], (26.4375 - 1.2) / (26.4375 + 1.125 * 1.2)),
    "one group": ([1, 2], [0, 0], NAN),
    "no variance": ([1, 1, 1, 1], [0, 0, 1, 1], NAN),
}  # fmt: skip


@pytest.mark.parametrize(
    ("values", "groups", "expected"), BETWEEN.values(), ids=BETWEEN
)
def test_between_share_equals_the_anova_by_hand(values, groups, expected):
    found = between_share(np.array(values, dtype=float), np.array(groups))
    assert found == pytest.approx(expected, nan_ok=True)


def test_levels_are_as_many_as_equally_likely_values_and_a_deviation_is_from_the_mean_of_its_group():
    levels = ([0.0, 1, 2, 3], [1.0, 1, NAN], [NAN])
    found = [effective_levels(np.array(values)) for values in levels]
    assert found == pytest.approx([4, 1, NAN], nan_ok=True)
    deviations = within(np.array([1.0, 3.0, 10.0]), np.array([0, 0, 1]))
    assert deviations.tolist() == [-1, 1, 0]


def test_the_bootstrap_covers_the_truth_about_as_often_as_it_says():
    # 60 prompts whose 4 siblings are all alike: a bootstrap over rows would be far too narrow
    hits = 0
    for seed in range(200):
        generator = np.random.default_rng(1000 + seed)
        values = np.repeat((generator.random(60) < 0.3).astype(float), 4)
        prompts = np.repeat(np.arange(60), 4)
        low, high = Bootstrap(prompts, seed=seed).interval(
            [values, np.ones(240)], prompts
        )
        hits += low <= 0.3 <= high
    assert (
        180 <= hits <= 198
    )  # 95 % of 200 is 190; a binomial leaves 180 to 198 in more than 99 of 100 runs
    sums = [np.random.default_rng(0).random(240), np.ones(240)]
    first, again, other = (
        Bootstrap(prompts, seed=seed).interval(sums, prompts) for seed in (3, 3, 4)
    )
    assert first == again != other


def test_of_many_prompts_groups_drawn_together_give_the_interval_that_prompts_do():
    draw = np.random.default_rng(0)
    rates = draw.beta(0.5, 0.5, 20_000)
    values = (draw.random((20_000, 4)) < rates[:, None]).astype(float)
    prompts = np.repeat(np.arange(20_000), 4)
    bootstrap = Bootstrap(prompts)
    low, high = bootstrap.interval([values.ravel(), np.ones(80_000)], prompts)
    error = values.mean(1).std(ddof=1) / np.sqrt(20_000)
    assert bootstrap.units == Bootstrap.MOST_UNITS < bootstrap.total
    assert (low + high) / 2 == pytest.approx(values.mean(), abs=0.2 * error)
    # 1 / sqrt(2 * 4,096) of the width is 1 %, and percentiles of 1,000 draws have an error of some 4 %
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.15)


# pairs


def counted(values, order, groups, alike):
    table = np.column_stack([values, order, alike])
    agree, pairs = np.zeros(groups.max() + 1), np.zeros(groups.max() + 1)
    for a, b in combinations(np.flatnonzero(~np.isnan(table).any(axis=1)), 2):
        value, rank, other = np.sign(table[a] - table[b])
        if groups[a] == groups[b] and rank and not other:
            pairs[groups[a]] += 1
            agree[groups[a]] += (value * rank + 1) / 2
    return agree, pairs


@pytest.mark.parametrize("among_alike", [False, True])
def test_concordance_is_that_of_a_count_of_pairs_one_by_one(among_alike):
    generator = np.random.default_rng(0)
    groups = generator.permutation(np.repeat(np.arange(5), [7, 1, 4, 2, 16]))
    values, order, same = (generator.integers(0, n, 30) * 1.0 for n in (4, 3, 2))
    values[3], order[5], same[7] = NAN, NAN, NAN
    same = same if among_alike else np.zeros(30)
    found = concordance(values, order, groups, same if among_alike else None)
    np.testing.assert_array_equal(found, counted(values, order, groups, same))


def test_of_very_large_groups_some_pairs_of_each_row_stand_for_all():
    generator = np.random.default_rng(0)
    order = generator.random(3000)
    values = order + generator.normal(size=3000) * 0.5
    agree, pairs = concordance(values, order, np.zeros(3000, dtype=int))
    expected = (kendalltau(values, order).statistic + 1) / 2
    assert pairs[0] < 3000 * 2 * ALL_PAIRS
    assert agree[0] / pairs[0] == pytest.approx(expected, abs=0.01)


def test_beside_a_very_large_group_all_pairs_of_small_ones_count():
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(41), [*[8] * 40, 3000])
    values, order = generator.random(len(groups)), generator.random(len(groups))
    is_small = groups < 40
    found = concordance(values, order, groups)
    alone = concordance(values[is_small], order[is_small], groups[is_small])
    np.testing.assert_array_equal(np.array(found)[:, :40], alone)
    assert (alone[1] == 28).all()


# shape


@pytest.mark.parametrize(
    ("values", "far"),
    [
        pytest.param(
            [1, 2, 3, 4, 5, 6, 7, 30], [30], id="beyond the fence of 16.75, and apart"
        ),
        pytest.param([0] * 97 + [1] * 3, [], id="rare successes are not far out"),
        pytest.param([0] * 79 + [1] * 20 + [4], [], id="at the fence of four spans"),
        pytest.param(
            [*range(40), 90, 110],
            [],
            id="90, within the fence of 92, reaches half way to 110",
        ),
        pytest.param(
            [*range(40), 150, 170, np.nan],
            [150, 170],
            id="two together; NaN is nothing",
        ),
        pytest.param(list(1.17 ** np.arange(60)), [], id="a long tail without a gap"),
        pytest.param(
            [0] * 30 + [5000], [], id="a middle half that does not vary has no fences"
        ),
    ],
)
def test_values_lie_far_out_where_they_are_beyond_the_outer_fence_and_apart(
    values, far
):
    values = np.array(values, dtype=float)
    assert values[outlying(values)].tolist() == far


def test_two_piles_are_the_cut_with_the_least_squares_within():
    values = np.random.default_rng(0).normal(size=30)
    ordered = np.sort(values)
    squares = []
    for cut in range(1, 30):
        low, high = ordered[:cut], ordered[cut:]
        squares.append(low.var() * cut + high.var() * (30 - cut))
    cut = 1 + int(np.argmin(squares))
    wanted = (ordered[:cut].mean(), ordered[cut:].mean(), cut / 30)
    assert two_piles(values) == pytest.approx(wanted)


# correlations


def of(**columns):
    groups = np.arange(len(columns["a"])) // 4
    return make_views(scores_of(columns, groups, on_missing="skip"))[0].correlations


def test_a_pair_has_the_correlation_of_the_rows_that_both_score():
    a, b = np.random.default_rng(0).random((2, 40))
    b[:10], a[35:] = NAN, NAN
    (pair,) = of(a=a, b=b).values()
    both = pd.DataFrame({"a": a, "b": b}).dropna()
    centred = both - both.groupby(both.index // 4).transform("mean")
    value = pytest.approx(centred["a"].corr(centred["b"]))
    expected = {"first": "a", "second": "b", "value": value, "rows": 25, "why_not": ""}
    assert pair.record() == expected


SAME, SIX = "'b' is the same among siblings in all 6 rows", np.arange(6) / 5


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        pytest.param(SIX, [0.5] * 6, SAME, id="constant"),
        pytest.param(SIX, [0.1 + 0.2, 0.3] * 3, SAME, id="rounding"),
        pytest.param(
            SIX, [NAN] * 5 + [1.0], "both are scored in 1 row only", id="one row"
        ),
        pytest.param(
            SIX,
            [NAN] * 4 + [0, 1],
            "both are scored in 2 rows only",
            id="two rows make a line",
        ),
    ],
)
def test_where_there_is_none_the_record_says_why(a, b, why):
    (pair,) = of(a=a, b=b).values()
    assert np.isnan(pair.value) and pair.why_not == why


# ratings

YES_NO, THREE = np.array([0.0, 1.0]), np.array([0.0, 0.5, 1.0])


def ratings(scores, labels, grid=YES_NO, prompts=None, lengths=None):
    rows = len(scores)
    return Ratings(
        np.array(scores, dtype=float),
        np.array(labels, dtype=float),
        np.arange(rows) if prompts is None else np.array(prompts),
        np.arange(rows, dtype=float)
        if lengths is None
        else np.array(lengths, dtype=float),
        grid,
    )


THREE_LEVELS = [
    [0, 4, 0],
    [0, 0, 4],
    [0, 0, 0],
]  # every row one step too high: no agreement, but near
KAPPA = [
    (
        [[15, 10], [5, 20]],
        YES_NO,
        (0.4, 0.4),
    ),  # Cohen's: (0.7 - 0.5) / (1 - 0.5), weights change nothing
    # weighted: observed 8 * 0.25 = 2; expected (0-.5) .25*2 + (0-1) 1*2 + (.5-1) .25*2 = 3
    (THREE_LEVELS, THREE, (1 - 1 / (1 - 16 / 64), 1 - 2 / 3)),
    ([[9, 0], [0, 0]], YES_NO, (NAN, NAN)),  # one level alone
]


@pytest.mark.parametrize(("counts", "grid", "expected"), KAPPA)
def test_kappa_is_what_hand_arithmetic_gives(counts, grid, expected):
    first, second = np.repeat(
        np.argwhere(np.array(counts) >= 0), np.ravel(counts), axis=0
    ).T
    for a, b in ((first, second), (second, first)):
        found = [kappa(a, b, grid, weighted=weighted) for weighted in (False, True)]
        assert found == pytest.approx(expected, nan_ok=True)


def test_auc_and_rank_correlation_are_those_of_scipy_ties_included():
    draw = np.random.default_rng(3)
    scores, other = draw.integers(0, 4, 60) / 3, draw.integers(0, 5, 60) * 1.0
    positive = draw.random(60) < 0.4
    wins = stats.mannwhitneyu(scores[positive], scores[~positive]).statistic
    assert auc(scores, positive) == pytest.approx(
        wins / (positive.sum() * (~positive).sum())
    )
    assert rank_correlation(scores, other) == pytest.approx(
        stats.spearmanr(scores, other).statistic
    )
    assert np.isnan(auc(scores, np.ones(60, dtype=bool)))
    assert np.isnan(rank_correlation(scores, np.ones(60)))


def test_rows_without_a_score_or_a_label_are_in_no_figure():
    whole = ratings([1, 0, 1, NAN, 0], [1, 0, 0, 1, NAN])
    alone = ratings([1, 0, 1], [1, 0, 0])
    assert (whole.agreement.n, whole.agreement.value) == (3, pytest.approx(2 / 3))
    for name in ("kappa", "auc", "length_bias"):
        assert getattr(whole, name).value == pytest.approx(getattr(alone, name).value)
    nothing = ratings([NAN], [1])
    assert np.isnan(nothing.agreement.value) and nothing.mean(np.array([NAN])) is None


def test_prompts_are_drawn_and_not_rows():
    values = np.repeat([0.0, 1.0], 50)

    def mean_of(prompts):
        return estimate(lambda at: float(values[at].mean()), prompts, 0)

    few, many = mean_of(np.repeat(np.arange(4), 25)), mean_of(np.arange(100))
    assert (few.low, few.high) == (0.0, 1.0)
    assert 0.38 < many.low < 0.43 and 0.57 < many.high < 0.62  # 0.5 +- 1.96 * 0.05
    one = mean_of(np.zeros(100, dtype=int))
    assert one.value == 0.5 and np.isnan(one.low) and str(one) == "0.50 (n = 100)"


def test_figures_of_levels_by_hand():
    # half way: the lower
    assert [*nearest(np.array([0.24, 0.25, 0.26, 0.9]), THREE)] == [0, 0, 1, 2]
    # without labels in the middle; of two pairs one is won and one tied
    found = ratings([1, 0.5, 0, 1], [1, 0.5, 0, 0], THREE).auc
    assert (found.n, found.value) == (3, 0.75)
    again = np.array([[1, 0, 0, NAN], [1, 0, 1, 0]])
    found = ratings([1, 0, 1, 0], [1, 0, 0, 0]).stability(again)
    assert (found.n, found.value) == (3, pytest.approx(2 / 3))
    found = ratings([1, 1, 0.5, 0], [1, 0, 0.5, 0], THREE).calibration
    means = [(score, mean.value, mean.n) for score, mean in found]
    assert means == [(0, 0, 1), (0.5, 0.5, 1), (1, 0.5, 2)]


# advantages

REWARDS, GROUPS = np.array([1.0, 0.0, 0.0, 3.0, 5.0]), np.array([0, 0, 0, 1, 1])
CENTRED = np.array([2 / 3, -1 / 3, -1 / 3, -1, 1])
STD = np.repeat([((4 / 9 + 2 / 9) / 2) ** 0.5, 2**0.5], [3, 2])
BY_HAND = {
    "the standard deviation of the group divides": (grpo, CENTRED / (STD + 1e-4)),
    "the small number in the denominator is the trainer's": (
        partial(grpo, eps=1e-6),
        CENTRED / (STD + 1e-6),
    ),
    "what is centred only": (dr_grpo, CENTRED),
    "the standard deviation of all rewards divides": (
        batch,
        CENTRED / (REWARDS.std(ddof=1) + 1e-4),
    ),
    "what is centred is standardised": (
        reinforce_pp,
        CENTRED / (CENTRED.std(ddof=1) + 1e-4),
    ),
    "the mean of the others is taken away": (rloo, [1, -0.5, -0.5, -2, 2]),
}


@pytest.mark.parametrize(("estimator", "expected"), BY_HAND.values(), ids=BY_HAND)
def test_advantages_by_hand_and_a_missing_reward_has_none_and_changes_no_sibling(
    estimator, expected
):
    np.testing.assert_allclose(estimator(REWARDS, GROUPS), expected, rtol=1e-12)
    missing = estimator(np.append(REWARDS, NAN), np.append(GROUPS, 1))
    np.testing.assert_allclose(missing, [*expected, NAN], rtol=1e-12)


def test_gdpo_equals_its_steps_by_hand():
    scores = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    groups = np.array([0, 0, 1, 1])
    half = 0.5 / (np.sqrt(0.5) + 1e-4)
    total = half * np.array([1, -1, 2, -2])
    expected = (total - total.mean()) / (total.std(ddof=1) + 1e-4)
    np.testing.assert_allclose(gdpo(scores, np.array([2.0, 1.0]), groups), expected)
    scores[1, 1] = scores[2] = NAN  # one score of a row is enough
    missing = np.isnan(gdpo(scores, np.ones(2), groups))
    assert missing.tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    "estimator",
    [batch, reinforce_pp, lambda r, g, b: gdpo(r[:, None], np.ones(1), g, b)],
)
def test_each_batch_is_scaled_by_itself(estimator):
    rewards = np.array([1.0, 0, 0, 3, 5, 9, 2, 2, 7, 1])
    groups, batches = np.repeat(np.arange(5), 2), np.repeat([0, 1], [4, 6])
    together = estimator(rewards, groups, batches)
    first = estimator(rewards[:4], groups[:4], None)
    second = estimator(rewards[4:], groups[4:] - 2, None)
    np.testing.assert_allclose(together, [*first, *second], atol=1e-12)
    assert np.abs(together - estimator(rewards, groups, None)).max() > 0.1


def test_groups_are_dropped_by_the_filter_metric_and_not_by_what_is_paid():
    rewards, metric = np.array([1.0, 1, 0, 2, 5]), np.array([0.0, 1, 1, 1, 0])
    groups = np.array([0, 0, 1, 1, 2])
    parts = {"paid": rewards, "metric": metric}
    scores = scores_of(parts, groups, weights={"metric": 0})
    kept = grpo(rewards, groups)
    for name, expected in (
        ("reward", [NAN, NAN, *kept[2:]]),
        ("metric", [*kept[:2], NAN, NAN, 0]),
    ):
        (view,) = make_views(scores, training=Training(filter_metric=name))
        np.testing.assert_allclose(view.advantages, expected)


# dead groups of another number of generations


def outcomes(seed, rates, size):
    draws = np.random.default_rng(seed).random((len(rates), size))
    rewards = (draws < rates[:, None]).astype(float).ravel()
    return rewards, np.repeat(np.arange(len(rates)), size)


def share(rewards, groups, size):
    return dead_share(rewards, groups, Bootstrap(groups), size)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_smaller_size_is_the_mean_over_all_subsets(size):
    generator = np.random.default_rng(1)
    # the last two are too small for some
    groups = np.repeat(np.arange(5), [6, 5, 4, 2, 1])
    rewards = generator.choice([0.0, 0.5, 1.0], size=len(groups), p=[0.5, 0.3, 0.2])
    rewards[3] = np.nan
    shares = []
    for group in range(5):
        known = rewards[(groups == group) & ~np.isnan(rewards)]
        ties = [len(set(subset)) == 1 for subset in combinations(known, size)]
        if ties:
            shares.append(np.mean(ties))
    found = share(rewards, groups, size)
    assert found.sampled == 5 and found.groups == len(shares)
    assert found.value == pytest.approx(np.mean(shares), abs=1e-12)


def test_of_more_siblings_than_were_sampled_nothing_is_said():
    found = share(*outcomes(5, np.full(40, 0.3), 4), 5)
    assert np.isnan([found.value, *found.interval, found.batches]).all()
    assert (found.sampled, found.groups) == (4, 0)


def test_the_batches_that_dropping_costs():
    rewards = np.array([0, 0, 0, 1, 1, 1, 1, 0.0])
    found = share(rewards, np.repeat(np.arange(4), 2), 2)
    assert found.value == 0.5  # at the size that was sampled the share itself
    assert found.batches == 2 and found.record()["batches"] == 2
    assert share(np.zeros(4), np.repeat([0, 1], 2), 2).batches == float("inf")
