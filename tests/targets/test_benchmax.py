"""benchmax: the classes that are written for two of its three APIs."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

import rewardkit as rk
from rewardkit.targets import benchmax
from rewardkit.targets.export import export
from rewardkit.targets.target import import_file
from rewardkit.targets.target import run_async as run
from rewardkit.targets.turns import transcript


def rollout(name, row):
    task = benchmax.task_of(row)
    return SimpleNamespace(rollout_id=name, messages=transcript(row), example_args=task)


def of_group(completion):
    return [len(text) / sum(map(len, completion)) for text in completion]


def test_one_file_serves_both_apis(rollouts, tmp_path):
    reward = rk.load_reward("gallery:arithmetic")
    module = import_file(export(reward, to="benchmax", path=tmp_path / "out.py").path)
    for row, expected in zip(
        rollouts, rk.score(reward, rollouts).rewards.tolist(), strict=True
    ):
        new = run(module.RolloutReward().compute_reward(rollout("r", row)))
        arguments = "r", transcript(row), benchmax.task_of(row)
        assert (
            new
            == run(module.MessagesReward().compute_reward(*arguments, extra=1))
            == {"reward": expected}
        )
        assert type(new["reward"]) is float


def test_components_are_keys_where_separate_and_their_weights_are_told(
    rollouts, tmp_path
):
    reward = rk.load_reward("gallery:arithmetic")
    made = export(reward, to="benchmax", path=tmp_path / "out.py", separate=True)
    assert (
        "training configuration: correct: 1, format: 0.2, concise: 0.1, repetition: -0.2"
        in made.usage
    )
    given = run(
        import_file(made.path).RolloutReward().compute_reward(rollout("r", rollouts[0]))
    )
    assert given == reward(**rollouts[0]).scores and set(given) == set(reward.names)


def test_what_needs_siblings_goes_to_the_groups_hook_of_both(rollouts, tmp_path):
    reward = rk.Reward("g", components=[rk.Component("share", of_group, group=True)])
    module = import_file(export(reward, to="benchmax", path=tmp_path / "out.py").path)
    rows = list(rollouts)[:2]
    assert not hasattr(module.RolloutReward, "compute_reward")
    group = [rollout(str(at), row) for at, row in enumerate(rows)]
    new = run(module.RolloutReward().compute_group_rewards(group))
    assert new == {"0": {"reward": 0.5}, "1": {"reward": 0.5}}
    environment, turns = module.MessagesReward(), [transcript(row) for row in rows]
    tasks = [benchmax.task_of(row) for row in rows]
    assert run(environment.compute_group_reward(["0", "1"], turns, tasks)) == list(
        new.values()
    )
    assert run(environment.compute_reward("0", turns[0], tasks[0])) == {}


@pytest.mark.parametrize("separate", [False, True])
def test_every_value_is_a_finite_number_as_a_missing_one_would_empty_the_group(
    separate, load, tmp_path
):
    reward, row = (
        load("def f(completion): return None"),
        {"prompt": "p", "completion": "x"},
    )
    made = export(
        reward, to="benchmax", path=tmp_path / "out.py", missing=-0.5, separate=separate
    )
    given = run(
        import_file(made.path).RolloutReward().compute_reward(rollout("r", row))
    )
    assert list(given.values()) == [-0.5] and any(
        "gets -0.5" in sentence for sentence in made.losses
    )


def test_an_environment_that_is_sent_whole_scores_where_its_file_is_not(tmp_path):
    """As benchmax bundles one: by cloudpickle, classes and globals by value."""
    made = export(
        rk.load_reward("gallery:arithmetic"), to="benchmax", path=tmp_path / "out.py"
    )
    code = (
        "import sys, cloudpickle; sys.path.insert(0, sys.argv[1]); import out\n"
        "class Env(out.MessagesReward): pass\n"
        "cloudpickle.register_pickle_by_value(out); print(cloudpickle.dumps(Env()).hex())"
    )
    sent = python(code, str(tmp_path))
    made.path.unlink()
    read = (
        "import asyncio, pickle, sys; env = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
        "turns = [dict(role='user', content='2+2?'), dict(role='assistant', content='<answer>4</answer>')]\n"
        "print(asyncio.run(env.compute_reward('r', turns, {'answer': '4'}))['reward'])"
    )
    expected = rk.load_reward("gallery:arithmetic")(
        completion="<answer>4</answer>", ground_truth="4"
    ).reward
    assert float(python(read, sent)) == expected


def python(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_method_as_guides_print_it_outside_a_class_is_read(tmp_path, rollouts):
    path = tmp_path / "bare.py"
    path.write_text(
        "async def compute_reward(self, rollout_id, messages, task, **kwargs):\n"
        "    return {'right': float(task['ground_truth'] in messages[-1]['content'])}\n"
    )
    reward = rk.load_reward(f"{path}:compute_reward", rollouts=rollouts)
    assert "read as benchmax" in reward.origin and reward.names == ("right",)
    expected = [row["ground_truth"] in row["completion"] for row in rollouts]
    assert rk.score(reward, rollouts).score("right").tolist() == expected
