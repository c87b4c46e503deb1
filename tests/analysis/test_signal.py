"""Group signal by hand arithmetic, and the highest-rewarded completions."""

import time

import numpy as np
import pytest
from score_tables import scores_of

import rewardkit as rk
from rewardkit.analysis.statistics.signal import merged_vectors, moved, sample_size, top_decile

NAN = np.nan


@pytest.mark.parametrize(
    ("advantages", "groups", "expected"),
    [
        pytest.param([3, -3, 1, -1], [0, 0, 1, 1], 6 / 8, id="of two groups the larger one"),
        pytest.param([1, -1] * 20, np.repeat(np.arange(20), 2), 0.1, id="equal groups: a tenth"),
        pytest.param([1, -1] * 19 + [0, NAN], np.repeat(np.arange(20), 2), 2 / 19, id="one has none"),
        pytest.param([1, -1] * 19, np.repeat(np.arange(19), 2), 1 / 19, id="a tenth of 19 is one"),
        pytest.param([0, 0, NAN], [0, 0, 1], NAN, id="no advantage"),
    ],
)
def test_the_top_decile_is_the_share_of_the_tenth_of_the_groups_that_holds_most(advantages, groups, expected):
    found = top_decile(np.array(advantages, dtype=float), np.array(groups))
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("advantages", "expected"),
    [
        pytest.param([1, -1, 1, -1], 1.0, id="all alike"),
        pytest.param([2, 0, 0, 0], 1 / 4, id="one holds all"),
        pytest.param([3, -1, NAN], 16 / 10 / 2, id="4 squared over 10, of two rows"),
        pytest.param([0, NAN], NAN, id="no advantage"),
    ],
)
def test_the_sample_size_is_the_effective_one_as_a_share_of_the_rows(advantages, expected):
    assert sample_size(np.array(advantages, dtype=float)) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("right", "tidy", "advantages", "expected"),
    [
        pytest.param([1, 0, 0, 0], [0, 1, 0, 0], [1, 1, -1, -1], 1 / 3, id="two of three vectors are one"),
        pytest.param([1, 0, 0, 0], [0, 1, 0, 0], [2, 1, -1, -1], 0.0, id="each has its own advantage"),
        pytest.param([1, 0, NAN, 0], [0, 0, 0, 0], [1, -1, -1, -1], 1 / 3, id="a missing score is a value"),
        pytest.param([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], NAN, id="no advantage at all"),
        pytest.param([1, 0, 0, 0], [0, 1, 0, 0], [1, NAN, -1, -1], 0.0, id="a row without one is left out"),
    ],
)
def test_merged_vectors_are_those_that_share_an_advantage(right, tidy, advantages, expected):
    scores = {"right": np.array(right, dtype=float), "tidy": np.array(tidy, dtype=float)}
    groups = np.zeros(4, dtype=int)
    found = merged_vectors(scores, np.array(advantages, dtype=float), groups)
    assert found == pytest.approx(expected, nan_ok=True)
    twice = {name: np.tile(values, 2) for name, values in scores.items()}
    again = merged_vectors(twice, np.tile(np.array(advantages, dtype=float), 2), np.repeat([0, 1], 4))
    assert again == pytest.approx(expected, nan_ok=True)  # counted within groups


def test_vectors_of_two_groups_are_two_though_they_are_equal():
    scores = {"a": np.array([0.0, 1, 1, 2])}
    assert merged_vectors(scores, np.array([-1.0, 1, -1, 1]), np.array([0, 0, 1, 1])) == 0


def test_group_signal_has_the_figures_of_the_advantages_under_the_settings():
    a, b = [1.0, 0, 0, 1, 0, 0, 0, 0], [0.0, 1, 0, 0, 1, 0, 0, 0]
    scores = scores_of({"a": a, "b": b}, np.repeat([0, 1], 4))
    signal = rk.diagnose(scores, training={"scale_rewards": "none"}).group_signal.iloc[0]
    # group 0 has rewards 1, 1, 0, 1 and group 1 has 1, 0, 0, 0: differences of .25 and .75 to the mean
    assert (signal["top_decile"], signal["sample_size"]) == pytest.approx((0.5, 3.0**2 / (1.5 * 8)))
    # vectors (1, 0), (0, 1), (0, 0) and (0, 1), (0, 0): five, of four advantages
    assert signal["merged_vectors"] == pytest.approx(1 / 5)
    other = scores_of({"a": a, "b": b}, np.repeat([0, 1], 4), weights={"b": 0.5})
    assert rk.diagnose(other).group_signal["merged_vectors"].tolist() == [0.0]
    recorded = scores_of({"a": a, "b": b}, np.repeat([0, 1], 4), weights={"b": 0.0})
    assert rk.diagnose(recorded).group_signal["merged_vectors"].tolist() == [0.0]  # `b` is not paid


def test_the_columns_of_the_signal_of_a_table_without_any_are_missing_not_zero():
    signal = rk.diagnose(scores_of({"a": [1.0, 1.0, 1.0]}, [0, 0, 1])).group_signal.iloc[0]
    assert np.isnan(signal[["top_decile", "sample_size", "merged_vectors"]].to_numpy(dtype=float)).all()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param([1, -1, 0, 0], [3, -3, 0, 0], 0.0, id="a common factor is none"),
        pytest.param([1, -1, 0, 0], [-1, 1, 0, 0], 1.0, id="turned round: all of it, and no more"),
        pytest.param([1, -1, 0, 0], [0, 0, 0, 0], 1.0, id="gone"),
        pytest.param([0, 0], [0, 0], 0.0, id="none on either side"),
        pytest.param([1, -1, NAN], [2, -2, NAN], 0.0, id="a row that both lack is left out"),
        # sizes 1 and sqrt 1/2: (2 (sqrt 2 - 1) + 2) / (4 + 2 sqrt 2)
        pytest.param([1, -1, 1, -1], [1, -1, NAN, NAN], 2**0.5 - 1, id="what one side lacks has moved"),
        pytest.param([1, -1, 0, 0], [1, -1, 1, -1], 2**0.5 - 1, id="and so has what it has alone"),
    ],
)
def test_what_moved_is_a_share_of_the_advantage_of_both_sides(before, after, expected):
    found = moved(np.array(before, dtype=float), np.array(after, dtype=float))
    assert found == pytest.approx(expected)


# the highest-rewarded completions


def of(rewards, prompts, texts=None):
    texts = texts or [chr(97 + row) * 20 for row in range(len(rewards))]
    scores = scores_of({"a": rewards}, prompts, completions=texts)
    return rk.diagnose(scores)


def test_the_highest_are_one_a_prompt_while_there_are_prompts():
    found = of([1.0, 0.9, 0.8, 0.5, 0.4, 0.1], [0, 0, 0, 1, 1, 2]).highest(4)
    assert found["reward"].tolist() == [1.0, 0.9, 0.5, 0.1]  # 0.8 would be the third of its prompt
    assert found["prompt_id"].tolist() == ["p0", "p0", "p1", "p2"]
    assert list(found) == ["rollout_id", "prompt_id", "reward", "advantage", "score/a", "completion"]


def test_none_of_the_highest_reads_like_another():
    texts = ["the same long text over and over", "the same long text over and over!", "x" * 9, "y" * 9]
    found = of([1.0, 0.9, 0.8, 0.5], [0, 1, 2, 3], texts).highest(8)
    assert found["reward"].tolist() == [1.0, 0.8, 0.5]


def test_of_equal_rewards_that_comes_first_whose_siblings_fail():
    found = of([1.0, 1.0, 1.0, 0.0, 1.0, 0.5], [0, 0, 1, 1, 2, 2]).highest(2)
    assert found["prompt_id"].tolist() == ["p1", "p2"]


def test_rows_without_a_reward_are_not_among_the_highest_and_the_scores_stay_as_they_are():
    parts, texts = {"a": [np.nan, 0.5, 0.2], "b": [1.0, 1.0, 0.0]}, ["one", "two", "three"]
    scores = scores_of(parts, [0, 0, 0], weights={"b": 0.0}, completions=texts)
    before = scores.table.copy()
    found = rk.diagnose(scores).highest()
    assert found["reward"].tolist() == [0.5, 0.2]
    assert "score/b" not in found  # it is not paid
    assert scores.table.equals(before)


def test_each_part_of_a_route_has_its_own_highest():
    found = rk.diagnose(rk.score(rk.load_reward("gallery:mixed"), "gallery:mixed")).highest(2)
    assert found["part"].tolist() == ["people-json"] * 2 + ["largest-choice"] * 2


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "8"])
def test_a_number_of_completions_that_is_none_is_refused(n):
    with pytest.raises(rk.InputError, match=f"from 1 on, not {n!r}"):
        of([1.0, 0.0], [0, 0]).highest(n)


def test_the_highest_of_many_rows_are_found_among_a_few_hundred():
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(5_000), 8)
    texts = [f"{row} " * 500 for row in range(len(groups))]
    diagnosis = of(generator.random(len(groups)).round(3), groups, texts)
    assert diagnosis.views[0].advantages is not None  # computed once, whatever is shown
    started = time.perf_counter()
    found = diagnosis.highest()
    assert time.perf_counter() - started < 2
    assert len(found) == 8 and found["prompt_id"].is_unique and (found["reward"] > 0.98).all()
    assert found.equals(diagnosis.highest())


def test_groups_that_are_dropped_by_their_filter_have_no_signal_in_any_figure():
    draw = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 8)
    right = np.where(groups < 20, draw.random(800) < 0.5, groups % 2).astype(float)  # varies in 20 groups
    scores = scores_of({"acc": right, "style": draw.random(800)}, groups, weights={"style": 0.3})
    diagnosis = rk.diagnose(scores, training={"trainer": "verl", "filter_metric": "acc"})
    (view,) = diagnosis.views
    dropped = np.isnan(view.advantages).mean()
    assert 0.79 < dropped < 0.83
    (found,) = diagnosis["zero_std_groups"]
    assert found.severity == "high" and found.evidence["value"] == pytest.approx(dropped)
    assert "'acc' does not vary, so they are dropped" in found.sentence
    assert diagnosis.group_signal["zero_std"][0] == pytest.approx(dropped)
    assert diagnosis.dead_share(8)[""].value == pytest.approx(dropped)
    assert f"{100 * (1 - dropped):.0f} % of 100 groups have a signal" in diagnosis._repr_html_()
    assert not rk.diagnose(scores)["zero_std_groups"]  # all of them are trained on where nothing is dropped


def test_under_gdpo_a_sum_that_never_varies_is_trained_on_all_the_same():
    draw = np.random.default_rng(0)
    groups, task = np.repeat(np.arange(60), 8), (draw.random(480) < 0.5).astype(float)
    scores = scores_of({"a": task, "b": 0.5 * (1 - task) + 0.5}, groups, weights={"b": 2.0})
    assert rk.diagnose(scores)["opposed"][0].severity == "high"
    diagnosis = rk.diagnose(scores, training={"multi_objective_aggregation": "normalize_then_sum"})
    (view,) = diagnosis.views
    assert np.abs(view.advantages).mean() > 0.9
    assert not diagnosis["constant"] and not diagnosis["zero_std_groups"]
    assert diagnosis.group_signal["zero_std"][0] == view.dead.mean() < 0.05
    assert diagnosis.dead_share(8)[""].value == view.dead.mean()


def test_under_gdpo_components_of_equal_weight_that_cancel_are_found():
    draw = np.random.default_rng(0)
    groups, task = np.repeat(np.arange(60), 8), (draw.random(480) < 0.5).astype(float)
    scores = scores_of({"a": task, "b": 1 - task}, groups)
    found = rk.diagnose(scores, training={"multi_objective_aggregation": "normalize_then_sum"})
    assert found["opposed"][0].severity == "high" and found.group_signal["zero_std"][0] == 1.0


def test_over_the_steps_each_row_is_of_the_last_steps_together():
    draw = np.random.default_rng(0)
    given = (draw.random(120) < 0.3).astype(float).tolist()
    rows = [
        {"prompt_id": f"p{at // 4}", "completion": str(at), "step": at // 40, "given": value}
        for at, value in enumerate(given)
    ]
    scores = rk.score(rk.Reward("r", components=[rk.Component("c", lambda given: given, weight=2.0)]), rows)
    values, diagnosis = 2 * np.array([row["given"] for row in rows]), rk.diagnose(scores)
    for window in (1, 2):
        table = diagnosis.over_steps(window)
        assert list(table["figure"]) == ["reward", "c"] * 3 and list(table["step"].unique()) == [0, 1, 2]
        last = table[(table["figure"] == "reward") & (table["step"] == 2)].iloc[0]
        some = values[-40 * window :]
        assert (last["rows"], last["mean"]) == (len(some), pytest.approx(some.mean()))
        assert last["p75"] == np.quantile(some, 0.75) and last["std"] == pytest.approx(some.std(ddof=1))
        tied = np.ptp(some.reshape(-1, 4), axis=1) == 0
        assert last["zero_std"] == pytest.approx(tied.mean())
    with pytest.raises(rk.InputError, match="window=0 is not a whole number of steps from 1 on"):
        diagnosis.over_steps(0)
    assert rk.diagnose(rk.score(scores.reward, [{**row, "step": None} for row in rows])).over_steps().empty
