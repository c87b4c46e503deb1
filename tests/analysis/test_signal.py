"""Group signal, effective weights under every estimator and Shapley values: by hand and by brute force."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from planted.tables import scores_of

import rewardkit as rk
from rewardkit.analysis.statistics.advantages import (
    group_shares,
    moved,
    sample_size,
    shapley,
    top_decile,
)

NAN = np.nan
TWENTY, PAIR = np.repeat(np.arange(20), 2), [0, 0, 1, 1]
ROOT = 2**0.5 - 1  # of sizes 1 and sqrt 1/2: (2 (sqrt 2 - 1) + 2) / (4 + 2 sqrt 2)
FIGURES = [  # a figure, what it is given, its value, and why
    (top_decile, ([3, -3, 1, -1], PAIR), 6 / 8, "of two groups the larger one"),
    (top_decile, ([1, -1] * 20, TWENTY), 0.1, "equal groups: a tenth"),
    (top_decile, ([1, -1] * 19, TWENTY[:38]), 1 / 19, "a tenth of 19 is one"),
    (top_decile, ([0, 0, NAN], [0, 0, 1]), NAN, "no advantage in any"),
    (sample_size, ([2, 0, 0, 0],), 1 / 4, "one holds all"),
    (sample_size, ([3, -1, NAN],), 16 / 10 / 2, "4 squared over 10, of two rows"),
    (moved, ([1, -1, 0, 0], [3, -3, 0, 0]), 0.0, "a common factor is none"),
    (moved, ([1, -1, NAN], [2, -2, NAN]), 0.0, "a row that both lack is left out"),
    (moved, ([1, -1, 1, -1], [1, -1, NAN, NAN]), ROOT, "what one side lacks has moved"),
    (moved, ([1, -1, 0, 0], [1, -1, 1, -1]), ROOT, "and so has what it has alone"),
]


@pytest.mark.parametrize(
    ("figure", "given", "expected"),
    [pytest.param(*row[:-1], id=row[-1]) for row in FIGURES],
)
def test_figures_of_advantages_by_hand(figure, given, expected):
    arrays = [np.array(given[0], dtype=float), *map(np.array, given[1:])]
    assert figure(*arrays) == pytest.approx(expected, nan_ok=True)


def test_group_signal_has_the_figures_of_the_advantages_under_the_settings():
    parts = {"a": [1.0, 0, 0, 1, 0, 0, 0, 0], "b": [0.0, 1, 0, 0, 1, 0, 0, 0]}
    groups = np.repeat([0, 1], 4)
    signal = rk.diagnose(
        scores_of(parts, groups), training={"scale_rewards": "none"}
    ).group_signal.iloc[0]
    # group 0 has rewards 1, 1, 0, 1 and group 1 has 1, 0, 0, 0: differences of .25 and .75 to the mean
    assert (signal["top_decile"], signal["sample_size"]) == pytest.approx(
        (0.5, 3.0**2 / (1.5 * 8))
    )
    nothing = rk.diagnose(
        scores_of({"a": [1.0, 1.0, 1.0]}, [0, 0, 1])
    ).group_signal.iloc[0]
    assert np.isnan(nothing[["top_decile", "sample_size"]].to_numpy(dtype=float)).all()


ALIKE = [
    "the same long text over and over",
    "the same long text over and over!",
    "x" * 9,
    "y" * 9,
]
HIGHEST = [  # rewards, prompts, texts, how many, their rewards, their prompts, and why
    ([1, 0.9, 0.8, 0.5, 0.4, 0.1], [0, 0, 0, 1, 1, 2], None, 4, [1, 0.9, 0.5, 0.1], "p0 p0 p1 p2",
     "a prompt once while there are prompts"),
    ([1, 0.9, 0.8, 0.5], [0, 1, 2, 3], ALIKE, 8, [1, 0.8, 0.5], "p0 p2 p3", "none reads like another"),
    ([1, 1, 1, 0, 1, 0.5], [0, 0, 1, 1, 2, 2], None, 2, [1, 1], "p1 p2", "first whose siblings fail"),
    ([NAN, 0.5, 0.2], [0, 0, 0], None, 8, [0.5, 0.2], "p0 p0", "not what has no reward"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rewards", "prompts", "texts", "n", "expected", "of"),
    [pytest.param(*row[:-1], id=row[-1]) for row in HIGHEST],
)
def test_the_highest_are_of_other_prompts_and_texts_where_they_can_be(
    rewards, prompts, texts, n, expected, of
):
    columns = {
        "completion": texts or [chr(97 + row) * 20 for row in range(len(rewards))]
    }
    parts = {"a": rewards, "b": np.ones(len(rewards))}
    scores = scores_of(parts, prompts, weights={"b": 0.0}, columns=columns)
    before = scores.table.copy()
    found = rk.diagnose(scores).highest(n)
    assert (found["reward"].tolist(), " ".join(found["prompt_id"])) == (expected, of)
    assert list(found) == [
        "rollout_id",
        "prompt_id",
        "reward",
        "advantage",
        "score/a",
        "completion",
    ]
    assert scores.table.equals(before)


def test_groups_that_are_dropped_by_their_filter_have_no_signal_in_any_figure():
    draw = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 8)
    varies = groups < 20
    right = np.where(varies, draw.random(800) < 0.5, groups % 2).astype(float)
    parts = {"acc": right, "style": draw.random(800)}
    scores = scores_of(parts, groups, weights={"style": 0.3})
    training = {"trainer": "verl", "filter_metric": "acc"}
    diagnosis = rk.diagnose(scores, training=training)
    dropped = np.isnan(diagnosis.views[0].advantages).mean()
    assert 0.79 < dropped < 0.83
    (found,) = diagnosis["zero_std_groups"]
    assert found.severity == "high"
    assert "'acc' does not vary, so they are dropped" in found.sentence
    shares = [found.evidence["value"], diagnosis.group_signal["zero_std"][0]]
    shares.append(diagnosis.dead_share(8)[""].value)
    assert shares == pytest.approx([dropped] * 3)
    live = f"{100 * (1 - dropped):.0f} % of 100 groups have a signal"
    assert live in diagnosis._repr_html_()
    assert not rk.diagnose(scores)["zero_std_groups"]  # where nothing is dropped


def test_under_gdpo_a_sum_that_never_varies_is_trained_on_unless_equal_weights_cancel():
    groups = np.repeat(np.arange(60), 8)
    task = (np.random.default_rng(0).random(480) < 0.5).astype(float)
    gdpo = {"multi_objective_aggregation": "normalize_then_sum"}
    parts = {"a": task, "b": 0.5 * (1 - task) + 0.5}
    scores = scores_of(parts, groups, weights={"b": 2.0})
    assert rk.diagnose(scores)["opposed"][0].severity == "high"
    diagnosis = rk.diagnose(scores, training=gdpo)
    (view,) = diagnosis.views
    assert np.abs(view.advantages).mean() > 0.9
    assert not diagnosis["constant"] and not diagnosis["zero_std_groups"]
    assert diagnosis.group_signal["zero_std"][0] == view.dead.mean() < 0.05
    assert diagnosis.dead_share(8)[""].value == view.dead.mean()
    found = rk.diagnose(scores_of({"a": task, "b": 1 - task}, groups), training=gdpo)
    assert found["opposed"][0].severity == "high"
    assert found.group_signal["zero_std"][0] == 1.0


def test_over_the_steps_each_row_is_of_the_last_steps_together():
    given = (np.random.default_rng(0).random(120) < 0.3) * 1.0
    groups = np.arange(120) // 4
    options = {"weights": {"c": 2.0}, "columns": {"step": np.arange(120) // 40}}
    diagnosis = rk.diagnose(scores_of({"c": given}, groups, **options))
    for window in (1, 2):
        table = diagnosis.over_steps(window).set_index(["figure", "step"])
        assert len(table) == 6
        some = 2 * given[-40 * window :]
        by_hand = {"rows": len(some), "mean": some.mean(), "std": some.std(ddof=1)}
        by_hand["p75"] = np.quantile(some, 0.75)
        by_hand["zero_std"] = (np.ptp(some.reshape(-1, 4), axis=1) == 0).mean()
        last = table.loc[("reward", 2)]
        assert last[list(by_hand)].to_dict() == pytest.approx(by_hand)
        every_second = diagnosis.over_steps(window, apart=2).set_index(
            table.index.names
        )
        pd.testing.assert_frame_equal(every_second, table.drop(index=1, level="step"))
    given[::3] = np.nan  # a score that is missing is not at the minimum, nor counted
    half = rk.diagnose(scores_of({"c": given}, groups, **options)).over_steps(3)
    assert half["at_minimum"].iloc[-1] == (given[~np.isnan(given)] == 0).mean()
    assert rk.diagnose(scores_of({"c": given}, groups)).over_steps().empty


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
        covariance = np.cov(2 * A[rows], total[rows])
        assert found["a"][group] == pytest.approx(covariance[0, 1] / covariance[1, 1])
        assert found["a"][group] + found["b"][group] == pytest.approx(1)
    none = group_shares({"a": A, "b": -A}, np.zeros(9), GROUPS)
    assert not none["a"].any()
    # they cancel but for a digit
    pieces = {"a": np.array([0.1 + 0.2, 0.0]), "b": np.array([-0.3, 0.0])}
    shares = group_shares(pieces, np.array([0.5, -0.5]), np.zeros(2, dtype=int))
    assert (*shares["a"], *shares["b"]) == (0, 0)


@pytest.mark.parametrize(
    ("aggregation", "made_of"), [("product", np.prod), ("minimum", np.min)]
)
def test_shapley_values_are_the_mean_over_all_orders(aggregation, made_of):
    parts = {"a": A, "b": B, "c": B[::-1].copy()}
    found = shapley(
        parts, NOT_GATED, np.ones(3), GROUPS, aggregation=aggregation, on_missing="nan"
    )

    def total(there):
        return made_of(
            [x if name in there else mean_of_group(x) for name, x in parts.items()],
            axis=0,
        )

    for name in parts:
        steps = []
        for order in permutations(parts):
            before = set(order[: order.index(name)])
            steps.append(total(before | {name}) - total(before))
        np.testing.assert_allclose(found[name], np.mean(steps, axis=0), atol=1e-12)


def test_effective_weights_of_a_product_leave_out_what_is_not_paid_and_are_none_of_too_many():
    weights = view_of(
        {"a": (A + 0.1) / 2, "b": B}, GROUPS, aggregation="product", weights={"b": 0.0}
    ).effective_weights
    assert weights == {"a": pytest.approx(1), "b": 0.0}
    parts = {f"c{at}": np.clip(B + at / 100, 0.05, 1) for at in range(9)}
    assert view_of(parts, GROUPS, aggregation="product").effective_weights == {}


@pytest.mark.parametrize(
    "estimator",
    [{"scale_rewards": "none"}, {"scale_rewards": "batch"}, {"estimator": "rloo"}],
    ids=str,
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
    assert (
        view_of({"a": a, "b": b}, [0] * 4, weights={"b": 0.0}).sign_influence["b"]
        == 0.0
    )
