"""Advantages against the lines of TRL and the functions of verl that compute them."""

import inspect
import textwrap
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from trl import GRPOTrainer
from trl.trainer.utils import nanstd
from verl.trainer.ppo import core_algos

from rewardkit.analysis.statistics import advantages, group_stats

SIZE = 6
BEGIN, END = "unscorable_mask = ", "# Slice to keep only the local part"
WEIGHTS, EACH = np.array([1.0, 2.0, -0.5]), {"aggregation": "normalize_then_sum"}


def trls(
    scores, *, scale="group", aggregation="sum_then_normalize", dtype=torch.float64
):
    """What the installed TRL makes of (rows, functions): its own lines, cut out of its trainer and run."""
    method = inspect.getsource(GRPOTrainer._generate_and_score_completions)
    lines = textwrap.dedent(" " * 8 + method[method.index(BEGIN) : method.index(END)])
    trainer = SimpleNamespace(
        multi_objective_aggregation=aggregation,
        scale_rewards=scale,
        reward_weights=torch.tensor(WEIGHTS, dtype=dtype),
        reward_funcs=[None] * len(WEIGHTS),
    )
    names = {
        "torch": torch,
        "nanstd": nanstd,
        "device": "cpu",
        "num_generations": SIZE,
        "self": trainer,
    }
    names["rewards_per_func"] = torch.tensor(scores, dtype=dtype)
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
    graded, binary = (
        generator.normal(size=count),
        (generator.random(count) < 0.3).astype(float),
    )
    scores = np.column_stack(
        [graded, binary, generator.choice([0.0, 0.5], size=count, p=[0.9, 0.1])]
    )
    scores[generator.random(scores.shape) < missing] = np.nan
    scores[:SIZE] = 0.25
    scores[SIZE : SIZE + 3] = np.nan  # rows that nothing judges
    return scores, summed(scores), np.repeat(np.arange(40), SIZE)


def summed(scores):
    total = np.where(np.isnan(scores), 0.0, scores) @ WEIGHTS
    return np.where(np.isnan(scores).all(axis=1), np.nan, total)


OURS = {  # name: what is given to TRL, and ours
    "group": ({}, lambda rewards, scores, groups: advantages.grpo(rewards, groups)),
    "none": (
        {"scale": "none"},
        lambda rewards, scores, groups: advantages.dr_grpo(rewards, groups),
    ),
    "batch": (
        {"scale": "batch"},
        lambda rewards, scores, groups: advantages.batch(rewards, groups),
    ),
    "gdpo": (
        EACH,
        lambda rewards, scores, groups: advantages.gdpo(scores, WEIGHTS, groups),
    ),
}
DOUBLE, SINGLE = torch.float64, torch.float32


@pytest.mark.parametrize(("options", "estimate"), OURS.values(), ids=OURS)
@pytest.mark.parametrize(
    ("seed", "dtype", "tolerance"),
    [(0, DOUBLE, 1e-9), (1, DOUBLE, 1e-9), (7, SINGLE, 1e-5)],
)
def test_advantages_are_trls_to_nine_digits_or_to_its_own_rounding(
    options, estimate, seed, dtype, tolerance
):
    scores, rewards, groups = table(seed)
    theirs, ours = (
        trls(scores, dtype=dtype, **options),
        estimate(rewards, scores, groups),
    )
    assert (np.isnan(ours) == np.isnan(rewards)).all() and np.abs(theirs).max() > 0.1
    wide = (
        np.full(len(ours), dtype == torch.float64)
        | (group_stats(rewards, groups).std > 1e-2)[groups]
    )
    assert wide.sum() > 200
    np.testing.assert_allclose(
        np.nan_to_num(ours)[wide], theirs[wide], rtol=tolerance, atol=tolerance
    )


SMALL, MEANS = {"eps": 1e-6}, {"norm_adv_by_std_in_grpo": False}
OF_VERL = {  # what is given to verl, ours, and how far: the last two differ by the small number in whitening
    "grpo": ({}, partial(advantages.grpo, **SMALL), 1e-9),
    "grpo, means": (MEANS, advantages.dr_grpo, 1e-9),
    "rloo": ({}, advantages.rloo, 1e-9),
    "reinforce_plus_plus_baseline": (
        {},
        partial(advantages.reinforce_pp, **SMALL),
        3e-6,
    ),
    "gdpo": (
        {},
        lambda rewards, groups: advantages.gdpo(
            rewards[:, None], np.ones(1), groups, **SMALL
        ),
        3e-6,
    ),
}


@pytest.mark.parametrize("name", OF_VERL)
def test_advantages_are_verls(name):
    options, ours, rtol = OF_VERL[name]
    function = getattr(
        core_algos, f"compute_{name.partition(',')[0]}_outcome_advantage"
    )
    scores, _, groups = table(3, missing=0.0)
    scores[SIZE : SIZE + 3] = 0.5
    rewards = summed(scores)
    given = torch.tensor(rewards)[:, None]  # one token each
    theirs, _ = function(
        given.clone(), torch.ones_like(given), np.array(groups), **options
    )
    np.testing.assert_allclose(
        ours(rewards, groups), theirs[:, 0].numpy(), rtol=rtol, atol=1e-9
    )
