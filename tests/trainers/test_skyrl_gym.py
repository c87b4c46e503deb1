"""SkyRL-gym's own make and environments."""

import pytest
import skyrl_gym
from table import proved

import rewardkit as rk
from rewardkit.targets.calling import loaded
from rewardkit.targets.export import export


def test_an_environment_of_theirs_is_read_as_it_steps():
    rows = [
        {"prompt": "2+2?", "completion": text, "ground_truth": "4"}
        for text in ("#### 4", "#### 5", "four", "#### 4.0")
    ]
    rollouts = rk.load_rollouts(rows)
    reward = rk.load_reward("skyrl_gym.envs.gsm8k.env:GSM8kEnv", rollouts=rollouts)
    theirs = []
    for row in rows:
        env = skyrl_gym.make(
            "gsm8k", env_config={}, extras={"reward_spec": {"ground_truth": row["ground_truth"]}}
        )
        theirs.append(env.step(row["completion"])["reward"])
    assert rk.score(reward, rollouts).rewards.tolist() == theirs and set(theirs) == {0.0, 1.0}
    proved("skyrl-gym", "recognised")
    proved("skyrl-gym", "read")


def test_the_rewards_of_several_turns_add_up_as_in_their_own_environment():
    turns = [("user", "2+2?"), ("assistant", "#### 5"), ("user", "again"), ("assistant", "#### 4")]
    row = {
        "prompt": "2+2?",
        "completion": "#### 4",
        "ground_truth": "4",
        "messages": [{"role": role, "content": text} for role, text in turns],
        "extra_info": {"max_turns": 2},
    }
    rollouts = rk.load_rollouts([row])
    reward = rk.load_reward("skyrl_gym.envs.gsm8k.multi_turn_env:GSM8kMultiTurnEnv", rollouts=rollouts)
    extras = {"reward_spec": {"ground_truth": "4"}, "extra_info": {"max_turns": 2}, "max_turns": 2}
    env = skyrl_gym.make("gsm8k_multi_turn", env_config={}, extras=extras)
    theirs = [env.step(text)["reward"] for role, text in turns if role == "assistant"]
    assert rk.score(reward, rollouts).rewards.tolist() == pytest.approx([sum(theirs)]) and sum(theirs) > 0


def test_the_lines_to_paste_register_the_environment(tmp_path):
    made = export(rk.load_reward("gallery:concise"), to="skyrl-gym", path=tmp_path / "concise.py")
    line, _ = made.usage.splitlines()
    name = line.partition('"')[2].partition('"')[0]
    assert f'entry_point="{made.path.stem}:{made.functions[0]}"' in line
    skyrl_gym.register(id=name, entry_point=getattr(loaded(made.path), made.functions[0]))
    env = skyrl_gym.make(name, env_config={}, extras={"reward_spec": {"ground_truth": "4"}})
    env.init([{"role": "user", "content": "2+2?"}])
    assert env.step("4")["done"] and env.get_metrics() == {}
