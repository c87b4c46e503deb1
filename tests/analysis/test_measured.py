"""Figures before and after a change against hand arithmetic and a bootstrap written out."""

from dataclasses import replace

import numpy as np
import pytest
from planted.tables import scores_of

import rewardkit as rk
from rewardkit.analysis.suggest import _judged
from rewardkit.analysis.suggestions.change import Change
from rewardkit.analysis.suggestions.measure import certain, effects, halves, share_in_tied_groups

NAN = np.nan


def views(before, after, groups, training=None, label=None):
    """Views of one component's scores, and of others in their place."""
    columns, given = ({}, None) if label is None else ({"right": label}, "right")
    return [
        rk.diagnose(
            scores_of({"a": values, "b": before}, groups, weights={"b": 0.0}, columns=columns),
            training=training,
            label=given,
        ).views[0]
        for values in (before, after)
    ]


def figures(*given, tests=1, **options):
    before, after = views(*given, **options)
    return {item.figure: item for item in effects(before, after, tests=tests)}


def test_groups_without_a_signal_are_counted_before_and_after():
    groups = [0, 0, 1, 1, 2, 2, 3]  # a group of one has no pair to compare
    effect = figures([0, 0, 1, 1, 0, 1, 1], [0, 1, 1, 1, 0, 1, 1], groups)["zero_std"]
    assert (effect.before, effect.after, effect.prompts) == (2 / 3, 1 / 3, 4)
    assert effect.difference == pytest.approx(-1 / 3)
    alone = figures([0, 0], [0, 1], [0, 0])["zero_std"]
    assert (alone.before, alone.after) == (1.0, 0.0)
    assert np.isnan(alone.interval).all()  # of one prompt
    for view in views([0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], training={"filter_metric": "b"}):
        assert view.dead.tolist() == [True, False]  # dropped by the filter, though one varies afterwards


def test_the_paired_difference_has_the_interval_of_a_bootstrap_over_prompts():
    groups, noise = np.repeat(np.arange(60), 4), np.random.default_rng(3).random(240)
    before, after = views((noise > 0.9).astype(float), (noise > 0.6).astype(float), groups)
    effect = effects(before, after)[0]
    drawn = np.random.default_rng(0).integers(0, 60, (1000, 60))
    values = after.dead[drawn].mean(axis=1) - before.dead[drawn].mean(axis=1)
    assert effect.interval == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=0.01)
    apart = np.hypot(np.ptp(effect.before_interval), np.ptp(effect.after_interval))
    assert np.ptp(effect.interval) < apart


def test_the_order_of_pairs_and_the_best_of_a_group_are_counted_one_by_one_by_the_label():
    draw = np.random.default_rng(4)
    groups, label = np.repeat(np.arange(12), 5), draw.integers(0, 2, 60).astype(float)
    first, second = draw.integers(0, 3, (2, 60)) / 2
    found = figures(first, second, groups, label=label)
    for values, side in ((first, "before"), (second, "after")):
        won = [
            1.0 if values[i] > values[j] else 0.5 if values[i] == values[j] else 0.0
            for i in range(60)
            for j in range(60)
            if groups[i] == groups[j] and label[i] > label[j]
        ]
        of_group = np.split(np.arange(60), 12)
        best = [label[rows][values[rows] == values[rows].max()].mean() for rows in of_group]
        assert getattr(found["label_auc"], side) == pytest.approx(np.mean(won))
        assert getattr(found["label_best"], side) == pytest.approx(np.mean(best))
    forecast = rk.forecast(scores_of({"a": first}, groups, columns={"right": label}), label="right")
    assert forecast.best_of.curves["label"].value[-1] == pytest.approx(found["label_best"].before)


@pytest.mark.parametrize(
    ("before", "after", "share"), [([0, 0, 0, 1], [0, 1, 0, 1], 1.0), ([0, 1, 0, 1], [0, 1, 0, 0], 0.0)]
)
def test_the_advantage_that_is_added_is_split_by_what_was_tied(before, after, share):
    assert share_in_tied_groups(*views(before, after, [0, 0, 1, 1])) == share


def test_halves_share_no_prompt_and_are_the_same_for_one_seed():
    scores = scores_of({"a": np.random.default_rng(0).random(93)}, np.repeat(np.arange(31), 3))
    view = rk.diagnose(scores).views[0]
    first, second = halves(view, scores)
    prompts = [set(scores.rollouts.prompts[half.rows]) for half in (first, second)]
    assert not prompts[0] & prompts[1]
    assert [len(some) for some in prompts] == [15, 16]
    np.testing.assert_array_equal(halves(view, scores)[0].rows, first.rows)


@pytest.mark.parametrize(
    ("difference", "interval", "expected"),
    [
        pytest.param(0.10, (0.05, 0.15), True, id="four standard errors"),
        pytest.param(0.05, (0.01, 0.09), False, id="its interval leaves out 0, by luck in one of 40"),
        pytest.param(-0.10, (-0.15, -0.05), True, id="as certain downwards"),
        pytest.param(0.1, (NAN, NAN), False, id="no interval"),
    ],
)
def test_a_difference_is_certain_that_noise_does_not_have_by_luck(difference, interval, expected):
    assert certain(difference, interval, 1) is expected


def test_a_change_that_puts_wrong_ones_first_or_harms_a_little_for_certain_is_no_improvement():
    label, groups = np.tile([1.0, 1, 1, 1, 0, 0, 0, 0], 20), np.repeat(np.arange(20), 8)
    one_right, one_wrong = [1.0, 0, 0, 0, 0, 0, 0, 0], [0.5, 0.5, 0.5, 0.5, 1.0, 0, 0, 0]
    before, after = views(np.tile(one_right, 20), np.tile(one_wrong, 20), groups, label=label)
    found = {item.figure: item for item in effects(before, after)}
    assert (found["label_auc"].before, found["label_auc"].after) == (10 / 16, 12 / 16)
    assert (found["label_best"].before, found["label_best"].after) == (1.0, 0.0)
    verdict, told = _judged(before, after, Change(), found, 1)
    assert verdict == "unclear" and "has it less often, by -100.0 points" in told
    kept = {**found, "label_best": found["zero_std"]}  # which does not move
    assert _judged(before, after, Change(), kept, 1)[0] == "improves"
    less = replace(found["label_auc"], before=0.9, after=0.87, difference=-0.03, interval=(-0.035, -0.025))
    verdict, told = _judged(before, after, Change(), {**kept, "label_auc": less}, 1)
    assert verdict == "harms" and "it makes the reward worse" in told
