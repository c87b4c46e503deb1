"""Outliers, wide and narrow groups, two kinds of prompts: their numbers by hand, and controls."""

from statistics import NormalDist

import numpy as np
import pytest
from score_tables import scores_of

import rewardkit as rk
from rewardkit.analysis.findings.spread import least_spread

PROMPTS, SIBLINGS = 100, 8
GROUPS = np.repeat(np.arange(PROMPTS), SIBLINGS)
UNSCALED = {"scale_rewards": "none"}


def normal(seed=0):
    return np.random.default_rng(seed).normal(100, 10, len(GROUPS))


def told(code, values, groups=GROUPS, **options):
    weights = options.pop("weights", None)
    return rk.diagnose(scores_of({"points": values}, groups, weights=weights), **options)[code]


def test_outliers_are_counted_with_what_they_make_of_the_differences_of_siblings():
    words = normal()
    words[[3, 90, 91]] = [400, 500, -300]
    (found,) = told("outliers", words)
    rest = np.where(np.isin(np.arange(800), [3, 90, 91]), np.nan, words).reshape(PROMPTS, SIBLINGS)
    whole = (8 * words.reshape(PROMPTS, SIBLINGS).var(axis=1)).sum()
    without = (np.sum(~np.isnan(rest), axis=1) * np.nanvar(rest, axis=1)).sum()
    assert found.evidence["value"] == pytest.approx(1 - without / whole)
    assert (found.evidence["rows"], found.evidence["extreme"]) == (3, 500)
    assert found.rollout_ids == (4, 91, 92) or set(found.rollout_ids) == {3, 90, 91}
    assert found.severity == "warn" and "3 scores (0.4 %) far from the rest" in found.sentence
    assert found.suggestions == ("standardise_components",)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        pytest.param(np.random.default_rng(1).lognormal(0, 0.5, 800), "a long tail", id="lognormal"),
        pytest.param(np.random.default_rng(1).exponential(size=800), "a long tail", id="exponential"),
        pytest.param(np.random.default_rng(1).laplace(size=800), "two tails", id="Laplace"),
        pytest.param(np.random.default_rng(1).poisson(1, 800) * 1.0, "counts", id="Poisson"),
        pytest.param(np.where(np.arange(800) % 4 == 0, 1000, normal()), "a quarter of all", id="28 of 100"),
        pytest.param(np.where(np.arange(800) == 5, 190, normal()), "a tenth is not held", id="one of nine"),
        pytest.param(np.where(GROUPS < 4, 1000 * normal(), normal()), "whole groups", id="wide groups"),
    ],
)
def test_no_outliers_are_told_of_where_there_is(values, why):
    assert told("outliers", values) == [], why


def test_outliers_of_what_is_not_paid_are_information_and_a_declared_range_has_none():
    words = np.where(np.arange(800) == 5, 5000, normal())
    parts = {"right": (normal(1) > 100).astype(float), "words": words}
    (found,) = rk.diagnose(scores_of(parts, GROUPS, weights={"words": 0.0}))["outliers"]
    assert (found.severity, found.suggestions) == ("info", ())
    few = told("outliers", words[:40], GROUPS[:40])
    assert [item.severity for item in few] == ["info"] and "5 groups are too few" in few[0].sentence
    declared = (words - words.min()) / np.ptp(words)
    assert told("outliers", declared) == []


# wide groups


def test_the_widest_tenth_is_a_tenth_where_all_groups_are_as_wide():
    same = np.tile([0.0, 3.0], 400)
    assert told("high_variance", same, training=UNSCALED) == []
    assert told("high_variance", same, training=UNSCALED, thresholds={"top_decile": 0.09})[0].evidence[
        "value"
    ] == pytest.approx(0.1)


def test_the_share_of_the_widest_is_by_hand_and_its_interval_that_of_drawing_it_anew():
    generator = np.random.default_rng(2)
    wide = generator.lognormal(0, 1.3, PROMPTS)[GROUPS] * generator.beta(3, 2, 800)
    (found,) = told("high_variance", wide, training=UNSCALED, thresholds={"top_decile": 0.3})
    mass = wide.reshape(PROMPTS, SIBLINGS).std(axis=1, ddof=1)
    assert found.evidence["value"] == pytest.approx(np.sort(mass)[-10:].sum() / mass.sum())
    drawn = [np.sort(generator.choice(mass, PROMPTS)) for _ in range(2000)]
    low, high = np.quantile([draw[-10:].sum() / draw.sum() for draw in drawn], [0.025, 0.975])
    assert found.evidence["interval"] == pytest.approx((low, high), abs=0.06)


# tiny differences


@pytest.mark.parametrize("count", [2, 3, 5, 8, 16])
def test_one_normal_sample_in_twenty_varies_less_than_the_least_spread(count):
    samples = np.random.default_rng(count).standard_normal((40_000, count))
    share = (samples.std(axis=1, ddof=1) < least_spread(np.array([float(count)]))[0]).mean()
    assert share == pytest.approx(0.05, abs=0.006)


def test_the_least_spread_of_two_is_that_of_half_a_normal_difference():
    expected = NormalDist().inv_cdf(0.525)
    assert least_spread(np.array([2.0, 1.0])) == pytest.approx([expected, np.nan], nan_ok=True)


@pytest.mark.parametrize("siblings", [2, 3, 4])
def test_close_grades_of_a_few_siblings_are_no_noise_and_equal_ones_up_to_a_digit_are(siblings):
    groups = np.repeat(np.arange(200), siblings)
    grade = np.random.default_rng(1).beta(2, 2, len(groups))
    assert told("amplified_noise", grade, groups) == []
    tiny = np.where(groups < 40, 0.5 + 1e-6 * grade, grade)
    (found,) = told("amplified_noise", tiny, groups)
    assert found.evidence["value"] == pytest.approx(0.2, abs=0.02)
    assert told("amplified_noise", tiny, groups, training=UNSCALED) == []


# two kinds of prompts


def kinds(apart, *, prompts=PROMPTS, seed=0):
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(prompts), SIBLINGS)
    middle = 0.5 + apart * (np.arange(prompts) % 4 == 0) - apart / 2 + generator.normal(0, 0.05, prompts)
    return np.clip(middle[groups] + generator.normal(0, 0.1, len(groups)), 0, 1), groups


def test_two_kinds_of_prompts_are_told_with_what_they_earn():
    values, groups = kinds(0.5)
    (found,) = told("bimodal", values, groups)
    means = values.reshape(PROMPTS, SIBLINGS).mean(axis=1)
    low, high = means[np.arange(100) % 4 != 0].mean(), means[::4].mean()
    assert found.severity == "info" and found.evidence["share"] == pytest.approx(0.75)
    assert (found.evidence["low"], found.evidence["high"]) == pytest.approx((low, high))
    assert "75 % earn 0.25" in found.sentence
    assert set(np.array(found.rollout_ids) // SIBLINGS % 4) <= {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        pytest.param(*kinds(0.0), id="one kind"),
        pytest.param(*kinds(0.5, prompts=49), id="49 prompts"),
        pytest.param((kinds(0.9)[0] > 0.5).astype(float), GROUPS, id="nine means of eight 0 and 1"),
        pytest.param(kinds(0.5)[0], np.arange(800), id="no siblings"),
    ],
)
def test_no_two_kinds_are_told_of(values, groups):
    assert told("bimodal", values, groups) == []


def test_the_steps_of_a_task_beside_a_small_extra_are_no_kinds_of_prompts():
    for seed in range(20):
        generator = np.random.default_rng(seed)
        rates = generator.beta(9, 11, PROMPTS)[GROUPS]
        parts = {"correct": (generator.random(800) < rates).astype(float), "tidy": generator.random(800)}
        assert rk.diagnose(scores_of(parts, GROUPS, weights={"tidy": 0.05}))["bimodal"] == []
