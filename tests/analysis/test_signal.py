"""Group signal by hand arithmetic, and the highest-rewarded completions."""

import numpy as np
import pytest
from planted.tables import scores_of

import rewardkit as rk
from rewardkit.analysis.statistics.signal import merged_vectors, moved, sample_size, top_decile

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
    ("figure", "given", "expected"), [pytest.param(*row[:-1], id=row[-1]) for row in FIGURES]
)
def test_figures_of_advantages_by_hand(figure, given, expected):
    arrays = [np.array(given[0], dtype=float), *map(np.array, given[1:])]
    assert figure(*arrays) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("right", "tidy", "advantages", "expected"),
    [
        pytest.param([1, 0, 0, 0], [0, 1, 0, 0], [1, 1, -1, -1], 1 / 3, id="two of three vectors are one"),
        pytest.param([1, 0, 0, 0], [0, 1, 0, 0], [2, 1, -1, -1], 0.0, id="each has its own advantage"),
        pytest.param([1, 0, NAN, 0], [0, 0, 0, 0], [1, -1, -1, -1], 1 / 3, id="a missing score is a value"),
    ],
)
def test_merged_vectors_are_those_that_share_an_advantage(right, tidy, advantages, expected):
    for times in (1, 2):  # counted within groups
        scores = {"right": np.tile(right, times) * 1.0, "tidy": np.tile(tidy, times) * 1.0}
        groups = np.repeat(np.arange(times), 4)
        found = merged_vectors(scores, np.tile(advantages, times) * 1.0, groups)
        assert found == pytest.approx(expected, nan_ok=True)


def test_group_signal_has_the_figures_of_the_advantages_under_the_settings():
    parts = {"a": [1.0, 0, 0, 1, 0, 0, 0, 0], "b": [0.0, 1, 0, 0, 1, 0, 0, 0]}
    groups = np.repeat([0, 1], 4)
    signal = rk.diagnose(scores_of(parts, groups), training={"scale_rewards": "none"}).group_signal.iloc[0]
    # group 0 has rewards 1, 1, 0, 1 and group 1 has 1, 0, 0, 0: differences of .25 and .75 to the mean
    assert (signal["top_decile"], signal["sample_size"]) == pytest.approx((0.5, 3.0**2 / (1.5 * 8)))
    # vectors (1, 0), (0, 1), (0, 0) and (0, 1), (0, 0): five, of four advantages
    assert signal["merged_vectors"] == pytest.approx(1 / 5)
    for weight in (0.5, 0.0):  # of other advantages, and not paid
        other = rk.diagnose(scores_of(parts, groups, weights={"b": weight})).group_signal
        assert other["merged_vectors"].tolist() == [0.0]
    nothing = rk.diagnose(scores_of({"a": [1.0, 1.0, 1.0]}, [0, 0, 1])).group_signal.iloc[0]
    assert np.isnan(nothing[["top_decile", "sample_size", "merged_vectors"]].to_numpy(dtype=float)).all()


# the highest-rewarded completions


ALIKE = ["the same long text over and over", "the same long text over and over!", "x" * 9, "y" * 9]
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
    columns = {"completion": texts or [chr(97 + row) * 20 for row in range(len(rewards))]}
    parts = {"a": rewards, "b": np.ones(len(rewards))}
    scores = scores_of(parts, prompts, weights={"b": 0.0}, columns=columns)
    before = scores.table.copy()
    found = rk.diagnose(scores).highest(n)
    assert (found["reward"].tolist(), " ".join(found["prompt_id"])) == (expected, of)
    assert list(found) == ["rollout_id", "prompt_id", "reward", "advantage", "score/a", "completion"]
    assert scores.table.equals(before)


# groups without a signal


def test_groups_that_are_dropped_by_their_filter_have_no_signal_in_any_figure():
    draw = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 8)
    right = np.where(groups < 20, draw.random(800) < 0.5, groups % 2).astype(float)  # varies in 20 groups
    scores = scores_of({"acc": right, "style": draw.random(800)}, groups, weights={"style": 0.3})
    diagnosis = rk.diagnose(scores, training={"trainer": "verl", "filter_metric": "acc"})
    dropped = np.isnan(diagnosis.views[0].advantages).mean()
    assert 0.79 < dropped < 0.83
    (found,) = diagnosis["zero_std_groups"]
    assert found.severity == "high" and found.evidence["value"] == pytest.approx(dropped)
    assert "'acc' does not vary, so they are dropped" in found.sentence
    assert diagnosis.group_signal["zero_std"][0] == pytest.approx(dropped)
    assert diagnosis.dead_share(8)[""].value == pytest.approx(dropped)
    assert f"{100 * (1 - dropped):.0f} % of 100 groups have a signal" in diagnosis._repr_html_()
    assert not rk.diagnose(scores)["zero_std_groups"]  # all of them are trained on where nothing is dropped


def test_under_gdpo_a_sum_that_never_varies_is_trained_on_unless_equal_weights_cancel():
    groups, task = np.repeat(np.arange(60), 8), (np.random.default_rng(0).random(480) < 0.5).astype(float)
    gdpo = {"multi_objective_aggregation": "normalize_then_sum"}
    scores = scores_of({"a": task, "b": 0.5 * (1 - task) + 0.5}, groups, weights={"b": 2.0})
    assert rk.diagnose(scores)["opposed"][0].severity == "high"
    diagnosis = rk.diagnose(scores, training=gdpo)
    (view,) = diagnosis.views
    assert np.abs(view.advantages).mean() > 0.9
    assert not diagnosis["constant"] and not diagnosis["zero_std_groups"]
    assert diagnosis.group_signal["zero_std"][0] == view.dead.mean() < 0.05
    assert diagnosis.dead_share(8)[""].value == view.dead.mean()
    found = rk.diagnose(scores_of({"a": task, "b": 1 - task}, groups), training=gdpo)
    assert found["opposed"][0].severity == "high" and found.group_signal["zero_std"][0] == 1.0


def test_over_the_steps_each_row_is_of_the_last_steps_together():
    given, steps = (np.random.default_rng(0).random(120) < 0.3) * 1.0, np.arange(120) // 40
    scores = scores_of({"c": given}, np.arange(120) // 4, weights={"c": 2.0}, columns={"step": steps})
    values, diagnosis = 2 * given, rk.diagnose(scores)
    for window in (1, 2):
        table = diagnosis.over_steps(window)
        assert list(table["figure"]) == ["reward", "c"] * 3 and list(table["step"].unique()) == [0, 1, 2]
        last = table[(table["figure"] == "reward") & (table["step"] == 2)].iloc[0]
        some = values[-40 * window :]
        assert (last["rows"], last["mean"]) == (len(some), pytest.approx(some.mean()))
        assert last["p75"] == np.quantile(some, 0.75) and last["std"] == pytest.approx(some.std(ddof=1))
        assert last["zero_std"] == pytest.approx((np.ptp(some.reshape(-1, 4), axis=1) == 0).mean())
    assert rk.diagnose(scores_of({"c": given}, np.arange(120) // 4)).over_steps().empty
