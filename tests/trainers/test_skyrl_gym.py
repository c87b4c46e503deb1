"""SkyRL-gym's own make and environments."""

import pytest
import skyrl_gym
import waiting
from skyrl_gym.metrics import aggregate_for_environment
from table import read_as, rows

import rewardkit as rk
from rewardkit.targets.export import export
from rewardkit.targets.target import import_file

TRUTH = {"reward_spec": {"ground_truth": "4"}}


def test_an_environment_of_theirs_is_read_as_it_steps():
    texts = ("#### 4", "#### 5", "four", "#### 4.0")
    _, ours = read_as(
        "SkyRL", "skyrl-gym", "skyrl_gym.envs.gsm8k.env:GSM8kEnv", rows(*texts)
    )
    environments = [skyrl_gym.make("gsm8k", env_config={}, extras=TRUTH) for _ in texts]
    theirs = [
        one.step(text)["reward"] for one, text in zip(environments, texts, strict=True)
    ]
    assert ours == theirs and set(theirs) == {0.0, 1.0}


def test_the_rewards_of_several_turns_add_up_as_in_their_own_environment():
    turns = [
        ("user", "2+2?"),
        ("assistant", "#### 5"),
        ("user", "again"),
        ("assistant", "#### 4"),
    ]
    messages = [{"role": role, "content": text} for role, text in turns]
    place = "skyrl_gym.envs.gsm8k.multi_turn_env:GSM8kMultiTurnEnv"
    rollouts = rows("#### 4", messages=messages, extra_info={"max_turns": 2})
    extras = {**TRUTH, "extra_info": {"max_turns": 2}, "max_turns": 2}
    env = skyrl_gym.make("gsm8k_multi_turn", env_config={}, extras=extras)
    theirs = [env.step(text)["reward"] for role, text in turns if role == "assistant"]
    _, ours = read_as("SkyRL", "skyrl-gym", place, rollouts)
    assert ours == pytest.approx([sum(theirs)]) and sum(theirs) > 0


def test_the_lines_to_paste_register_the_environment(tmp_path):
    made = export(
        rk.load_reward("gallery:concise"), to="skyrl-gym", path=tmp_path / "concise.py"
    )
    line, _ = made.usage.splitlines()
    assert f'entry_point="{made.path.stem}:{made.functions[0]}"' in line
    name = line.split('"')[1]
    skyrl_gym.register(
        id=name, entry_point=getattr(import_file(made.path), made.functions[0])
    )
    env = skyrl_gym.make(name, env_config={}, extras=TRUTH)
    env.init([{"role": "user", "content": "2+2?"}])
    assert env.step("4")["done"] and env.get_metrics()["judged/correct"] == 1.0


def test_its_mean_of_a_component_leaves_out_episodes_that_are_not_judged(tmp_path):
    reward = rk.load_reward(f"{waiting.__file__}:half_judged")
    made = export(reward, to="skyrl-gym", path=tmp_path / "half.py")
    skyrl_gym.register(
        id="half", entry_point=getattr(import_file(made.path), made.functions[0])
    )
    episodes = []
    for text in ("a" * 32, ""):
        env = skyrl_gym.make("half", env_config={}, extras=TRUTH)
        env.init([{"role": "user", "content": "2+2?"}])
        env.step(text)
        episodes.append(env.get_metrics())
    assert aggregate_for_environment("half", episodes) == {
        "judged": 0.0,
        "slow": 0.5,
        "judged/slow": 0.5,
        "judged/none": 0.0,
    }
