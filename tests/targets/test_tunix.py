"""Tunix and agent-tunix: batch functions, functions of one response, the registry; the file by its rules."""

import inspect

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets import tunix
from rewardkit.targets.calling import loaded
from rewardkit.targets.export import export
from rewardkit.targets.tunix import get_reward_function, register_reward_function

# source, the rewards of the four rows, what of the mapping is said
READ = {
    "a response, the rest optional": (
        "def f(response, answer='', prompt='', **kw): return 2.0 * (answer in response) - len(prompt) / 4",
        [1.0, -1.0, -1.0, 1.0],
        "response from completion, answer from ground_truth, prompt from prompt",
    ),
    "a response alone": (
        "def f(response: str, **kwargs) -> float: return float(len(response))",
        [18.0, 18.0, 0.0, 1.0],
        "response from completion",
    ),
    "all of it in keyword arguments": (
        "def f(response, **known): return float(known['answer'] == known['solution'] and known['level'])",
        [2.0, 2.0, 1.0, 1.0],
        "response from completion",
    ),
    "a truth that is asked for": (
        "def f(response, ground_truth): return 1.0 if ground_truth in response else 0.0",
        [1.0, 0.0, 0.0, 1.0],
        "ground_truth from ground_truth",
    ),
    "metadata": (
        "def f(response, prompt, metadata): return 3.0 if metadata.get('answer', '?') in response else -0.5",
        [3.0, -0.5, -0.5, 3.0],
        "metadata from all columns",
    ),
    "a column of the data set": (
        "def f(response, level=0): return level * 1.0",
        [2.0, 2.0, 1.0, 1.0],
        "level from level",
    ),
}


@pytest.mark.parametrize("kind", READ)
def test_a_function_of_one_response_is_given_what_its_parameters_are_named(kind, reads):
    source, expected, mapping = READ[kind]
    assert reads(source, expected, mapping).origin.startswith("f read as Tunix: it takes one response; ")


def test_a_batch_function_of_agent_tunix_is_read_with_values_above_one_and_below_zero(load, rewards):
    source = """
    def f(prompts, completions, answer, **kwargs):
        assert len(prompts) == len(completions) == len(answer) == len(kwargs["question"])
        return [3.0 if truth in text else -1.0 for text, truth in zip(completions, answer)]
    """
    assert rewards(load(source)) == [3.0, -1.0, -1.0, 3.0]
    assert load(source, as_="tunix").origin.startswith("f read as Tunix: it takes completions, as texts")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("None", [None] * 4),
        ("float('nan') if not response else 1.0", [1, 1, None, 1]),
        ("1.0 / len(response)", [1 / 18, 1 / 18, None, 1.0]),
    ],
)
def test_odd_values_are_never_a_score(body, expected, reads):
    reads(f"def f(response, answer=''): return {body}", expected)


def test_what_returns_no_number_is_refused_in_one_sentence(load):
    with pytest.raises(rk.RewardError, match="returned 'good' of type str for a completion; Tunix expects"):
        load("def f(response, answer=''): return 'good'")


HELPERS = '''
import re
from functools import partial

LIMIT = 3
pattern = re.compile(r"\\d+")
lower = str.lower
twice = lambda number: 2 * number

class Reader:
    def read(self, text):
        return last(text)

def last(text):
    """The last number."""
    found = pattern.findall(lower(text))
    return found[-1] if found else None

def _hidden(text):
    return f"{last(text)}"

def reward(response, answer="", **kwargs):
    """Twice one where it is right."""
    assert LIMIT == 3 and Reader().read(response) == last(response)
    return float(twice(_hidden(response) == answer))
'''


def test_the_only_public_function_of_a_file_is_the_reward_as_the_command_line_takes_them_all(
    load, rollouts, tmp_path
):
    reward = load(HELPERS, "reward")
    made = export(reward, to="tunix", path=tmp_path / "out.py", columns={"ground_truth": "label"})
    (tmp_path / "mine.py").unlink()
    module = loaded(made.path)
    assert [one.__name__ for one in tunix.public_functions(module)] == ["reward"]
    everything = inspect.getmembers(module, inspect.isfunction)  # whatever its module, too
    assert [name for name, _ in everything if not name.startswith("_")] == ["reward"]
    assert [one.__name__ for one in module.get_reward_functions()] == ["reward"]
    columns = rollouts.columns()
    given = module.reward(columns["prompt"], columns["completion"], label=columns["ground_truth"])
    assert given == rk.score(reward, rollouts).rewards.tolist() == [2.0, 0.0, 0.0, 2.0]


def test_a_batch_may_be_arrays_and_bytes_and_is_given_back_as_plain_floats():
    reward = rk.load_reward("gallery:arithmetic")
    (function,) = tunix.functions(reward)
    texts = np.array(["<think>a</think><answer>4</answer>", "<answer>5</answer>"])
    truth = np.array([b"4", b"4"], dtype=object)
    given = function(prompts=np.array(["2+2?", "2+2?"]), completions=texts, answer=truth, mode="train")
    expected = [reward(completion=str(text), ground_truth="4").reward for text in texts]
    assert given == expected and all(type(one) is float for one in given)


def test_siblings_of_a_batch_are_seen(tmp_path):
    reward = rk.Reward("g", components=[rk.Component("share", share, group=True)])
    assert tunix.functions(reward)[0](["a", "b", "a"], ["x", "y", "z"]) == [0.5, 1.0, 0.5]


def share(completion):
    return [1 / len(completion)] * len(completion)


def test_a_registered_function_is_had_by_name_and_any_other_by_its_module(tmp_path, monkeypatch):
    def long(response, **kwargs):
        return float(len(response) > 3)

    assert register_reward_function("math", long) is long
    assert get_reward_function("math") is long
    register_reward_function("math", len)
    assert get_reward_function("math") is len
    (tmp_path / "custom_rewards.py").write_text("def my_reward_v1(response): return 1.0\nnumber = 3\n")
    (tmp_path / "broken_rewards.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert get_reward_function("custom_rewards.my_reward_v1")("x") == 1.0
    for name, said in {
        "maths": "no reward function is registered as 'maths'.*did you mean 'math'",
        "custom_rewards.my_reward_v2": "has no function 'my_reward_v2'; did you mean 'my_reward_v1'",
        "custom_rewards.number": "has no function 'number'",
        "no_such_module.f": "importing 'no_such_module' failed with ModuleNotFoundError",
        "broken_rewards.f": "importing 'broken_rewards' failed with ZeroDivisionError",
    }.items():
        with pytest.raises(rk.RewardError, match=said):
            get_reward_function(name)
    for name, function, said in (("", len, "is not a name"), ("x", 3, "cannot be called")):
        with pytest.raises(rk.RewardError, match=said):
            register_reward_function(name, function)
