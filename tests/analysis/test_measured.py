"""Figures before and after a change against hand arithmetic and a bootstrap written out."""

from dataclasses import replace

import numpy as np
import pytest
import score_tables as tables

import rewardkit as rk
from rewardkit.analysis.suggest import _judged
from rewardkit.analysis.suggestions.change import Change
from rewardkit.analysis.suggestions.measure import certain, effects, halves, order_of, share_in_tied_groups


def views(before, after, groups, training=None, label=None):
    """Views of one component's scores, and of others in their place."""
    found = []
    for values in (before, after):
        scores = tables.scores_of({"a": values, "b": before}, groups, weights={"b": 0.0})
        if label is not None:
            rows = scores.rollouts.table.assign(right=label)
            scores = rk.score(scores.reward, rk.load_rollouts(rows))
        given = "right" if label is not None else None
        found.append(rk.diagnose(scores, training=training, label=given).views[0])
    return found


def test_groups_without_a_signal_are_counted_before_and_after():
    groups = [0, 0, 1, 1, 2, 2, 3]  # a group of one has no pair to compare
    before, after = views([0, 0, 1, 1, 0, 1, 1], [0, 1, 1, 1, 0, 1, 1], groups)
    effect = effects(before, after)[0]
    assert (effect.figure, effect.before, effect.after) == ("zero_std", 2 / 3, 1 / 3)
    assert effect.difference == pytest.approx(-1 / 3)
    assert effect.prompts == 4


def test_the_paired_difference_has_the_interval_of_a_bootstrap_over_prompts():
    draw = np.random.default_rng(3)
    groups = np.repeat(np.arange(60), 4)
    noise = draw.random(240)
    before, after = views((noise > 0.9).astype(float), (noise > 0.6).astype(float), groups)
    effect = effects(before, after)[0]
    dead, counted, dead_after = before.dead, before.stats.count > 1, after.dead
    drawn = np.random.default_rng(0)
    values = []
    for _ in range(1000):
        some = drawn.integers(0, 60, 60)
        values.append(dead_after[some].mean() - dead[some].mean())
    assert counted.all()
    assert effect.interval == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=0.01)
    alone = effect.before_interval[1] - effect.before_interval[0]
    apart = np.hypot(alone, effect.after_interval[1] - effect.after_interval[0])
    assert effect.interval[1] - effect.interval[0] < apart


def test_the_label_auc_is_that_of_sibling_pairs_counted_one_by_one():
    draw = np.random.default_rng(4)
    groups, label = np.repeat(np.arange(12), 5), draw.integers(0, 2, 60).astype(float)
    first, second = draw.integers(0, 3, 60) / 2, draw.integers(0, 3, 60) / 2
    before, after = views(first, second, groups, label=label)
    (effect,) = [item for item in effects(before, after) if item.figure == "label_auc"]
    for values, found in ((first, effect.before), (second, effect.after)):
        won = [
            1.0 if values[i] > values[j] else 0.5 if values[i] == values[j] else 0.0
            for i in range(60)
            for j in range(60)
            if groups[i] == groups[j] and label[i] > label[j]
        ]
        assert found == pytest.approx(np.mean(won))
    assert effect.difference == pytest.approx(effect.after - effect.before)


def test_the_label_of_the_sibling_put_first_is_counted_one_group_by_one_and_is_the_forecast():
    draw = np.random.default_rng(6)
    groups, label = np.repeat(np.arange(12), 5), draw.integers(0, 2, 60).astype(float)
    first, second = draw.integers(0, 3, 60) / 2, draw.integers(0, 3, 60) / 2
    before, after = views(first, second, groups, label=label)
    (effect,) = [item for item in effects(before, after) if item.figure == "label_best"]
    for values, found in ((first, effect.before), (second, effect.after)):
        firsts = [
            label[rows][values[rows] == values[rows].max()].mean() for rows in np.split(np.arange(60), 12)
        ]
        assert found == pytest.approx(np.mean(firsts))
    rows = [
        {"prompt_id": f"p{group}", "completion": str(row), "earned": first[row], "right": label[row]}
        for row, group in enumerate(groups)
    ]
    paid = rk.Component("paid", lambda earned: earned)
    forecast = rk.forecast(rk.score(rk.Reward("r", components=[paid]), rows), label="right")
    assert forecast.best_of.curves["label"].value[-1] == pytest.approx(effect.before)


def test_the_label_auc_is_of_rows_that_have_a_reward_on_both_sides():
    first, second, label = [1, 0, np.nan, 1, 0.5], [1, 0, 0, 1, 0.5], [1.0, 0.0, 1.0, 1.0, 0.0]
    before, after = views(first, second, [0] * 5, label=label)
    found = {item.figure: item for item in effects(before, after)}
    assert (found["label_auc"].before, found["label_auc"].after) == (1.0, 1.0)
    assert (found["missing"].before, found["missing"].after) == (0.2, 0.0)


def test_more_changes_that_are_compared_make_the_interval_of_the_label_wider():
    draw = np.random.default_rng(5)
    groups, label = np.repeat(np.arange(40), 4), np.tile([0.0, 1.0], 80)
    before, after = views(draw.random(160), draw.random(160), groups, label=label)

    def width(tests):
        (found,) = [item for item in effects(before, after, tests=tests) if item.figure == "label_auc"]
        return found.interval[1] - found.interval[0]

    assert width(20) > 1.3 * width(1)


def test_groups_that_are_dropped_by_their_filter_have_no_signal():
    training = {"filter_metric": "b"}
    before, after = views([0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], training=training)
    assert after.stats.live.all()
    for view in (before, after):
        assert view.dead.tolist() == [True, False]


def test_the_advantage_that_is_added_is_split_by_what_was_tied():
    before, after = views([0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1])
    assert share_in_tied_groups(before, after) == 1.0
    before, after = views([0, 1, 0, 1], [0, 1, 0, 0], [0, 0, 1, 1])
    assert share_in_tied_groups(before, after) == 0.0


def test_halves_share_no_prompt_and_are_the_same_for_one_seed():
    groups = np.repeat(np.arange(31), 3)
    scores = tables.scores_of({"a": np.random.default_rng(0).random(93)}, groups)
    view = rk.diagnose(scores).views[0]
    first, second = halves(view, scores)
    prompts = [set(scores.rollouts.prompts[half.rows]) for half in (first, second)]
    assert not prompts[0] & prompts[1]
    assert [len(some) for some in prompts] == [15, 16]
    np.testing.assert_array_equal(halves(view, scores)[0].rows, first.rows)


def test_one_prompt_has_figures_and_no_interval():
    before, after = views([0, 0], [0, 1], [0, 0])
    effect = effects(before, after)[0]
    assert (effect.before, effect.after) == (1.0, 0.0)
    assert np.isnan(effect.interval).all()


@pytest.mark.parametrize(
    ("difference", "interval", "tests", "expected"),
    [
        pytest.param(0.10, (0.05, 0.15), 1, True, id="four standard errors"),
        pytest.param(0.05, (0.01, 0.09), 1, False, id="its interval leaves out 0, by luck in one of 40"),
        pytest.param(0.01, (-0.01, 0.03), 1, False, id="its interval holds 0"),
        pytest.param(-0.10, (-0.15, -0.05), 1, True, id="as certain downwards"),
        pytest.param(0.0, (0.0, 0.0), 1, False, id="no difference"),
        pytest.param(0.1, (np.nan, np.nan), 1, False, id="no interval"),
    ],
)
def test_a_difference_is_certain_that_noise_does_not_have_by_luck(difference, interval, tests, expected):
    assert certain(difference, interval, tests) is expected


def test_what_is_added_orders_pairs_by_itself_whatever_stands_beside_it():
    before, _ = views([1, 0, 0, 0.5], [1, 0, 0, 1], [0, 0, 1, 1], label=[1.0, 0.0, 1.0, 0.0])
    assert order_of(before, ["a"])[0] == 0.5  # one pair as the label has it, one the other way
    assert order_of(before, ["b"])[0] == 0.5  # not paid: ties


def test_a_change_that_puts_wrong_ones_first_is_not_said_to_improve_the_order():
    label = np.tile([1.0, 1, 1, 1, 0, 0, 0, 0], 20)
    one_right, one_wrong = [1.0, 0, 0, 0, 0, 0, 0, 0], [0.5, 0.5, 0.5, 0.5, 1.0, 0, 0, 0]
    groups = np.repeat(np.arange(20), 8)
    before, after = views(np.tile(one_right, 20), np.tile(one_wrong, 20), groups, label=label)
    found = {item.figure: item for item in effects(before, after)}
    assert (found["label_auc"].before, found["label_auc"].after) == (10 / 16, 12 / 16)
    assert (found["label_best"].before, found["label_best"].after) == (1.0, 0.0)
    verdict, told = _judged(before, after, Change(), found, 1)
    assert verdict == "unclear" and "has it less often, by -100.0 points" in told
    kept = {**found, "label_best": found["zero_std"]}  # which does not move
    assert _judged(before, after, Change(), kept, 1)[0] == "improves"


def test_a_small_harm_that_is_certain_is_a_harm():
    label, groups = np.tile([1.0, 0.0], 80), np.repeat(np.arange(20), 8)
    before, after = views(label * 0.5, label * 0.5, groups, label=np.where(np.arange(160) == 0, 0.0, label))
    found = {item.figure: item for item in effects(before, after)}
    less = replace(found["label_auc"], before=0.9, after=0.87, difference=-0.03, interval=(-0.035, -0.025))
    verdict, told = _judged(before, after, Change(), {**found, "label_auc": less}, 1)
    assert verdict == "harms" and "it makes the reward worse" in told
