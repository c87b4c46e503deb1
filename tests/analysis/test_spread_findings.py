"""Outliers, wide and narrow groups, two kinds of prompts: their numbers by hand, and controls."""

from statistics import NormalDist

import numpy as np
import pytest
from planted.tables import scores_of

import rewardkit as rk
from rewardkit.analysis.findings.spread import least_spread

PROMPTS, SIBLINGS = 100, 8
GROUPS = np.repeat(np.arange(PROMPTS), SIBLINGS)
AT, TABLE = np.arange(800), (PROMPTS, SIBLINGS)
UNSCALED = {"scale_rewards": "none"}


def normal(seed=0):
    return np.random.default_rng(seed).normal(100, 10, 800)


def told(code, values, groups=GROUPS, **options):
    return rk.diagnose(scores_of({"points": values}, groups), **options)[code]


def test_outliers_are_counted_with_what_they_make_of_the_differences_of_siblings():
    words = normal()
    words[[3, 90, 91]] = [400, 500, -300]
    (found,) = told("outliers", words)
    rest = np.where(np.isin(AT, [3, 90, 91]), np.nan, words).reshape(TABLE)
    without = (np.sum(~np.isnan(rest), axis=1) * np.nanvar(rest, axis=1)).sum()
    assert found.evidence["value"] == pytest.approx(1 - without / (8 * words.reshape(TABLE).var(1)).sum())
    assert (found.evidence["rows"], found.evidence["extreme"]) == (3, 500)
    assert set(found.rollout_ids) == {4, 91, 92}
    assert found.severity == "warn" and "3 scores (0.4 %) far from the rest" in found.sentence
    assert found.suggestions == ("standardise_components",)
    few = told("outliers", np.where(AT == 5, 5000, normal())[:40], GROUPS[:40])
    assert [item.severity for item in few] == ["info"] and "5 groups are too few" in few[0].sentence


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.random.default_rng(1).exponential(size=800), id="a long tail"),
        pytest.param(np.where(AT % 4 == 0, 1000, normal()), id="a quarter of all"),
        pytest.param(np.where(AT == 5, 190, normal()), id="a tenth is not held"),
        pytest.param(np.where(GROUPS < 4, 1000 * normal(), normal()), id="whole groups"),
        pytest.param(np.where(AT == 5, 1.0, normal() / 5000), id="within a declared range"),
    ],
)
def test_no_outliers_are_told_of_where_there_are_none(values):
    assert told("outliers", values) == []


def test_the_share_of_the_widest_groups_is_by_hand_and_its_interval_that_of_drawing_it_anew():
    same, limit = np.tile([0.0, 3.0], 400), {"top_decile": 0.09}
    assert told("high_variance", same, training=UNSCALED) == []  # a tenth where all groups are as wide
    (tenth,) = told("high_variance", same, training=UNSCALED, thresholds=limit)
    assert tenth.evidence["value"] == pytest.approx(0.1)
    generator = np.random.default_rng(2)
    wide = generator.lognormal(0, 1.3, PROMPTS)[GROUPS] * generator.beta(3, 2, 800)
    (found,) = told("high_variance", wide, training=UNSCALED, thresholds={"top_decile": 0.3})
    mass = wide.reshape(TABLE).std(axis=1, ddof=1)
    assert found.evidence["value"] == pytest.approx(np.sort(mass)[-10:].sum() / mass.sum())
    drawn = np.sort(generator.choice(mass, (2000, PROMPTS)), axis=1)
    ends = np.quantile(drawn[:, -10:].sum(axis=1) / drawn.sum(axis=1), [0.025, 0.975])
    assert found.evidence["interval"] == pytest.approx(tuple(ends), abs=0.06)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_one_normal_sample_in_twenty_varies_less_than_the_least_spread(count):
    samples = np.random.default_rng(count).standard_normal((40_000, count))
    share = (samples.std(axis=1, ddof=1) < least_spread(np.array([float(count)]))[0]).mean()
    assert share == pytest.approx(0.05, abs=0.006)
    expected = NormalDist().inv_cdf(0.525)  # of two that of half a normal difference
    assert least_spread(np.array([2.0, 1.0])) == pytest.approx([expected, np.nan], nan_ok=True)


def kinds(apart, *, prompts=PROMPTS):
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(prompts), SIBLINGS)
    middle = 0.5 + apart * (np.arange(prompts) % 4 == 0) - apart / 2 + generator.normal(0, 0.05, prompts)
    return np.clip(middle[groups] + generator.normal(0, 0.1, len(groups)), 0, 1), groups


def test_two_kinds_of_prompts_are_told_with_what_they_earn():
    values, groups = kinds(0.5)
    (found,) = told("bimodal", values, groups)
    means = values.reshape(TABLE).mean(axis=1)
    low, high = means[np.arange(100) % 4 != 0].mean(), means[::4].mean()
    assert found.severity == "info" and found.evidence["share"] == pytest.approx(0.75)
    assert (found.evidence["low"], found.evidence["high"]) == pytest.approx((low, high))
    assert "75 % earn 0.25" in found.sentence
