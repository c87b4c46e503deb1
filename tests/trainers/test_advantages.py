"""Advantages against the lines of TRL and the functions of verl that compute them."""

import inspect
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from trl import GRPOTrainer
from trl.trainer.utils import nanstd
from verl.trainer.ppo import core_algos

from rewardkit.analysis.statistics import advantages
from rewardkit.analysis.statistics.groups import group_stats

SIZE = 6
BEGIN, END = "unscorable_mask = ", "# Slice to keep only the local part"


def trls(scores, weights, *, scale="group", aggregation="sum_then_normalize", dtype=torch.float64):
    """What the installed TRL makes of (rows, functions): its own lines, cut out of its trainer and run."""
    method = inspect.getsource(GRPOTrainer._generate_and_score_completions)
    lines = textwrap.dedent(" " * 8 + method[method.index(BEGIN) : method.index(END)])
    names = {
        "torch": torch,
        "nanstd": nanstd,
        "device": "cpu",
        "num_generations": SIZE,
        "rewards_per_func": torch.tensor(scores, dtype=dtype),
        "self": SimpleNamespace(
            multi_objective_aggregation=aggregation,
            scale_rewards=scale,
            reward_weights=torch.tensor(weights, dtype=dtype),
            reward_funcs=[None] * len(weights),
        ),
    }
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)  # of count / (count - 1), too
    try:
        exec(lines, names)
    finally:
        torch.set_default_dtype(before)
    return names["advantages"].numpy()


def table(seed, *, missing=0.1):
    """Scores of three components in 40 groups: graded, all or nothing, rare; some missing, some tied."""
    generator = np.random.default_rng(seed)
    count = 40 * SIZE
    scores = np.column_stack(
        [
            generator.normal(size=count),
            (generator.random(count) < 0.3).astype(float),
            generator.choice([0.0, 0.5], size=count, p=[0.9, 0.1]),
        ]
    )
    scores[generator.random(scores.shape) < missing] = np.nan
    scores[:SIZE] = 0.25
    scores[SIZE : SIZE + 3] = np.nan  # rows that nothing judges
    return scores, np.repeat(np.arange(40), SIZE)


WEIGHTS = np.array([1.0, 2.0, -0.5])


def summed(scores):
    total = np.where(np.isnan(scores), 0.0, scores) @ WEIGHTS
    return np.where(np.isnan(scores).all(axis=1), np.nan, total)


OURS = {
    "group": lambda rewards, scores, groups: advantages.grpo(rewards, groups),
    "none": lambda rewards, scores, groups: advantages.dr_grpo(rewards, groups),
    "batch": lambda rewards, scores, groups: advantages.batch(rewards, groups),
    "gdpo": lambda rewards, scores, groups: advantages.gdpo(scores, WEIGHTS, groups),
}


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("seed", range(2))
def test_advantages_are_trls_to_nine_digits(name, seed):
    scores, groups = table(seed)
    rewards = summed(scores)
    options = {"aggregation": "normalize_then_sum"} if name == "gdpo" else {"scale": name}
    theirs = trls(scores, WEIGHTS, **options)
    ours = OURS[name](rewards, scores, groups)
    assert (np.isnan(ours) == np.isnan(rewards)).all() and np.abs(theirs).max() > 0.1
    np.testing.assert_allclose(np.nan_to_num(ours), theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", OURS)
def test_in_the_trainers_own_precision_they_differ_by_its_rounding(name):
    scores, groups = table(7)
    rewards = summed(scores)
    options = {"aggregation": "normalize_then_sum"} if name == "gdpo" else {"scale": name}
    theirs = trls(scores, WEIGHTS, dtype=torch.float32, **options)
    ours = np.nan_to_num(OURS[name](rewards, scores, groups))
    wide = (group_stats(rewards, groups).std > 1e-2)[groups] & ~np.isnan(rewards)
    assert wide.sum() > 200
    np.testing.assert_allclose(ours[wide], theirs[wide], rtol=1e-5, atol=1e-5)


def verls(function, rewards, groups, **options):
    """What a function of verl makes of rewards, one token each."""
    given = torch.tensor(rewards)[:, None]
    found, _ = function(given.clone(), torch.ones_like(given), np.array(groups), **options)
    return found[:, 0].numpy()


def same(ours, theirs, rtol=1e-9):
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-9)


def test_advantages_are_verls_but_where_the_small_number_stands_in_what_it_whitens():
    scores, groups = table(3, missing=0.0)
    scores[SIZE : SIZE + 3] = 0.5
    rewards = summed(scores)
    grpo = core_algos.compute_grpo_outcome_advantage
    same(advantages.grpo(rewards, groups, eps=1e-6), verls(grpo, rewards, groups))
    plain = verls(grpo, rewards, groups, norm_adv_by_std_in_grpo=False)
    same(advantages.dr_grpo(rewards, groups), plain)
    same(advantages.rloo(rewards, groups), verls(core_algos.compute_rloo_outcome_advantage, rewards, groups))
    whitened = verls(core_algos.compute_reinforce_plus_plus_baseline_outcome_advantage, rewards, groups)
    same(advantages.reinforce_pp(rewards, groups, eps=1e-6), whitened, rtol=3e-6)
    one = verls(core_algos.compute_gdpo_outcome_advantage, rewards, groups)
    same(advantages.gdpo(rewards[:, None], np.ones(1), groups, eps=1e-6), one, rtol=3e-6)
