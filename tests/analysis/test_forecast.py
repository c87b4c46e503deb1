"""What a forecast tells of its figures, of what is missing, and of two rewards at equal KL."""

import dataclasses
import json

import numpy as np
import pytest
from rewardkit.analysis.equal_kl import at_equal_kl, interpolated

import rewardkit as rk
from rewardkit.analysis.forecast import LIMITS, forecast
from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.selection import best_of

NAN = float("nan")


def scores_of(rewards, groups, prompts=None, **columns):
    """Scores whose reward is given, with further columns; NaN is not judged."""
    rows = [
        {
            "prompt_id": str(group if prompts is None else prompts[row]),
            "policy": str(group),
            "completion": "word " * (row % 7 + 1),
            "given": None if np.isnan(rewards[row]) else float(rewards[row]),
            **{name: values[row] for name, values in columns.items()},
        }
        for row, group in enumerate(groups)
    ]
    part = rk.Component("paid", lambda given: given, range=None)
    return rk.score(rk.Reward("made", components=[part]), rows)


def with_rewards(scores, rewards):
    """The scores with other rewards than their components make."""
    return dataclasses.replace(scores, table=scores.table.assign(reward=np.array(rewards, dtype=float)))


def sampled(seed=0, prompts=60, size=8):
    """Rewards that go with a figure, and the figure, of groups of one size."""
    generator = np.random.default_rng(seed)
    figure = generator.random(prompts * size)
    rewards = np.round(figure + generator.normal(0, 0.3, prompts * size), 1)
    return rewards, np.repeat(np.arange(prompts), size), figure


@pytest.fixture(scope="module")
def good():
    return rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic")


@pytest.fixture(scope="module")
def flawed():
    return rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic")


def test_the_figures_are_the_reward_label_scores_lengths_and_what_was_asked_for(good):
    found = forecast(good, label="completion_tokens", columns=["generation", "reward", "score/correct"])
    names = ["reward", "label", *(f"score/{name}" for name in good.reward.names), "words", "characters"]
    for view in (found.best_of, found.tilted):
        assert list(view.curves) == [*names, "generation"]
    texts = good.table["completion"]
    assert found.best_of.curves["words"].value[0] == pytest.approx(texts.str.split().str.len().mean())
    assert found.best_of.curves["characters"].value[0] == pytest.approx(texts.str.len().mean())
    assert found.best_of.curves["generation"].value[0] == pytest.approx(3.5)


def test_one_column_may_be_given_by_its_name(good):
    assert "generation" in forecast(good, columns="generation").best_of.curves


def test_both_views_begin_without_selection_and_rise_in_kl(good, flawed):
    for scores in (good, flawed):
        found = forecast(scores)
        assert found.best_of.kl[0] == 0
        assert found.tilted.kl[0] == pytest.approx(0, abs=1e-12)
        assert np.isinf(found.tilted.points[0])
        for view in (found.best_of, found.tilted):
            assert (np.diff(view.kl) > 0).all()
            assert (np.diff(view.sample_size) < 0).all()
            assert (view.curves["reward"].change[1:] > 0).all()


def test_the_best_of_all_siblings_is_the_mean_of_the_best_ones(good):
    best = good.table.assign(group=good.groups).groupby("group")["reward"].max().mean()
    found = forecast(good).best_of
    assert found.points[-1] == 8
    assert found.kl[-1] == pytest.approx(np.log(8) - 7 / 8)
    assert found.curves["reward"].value[-1] == pytest.approx(best)


def test_a_gated_score_is_the_mean_over_the_picks_that_have_it(good):
    curve = forecast(good).best_of.curves["score/concise"]
    scores = good.score("concise")
    assert curve.value[0] == pytest.approx(np.nanmean(scores))
    assert curve.known[0] == pytest.approx((~np.isnan(scores)).mean())
    assert curve.known[-1] > 0.5 > curve.known[0]  # who is picked is mostly right, and then it is open


def test_a_route_is_worked_on_row_by_row():
    scores = rk.score(rk.load_reward("gallery:mixed"), "gallery:mixed")
    curve = forecast(scores).best_of.curves["score/keys"]
    people = (scores.table["data_source"] == "people-json").to_numpy()
    right = []
    for group in np.unique(scores.groups[people]):
        rows = np.flatnonzero(scores.groups == group)
        rows = rows[np.argsort(scores.rewards[rows], kind="stable")]
        pick = best_of(scores.rewards[rows][None], np.array([3]))[0, 0]
        right.append(pick @ scores.score("keys")[rows])
    assert curve.value[2] == pytest.approx(np.mean(right))
    assert curve.known == pytest.approx(0.5)


def test_groups_of_other_sizes_leave_as_n_grows_and_the_change_is_within_those_that_remain():
    found = forecast(scores_of([0, 1, 1, 0, 5, NAN, 7], [0, 0, 0, 1, 2, 2, 3]))
    assert found.best_of.points.tolist() == [1, 2, 3]
    assert found.best_of.groups.tolist() == [4, 1, 1]
    curve = found.best_of.curves["reward"]
    assert curve.value == pytest.approx([(2 / 3 + 0 + 5 + 7) / 4, 1, 1])
    assert curve.change == pytest.approx([0, 1 / 3, 1 / 3])
    assert any("1 of 4 have so many" in note for note in found.notes)


def test_a_row_without_a_reward_is_never_picked_and_does_not_count_for_n():
    rewards, groups, figure = sampled()
    without = rewards.copy()
    without[::8] = NAN
    kept = ~np.isnan(without)
    found = forecast(scores_of(without, groups, figure=figure.tolist()), columns=["figure"])
    alone = forecast(scores_of(rewards[kept], groups[kept], figure=figure[kept].tolist()), columns=["figure"])
    assert found.best_of.points[-1] == 7
    for one, other in ((found.best_of, alone.best_of), (found.tilted, alone.tilted)):
        np.testing.assert_allclose(one.curves["figure"].value, other.curves["figure"].value)
        np.testing.assert_allclose(one.kl, other.kl, atol=1e-12)
    assert "60 of 480 rows have no reward, and are never picked" in found.notes


def test_a_missing_label_is_left_out_of_above_and_below():
    # picks at n = 2 of rewards 0, 1, 1: 0, 1/2, 1/2; of 0, 2: the second alone, which has no label
    scores = scores_of([0, 1, 1, 0, 2], [0, 0, 0, 1, 1], label=[1.0, 3.0, None, 7.0, None])
    curve = forecast(scores, label="label").best_of.curves["label"]
    assert curve.value[:2] == pytest.approx([(1 / 3 + 3 / 3 + 7 / 2) / (1 / 3 + 1 / 3 + 1 / 2), 3])
    assert curve.known[:2] == pytest.approx([(2 / 3 + 1 / 2) / 2, 0.5 / 2])


def test_labels_that_are_missing_at_random_leave_the_curve_where_it_was():
    rewards, groups, figure = sampled(prompts=4000)
    some = np.where(np.random.default_rng(1).random(len(figure)) < 0.15, figure, NAN)  # 1.2 a group
    scores = scores_of(rewards, groups, figure=figure.tolist(), some=some.tolist())
    found = forecast(scores, label="some", columns=["figure"])
    whole, part = found.best_of.curves["figure"].value, found.best_of.curves["label"].value
    assert whole[-1] - whole[0] > 0.2
    assert np.abs(part - whole).max() < 0.02
    assert not any("mixes" in note for note in found.notes)


def test_labels_that_are_missing_where_the_reward_is_low_are_said_to_mix_two_changes():
    rewards, groups, figure = sampled()
    label = np.where(rewards > 0.5, figure, NAN)
    found = forecast(scores_of(rewards, groups, label=label.tolist()), label="label")
    assert found.best_of.curves["label"].known[-1] == pytest.approx(1, abs=0.01)
    assert any("mixes two changes" in note for note in found.notes)


def test_booleans_and_missing_ones_are_a_label():
    scores = scores_of([0, 1, 0, 1], [0, 0, 1, 1], right=[False, True, None, True])
    assert forecast(scores, label="right").best_of.curves["label"].value == pytest.approx([2 / 3, 1])


def test_a_label_that_is_a_component_is_said_to_be_one():
    rewards, groups, figure = sampled()
    half = np.where(np.arange(len(rewards)) % 2, rewards, figure)
    scores = scores_of(rewards, groups, right=rewards.tolist(), other=half.tolist())
    assert any("what the component 'paid' scores" in note for note in forecast(scores, label="right").notes)
    assert not any("component" in note for note in forecast(scores, label="other").notes)


def test_intervals_are_those_of_the_bootstrap_over_prompts():
    rewards, groups, figure = sampled()
    prompts = groups // 2  # two groups a prompt
    scores = scores_of(rewards, groups, prompts, figure=figure.tolist())
    found = forecast(scores, columns=["figure"], seed=3).best_of.curves["figure"]
    best, mean = [], []
    for group in range(60):
        rows = np.flatnonzero(groups == group)
        at = rows[np.argsort(rewards[rows], kind="stable")]
        best.append(best_of(rewards[at][None], np.array([8]))[0, 0] @ figure[at])
        mean.append(figure[at].mean())
    bootstrap, owner = Bootstrap(prompts, seed=3), np.arange(60) // 2
    interval = bootstrap.interval([np.array(best), np.ones(60)], owner)
    assert (found.low[-1], found.high[-1]) == pytest.approx(interval)
    change = bootstrap.interval([np.array(best) - np.array(mean), np.ones(60)], owner)
    assert (found.change_low[-1], found.change_high[-1]) == pytest.approx(change)
    wide = Bootstrap(groups, seed=3).interval([np.array(best), np.ones(60)], np.arange(60))
    assert (found.low[-1], found.high[-1]) != pytest.approx(wide)


def test_the_interval_of_a_change_is_within_the_groups_that_remain():
    generator = np.random.default_rng(11)
    groups = np.repeat(np.arange(40), np.where(np.arange(40) % 2, 3, 5))
    rewards = generator.random(len(groups)) + (groups % 2) * 5  # the small groups are the better ones
    found = forecast(scores_of(rewards, groups)).best_of.curves["reward"]
    large = np.arange(0, 40, 2)
    gain = [rewards[groups == group].max() - rewards[groups == group].mean() for group in large]
    interval = Bootstrap(np.arange(40)).interval([np.array(gain), np.ones(20)], large)
    assert found.change[-1] == pytest.approx(np.mean(gain))
    assert (found.change_low[-1], found.change_high[-1]) == pytest.approx(interval)


def test_a_forecast_of_many_prompts_resamples_groups_of_them_to_much_the_same_interval(monkeypatch):
    rewards, groups, _ = sampled(prompts=3000, seed=5)
    scores = scores_of(rewards, groups)
    each = forecast(scores).best_of.curves["reward"]
    monkeypatch.setattr(Bootstrap, "MOST_UNITS", 500)
    grouped = forecast(scores).best_of.curves["reward"]
    assert grouped.value.tolist() == each.value.tolist()
    assert grouped.low.tolist() != each.low.tolist()
    # the width from 500 units has a standard error of 1 / sqrt(2 * 500) = 3 %, from 1,000 resamples 4 %
    assert grouped.high - grouped.low == pytest.approx(each.high - each.low, rel=0.2)


def test_the_same_seed_gives_the_same_forecast_and_another_one_other_intervals(good):
    first, again, other = (forecast(good, seed=seed) for seed in (1, 1, 2))
    assert first.record() == again.record()
    assert first.best_of.curves["reward"].value.tolist() == other.best_of.curves["reward"].value.tolist()
    assert first.best_of.curves["reward"].low.tolist() != other.best_of.curves["reward"].low.tolist()


def test_an_interval_needs_two_prompts_that_have_the_figure():
    # n = 3 is of one prompt alone, and so is the label at every n
    scores = scores_of([0, 1, 2, 3, 1], [0, 0, 0, 1, 1], label=[1.0, 2.0, 3.0, None, None])
    found = forecast(scores, label="label").best_of
    assert np.isfinite(found.curves["reward"].low).tolist() == [True, True, False]
    assert np.isnan(found.curves["label"].low).all()
    assert found.curves["label"].value == pytest.approx([2, 8 / 3, 3])


def test_the_tilted_view_stops_where_two_siblings_are_left():
    rewards, groups, _ = sampled(size=16)
    view = forecast(scores_of(rewards + 0.01 * np.random.default_rng(2).random(len(rewards)), groups)).tilted
    assert view.sample_size[-1] >= 2
    assert view.ends == "beyond it the mean effective sample size is under 2"
    assert view.sample_size[0] == pytest.approx(16)


def test_the_tilted_view_ends_where_only_equal_siblings_are_left():
    view = forecast(scores_of(np.tile([0, 0, 1, 1, 1, 1], 20), np.repeat(np.arange(20), 6))).tilted
    assert view.ends == "beyond it only siblings that earn the same are left to choose from"
    assert view.kl[-1] == pytest.approx(np.log(6 / 4), abs=2e-3)
    assert len(view) < 20


def test_groups_of_two_leave_the_tilted_view_nothing_beyond_its_start():
    view = forecast(scores_of([0, 1] * 12, np.repeat(np.arange(12), 2))).tilted
    assert view.points.tolist() == [np.inf]


def test_groups_of_one_do_not_bear_on_the_sample_size_or_the_share_of_tied_groups():
    alone = scores_of([0, 1, 1, 2, 3, 3, 3, 3], [0, 0, 0, 0, 1, 1, 1, 1])
    beside = scores_of([0, 1, 1, 2, 3, 3, 3, 3, 5, 6], [0, 0, 0, 0, 1, 1, 1, 1, 2, 3])
    for one, other in zip(
        *((item.best_of, item.tilted) for item in map(forecast, (alone, beside))), strict=True
    ):
        np.testing.assert_allclose(one.sample_size, other.sample_size)
        assert one.sample_size[0] == 4
    assert forecast(beside).tied == 0.5


def test_a_group_whose_spread_is_no_signal_is_not_tilted():
    # the spread of 5e-10 is under the 1e-8 from which a group counts as one with a signal
    found = forecast(scores_of([0, 1, 2, 0, 0, 1e-9] * 6, np.repeat(np.arange(12), 3)))
    assert found.tied == 0.5
    assert found.tilted.kl[-1] == pytest.approx(np.log(3) / 2, abs=1e-3)


def test_betas_are_in_standard_deviations_of_the_group_or_in_units_of_the_reward():
    rewards, groups, _ = sampled(size=8)
    scores = scores_of(7 * rewards, groups)
    spread = np.sqrt((7 * rewards).reshape(60, 8).var(axis=1, ddof=1).mean())
    assert forecast(scores, training={"scale_rewards": "group"}).tilted.points[1] == pytest.approx(10)
    assert forecast(scores, training={"scale_rewards": "none"}).tilted.points[1] == pytest.approx(10 * spread)


def test_group_scaling_pulls_a_narrow_group_as_far_as_a_wide_one():
    wide, narrow = np.array([0.0, 1.0, 2.0, 3.0] * 10), np.array([0.0, 0.001, 0.002, 0.003] * 10)
    groups = np.repeat(np.arange(20), 4)
    scores = scores_of(np.concatenate([wide, narrow]), groups, narrow=[NAN] * 40 + [0.0, 1.0, 2.0, 3.0] * 10)
    group = forecast(scores, columns=["narrow"], training={"scale_rewards": "group"}).tilted
    none = forecast(scores, columns=["narrow"], training={"scale_rewards": "none"}).tilted
    assert group.curves["narrow"].change[-1] > 0.9
    assert abs(none.curves["narrow"].change[-1]) < 0.1


def test_the_beta_of_the_training_is_a_point_and_beyond_the_end_it_is_said():
    rewards, groups, _ = sampled(size=16)
    scores = scores_of(rewards, groups)
    inside = forecast(scores, training={"beta": 1.5})
    assert 1.5 in inside.tilted.points
    beyond = forecast(scores, training={"beta": 0.001})
    assert any("KL penalty of 0.001" in note for note in beyond.notes)
    assert not any("KL penalty" in note for note in inside.notes)


@pytest.mark.parametrize(
    ("training", "note"),
    [
        pytest.param({"multi_objective_aggregation": "normalize_then_sum"}, "GDPO", id="gdpo"),
        pytest.param({"scale_rewards": "batch"}, "each batch", id="batch"),
        pytest.param({"estimator": "reinforce_pp"}, "each batch", id="reinforce_pp"),
    ],
)
def test_where_the_tilt_is_not_what_the_trainer_maximises_it_is_said(good, training, note):
    assert any(note in item for item in forecast(good, training=training).notes)


@pytest.mark.parametrize(
    ("rewards", "groups", "note", "points"),
    [
        pytest.param([1.0], [0], "no group has two completions", (1, 1), id="one row"),
        pytest.param([0.0, 1.0, 2.0], [0, 1, 2], "no group has two completions", (1, 1), id="groups of one"),
        pytest.param([NAN] * 4, [0, 0, 1, 1], "nothing to forecast", (0, 0), id="no reward at all"),
        pytest.param([2.0] * 6, [0, 0, 0, 1, 1, 1], "in every group all siblings", (3, 1), id="constant"),
        pytest.param([0.0, 1.0, 2.0], [0, 0, 0], "of one prompt", (3, None), id="one group"),
        pytest.param(
            [0.0, 1.0, NAN, NAN], [0, 0, 1, 1], "1 group has no row", (2, None), id="a group of NaN"
        ),
        pytest.param(
            [0.1 + 0.2, 0.3] * 3, [0, 0, 1, 1, 2, 2], "in every group", (2, 1), id="equal but for rounding"
        ),
        pytest.param([1e300, -1e300, 0, 1], [0, 0, 1, 1], "", (2, None), id="enormous"),
    ],
)
def test_what_cannot_be_computed_is_said(rewards, groups, note, points):
    for scaling in ("group", "none"):
        found = forecast(scores_of(rewards, groups), training={"scale_rewards": scaling})
        assert any(note in item for item in (*found.notes, ""))
        assert len(found.best_of) == points[0]
        assert points[1] is None or len(found.tilted) == points[1]
        assert LIMITS[0] in repr(found)
        json.dumps(found.record())
        for curve in found.best_of.curves.values():
            assert np.isfinite(curve.value).all()


def test_rewards_that_differ_by_rounding_are_tied():
    scores = scores_of([0.1 + 0.2, 0.3, 0.0] * 9, np.repeat(np.arange(9), 3), figure=[0.0, 1.0, 5.0] * 9)
    found = forecast(scores, columns=["figure"])
    assert found.best_of.curves["figure"].value[-1] == pytest.approx(0.5)
    assert found.tilted.curves["figure"].value[-1] == pytest.approx(0.5, abs=0.01)


def test_infinite_rewards_are_never_picked_and_infinite_figures_are_missing():
    scores = with_rewards(
        scores_of([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], figure=[1.0, 2.0, 9.0, 1.0, np.inf, 5.0]),
        [0, 1, np.inf, 0, 1, 2],
    )
    found = forecast(scores, columns=["figure"])
    assert found.best_of.groups.tolist() == [2, 2, 1]
    assert found.best_of.curves["reward"].value[1] == pytest.approx((1 + (0 * 0 + 1 / 3 + 2 * 2 / 3)) / 2)
    assert found.best_of.curves["figure"].value[1] == pytest.approx((2 + 5 * 2 / 3) / (1 + 2 / 3))
    assert "1 of 6 rows have an infinite reward, and are never picked" in found.notes
    assert "'figure' is infinite in 1 rows, which count as missing" in found.notes


def test_a_figure_that_is_missing_everywhere_has_no_curve():
    scores = scores_of([0, 1, NAN], [0, 0, 0], label=[None, None, 1.0])
    found = forecast(scores, label="label")
    assert "label" not in found.best_of.curves
    assert "'label' is missing in every row that has a reward, so it has no curve" in found.notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            {"label": "rihgt"}, r"label 'rihgt' is not a column.*did you mean 'right'", id="misspelt"
        ),
        pytest.param({"columns": ["other"]}, r"column 'other' is not a column", id="no such column"),
        pytest.param({"label": "completion"}, r"label 'completion' holds 'word.*numbers", id="a text"),
        pytest.param({"columns": ["words"]}, r"'words' of its own.*rename", id="a name that is taken"),
        pytest.param({"columns": ["label"], "label": "right"}, r"'label' of its own", id="a second label"),
        pytest.param({"training": {"scale": 1}}, r"no setting 'scale'", id="an unknown setting"),
    ],
)
def test_what_cannot_be_followed_is_one_clear_sentence(options, message):
    scores = scores_of([0, 1], [0, 0], right=[0, 1], words=[3, 4], label=[0, 1])
    with pytest.raises(rk.InputError, match=message):
        forecast(scores, **options)


def test_scores_are_asked_for_where_something_else_is_given():
    with pytest.raises(rk.InputError, match="forecast takes Scores"):
        forecast([1, 2])


def test_the_scores_are_not_changed(good):
    before = good.table.copy(deep=True)
    forecast(good, columns=["generation"])
    assert good.table.equals(before)


def test_the_record_holds_the_curves_and_the_limits_and_is_plain(good):
    record = forecast(good, label="generation", training={"scale_rewards": "none"}).record()
    assert record["limits"] == list(LIMITS)
    assert record["best_of"]["points"] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert set(record["tilted"]["curves"]["label"]) >= {"value", "low", "high", "change", "known"}
    assert record["tied_groups"] == pytest.approx(rk.diagnose(good).views[0].stats.dead.mean())
    assert json.loads(json.dumps(record))["training"]["scale_rewards"] == "none"


def test_what_is_printed_says_where_it_ends_and_what_it_cannot_know(good):
    text = repr(forecast(good))
    for piece in ("best of 8, KL at most 1.20, in 200 groups", "0.169 -> 0.54 (", *LIMITS):
        assert piece in text
    assert len(text.splitlines()) < 30


def test_the_table_has_a_row_a_view_point_and_figure(good):
    found = forecast(good)
    figures = len(found.best_of.curves)
    assert len(found.table) == figures * (len(found.best_of) + len(found.tilted))
    row = found.table.query("how == 'best_of' and figure == 'score/correct' and points == 8").iloc[0]
    assert row["value"] == found.best_of.curves["score/correct"].value[-1]


def test_loaded_scores_give_the_same_forecast(good, tmp_path):
    loaded = rk.load_scores(good.save(tmp_path))
    assert forecast(loaded).record() == forecast(good).record()


# Two rewards


def test_a_forecast_equals_itself_at_equal_kl(good):
    for how in ("tilted", "best_of"):
        found = at_equal_kl(forecast(good), forecast(good), how=how)
        for pair in found.figures.values():
            assert np.nanmax(np.abs(pair.difference)) == 0
            assert np.nanmax(np.abs([pair.low, pair.high])) == 0


def test_a_reward_of_the_same_order_and_other_units_selects_the_same_at_equal_kl():
    rewards, groups, figure = sampled()
    scores = scores_of(rewards, groups, label=figure.tolist())
    larger = with_rewards(scores, 10 * rewards + 3)
    a, b = (forecast(item, label="label", training={"scale_rewards": "none"}) for item in (scores, larger))
    assert a.tilted.points[1] != pytest.approx(b.tilted.points[1])
    pair = at_equal_kl(a, b).figures["label"]
    assert pair.difference == pytest.approx(0, abs=1e-9)
    assert pair.a[-1] - pair.a[0] > 0.1


def test_a_reward_that_pays_for_something_else_loses_the_label_at_equal_kl():
    rewards, groups, figure = sampled(prompts=200)
    scores = scores_of(rewards, groups, label=figure.tolist())
    noise = with_rewards(scores, np.random.default_rng(4).random(len(rewards)))
    pair = at_equal_kl(forecast(scores, label="label"), forecast(noise, label="label")).figures["label"]
    assert pair.difference[0] == pytest.approx(0, abs=1e-12)
    assert (pair.high[1:] < 0).all()
    assert pair.difference.tolist() == (pair.b - pair.a).tolist()
    assert ((pair.low <= pair.difference) & (pair.difference <= pair.high))[1:].all()
    assert pair.b == pytest.approx(pair.b[0], abs=0.05)


def test_equal_kl_of_best_of_n_is_equal_n():
    rewards, groups, figure = sampled()
    scores = scores_of(rewards, groups, figure=figure.tolist())
    other = with_rewards(scores, np.where(np.arange(len(rewards)) % 8 < 5, figure, NAN))
    a, b = (forecast(item, columns="figure") for item in (scores, other))
    found = at_equal_kl(a, b, how="best_of")
    assert found.kl.tolist() == b.best_of.kl.tolist()
    assert found.figures["figure"].a == pytest.approx(a.best_of.curves["figure"].value[:5])
    assert found.figures["figure"].b == pytest.approx(b.best_of.curves["figure"].value)


def test_the_interval_of_a_difference_is_narrower_than_of_unpaired_ones(good):
    rewards = good.rewards + 0.05 * np.random.default_rng(5).random(len(good))
    a, b = forecast(good), forecast(with_rewards(good, rewards))
    pair = at_equal_kl(a, b).figures["score/correct"]
    at = a.tilted.curves["score/correct"]
    assert pair.high[4] - pair.low[4] < (at.high - at.low).max() / 3


def test_beyond_the_end_of_a_curve_nothing_is_said(good, flawed):
    a, b = forecast(good), forecast(flawed)
    found = at_equal_kl(a, b, kl=[0.1, 1.0])
    pair = found.figures["words"]
    assert np.isnan(pair.a).tolist() == [False, True]
    assert np.isnan(pair.b).tolist() == [False, False]
    assert np.isnan(pair.low).tolist() == [False, True]
    assert any("'arithmetic-v1', is known up to a KL of 0.8" in note for note in found.notes)


def test_a_reward_that_selects_nothing_is_compared_at_no_kl():
    rewards, groups, _ = sampled()
    scores = scores_of(rewards, groups)
    a, b = forecast(scores), forecast(with_rewards(scores, np.ones(len(rewards))))
    found = at_equal_kl(a, b)
    assert found.kl == pytest.approx([0], abs=1e-12)
    assert any("selects nothing" in note for note in found.notes)
    none = at_equal_kl(a, forecast(with_rewards(scores, np.full(len(rewards), NAN))))
    assert len(none.kl) == 0
    assert any("judges no row" in note for note in none.notes)
    json.dumps([found.record(), none.record()])
    assert none.table.empty


def test_other_labels_are_not_compared(good):
    found = at_equal_kl(forecast(good, label="generation"), forecast(good, label="completion_tokens"))
    assert "label" not in found.figures
    assert any("the labels differ" in note for note in found.notes)


def test_rows_of_other_prompts_have_no_interval():
    rewards, groups, _ = sampled()
    a, b = (forecast(scores_of(rewards, groups, prompts)) for prompts in (groups, groups // 2))
    found = at_equal_kl(a, b)
    assert np.isnan(found.figures["reward"].low).all()
    assert np.isfinite(found.figures["reward"].difference).all()
    assert any("other prompts" in note for note in found.notes)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        pytest.param(lambda item: None, {}, "takes two forecasts", id="no forecast"),
        pytest.param(lambda item: forecast(item.scores, seed=1), {}, "seeds 0 and 1", id="another seed"),
        pytest.param(
            lambda item: forecast(scores_of([0, 1], [0, 0])), {}, "different rollouts", id="other rollouts"
        ),
        pytest.param(lambda item: item, {"how": "best"}, "how='best' is not one of", id="no such view"),
        pytest.param(lambda item: item, {"kl": [0.1, -1]}, "holds -1", id="a negative KL"),
        pytest.param(lambda item: item, {"kl": [NAN]}, "holds nan", id="no number"),
    ],
)
def test_what_cannot_be_compared_is_one_clear_sentence(good, change, options, message):
    item = forecast(good)
    with pytest.raises(rk.InputError, match=message):
        at_equal_kl(item, change(item), **options)


def test_interpolation_is_straight_in_the_square_root_of_kl():
    generator = np.random.default_rng(6)
    kl = np.sort(generator.random((20, 7)), axis=1)
    values = generator.random((20, 7))
    wanted = np.concatenate([generator.random(9), [0.0, 2.0], kl[0]])
    right = [np.interp(np.sqrt(wanted), np.sqrt(row), of) for row, of in zip(kl, values, strict=True)]
    np.testing.assert_allclose(interpolated(kl, values, wanted), right)
