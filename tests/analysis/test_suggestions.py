from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import score_tables as tables

import rewardkit as rk
from rewardkit.analysis.suggestions.measure import halves
from rewardkit.analysis.suggestions.normalization import Normalization


@pytest.fixture(scope="module")
def good():
    return rk.diagnose(rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic"))


@pytest.fixture(scope="module")
def flawed():
    return rk.diagnose(rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic"))


def by_code(advice):
    return {row.code: row for row in advice.normalization}


def changes(diagnosis, code):
    return [item for item in rk.suggest(diagnosis).changes if item.code == code]


def given(parts, siblings=8, training=None, **options):
    """The diagnosis of components that are given by groups of so many siblings."""
    rows = len(next(iter(parts.values())))
    scores = tables.scores_of(parts, np.repeat(np.arange(rows // siblings), siblings), **options)
    return rk.diagnose(scores, training=training)


def test_partial_credit_gives_what_its_line_gives_and_never_what_a_right_answer_earns(good):
    (change,) = changes(good, "graduate")
    component = eval(change.line, {"rk": rk, "partial": partial})
    reward = rk.load_reward("gallery:arithmetic")
    components = [*reward.components, component]
    again = rk.score(rk.Reward("with-credit", reward.fields, components), "gallery:arithmetic")
    np.testing.assert_allclose(change.scores.rewards, again.rewards)
    for figures, diagnosis in ((change.after, rk.diagnose(again)), (change.before, good)):
        assert figures["zero_std"] == pytest.approx(diagnosis.views[0].stats.dead.mean())
    assert change.after["zero_std"] < change.before["zero_std"]
    assert "not known to be right" in change.why
    assert 0 < change.after["added_advantage_in_tied_groups"] <= 1
    right = change.scores.score("correct") == 1
    added = change.scores.rewards - good.scores.rewards
    assert added[right].min() >= added[~right].max()


def test_partial_credit_is_not_offered_where_the_truth_is_no_number():
    diagnosis = rk.diagnose(rk.score(rk.load_reward("gallery:mixed"), "gallery:mixed"))
    assert not changes(diagnosis, "graduate")


def test_removing_what_is_constant_or_redundant_moves_no_advantage_and_is_a_note(flawed):
    removed = {item.component: item for item in rk.suggest(flawed).changes if item.code == "remove_component"}
    assert set(removed) == {"detail"} and removed["detail"].after["advantage_moved"] > 0.2
    left_out = "left out, as no advantage changes: no weight for 'closed', no weight for 'steps'"
    assert left_out in rk.suggest(flawed).notes
    for item in removed.values():
        again = eval(item.line, {"scores": flawed.scores})
        np.testing.assert_allclose(again.rewards, item.scores.rewards)


def weighed(weights, parts, *, primary, prompts=80):
    """The diagnosis of components that are given by groups of 8, one of them the task."""
    scores = tables.scores_of(parts, np.repeat(np.arange(prompts), 8), weights=weights)
    items = [replace(item, primary=item.name == primary) for item in scores.reward.components]
    return rk.diagnose(scores.under(replace(scores.reward, components=items)))


def wide_and_narrow():
    noise = np.random.default_rng(0)
    return {"wide": noise.integers(0, 2, 640).astype(float), "narrow": 0.2 + 0.6 * noise.random(640)}


def test_weights_are_fitted_on_one_half_of_the_prompts_and_come_nearer_on_the_other():
    diagnosis, even = weighed({}, wide_and_narrow(), primary="narrow"), {"wide": 0.5, "narrow": 0.5}
    (change,) = changes(diagnosis, "declared_weights")
    assert change.before["effective_weights"]["wide"] > 0.8
    assert set(change.change.weights) == {"wide"}  # the task keeps its weight
    assert "that of 'narrow' not at all" in change.why
    assert "Fitted on one half of the prompts, measured on the other" in change.why
    assert {(effect.held_out, effect.prompts) for effect in change.effects} == {(True, 40)}
    halved = halves(diagnosis.views[0], diagnosis.scores)
    fit, held = (view.under(view.reward.reweigh(change.change.weights)).effective_weights for view in halved)
    assert fit == pytest.approx(even, abs=0.005)  # so near only where it was fitted
    assert change.after["effective_weights"] == pytest.approx(held, abs=1e-3)
    measured = rk.diagnose(eval(change.line, {"scores": diagnosis.scores})).views[0].effective_weights
    for found in (held, measured):
        assert found == pytest.approx(even, abs=0.05)


def task_and(**heights):
    """A task and components beside it, so many times as wide."""
    noise = np.random.default_rng(3)
    return {"task": noise.random(640), **{name: high * noise.random(640) for name, high in heights.items()}}


@pytest.mark.parametrize(
    ("weights", "parts", "primary", "count"),
    [
        pytest.param({"narrow": 1.0}, wide_and_narrow(), "wide", 0, id="the task holds more"),
        pytest.param({"narrow": 2.0}, wide_and_narrow(), "wide", 0, id="it declares less"),
        pytest.param({}, task_and(even=1), "task", 0, id="they hold what they declare"),
        pytest.param({}, task_and(loud=12), "task", 1, id=".5 too much, none thereafter"),
        pytest.param({}, task_and(loud=6), "task", 1, id=".47 too much, none thereafter"),
    ],
)
def test_weights_are_suggested_where_they_are_at_fault_and_come_much_nearer(weights, parts, primary, count):
    assert len(changes(weighed(weights, parts, primary=primary), "declared_weights")) == count


def test_no_weight_moves_more_than_ten_times():
    noise = np.random.default_rng(1)
    parts = {"task": noise.random(640), "loud": 400 * noise.random(640), "calm": noise.random(640)}
    (change,) = changes(weighed({"loud": 0.02, "calm": 1.0}, parts, primary="task"), "declared_weights")
    assert change.change.weights["loud"] == pytest.approx(0.002, rel=0.01)
    assert set(change.change.weights) <= {"loud", "calm"}
    assert 0.7 < change.before["effective_weights"]["loud"]


@pytest.mark.parametrize(
    ("seed", "note"),
    [
        (89, "gate_component of 'y' is left out, as it makes worse what it answers: dominant: 62 % -> 70 %"),
        (92, "declared_weights is left out, as it makes worse what it answers: dominant: 62 % -> 66 %"),
    ],
)
def test_a_change_that_makes_worse_what_it_answers_is_a_note(seed, note):
    draw = np.random.default_rng(seed)

    def often(*shares):
        return np.repeat(draw.random(80) < draw.choice(shares), 8)

    live = often(0.3, 0.6, 1)
    parts = {"task": np.where(live, draw.random(640) < draw.choice([0.2, 0.5]), 0.0)}
    weights = {"task": 1.0}
    for name in "xyz":
        live = often(0.3, 0.6, 1)
        noise = draw.random(640) if draw.random() < 0.5 else (draw.random(640) < 0.5) * 1.0
        follows = draw.choice([0, 0.5, -0.5])
        height = draw.choice([0.3, 1, 3])
        parts[name] = np.where(live, height * np.clip(noise + follows * parts["task"], -1, 2), 0.5)
        weights[name] = float(draw.choice([0.1, 0.3, 0.6, 0.9]))
    advice = rk.suggest(weighed(weights, parts, primary="task"))
    assert note in advice.notes


def test_a_weight_is_raised_only_where_its_component_varies_often_and_the_others_pay_for_it():
    noise = np.random.default_rng(2)
    calm = 0.5 + 0.2 * noise.random(640)
    parts = {"task": noise.random(640), "loud": noise.integers(0, 2, 640).astype(float)}
    diagnosis = weighed({"loud": 1.0, "calm": 0.3}, {**parts, "calm": calm}, primary="task")
    (change,) = changes(diagnosis, "declared_weights")
    weights = change.change.weights
    assert weights["calm"] > 0.3 and weights["loud"] < 1
    assert weights["calm"] + weights["loud"] <= 1.3 * 1.01
    assert "read what 'calm' would be paid more for" in change.why
    seldom = np.where(np.repeat(np.arange(80) % 3 == 0, 8), calm, 0.5)  # varies in a third of the groups
    diagnosis = weighed({"loud": 1.0, "calm": 0.3}, {**parts, "calm": seldom}, primary="task")
    (change,) = changes(diagnosis, "declared_weights")
    assert set(change.change.weights) == {"loud"} and "read what" not in change.why


def test_too_few_prompts_to_fit_and_to_measure_are_said_to_be_so():
    parts = {"wide": np.tile([0.0, 1.0], 30), "narrow": np.tile([0.5, 0.51, 0.52, 0.49], 15)}
    advice = rk.suggest(given(parts, 4, weights={"narrow": 1.1}))
    assert not [item for item in advice.changes if item.code == "declared_weights"]
    assert any("15 prompts cannot be fitted" in note for note in advice.notes)


def test_what_does_change_the_advantages_says_how_much(good):
    row = by_code(rk.suggest(good))["rank_group"]
    scores, groups = good.scores.rewards, good.scores.groups
    from scipy.stats import rankdata

    ranked = np.empty_like(scores)
    for group in np.unique(groups):
        rows = groups == group
        ranked[rows] = (rankdata(scores[rows]) - 1) / (rows.sum() - 1)
    from rewardkit.analysis.statistics.advantages import grpo

    before, after = grpo(scores, groups), grpo(ranked, groups)
    before, after = before / np.sqrt((before**2).mean()), after / np.sqrt((after**2).mean())
    whole = np.abs(before).sum() + np.abs(after).sum()
    assert row.changed == pytest.approx(np.abs(after - before).sum() / whole)
    assert row.sign_changes == pytest.approx((np.sign(before.round(6)) * np.sign(after.round(6)) < 0).mean())


AFFINE = ("standardise", "min_max", "min_max_group", "standardise_group")


def test_under_group_scaling_no_affine_map_has_an_effect_and_no_normalization_unties_a_group(good, flawed):
    for diagnosis in (good, flawed):
        rows = by_code(rk.suggest(diagnosis))
        for code in (*AFFINE, "rank_group", "batch_std", "no_std"):
            assert rows[code].zero_std >= rows["as_is"].zero_std - 1e-12
    for row in (by_code(rk.suggest(good))[code] for code in AFFINE):
        assert row.effect.startswith("no effect: group scaling cancels it") and row.changed < 0.005


def every(step, start=0):
    """A success in every so many rows of 800."""
    return (np.arange(800) % step == start).astype(float)


THREE = {"rare": every(100), "other": np.random.default_rng(0).random(800), "penalty": every(100, 1)}


@pytest.mark.parametrize(
    ("parts", "code", "cut"),
    [
        pytest.param({"c": every(100)}, "standardise", "cuts 8 rare high values of the reward", id="rare"),
        pytest.param({"c": every(8)}, "standardise", "", id="a success lies 2.6 deviations up"),
        (THREE, "standardise_components", "the clip cuts 8 rare high values of the score of 'rare'"),
        (THREE, "rank_components", ""),
        (THREE, "min_max_components", ""),
    ],
)
def test_what_a_clip_cuts_of_rare_successes_is_said_by_component(parts, code, cut):
    effect = by_code(rk.suggest(given(parts, weights={"penalty": -1.0})))[code].effect
    assert cut in effect and ("cuts" in effect) == bool(cut) and "penalty" not in effect


def test_without_scaling_a_rescaling_is_no_effect_but_group_std_is():
    parts = {"a": np.random.default_rng(1).random(640) * np.repeat(np.linspace(0.1, 1, 80), 8)}
    rows = by_code(rk.suggest(given(parts, training={"scale_rewards": "none"})))
    assert rows["min_max"].effect == "no effect: it only rescales all advantages alike"
    assert rows["group_std"].changed > 0.1


def test_the_record_has_the_fields_that_the_command_line_promises(flawed):
    record = rk.suggest(flawed).record()
    assert {"code", "line", "before", "after", "kind"} <= set(record[0])
    assert {item["kind"] for item in record} == {"change", "normalization"}


def test_suggestions_for_loaded_scores_are_those_of_the_scores(flawed, tmp_path):
    loaded = rk.load_scores(flawed.scores.save(tmp_path))
    ours, theirs = rk.suggest(flawed), rk.suggest(rk.diagnose(loaded))
    run = [item.line for item in ours.changes if item.code != "looser_reading"]
    assert [item.line for item in theirs.changes] == run
    assert any("was read from a record and cannot be run" in note for note in theirs.notes)
    assert theirs.table.equals(ours.table)


def test_partial_credit_weighs_a_share_of_the_component_it_stands_beside():
    rows = [{"prompt_id": str(n // 8), "completion": str(n % 7), "ground_truth": "5"} for n in range(160)]
    columns = {"prediction": "completion"}
    part = rk.Component("correct", rk.verify.numbers_equal, weight=4.0, columns=columns)
    advice = rk.suggest(rk.diagnose(rk.score(rk.Reward("r", components=[part]), rows)))
    (change,) = [item for item in advice.changes if item.code == "graduate"]
    assert change.scores.reward.weights["close"] == pytest.approx(1.2)
    assert "columns={'prediction': 'completion'}" in change.line


def diagnosed(parts, right, weights):
    """The diagnosis of components given by groups of 8, with a label that says what is right."""
    made = tables.scores_of(parts, np.repeat(np.arange(len(right) // 8), 8), weights=weights)
    table = made.rollouts.table.assign(is_good=right.astype(float))
    return rk.diagnose(rk.score(made.reward, rk.load_rollouts(table)), label="is_good")


def labelled(seed):
    """A weak reward with a trusted label: `helps` and `noise` are recorded, not paid, `hurts` is paid."""
    draw = np.random.default_rng(seed)
    rows = 640
    right = draw.random(rows) < 0.4
    parts = {
        "correct": (right & (draw.random(rows) < 0.3)).astype(float),
        "helps": np.where(right, 0.8, 0.2) + 0.2 * draw.random(rows),
        "hurts": np.where(right, 0.1, 0.8) + 0.1 * draw.random(rows),
        "noise": draw.random(rows),
    }
    return diagnosed(parts, right, {"helps": 0.0, "hurts": 0.2, "noise": 0.0})


@pytest.mark.parametrize("seed", range(10))
def test_with_a_label_what_orders_siblings_more_like_it_comes_first_and_noise_never(seed):
    changes = rk.suggest(labelled(seed)).changes
    paid = {item.component: item for item in changes if item.code == "pay_component"}
    assert changes[0].rank == 1
    assert changes[0].component != "noise"
    assert paid["helps"].verdict == "improves"
    assert paid["noise"].verdict != "improves"
    assert paid["noise"].rank is None


@pytest.mark.parametrize("seed", range(20))
def test_noise_that_is_the_only_change_that_is_offered_is_not_ranked(seed):
    draw = np.random.default_rng(seed)
    right = (draw.random(800) < 0.1).astype(float)
    parts = {"correct": right * (draw.random(800) < 0.8), "noise": draw.random(800)}
    advice = rk.suggest(diagnosed(parts, right, {"noise": 0.0}))
    assert {item.component: item.rank for item in advice.changes}["noise"] is None
    assert any(note.startswith("no change measurably") for note in advice.notes)


def test_with_a_label_what_certainly_harms_is_flagged_and_last():
    draw = np.random.default_rng(0)
    right = draw.random(800) < 0.2
    parts = {
        "correct": (right & (draw.random(800) < 0.6)).astype(float),
        "against": np.where(right, 0.1, 0.8) + 0.1 * draw.random(800),
    }
    parts["never"] = np.zeros(800)
    advice = rk.suggest(diagnosed(parts, right, {"against": 0.0}))
    assert len(advice.changes) == 1
    assert "left out, as no advantage changes: no weight for 'never'" in advice.notes
    last = advice.changes[-1]
    assert (last.code, last.component, last.verdict, last.rank) == ("pay_component", "against", "harms", None)
    assert "it makes the reward worse" in last.why
    assert "Makes it worse: a weight for" in advice.text(verbose=True)
    assert repr(advice).startswith("No change of the reward to suggest.")


def test_without_a_label_nothing_is_ranked_and_all_that_adds_spread_says_so(good, flawed):
    for diagnosis in (good, flawed, rk.diagnose(labelled(0).scores)):
        for item in rk.suggest(diagnosis).changes:
            assert (item.rank, item.verdict) == (None, "")
            spread = "added_advantage_in_tied_groups" in item.after
            assert spread == ("not known to be right" in item.why)


def test_figures_come_with_intervals_that_hold_them(good, flawed):
    for diagnosis in (good, flawed):
        for item in rk.suggest(diagnosis).changes:
            (dead,) = [effect for effect in item.effects if effect.figure == "zero_std"]
            assert (dead.before, dead.after) == (item.before["zero_std"], item.after["zero_std"])
            for value, (low, high) in (
                (dead.before, dead.before_interval),
                (dead.after, dead.after_interval),
                (dead.difference, dead.interval),
            ):
                assert low - 1e-12 <= value <= high + 1e-12
            weights = {e.component: e.after for e in item.effects if e.figure == "effective_weight"}
            assert item.after["effective_weights"] == pytest.approx(weights, abs=1e-3)


def test_on_other_prompts_the_top_suggestion_gives_what_was_predicted_within_the_interval():
    rollouts = rk.load_rollouts("gallery:arithmetic")
    reward = rk.load_reward("gallery:arithmetic.flawed")
    odd = rollouts.prompts % 2 == 1
    here, there = (rollouts.select(np.flatnonzero(rows).tolist()) for rows in (odd, ~odd))
    change = rk.suggest(rk.diagnose(rk.score(reward, here))).changes[0]
    (effect,) = [item for item in change.effects if item.figure == "zero_std"]
    after = rk.diagnose(rk.score(change.apply(reward), there)).views[0].stats.dead.mean()
    before = rk.diagnose(rk.score(reward, there)).views[0].stats.dead.mean()
    assert effect.interval[0] <= after - before <= effect.interval[1]


def test_a_reward_with_nothing_to_change_says_so():
    rows = [{"prompt_id": str(n // 4), "completion": "x"} for n in range(80)]
    unjudged = rk.Reward("r", components=[rk.Component("none", lambda completion: None)])
    right_or_constant = {"correct": np.tile([0.0, 1.0], 80), "never": np.zeros(160)}
    for diagnosis in (
        given({"a": np.random.default_rng(0).random(400)}),
        given(right_or_constant),
        rk.diagnose(rk.score(unjudged, rows)),
    ):
        advice = rk.suggest(diagnosis)
        assert advice.changes == () and "no fix is known here for what was found" in advice.notes
        assert repr(advice).startswith("No change of the reward to suggest.\n")


def test_changes_are_measured_under_the_settings_of_the_diagnosis(flawed):
    training = {"scale_rewards": "none", "filter_metric": "correct"}
    scores = flawed.scores
    for item in rk.suggest(rk.diagnose(scores, training=training)).changes:
        if item.scores is None or item.code == "declared_weights":
            continue
        again = rk.diagnose(item.scores, training=training).views[0].effective_weights
        assert item.after["effective_weights"] == pytest.approx(again, abs=1e-3)
        dead = again_dead(rk.diagnose(item.scores, training=training).views[0])
        assert item.after["zero_std"] == pytest.approx(dead)


def again_dead(view):
    """Share of the groups in which every advantage is 0 or left out, group by group."""
    groups = [np.flatnonzero(view.groups == group) for group in np.unique(view.groups)]
    counted = [rows for rows in groups if (~np.isnan(view.rewards[rows])).sum() > 1]
    return np.mean([np.nan_to_num(np.abs(view.advantages[rows])).max() < 1e-9 for rows in counted])


VERL = {"trainer": "verl"}
GRPO, GDPO = "algorithm.adv_estimator=grpo algorithm.norm_adv_by_std_in_grpo=", "algorithm.adv_estimator=gdpo"
KEYS = "+algorithm.gdpo_reward_keys=[correct,format,concise,repetition]"
WEIGHTS = "+algorithm.gdpo_reward_weights=[1,0.2,0.1,-0.2]"
SUMMED = 'GRPOConfig(scale_rewards="group", multi_objective_aggregation="sum_then_normalize")'
LINES = [
    ({}, "no_std", 'GRPOConfig(scale_rewards="none")'),
    (VERL, "no_std", f"{GRPO}False"),
    ({**VERL, "scale_rewards": "none"}, "group_std", f"{GRPO}True"),
    (VERL, "batch_std", ""),  # it has none
    (VERL, "normalize_then_sum", f"{GDPO} {KEYS} {WEIGHTS}"),
    ({"trainer": "own"}, "no_std", 'rk.Training(scale_rewards="none")'),
    ({"multi_objective_aggregation": "normalize_then_sum"}, "group_std", SUMMED),
]


@pytest.mark.parametrize(("training", "code", "line"), LINES)
def test_the_line_of_a_scaling_is_of_the_trainer_that_the_diagnosis_is_for(good, training, code, line):
    advice = rk.suggest(rk.diagnose(good.scores, training=training))
    row = by_code(advice)[code]
    assert row.line == line and ("GRPOConfig" in repr(advice.record())) == ("trainer" not in training)
    assert ("has no setting for it" in row.effect) == (not line)


HARDLY = {
    "one group": ({"a": [0.0, 1.0], "b": [1.0, 1.0]}, [0, 0]),
    "groups of one": ({"a": [0.0, 1.0, 1.0], "b": [1.0, 0.0, 1.0]}, [0, 1, 2]),
    "one row": ({"a": [1.0], "b": [1.0]}, [0]),
    "all constant": ({"a": [1.0] * 12, "b": [0.5] * 12}, [0, 0, 0, 1, 1, 1] * 2),
    "one judged": ({"a": [0.5] + [np.nan] * 39, "b": [0.5] * 40}, np.repeat(np.arange(20), 2)),
    "gaps": ({"a": [np.nan, 1, 0] * 20, "b": [1, 0, 0] * 20}, np.repeat(np.arange(15), 4)),
}


@pytest.mark.parametrize(("parts", "groups"), HARDLY.values(), ids=HARDLY)
@pytest.mark.parametrize("scaling", ["group", "batch", "none"])
def test_scores_that_can_hardly_be_measured_make_suggestions_without_a_traceback(parts, groups, scaling):
    scores = tables.scores_of({name: np.array(values, dtype=float) for name, values in parts.items()}, groups)
    advice = rk.suggest(rk.diagnose(scores, training={"scale_rewards": scaling}))
    assert isinstance(repr(advice), str)
    assert advice.changes or advice.notes


# what is left out, and what is said of it


def products(aggregation):
    """A right answer times how wordy it is."""
    draw = np.random.default_rng(0)
    rows = [
        {
            "prompt_id": f"p{row // 8}",
            "completion": "so " * int(draw.integers(1, 40)) + f"<answer>{draw.integers(5, 8)}</answer>",
            "ground_truth": "5",
        }
        for row in range(640)
    ]
    wordy = rk.Component("wordy", lambda completion: min(1.0, len(completion.split()) / 40), weight=3.0)
    parts = [rk.Component("correct", rk.verify.numbers_equal, primary=True), wordy]
    reward = rk.Reward("r", {"prediction": rk.extract.tag("answer")}, parts, aggregation=aggregation)
    return rk.diagnose(rk.score(reward, rows))


@pytest.mark.parametrize("aggregation", ["product", "minimum"])
def test_of_a_product_nothing_is_suggested_that_moves_no_advantage(aggregation):
    diagnosis = products(aggregation)
    advice = rk.suggest(diagnosis)
    for item in advice.changes:
        after = rk.diagnose(item.scores).views[0].advantages
        assert np.abs(np.nan_to_num(after - diagnosis.views[0].advantages)).max() > 1e-6, item.code
    said = (
        f"left out, as no advantage changes, as the reward is a {aggregation}: partial credit for 'correct'"
    )
    assert any(note.startswith(said) for note in advice.notes)
    assert not [row for row in advice.normalization if row.code.endswith("_components")]
    gdpo = by_code(advice)["normalize_then_sum"]
    assert gdpo.effect.endswith(f"; it is a sum, where the reward is a {aggregation}")


def test_of_a_sum_the_same_is_suggested_and_each_component_normalised():
    advice = rk.suggest(products("weighted_sum"))
    assert {"graduate", "gate_component"} <= {item.code for item in advice.changes}
    assert {"standardise_components", "min_max_components", "rank_components"} <= set(by_code(advice))
    assert "it is a sum" not in by_code(advice)["normalize_then_sum"].effect


def test_what_was_found_inconclusively_is_answered_by_no_change_and_that_is_said():
    parts = {"correct": [1.0, 0.0, 1.0], "format": [1.0, 0.0, 1.0]}
    diagnosis = rk.diagnose(tables.scores_of(parts, [0, 0, 0], weights={"format": 0.5}))
    assert any(item.evidence.get("inconclusive") for item in diagnosis["redundant"])
    advice = rk.suggest(diagnosis)
    assert advice.changes == ()
    (note,) = [note for note in advice.notes if note.startswith("not answered, as the rollouts are too few")]
    assert "to be sure:" in note and "redundant" in note


def test_partial_credit_is_offered_behind_a_gate_on_the_whole_reward():
    diagnosis = products("weighted_sum")
    rows = diagnosis.scores.rollouts
    gate = rk.gate(lambda completion: len(completion) < 100)
    reward = replace(diagnosis.scores.reward, gate=gate)
    scores = rk.score(reward, rows)
    assert 0.2 < (scores.table["gate/reward"] == 0).mean() < 0.9
    (change,) = changes(rk.diagnose(scores), "graduate")
    np.testing.assert_allclose(change.scores.rewards, rk.score(change.apply(reward), rows).rewards)


def ranked(completion):
    lengths = [len(text) for text in completion]
    return [float(sum(other < length for other in lengths)) for length in lengths]


BEHIND = rk.Component("last", lambda completion: 1.0, gate=rk.gate("wordy", at_least=0.5), weight=0.1)
SIBLINGS = {"function": ranked, "group": True, "range": None}


@pytest.mark.parametrize(
    ("attributes", "more", "ignored", "why"),
    [
        pytest.param({}, [], False, "", id="it is given"),
        pytest.param({}, [], True, "gates were ignored in scoring", id="gates ignored"),
        pytest.param({}, [BEHIND], False, "'last' hangs on its score", id="another is behind"),
        pytest.param(SIBLINGS, [], False, "", id="it sees its siblings"),
    ],
)
def test_a_gate_is_given_or_left_out_and_said_why(attributes, more, ignored, why):
    scores = products("weighted_sum").scores
    correct, wordy = scores.reward.components
    reward = replace(scores.reward, components=[correct, replace(wordy, **attributes), *more])
    advice = rk.suggest(rk.diagnose(rk.score(reward, scores.rollouts, ignore_gates=ignored)))
    assert ("gate_component" in {item.code for item in advice.changes}) == (not why)
    notes = [note for note in advice.notes if "a gate for" in note]
    assert notes == [f"a gate for 'wordy' is left out: {why}"] * bool(why)


def test_what_is_removed_moves_no_more_than_all_of_the_advantage():
    draw = np.random.default_rng(0)
    correct = (draw.random(640) < 0.5).astype(float)
    parts = {"correct": correct, "loud": 50 * (1 - correct) + draw.random(640)}
    unknown = rk.suggest(given(parts))  # nothing says which of the two is the task
    assert not [item for item in unknown.changes if item.code in ("remove_component", "declared_weights")]
    advice = rk.suggest(given(parts, weights={"correct": 1.1}))
    (change,) = [item for item in advice.changes if item.code == "remove_component"]
    assert change.component == "loud" and change.after["advantage_moved"] <= 1
    assert change.after["advantage_moved"] == pytest.approx(1.0)


def test_changes_that_judge_missing_rows_say_how_many_and_that_the_label_does_not_weigh_them():
    draw = np.random.default_rng(0)
    right = draw.random(640) < 0.5
    read = draw.random(640) < 0.3
    rows = [
        {
            "prompt_id": f"p{row // 8}",
            "completion": ("<answer>{}</answer>" if read[row] else "it is {}").format(6 - right[row]),
            "ground_truth": "5",
            "good": float(right[row] ^ (draw.random() < 0.1)),
        }
        for row in range(640)
    ]

    def equal(prediction, ground_truth):
        return None if prediction is None else float(prediction == ground_truth) * 0.04

    reward = rk.Reward("r", {"prediction": rk.extract.tag("answer")}, [rk.Component("correct", equal)])
    advice = rk.suggest(rk.diagnose(rk.score(reward, rows), label="good"))
    judging = [item for item in advice.changes if item.after.get("rows_judged")]
    assert judging
    for item in judging:
        gained = int((~np.isnan(item.scores.rewards)).sum() - read.sum())
        assert f"{gained} rows more have a reward, but what 'good' says is of those" in item.why
    assert any(note.startswith("no change measurably improves") for note in advice.notes)


# the normalization table, and the page of a route


def test_a_clip_that_turns_signs_is_not_said_to_have_no_effect():
    draw = np.random.default_rng(0)
    values = draw.random((1000, 8)) * 0.1
    values[::100] = [1.0, 0.1, 0, 0, 0, 0, 0, 0]  # 0.1 is under the mean until the 1 is cut
    scores = tables.scores_of({"c": values.ravel()}, np.repeat(np.arange(1000), 8))
    for row in rk.suggest(rk.diagnose(scores)).normalization:
        if row.sign_changes > 0:
            assert "no effect" not in row.effect, row
    row = by_code(rk.suggest(rk.diagnose(scores)))["standardise"]
    assert (row.sign_changes, row.changed < 0.005) == (10 / 8000, True)
    assert row.effect.endswith(
        "of the advantage, and the sign of 0.1 % of the rows; the clip cuts 10 rare high values of the reward"
    )


@pytest.mark.parametrize(("moved", "no_effect"), [(0.004, True), (0.006, False)])
def test_a_move_of_half_a_percent_is_an_effect(moved, no_effect):
    row = Normalization("standardise", "", "", "", moved, 0.0, 0.1, 0.0, 1.0, 0.0)
    assert row.works is not no_effect


def test_a_route_says_of_which_part_each_line_is():
    advice = rk.suggest(rk.diagnose(rk.score(rk.load_reward("gallery:mixed"), "gallery:mixed")))
    lines = advice.text(verbose=True).splitlines()
    parts = {item.part for item in advice.normalization}
    assert len(parts) == 2
    for part in parts:
        assert any(line.startswith(f"  Normalization: [{part}] ") for line in lines)
    for item in advice.changes:
        assert any(line.startswith(f"  [{item.part}] {item.code.replace('_', ' ')} of ") for line in lines)


@pytest.mark.parametrize("what", [None, "scores", rk.Reward("r", components=[rk.Component("a", len)])])
def test_suggestions_are_of_a_diagnosis(what):
    with pytest.raises(rk.InputError, match=r"suggest takes a Diagnosis, as rk\.diagnose\(scores\) gives it"):
        rk.suggest(what)


def test_rows_that_the_whole_gate_closes_earn_nothing_after_a_normalization_either():
    draw = np.random.default_rng(0)
    diagnosis = given({"a": draw.integers(0, 5, 640) / 4}, gate=rk.gate("a", at_least=0.5))
    row = by_code(rk.suggest(diagnosis))["min_max_components"]
    assert row.changed == pytest.approx(0, abs=1e-9)  # from 0 to 1 it is stretched already
