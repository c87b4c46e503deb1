"""Atropos' own classes."""

import pytest
from atroposlib.envs.reward_fns import CombinedReward, RewardFunction, registry
from atroposlib.envs.reward_fns.format_reward import FormatReward
from table import arithmetic, proved

import rewardkit as rk
from rewardkit.targets.calling import loaded
from rewardkit.targets.export import export


class Length(RewardFunction):
    """In the words of its documentation: a class with a weight of its own."""

    def __init__(self, limit=80, weight=0.5, **kwargs):
        super().__init__(weight=weight, **kwargs)
        self.limit = limit

    def compute(self, completions, **kwargs):
        texts = [self.get_content(completion) for completion in completions]
        return [1.0 - 3 * (len(text) > self.limit) + (kwargs["solution"] in text) for text in texts]


def test_a_class_of_ones_own_and_one_of_theirs_are_read_as_they_are_called_there():
    rollouts = arithmetic()
    reward = rk.load_reward(f"{__file__}:Length", rollouts=rollouts)
    assert reward.weights == {"Length": 0.5} and "read as Atropos" in reward.origin
    theirs = [
        Length()([[{"role": "assistant", "content": row["completion"]}]], solution=row["ground_truth"])[0]
        for row in rollouts
    ]
    assert rk.score(reward, rollouts).rewards.tolist() == theirs and len(set(theirs)) > 2
    reward = rk.load_reward("atroposlib.envs.reward_fns.format_reward:FormatReward", rollouts=rollouts)
    theirs = FormatReward()([row["completion"] for row in rollouts])
    assert rk.score(reward, rollouts).rewards.tolist() == pytest.approx(theirs)
    proved("atropos", "recognised", "read")


def test_the_file_is_one_of_several_in_their_combined_reward(tmp_path):
    made = export(rk.load_reward("gallery:gsm8k"), to="atropos", path=tmp_path / "gsm8k.py")
    name = next(key for key in registry.list_registered() if key.startswith("gsm8k"))
    assert f'["{name}"]' in made.usage
    loaded(made.path)
    both = CombinedReward(rewards=[name, {"type": name, "weight": 2.0}], normalization="none")
    one = registry.create(name)
    given = {"solution": "4", "ground_truth": "4", "item": {}}
    texts = [[{"role": "assistant", "content": text}] for text in ("#### 4", "5")]
    assert both(texts, **given) == [2 * value for value in one(texts, **given)] != [0.0, 0.0]
