from functools import partial

import numpy as np
import pytest
import score_tables as tables

import rewardkit as rk


@pytest.fixture(scope="module")
def good():
    return rk.diagnose(rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic"))


@pytest.fixture(scope="module")
def flawed():
    return rk.diagnose(rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic"))


def by_code(advice):
    return {row.code: row for row in advice.normalization}


def test_partial_credit_gives_what_the_suggested_line_gives_when_it_is_written_into_the_reward(good):
    (change,) = [item for item in rk.suggest(good).changes if item.code == "graduate"]
    component = eval(change.line, {"rk": rk, "partial": partial})
    reward = rk.load_reward("gallery:arithmetic")
    again = rk.score(
        rk.Reward("with-credit", reward.fields, [*reward.components, component]), "gallery:arithmetic"
    )
    np.testing.assert_allclose(change.scores.rewards, again.rewards)
    zero_std = rk.diagnose(again).views[0].stats.dead.mean()
    assert change.after["zero_std"] == pytest.approx(zero_std)
    assert change.before["zero_std"] == pytest.approx(good.views[0].stats.dead.mean())
    assert change.after["zero_std"] < change.before["zero_std"]


def test_partial_credit_says_that_it_is_not_known_to_be_right(good):
    (change,) = [item for item in rk.suggest(good).changes if item.code == "graduate"]
    assert "creates spread, not known to be right" in change.why
    assert 0 < change.after["added_advantage_in_tied_groups"] <= 1


def test_partial_credit_never_lets_a_wrong_answer_earn_what_a_right_one_does(good):
    (change,) = [item for item in rk.suggest(good).changes if item.code == "graduate"]
    right = change.scores.score("correct") == 1
    added = change.scores.rewards - good.scores.rewards
    assert added[right].min() >= added[~right].max()


def test_partial_credit_is_not_offered_where_the_truth_is_no_number():
    diagnosis = rk.diagnose(rk.score(rk.load_reward("gallery:mixed"), "gallery:mixed"))
    assert not [item for item in rk.suggest(diagnosis).changes if item.code == "graduate"]


def test_removing_what_is_constant_or_redundant_moves_no_advantage(flawed):
    removed = {item.component: item for item in rk.suggest(flawed).changes if item.code == "remove_component"}
    assert set(removed) == {"closed", "steps", "detail"}
    assert "no advantage changes" in removed["steps"].why
    assert removed["steps"].after["advantage_moved"] == pytest.approx(0, abs=1e-9)
    assert removed["detail"].after["advantage_moved"] > 0.2


def test_the_line_of_a_removal_is_the_reweighing_that_was_measured(flawed):
    for item in rk.suggest(flawed).changes:
        if item.code == "remove_component":
            scores = eval(item.line, {"scores": flawed.scores})
            np.testing.assert_allclose(scores.rewards, item.scores.rewards)


def test_weights_for_the_declared_influence_come_nearer_to_it():
    groups = np.repeat(np.arange(80), 8)
    noise = np.random.default_rng(0)
    parts = {"wide": noise.integers(0, 2, 640).astype(float), "narrow": 0.5 + 0.1 * noise.random(640)}
    diagnosis = rk.diagnose(tables.scores_of(parts, groups, weights={"wide": 1.0, "narrow": 1.0}))
    (change,) = [item for item in rk.suggest(diagnosis).changes if item.code == "declared_weights"]
    assert change.before["effective_weights"]["wide"] > 0.95
    assert change.after["effective_weights"] == pytest.approx({"wide": 0.5, "narrow": 0.5}, abs=0.02)
    measured = rk.diagnose(eval(change.line, {"scores": diagnosis.scores})).views[0].effective_weights
    assert measured == pytest.approx(change.after["effective_weights"], abs=1e-3)


def test_weights_that_hold_what_they_declare_are_left_alone():
    groups = np.repeat(np.arange(80), 8)
    noise = np.random.default_rng(1)
    parts = {"a": noise.random(640), "b": noise.random(640)}
    changes = rk.suggest(rk.diagnose(tables.scores_of(parts, groups))).changes
    assert [item for item in changes if item.code == "declared_weights"] == []


def test_an_affine_map_over_the_batch_has_no_effect_under_group_scaling(good):
    rows = by_code(rk.suggest(good))
    for code in ("standardise", "min_max", "min_max_group", "standardise_group"):
        assert rows[code].effect.startswith("no effect: group scaling cancels it")
        assert rows[code].changed < 0.005


def test_what_does_change_the_advantages_says_how_much(good):
    row = by_code(rk.suggest(good))["rank_group"]
    scores, groups = good.scores.rewards, good.scores.groups
    from scipy.stats import rankdata

    ranked = np.empty_like(scores)
    for group in np.unique(groups):
        rows = groups == group
        ranked[rows] = (rankdata(scores[rows]) - 1) / (rows.sum() - 1)
    from rewardkit.analysis.advantages import grpo

    before, after = grpo(scores, groups), grpo(ranked, groups)
    before, after = before / np.sqrt((before**2).mean()), after / np.sqrt((after**2).mean())
    whole = np.abs(before).sum() + np.abs(after).sum()
    assert row.changed == pytest.approx(np.abs(after - before).sum() / whole)
    assert row.sign_changes == pytest.approx((np.sign(before.round(6)) * np.sign(after.round(6)) < 0).mean())


def test_no_normalization_of_the_sum_gives_a_tied_group_a_signal(good, flawed):
    for diagnosis in (good, flawed):
        rows = by_code(rk.suggest(diagnosis))
        tied = rows["as_is"].zero_std
        for code in (
            "standardise",
            "min_max",
            "standardise_group",
            "min_max_group",
            "rank_group",
            "batch_std",
            "no_std",
        ):
            assert rows[code].zero_std >= tied - 1e-12


def test_a_clip_that_cuts_rare_successes_says_so():
    correct = np.zeros(800)
    correct[::100] = 1.0
    scores = tables.scores_of({"correct": correct}, np.repeat(np.arange(100), 8))
    row = by_code(rk.suggest(rk.diagnose(scores)))["standardise"]
    assert "cuts 8 rare high rewards" in row.effect


def test_without_scaling_a_rescaling_is_no_effect_but_group_std_is():
    parts = {"a": np.random.default_rng(1).random(640) * np.repeat(np.linspace(0.1, 1, 80), 8)}
    diagnosis = rk.diagnose(
        tables.scores_of(parts, np.repeat(np.arange(80), 8)), training={"scale_rewards": "none"}
    )
    rows = by_code(rk.suggest(diagnosis))
    assert rows["min_max"].effect == "no effect: it only rescales all advantages alike"
    assert rows["group_std"].changed > 0.1


def test_the_record_has_the_fields_that_the_command_line_promises(flawed):
    record = rk.suggest(flawed).record()
    assert {"code", "line", "before", "after", "kind"} <= set(record[0])
    assert {item["kind"] for item in record} == {"change", "normalization"}


def test_suggestions_for_loaded_scores_are_those_of_the_scores(flawed, tmp_path):
    loaded = rk.load_scores(flawed.scores.save(tmp_path))
    ours, theirs = rk.suggest(flawed), rk.suggest(rk.diagnose(loaded))
    assert [item.line for item in theirs.changes] == [item.line for item in ours.changes]
    assert theirs.table.equals(ours.table)


def test_rewards_between_two_and_three_deviations_are_not_said_to_be_cut():
    values = np.zeros(800)
    values[::8] = 1.0  # mean .125, standard deviation .33: a success lies 2.6 deviations up
    row = by_code(rk.suggest(rk.diagnose(tables.scores_of({"c": values}, np.repeat(np.arange(100), 8)))))
    assert "cuts" not in row["standardise"].effect


def test_partial_credit_weighs_a_share_of_the_component_it_stands_beside():
    rows = [{"prompt_id": str(n // 8), "completion": str(n % 7), "ground_truth": "5"} for n in range(160)]
    columns = {"prediction": "completion"}
    part = rk.Component("correct", rk.verify.numbers_equal, weight=4.0, columns=columns)
    advice = rk.suggest(rk.diagnose(rk.score(rk.Reward("r", components=[part]), rows)))
    (change,) = [item for item in advice.changes if item.code == "graduate"]
    assert change.scores.reward.weights["close"] == pytest.approx(1.2)
    assert "columns={'prediction': 'completion'}" in change.line
