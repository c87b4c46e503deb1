"""Tunix and agent-tunix: batch functions, functions of one response, the registry; the file by its rules."""

import inspect
from functools import partial

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets import tunix
from rewardkit.targets.export import export
from rewardkit.targets.target import import_file
from rewardkit.targets.tunix import get_reward_function, register_reward_function

HELPERS = '''
import re
from functools import partial

LIMIT = 3
pattern = re.compile(r"\\d+")
lower = str.lower
twice = lambda number: 2 * number

class Reader:
    def read(self, text): return last(text)

def last(text): return (pattern.findall(lower(text)) or [None])[-1]
def _hidden(text): return f"{last(text)}"

def reward(response, answer="", **kwargs):
    """Twice one where it is right."""
    assert LIMIT == 3 and Reader().read(response) == last(response)
    return float(twice(_hidden(response) == answer))
'''


def test_the_only_public_function_of_a_file_is_the_reward(load, rollouts, tmp_path):
    reward = load(HELPERS, "reward")
    made = export(
        reward, to="tunix", path=tmp_path / "out.py", columns={"ground_truth": "label"}
    )
    (tmp_path / "mine.py").unlink()
    module = import_file(made.path)
    assert [one.__name__ for one in tunix.public_functions(module)] == ["reward"]
    everything = inspect.getmembers(
        module, inspect.isfunction
    )  # whatever its module, too
    assert [name for name, _ in everything if not name.startswith("_")] == ["reward"]
    assert [one.__name__ for one in module.get_reward_functions()] == ["reward"]
    columns = rollouts.columns()
    given = module.reward(
        columns["prompt"], columns["completion"], label=columns["ground_truth"]
    )
    assert given == rk.score(reward, rollouts).rewards.tolist() == [2.0, 0.0, 0.0, 2.0]


def test_a_column_of_one_number_is_left_out(rollouts):
    reward = rk.Reward("r", components=[rk.Component("one", lambda completion: 1.0)])
    columns = rollouts.columns()
    texts = columns["completion"]
    rewards = tunix.Rewards(reward)(columns["prompt"], texts, seed=np.array(5))
    assert rewards == rk.score(reward, rollouts).rewards.tolist()


def test_a_registered_function_is_had_by_name_and_any_other_by_its_module(
    tmp_path, monkeypatch
):
    assert register_reward_function("math", max) is max is get_reward_function("math")
    register_reward_function("math", len)
    assert get_reward_function("math") is len
    (tmp_path / "custom_rewards.py").write_text(
        "def my_reward_v1(response): return 1.0\nnumber = 3\n"
    )
    (tmp_path / "broken_rewards.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert get_reward_function("custom_rewards.my_reward_v1")("x") == 1.0
    for call, said in {
        partial(
            get_reward_function, "maths"
        ): "no .* registered as 'maths'.*did you mean 'math'",
        partial(
            get_reward_function, "custom_rewards.my_reward_v2"
        ): "has no .*; did you mean 'my_reward_v1'",
        partial(
            get_reward_function, "custom_rewards.number"
        ): "has no function 'number'",
        partial(
            get_reward_function, "no_such_module.f"
        ): "'no_such_module' failed with ModuleNotFoundError",
        partial(
            get_reward_function, "broken_rewards.f"
        ): "'broken_rewards' failed with ZeroDivisionError",
        partial(register_reward_function, "", len): "is not a name",
        partial(register_reward_function, "x", 3): "cannot be called",
    }.items():
        with pytest.raises(rk.RewardError, match=said):
            call()
