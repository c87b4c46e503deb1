"""The forecast against policies that were really trained, and against all subsets; each check can fail."""

from itertools import combinations, product

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.analysis.forecast import forecast
from rewardkit.analysis.statistics import selection
from rewardkit.analysis.statistics.selection import best_of, kl_at_most, numbers_drawn, tilted

LEVELS = np.array([0.0, 0.25, 0.5, 1.0])


def scores_of(rewards, groups, **columns):
    """Scores whose reward is given, with further columns; NaN is not judged. One prompt a group."""
    names = ["prompt_id", "completion", "given", *columns]
    texts = ["word " * (row % 7 + 1) for row in range(len(groups))]
    given = [None if np.isnan(value) else float(value) for value in rewards]
    rows = [
        dict(zip(names, row, strict=True))
        for row in zip(map(str, groups), texts, given, *columns.values(), strict=True)
    ]
    part = rk.Component("paid", lambda given: given, range=None)
    return rk.score(rk.Reward("made", components=[part]), rows)


def ragged(seed):
    """Rewards with many ties, some missing, in groups of 1 to 6, and a column that goes with them."""
    generator = np.random.default_rng(seed)
    sizes = np.array([6, 4, 5, 3, 2, 1, 6])
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rewards = generator.choice(LEVELS, size=len(groups), p=[0.4, 0.3, 0.2, 0.1])
    rewards[generator.random(len(groups)) < 0.15] = np.nan
    return rewards, groups, generator.normal(size=len(groups))


def best_by_hand(rewards, n):
    """Probability of each sibling: every subset of n alike likely, its best ones sharing alike."""
    picked = np.zeros(len(rewards))
    subsets = list(combinations(range(len(rewards)), n))
    for subset in subsets:
        best = [row for row in subset if rewards[row] == max(rewards[list(subset)])]
        picked[best] += 1 / len(best) / len(subsets)
    return picked


def check_best_of():
    """Best of n of forecasts of small ragged groups equals the mean over all subsets, to rounding."""
    for seed in range(6):
        rewards, groups, figure = ragged(seed)
        found = forecast(scores_of(rewards, groups, figure=figure.tolist()), columns=["figure"]).best_of
        judged = [np.flatnonzero((groups == group) & ~np.isnan(rewards)) for group in np.unique(groups)]
        largest = max(map(len, judged))
        assert found.points.tolist() == list(range(1, largest + 1))
        for at, n in enumerate(range(1, largest + 1)):
            there = [rows for rows in judged if len(rows) >= n]
            picks = [best_by_hand(rewards[rows], n) for rows in there]
            assert found.groups[at] == len(there)
            for name, values in (("reward", rewards), ("figure", figure)):
                right = np.mean([pick @ values[rows] for pick, rows in zip(picks, there, strict=True)])
                before = np.mean([values[rows].mean() for rows in there])
                assert found.curves[name].value[at] == pytest.approx(right, abs=1e-12)
                assert found.curves[name].change[at] == pytest.approx(right - before, abs=1e-12)


def finite_policies(seed):
    """Rewards (prompts, completions) of prompts of very different spread, one of them without any."""
    generator = np.random.default_rng(seed)
    rewards = generator.random((6, 5)) * np.array([0.3, 1.0, 1.0, 2.0, 3.0, 0.0])[:, None] + 4.0
    rewards[1] = [4.0, 4.0, 4.0, 5.0, 5.0]
    return rewards


def trained(rewards, beta):
    """The policy (prompts, completions) that exact gradient ascent on E[reward] - beta KL ends at.

    A softmax over the completions, from the uniform one, whose divergence is penalised.
    """
    logits = np.zeros_like(rewards)
    for _ in range(100_000):
        policy = np.exp(logits - logits.max(axis=1, keepdims=True))
        policy /= policy.sum(axis=1, keepdims=True)
        gain = rewards - beta * np.log(policy * rewards.shape[1])
        gradient = policy * (gain - (policy * gain).sum(axis=1, keepdims=True))
        if np.abs(gradient).max() < 1e-12 * beta:
            break
        logits += gradient / beta
    return policy


def followed(rewards, training):
    """The tilted view of prompts whose siblings are all their completions, and the policy at each point.

    One column a completion says which it is: its expected value is the policy, over the number of prompts.
    """
    prompts, completions = rewards.shape
    rows = prompts * completions
    columns = {f"is_{row}": np.eye(rows)[row].tolist() for row in range(rows)}
    scores = scores_of(rewards.ravel(), np.repeat(np.arange(prompts), completions), **columns)
    view = forecast(scores, columns=list(columns), training=training).tilted
    policy = np.array([view.curves[name].value for name in columns]) * prompts  # (rows, points)
    return view, policy.T.reshape(-1, prompts, completions)


def check_converged(scaling):
    """A policy trained to convergence at the beta of a point is the policy of that point.

    Of points whose every completion keeps 1 in 1000: gradient ascent crawls where one all but vanishes.
    """
    rewards = finite_policies(3)
    view, policies = followed(rewards, {"scale_rewards": scaling})
    spread = rewards.std(axis=1, ddof=1, keepdims=True)
    seen = rewards / np.where(spread > 0, spread, 1) if scaling == "group" else rewards
    checked = [at for at in range(1, len(view)) if policies[at].min() > 1e-3]
    assert len(checked) >= 8
    for at in checked:
        right = trained(seen, view.points[at])
        assert np.abs(policies[at] - right).max() < 1e-6
        divergence = (right * np.log(right * 5)).sum(axis=1).mean()
        assert view.kl[at] == pytest.approx(divergence, abs=1e-6)
        assert view.curves["reward"].value[at] == pytest.approx(
            (right * rewards).sum(axis=1).mean(), abs=1e-6
        )
        assert view.sample_size[at] == pytest.approx((1 / (right**2).sum(axis=1)).mean(), abs=1e-5)


def expected_gradient(rewards, group_size):
    """Of the logits of a uniform policy under GRPO without scaling: the mean over all groups there can be."""
    completions = len(rewards)
    total = np.zeros(completions)
    for group in product(range(completions), repeat=group_size):
        drawn = np.array(group)
        advantages = rewards[drawn] - rewards[drawn].mean()
        total += advantages @ (np.eye(completions)[drawn] - 1 / completions) / group_size
    return total / completions**group_size


def cosine(a, b):
    return float(a.ravel() @ b.ravel() / np.linalg.norm(a) / np.linalg.norm(b))


def first_order():
    """Cosines of a first GRPO step and a slight tilt: of the log-odds, and of 20 expected figures."""
    rewards = finite_policies(5)
    view, policies = followed(rewards, {"scale_rewards": "none", "beta": 1e4})
    at = view.points.tolist().index(1e4)
    odds = np.log(policies[at] * 5)
    odds -= odds.mean(axis=1, keepdims=True)
    step = np.array([expected_gradient(row, 3) for row in rewards])
    figures = np.random.default_rng(0).normal(size=(20, *rewards.shape))
    change = (figures * (policies[at] - policies[0])).sum(axis=(1, 2))
    trained_change = (figures * (step - step.mean(axis=1, keepdims=True)) / 5).sum(axis=(1, 2))
    return cosine(odds, step), cosine(change, trained_change)


def check_first_order():
    assert min(first_order()) > 1 - 1e-6


def test_best_of_n_equals_the_mean_over_all_subsets():
    check_best_of()


@pytest.mark.parametrize("scaling", ["none", "group"])
def test_a_policy_trained_to_convergence_lands_where_the_tilted_view_says(scaling):
    check_converged(scaling)


def test_the_first_step_of_grpo_from_a_uniform_policy_goes_where_a_slight_tilt_goes():
    check_first_order()


def jittered(way):
    """Best of n without ties: the equals of a group are put in an order, which decides."""

    def wrong(ranked, drawn):
        return best_of(ranked + way * 1e-9 * np.arange(ranked.shape[1]), drawn)

    return wrong


def with_replacement(ranked, drawn):
    size = ranked.shape[1]
    worse = (ranked[:, :, None] > ranked[:, None, :]).sum(axis=2)
    upto = (ranked[:, :, None] >= ranked[:, None, :]).sum(axis=2)
    n = drawn[None, :, None]
    chance = ((upto[:, None] / size) ** n - (worse[:, None] / size) ** n) / (upto - worse)[:, None]
    return np.where(n <= size, chance, 0.0)


def worst_of(ranked, drawn):
    return best_of(-ranked[:, ::-1], drawn)[:, :, ::-1]


def all_groups_at_every_n(ranked, drawn):
    return best_of(ranked, np.minimum(drawn, ranked.shape[1]))


def downhill(ranked, betas, *, scaled):
    return tilted(-ranked[:, ::-1], betas, scaled=scaled)[:, :, ::-1]


def other_scaling(ranked, betas, *, scaled):
    return tilted(ranked, betas, scaled=not scaled)


def population_spread(ranked, betas, *, scaled):
    size = ranked.shape[1]
    return tilted(ranked, betas * np.sqrt((size - 1) / size) if scaled else betas, scaled=scaled)


def twice_beta(ranked, betas, *, scaled):
    return tilted(ranked, 2 * betas, scaled=scaled)


def by_rank(ranked, betas, *, scaled):
    places = np.broadcast_to(np.arange(float(ranked.shape[1])), ranked.shape)
    return tilted(places, betas, scaled=scaled)


@pytest.mark.parametrize(
    ("name", "wrong", "check"),
    [
        pytest.param("best_of", jittered(1), check_best_of, id="ties go to the last"),
        pytest.param("best_of", with_replacement, check_best_of, id="drawn with replacement"),
        pytest.param("best_of", worst_of, check_best_of, id="the worst of n"),
        pytest.param("best_of", all_groups_at_every_n, check_best_of, id="small groups at every n"),
        pytest.param("tilted", downhill, lambda: check_converged("none"), id="away from the reward"),
        pytest.param("tilted", twice_beta, lambda: check_converged("none"), id="half of the tilt"),
        pytest.param("tilted", other_scaling, lambda: check_converged("none"), id="scaled though it is not"),
        pytest.param("tilted", other_scaling, lambda: check_converged("group"), id="not scaled though it is"),
        pytest.param("tilted", population_spread, lambda: check_converged("group"), id="std with ddof 0"),
        pytest.param("tilted", downhill, check_first_order, id="first step away from the reward"),
        pytest.param("tilted", other_scaling, check_first_order, id="first step scaled though it is not"),
        pytest.param("tilted", by_rank, check_first_order, id="first step by rank"),
    ],
)
def test_the_checks_above_fail_for_a_forecast_that_is_wrong(monkeypatch, name, wrong, check):
    check()
    monkeypatch.setattr(selection, name, wrong)
    with pytest.raises(AssertionError):
        check()


def test_best_of_the_siblings_is_an_unbiased_estimate_of_the_best_of_fresh_samples():
    generator = np.random.default_rng(7)
    chances, figure = np.array([0.5, 0.3, 0.15, 0.05]), np.array([2.0, -1.0, 4.0, 1.0])
    drawn = generator.choice(4, size=(20_000, 6), p=chances)
    picks = best_of(np.sort(LEVELS[drawn], axis=1), np.arange(1, 7))
    values = np.take_along_axis(figure[drawn], np.argsort(LEVELS[drawn], axis=1), axis=1)
    found = (picks * values[:, None]).sum(axis=2)  # (groups, n)
    below = chances.cumsum() - chances
    for n in range(1, 7):
        true = ((below + chances) ** n - below**n) @ figure
        spread = found[:, n - 1].std(ddof=1) / np.sqrt(20_000)
        assert abs(found[:, n - 1].mean() - true) < 4 * spread


def test_best_of_n_by_simulated_draws_with_ties_broken_at_random():
    generator = np.random.default_rng(8)
    rewards, n, rounds = np.array([0.0, 0.0, 0.5, 0.5, 0.5, 1.0]), 2, 40_000
    order = generator.random((rounds, 6)).argsort(axis=1)[:, :n]  # a random subset in random order
    winners = order[np.arange(rounds), rewards[order].argmax(axis=1)]  # the first of equals in that order
    share = np.bincount(winners, minlength=6) / rounds
    picks = best_of(rewards[None], np.array([n]))[0, 0]
    assert np.abs(share - picks).max() < 4 * np.sqrt(0.25 / rounds)


def test_ties_only_make_the_divergence_of_best_of_n_smaller_than_the_bound():
    generator = np.random.default_rng(9)
    for _ in range(50):
        chances = generator.dirichlet(np.ones(6) * 0.7)
        rewards = np.sort(generator.choice(LEVELS, size=6))  # the completions of a policy
        level = np.array([chances[rewards == value].sum() for value in rewards])
        below = np.array([chances[rewards < value].sum() for value in rewards])
        for n in (1, 2, 3, 8, 64):
            tilt = ((below + level) ** n - below**n) / level
            assert (chances * tilt * np.log(tilt, where=tilt > 0, out=np.zeros(6))).sum() <= kl_at_most(
                np.array([n])
            )[0] + 1e-12


def test_the_bound_is_nearly_met_where_completions_are_many_and_all_differ():
    many = 100_000
    upto = np.arange(1, many + 1) / many
    for n in (2, 4, 16):
        tilt = many * (upto**n - (upto - 1 / many) ** n)
        divergence = (tilt * np.log(tilt)).mean()
        assert divergence == pytest.approx(kl_at_most(np.array([n]))[0], abs=1e-3)


def test_picks_of_a_group_add_up_to_one_at_every_n_that_it_reaches_and_to_nothing_beyond():
    ranked = np.sort(np.random.default_rng(10).choice(LEVELS, size=(50, 300)), axis=1)
    picks = best_of(ranked, np.array([1, 7, 299, 300, 301]))
    np.testing.assert_allclose(picks.sum(axis=2), np.repeat([[1, 1, 1, 1, 0]], 50, axis=0), atol=1e-9)


def test_very_large_groups_have_fewer_n_and_never_miss_the_largest():
    assert numbers_drawn(8).tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert numbers_drawn(0).tolist() == []
    few = numbers_drawn(5000)
    assert few[:64].tolist() == list(range(1, 65))
    assert few[-1] == 5000
    assert len(few) == 64 + 16


def test_blocks_of_any_size_give_the_same_sums(monkeypatch):
    rewards, groups, figure = ragged(2)
    scores = scores_of(rewards, groups, figure=figure.tolist())
    whole = forecast(scores, columns=["figure"])
    monkeypatch.setattr(selection, "CELLS", 7)
    pieces = forecast(scores, columns=["figure"])
    for one, other in ((whole.best_of, pieces.best_of), (whole.tilted, pieces.tilted)):
        np.testing.assert_allclose(one.curves["figure"].value, other.curves["figure"].value)
        np.testing.assert_allclose(one.curves["figure"].low, other.curves["figure"].low)
        np.testing.assert_allclose(one.sample_size, other.sample_size)
