"""benchmax: environments of its three APIs, and the classes that are written for two of them."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

import rewardkit as rk
from rewardkit.targets import benchmax
from rewardkit.targets.calling import awaited as run
from rewardkit.targets.calling import loaded
from rewardkit.targets.export import export
from rewardkit.targets.turns import transcript

ENVIRONMENTS = """
from abc import ABC, abstractmethod

class BaseEnv(ABC):
    @abstractmethod
    async def create_dataset(self, split): ...
    async def compute_reward(self, rollout): return None
    async def compute_group_rewards(self, rollouts): return None

class Text:
    async def compute_reward(self, rollout_id, completion, ground_truth, **kw):
        return {"right": float(ground_truth in completion)}
class Turns:
    async def compute_reward(self, rollout_id, completion, answer):
        return {"right": float(answer in completion[-1]["content"])}
class Task:
    async def compute_reward(self, rollout_id, messages, task, **kwargs):
        assert [turn["role"] for turn in messages] == ["user", "assistant"]
        assert task["prompt"] == messages[0]["content"] and "completion" not in task
        return {"right": float(task["answer"] in messages[-1]["content"]), "level": task["level"]}

class OtherNames:
    async def compute_reward(self, rid, messages, row):
        return {"right": float(row["ground_truth"] in messages[-1]["content"])}
class Between:
    async def compute_reward(self, rollout_id, messages, example_args, termination_reason):
        return {termination_reason: 1.0}
class Rollout(BaseEnv):
    async def create_dataset(self, split): ...
    async def compute_reward(self, rollout):
        assert rollout.termination_reason == "finished" and rollout.split == "train"
        text = rollout.messages[-1]["content"]
        return {"right": float(rollout.example_args["ground_truth"] in text)} if text else None

class NoCoroutine:
    def compute_reward(self, rollout_id, messages, task): return {"x": task["level"] / 2}
class Texts(Text):
    async def compute_group_reward(self, rollout_ids, completions, ground_truths, **kwargs):
        return [{"short": float(len(text) == min(map(len, completions)))} for text in completions]
class Tasks:
    async def compute_reward(self, rollout_id, messages, task):
        return {"right": float(task["answer"] in messages[-1]["content"])}
    async def compute_group_reward(self, rollout_ids, messages_list, tasks, **kwargs):
        lengths = [len(turns[-1]["content"]) for turns in messages_list]
        assert len(rollout_ids) == len(tasks) and tasks[0]["level"]
        return [{"short": float(length == min(lengths))} for length in lengths]

class Rollouts:
    async def compute_reward(self, rollout):
        return {"right": float(rollout.example_args["answer"] in rollout.messages[-1]["content"])}
    async def compute_group_rewards(self, rollouts):
        lengths = {one.rollout_id: len(one.messages[-1]["content"]) for one in rollouts}
        short = {name: float(n == min(lengths.values())) for name, n in lengths.items()}
        return {name: {"short": short[name]} for name in reversed(short)}

class Paid:
    def __init__(self, pay): self.pay = pay
    async def compute_reward(self, rollout_id, messages, task):
        return {"right": self.pay * (task["answer"] in messages[-1]["content"])}

paid = Paid(0.5)
"""
# class, the rewards of the four rows, what of the mapping is said
READ = {
    "Text": (
        [1, 0, 0, 1],
        "rollout_id from rollout_id, completion from completion, ground_truth from ground",
    ),
    "Turns": ([1, 0, 0, 1], "takes a completion, as in 0.1 to dev22"),
    "Task": ([3, 2, 1, 2], "messages from prompt and completion, task from the row"),
    "OtherNames": ([1, 0, 0, 1], "takes messages, as in 0.1.2.dev36"),
    "Between": ([1] * 4, "example_args from the row, termination_reason from the row"),
    "Rollout": ([1, 0, None, 1], "takes a rollout, as in 0.2; "),
    "NoCoroutine": ([1, 1, 0.5, 0.5], "takes messages"),
    "paid": ([0.5, 0, 0, 0.5], "takes messages"),  # an object, with what it was made with
}


@pytest.mark.parametrize("name", READ)
def test_an_environment_is_read_by_what_its_hook_takes(name, reads):
    expected, mapping = READ[name]
    why = "weight 1 here, as the weights are in the training configuration"
    said = "read as benchmax: its compute_reward takes ", mapping, why
    assert set(reads(ENVIRONMENTS, expected, *said, name=name).weights.values()) == {1.0}


def test_an_environment_that_cannot_be_made_is_told(load):
    with pytest.raises(rk.RewardError, match=r"Paid\(\) failed at .*: TypeError.*give an object of it"):
        load(ENVIRONMENTS, "Paid")


@pytest.mark.parametrize("name", ["Texts", "Tasks", "Rollouts"])
def test_the_hook_of_a_group_gets_the_siblings_and_its_rewards_are_added(name, load, rollouts):
    reward = load(ENVIRONMENTS, name)
    assert reward.weights == {"right": 1.0, "short": 1.0}
    scores = rk.score(reward, rollouts)
    assert scores.score("right").tolist() == [1, 0, 0, 1]
    assert scores.score("short").tolist() == [1, 1, 1, 0]
    alone = reward(completion="4", ground_truth="4", prompt="2+2?")
    assert alone.status["short"] == "error" and "siblings of its group" in alone.errors["short"]


HOOK = "class f:\n    async def compute_reward(self, rollout_id, messages, task): return "
GROUP = "    async def compute_group_reward(self, rollout_ids, messages_list, tasks): return "
FINE = f"class f:\n{GROUP}[{{'a': 1.0}}] * 4 if len(tasks) == 4 else"
NOTHING = [None] * 4


def test_the_hook_of_a_group_is_called_once_for_each(load, rollouts, tmp_path):
    calls = tmp_path / "calls"
    reward = load(
        f"import os\nclass f:\n{GROUP}os.system('printf x >>{calls}') or [{{'a': 1.0}}] * len(tasks)"
    )
    calls.unlink()
    assert rk.score(reward, rollouts).rewards.tolist() == [1.0] * 4 and calls.read_text() == "xx"


LEAVES = f"{HOOK}{{}}\n{GROUP}[{{'n': len(rollout_ids)}} for _ in tasks]"
# source, the rewards, what the origin says, what is said of the rows without a reward
ODD = {
    "all is left to the group": (LEAVES, [2.0] * 4, "compute_reward is left out: it gave nothing", None),
    "one too few": (f"{FINE} [{{'a': 1.0}}]", NOTHING, "", "returned 1 values for 2"),
    "an id is missing": (f"{FINE} {{rollout_ids[0]: {{}}}}", NOTHING, "", "gave no rewards for"),
    "an error of a group": (f"{FINE} [{{'a': 1 / 0}}]", NOTHING, "", "division by zero"),
    "not finite": (f"{HOOK}{{'a': float('nan') if task['level'] == 1 else 1}}", [1, 1, None, None], "", None),
    "keys that come and go": (f"{HOOK}{{'a' if task['level'] == 1 else 'b': 1.0}}", NOTHING, "", None),
    "an error": (f"{HOOK}{{'a': 1 / (task['level'] - 1)}}", [1, 1, None, None], "", "division by zero"),
    "not judged": (f"{HOOK}None if task['level'] == 1 else {{'a': 0.5}}", [0.5, 0.5, None, None], "", None),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_values_are_never_a_score(kind, reads):
    source, expected, said, errors = ODD[kind]
    reads(source, expected, said, errors=errors)


def test_nothing_at_all_is_refused(load):
    with pytest.raises(rk.RewardError, match=r"returned \{\} of type dict|gave nothing"):
        load(f"{HOOK}{{}}")


def test_a_loaded_environment_can_be_saved_and_sent_to_another_process(load, rewards, tmp_path, limited):
    reward = load(ENVIRONMENTS, "Tasks")
    path = rk.save_reward(reward, tmp_path / "saved.py")
    assert rewards(rk.load_reward(str(path))) == rewards(reward) == rewards(reward, timeout=20)


# ---- writing


def rollout(name, row):
    task = benchmax.task_of(row)
    return SimpleNamespace(rollout_id=name, messages=transcript(row), example_args=task)


def of_group(completion):
    return [len(text) / sum(map(len, completion)) for text in completion]


def test_one_file_serves_both_apis(rollouts, tmp_path):
    reward = rk.load_reward("gallery:arithmetic")
    module = loaded(export(reward, to="benchmax", path=tmp_path / "out.py").path)
    for row, expected in zip(rollouts, rk.score(reward, rollouts).rewards, strict=True):
        new = run(module.RolloutReward().compute_reward(rollout("r", row)))
        arguments = "r", transcript(row), benchmax.task_of(row)
        documented = module.MessagesReward().compute_reward(*arguments, extra=1)
        assert new == run(documented) == {"reward": expected}
        assert type(new["reward"]) is float


def test_components_are_keys_where_separate_and_their_weights_are_told(rollouts, tmp_path):
    reward = rk.load_reward("gallery:arithmetic")
    made = export(reward, to="benchmax", path=tmp_path / "out.py", separate=True)
    assert "training configuration: correct: 1, format: 0.2, concise: 0.1, repetition: -0.2" in made.usage
    given = run(loaded(made.path).RolloutReward().compute_reward(rollout("r", rollouts[0])))
    assert given == reward(**rollouts[0]).scores and set(given) == set(reward.names)


def test_what_needs_siblings_goes_to_the_groups_hook_of_both(rollouts, tmp_path):
    reward = rk.Reward("g", components=[rk.Component("share", of_group, group=True)])
    module = loaded(export(reward, to="benchmax", path=tmp_path / "out.py").path)
    rows = list(rollouts)[:2]
    assert not hasattr(module.RolloutReward, "compute_reward")
    group = [rollout(str(at), row) for at, row in enumerate(rows)]
    new = run(module.RolloutReward().compute_group_rewards(group))
    assert new == {"0": {"reward": 0.5}, "1": {"reward": 0.5}}
    environment, turns = module.MessagesReward(), [transcript(row) for row in rows]
    tasks = [benchmax.task_of(row) for row in rows]
    assert run(environment.compute_group_reward(["0", "1"], turns, tasks)) == list(new.values())
    assert run(environment.compute_reward("0", turns[0], tasks[0])) == {}


@pytest.mark.parametrize("separate", [False, True])
def test_every_value_is_a_finite_number_as_a_missing_one_would_empty_the_group(separate, load, tmp_path):
    reward, row = load("def f(completion): return None"), {"prompt": "p", "completion": "x"}
    made = export(reward, to="benchmax", path=tmp_path / "out.py", missing=-0.5, separate=separate)
    given = run(loaded(made.path).RolloutReward().compute_reward(rollout("r", row)))
    assert list(given.values()) == [-0.5] and any("gets -0.5" in sentence for sentence in made.losses)


def test_an_environment_that_is_sent_whole_scores_where_its_file_is_not(tmp_path):
    """As benchmax bundles one: by cloudpickle, classes and globals by value."""
    made = export(rk.load_reward("gallery:arithmetic"), to="benchmax", path=tmp_path / "out.py")
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
    expected = rk.load_reward("gallery:arithmetic")(completion="<answer>4</answer>", ground_truth="4").reward
    assert float(python(read, sent)) == expected


def python(*arguments):
    done = subprocess.run([sys.executable, "-c", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
