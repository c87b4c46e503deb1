"""The forecast against policies that were really trained, and against all subsets."""

from itertools import combinations

import numpy as np
import pytest
from planted.tables import rewarded

from rewardkit.analysis.forecast import forecast
from rewardkit.analysis.statistics.selection import numbers_drawn

LEVELS = np.array([0.0, 0.25, 0.5, 1.0])


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


@pytest.mark.parametrize("seed", range(2))
def test_best_of_n_is_the_mean_over_all_subsets(seed):
    rewards, groups, figure = ragged(seed)
    found = forecast(rewarded(rewards, groups, figure=figure), columns=["figure"]).best_of
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
    scores = rewarded(rewards.ravel(), np.repeat(np.arange(prompts), completions), **columns)
    view = forecast(scores, columns=list(columns), training=training).tilted
    policy = np.array([view.curves[name].value for name in columns]) * prompts  # (rows, points)
    return view, policy.T.reshape(-1, prompts, completions)


@pytest.mark.parametrize("scaling", ["none", "group"])
def test_a_policy_trained_to_convergence_is_the_tilt(scaling):
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
        paid = (right * rewards).sum(axis=1).mean()
        assert view.curves["reward"].value[at] == pytest.approx(paid, abs=1e-6)
        assert view.sample_size[at] == pytest.approx((1 / (right**2).sum(axis=1)).mean(), abs=1e-5)


@pytest.mark.parametrize(("largest", "shown"), [(0, 0), (8, 8), (64, 64), (5000, 64 + 16)])
def test_very_large_groups_have_fewer_n_and_never_miss_the_largest(largest, shown):
    found = numbers_drawn(largest).tolist()
    assert found[:64] == list(range(1, min(largest, 64) + 1)) and found[-1:] == [largest][: len(found)]
    assert len(found) == shown
