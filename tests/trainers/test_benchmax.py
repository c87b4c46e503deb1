"""benchmax 0.2.5's own groups, with the logged turns in place of a model."""

import judging
import numpy as np
import pytest
import waiting
from benchmax.envs import BaseEnv
from table import arithmetic, read_as

import rewardkit as rk
from rewardkit.targets.benchmax import rewards_of
from rewardkit.targets.export import export
from rewardkit.targets.target import run_async

ROLLOUTS = arithmetic()


class Arithmetic(BaseEnv):
    """An environment as the documentation has it: one hook for a completion and one for its group."""

    async def create_dataset(self, split, base_dir, *, max_examples=None):
        raise NotImplementedError

    async def compute_reward(self, rollout):
        text = rollout.messages[-1]["content"]
        right = float(rollout.example_args["ground_truth"] in text)
        return {
            "right": right,
            "penalty": -0.5 * (rollout.split == "train" and "<answer>" not in text),
        }

    async def compute_group_rewards(self, rollouts):
        lengths = {one.rollout_id: len(one.messages[-1]["content"]) for one in rollouts}
        longest = max(lengths.values())
        return {
            name: {"short": 1 - length / longest} for name, length in lengths.items()
        }


def test_an_environment_of_ones_own_is_scored_as_benchmax_does():
    reward, _ = read_as("benchmax", "benchmax", f"{__file__}:Arithmetic", ROLLOUTS)
    assert reward.weights == {"right": 1.0, "penalty": 1.0, "short": 1.0}
    scores = rk.score(reward, ROLLOUTS)
    theirs = run_async(rewards_of(Arithmetic, list(ROLLOUTS)))
    for name in reward.names:
        np.testing.assert_array_equal(scores.score(name), [one[name] for one in theirs])
        assert len(set(scores.score(name))) > 1


def share(completion):
    return [len(text) / sum(map(len, completion)) for text in completion]


REWARDS = {
    "separate components": (rk.load_reward("gallery:arithmetic"), {"separate": True}),
    "of a group": (
        rk.Reward("share", components=[rk.Component("share", share, group=True)]),
        {},
    ),
    "not judged": (waiting.half(), {"missing": -0.25}),
}


def equal(reward, path, **options):
    proof = export(
        reward, to="benchmax", path=path / "out.py", verify=ROLLOUTS, **options
    ).proof
    return proof.equal and proof.caller.startswith(
        "Environment.run_group of benchmax 0.2.5"
    )


@pytest.mark.parametrize("kind", REWARDS)
def test_its_groups_give_what_rewardkit_gives(kind, tmp_path):
    reward, options = REWARDS[kind]
    assert equal(reward, tmp_path, **options)


def test_a_judge_and_siblings_are_awaited_in_the_hook_of_the_group(
    monkeypatch, tmp_path
):
    with judging.at_work(monkeypatch) as (judged, server):
        assert equal(judged, tmp_path) and server.asked
        assert len(set(rk.score(judged, ROLLOUTS).rewards)) > 8
