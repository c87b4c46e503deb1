"""The share of dead groups for another number of generations: against all subsets, and against the truth."""

from itertools import combinations

import numpy as np
import pytest
from scipy import special

from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.dead_share import dead_share


def outcomes(seed, rates, size):
    rewards = (np.random.default_rng(seed).random((len(rates), size)) < rates[:, None]).astype(float)
    return rewards.ravel(), np.repeat(np.arange(len(rates)), size)


def share(rewards, groups, size):
    return dead_share(rewards, groups, Bootstrap(groups), size)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_smaller_size_is_the_mean_over_all_subsets(size):
    generator = np.random.default_rng(1)
    groups = np.repeat(np.arange(5), [6, 5, 4, 2, 1])  # the last two are too small for some
    rewards = generator.choice([0.0, 0.5, 1.0], size=len(groups), p=[0.5, 0.3, 0.2])
    rewards[3] = np.nan
    known = [rewards[(groups == group) & ~np.isnan(rewards)] for group in range(5)]
    subsets = [list(combinations(siblings, size)) for siblings in known if len(siblings) >= size]
    shares = [np.mean([len(set(subset)) == 1 for subset in each]) for each in subsets]
    found = share(rewards, groups, size)
    assert found.method == "exact" and found.sampled == 5 and found.prompts == len(shares)
    assert found.value == pytest.approx(np.mean(shares), abs=1e-12)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1.0, 8.0)])
def test_the_interval_of_a_larger_size_holds_the_truth_about_as_often_as_it_says(a, b):
    size, seeds = 24, 40
    rates = np.random.default_rng(99).beta(a, b, 400_000)
    truth = (rates**size + (1 - rates) ** size).mean()
    held = 0
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        rewards, groups = outcomes(seed, generator.beta(a, b, 150), 8)
        low, high = dead_share(rewards, groups, Bootstrap(groups, seed=seed, resamples=200), size).interval
        held += low <= truth <= high
    assert 0.85 * seeds <= held  # 95 % with a binomial spread of 3 % and the bootstrap's own of few prompts


FORTY, TWENTY_NINE = (outcomes(5, np.full(prompts, 0.3), 4) for prompts in (40, 29))
REFUSED = [
    (*FORTY, 17, "17 siblings are more than 4 times the 4 that were sampled"),
    (*TWENTY_NINE, 8, "29 prompts are too few to fit pass rates; 30 would do"),
    (np.ones(50), np.arange(50), 2, "no prompt has two siblings with a reward"),
]


@pytest.mark.parametrize(("rewards", "groups", "size", "why"), REFUSED, ids=["far", "few prompts", "alone"])
def test_what_cannot_be_foreseen_says_why(rewards, groups, size, why):
    found = share(rewards, groups, size)
    assert np.isnan([found.value, *found.interval]).all() and found.why == why
    assert share(*TWENTY_NINE, 3).method == "exact"  # few prompts are enough for a smaller size


def test_prompts_of_two_kinds_are_refused_and_of_one_kind_as_rarely_as_is_meant():
    """40 % of the prompts at .02 and 60 % at .6: of 16 siblings .29 are tied, a beta says .17."""
    refused = 0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        found = share(*outcomes(seed, draw.beta(0.8, 1.5, 300), 8), 16)
        refused += np.isnan(found.value)
        two = share(*outcomes(seed, np.where(draw.random(400) < 0.4, 0.02, 0.6), 8), 16)
        assert np.isnan([two.value, two.batches]).all() and two.prompts == 400
        assert "are not spread as one beta distribution" in two.why
    assert refused <= 2  # of 1 % each, more than 2 come once in 900 times
    found = share(*outcomes(0, np.full(300, 0.5), 8), 16)  # nearly no group is tied
    assert found.interval[0] <= found.value <= found.interval[1]


def test_the_batches_that_dropping_costs():
    rewards = np.array([0, 0, 0, 1, 1, 1, 1, 0.0])
    found = share(rewards, np.repeat(np.arange(4), 2), 2)
    assert found.value == 0.5  # at the size that was sampled the share itself
    assert found.batches == 2 and found.record()["batches"] == 2
    assert share(np.zeros(4), np.repeat([0, 1], 2), 2).batches == float("inf")


def test_the_fit_has_the_moments_of_the_analysis_of_variance():
    sizes = np.random.default_rng(11).integers(4, 9, 200)
    rates = np.random.default_rng(12).beta(1.3, 2.2, 200)
    groups = np.repeat(np.arange(200), sizes)
    rewards = (np.random.default_rng(13).random(len(groups)) < rates[groups]).astype(float)
    hits = np.bincount(groups, rewards)
    above = (sizes * (hits / sizes - rewards.mean()) ** 2).sum() / 199
    inside = ((rewards - (hits / sizes)[groups]) ** 2).sum() / (len(groups) - 200)
    usual = (len(groups) - (sizes**2).sum() / len(groups)) / 199
    rho = (above - inside) / (above + (usual - 1) * inside)
    a, b = ((1 / rho - 1) * m for m in (rewards.mean(), 1 - rewards.mean()))
    tied = sum(np.exp(special.betaln(x + 20, y) - special.betaln(x, y)) for x, y in ((a, b), (b, a)))
    assert share(rewards, groups, 20).value == pytest.approx(tied, rel=1e-9)
