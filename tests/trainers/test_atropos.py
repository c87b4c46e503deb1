"""Atropos' own classes."""

import pytest
from atroposlib.envs.reward_fns import CombinedReward, RewardFunction, registry
from atroposlib.envs.reward_fns.format_reward import FormatReward
from table import arithmetic, read_as

import rewardkit as rk
from rewardkit.targets.export import export
from rewardkit.targets.target import import_file


class Length(RewardFunction):
    """In the words of its documentation: a class with a weight of its own."""

    def __init__(self, limit=80, weight=0.5, **kwargs):
        super().__init__(weight=weight, **kwargs)
        self.limit = limit

    def compute(self, completions, **kwargs):
        texts = [self.get_content(completion) for completion in completions]
        return [
            1.0 - 3 * (len(text) > self.limit) + (kwargs["solution"] in text)
            for text in texts
        ]


def test_a_class_of_ones_own_and_one_of_theirs_are_read_as_they_are_called_there():
    rollouts = arithmetic()
    reward, ours = read_as("Atropos", "atropos", f"{__file__}:Length", rollouts)
    turns = [
        [[{"role": "assistant", "content": row["completion"]}]] for row in rollouts
    ]
    truths = [row["ground_truth"] for row in rollouts]
    theirs = [
        Length()(turn, solution=truth)[0]
        for turn, truth in zip(turns, truths, strict=True)
    ]
    assert reward.weights == {"Length": 0.5} and ours == theirs and len(set(theirs)) > 2
    place = "atroposlib.envs.reward_fns.format_reward:FormatReward"
    theirs = FormatReward()([row["completion"] for row in rollouts])
    assert read_as("Atropos", "atropos", place, rollouts)[1] == pytest.approx(theirs)


def test_the_file_is_one_of_several_in_their_combined_reward(tmp_path):
    made = export(
        rk.load_reward("gallery:gsm8k"), to="atropos", path=tmp_path / "gsm8k.py"
    )
    name = next(key for key in registry.list_registered() if key.startswith("gsm8k"))
    assert f'["{name}"]' in made.usage
    import_file(made.path)
    both = CombinedReward(
        rewards=[name, {"type": name, "weight": 2.0}], normalization="none"
    )
    one = registry.create(name)
    given = {"solution": "4", "ground_truth": "4", "item": {}}
    texts = [[{"role": "assistant", "content": text}] for text in ("#### 4", "5")]
    assert (
        both(texts, **given)
        == [2 * value for value in one(texts, **given)]
        != [0.0, 0.0]
    )
