"""Atropos' RewardFunction classes, read and written without Atropos."""

import copy

import pytest

import rewardkit as rk
from rewardkit.errors import RewardError
from rewardkit.targets import atropos
from rewardkit.targets.export import export

BASE = """
from abc import ABC, abstractmethod
class RewardFunction(ABC):
    def __init__(self, weight=1.0, **kwargs):
        self.weight = weight
    @abstractmethod
    def compute(self, completions, **kwargs): ...
    def __call__(self, completions, **kwargs):
        try:
            return [value * self.weight for value in self.compute(completions, **kwargs)]
        except Exception:
            return [0.0] * len(completions)
"""
RIGHT = """
class f(RewardFunction):
    def __init__(self, weight=0.5, **kwargs):
        super().__init__(weight)
    def compute(self, completions, **kwargs):
        return [2.0 * (kwargs["solution"] in turns[-1]["content"]) - 1 for turns in completions]
"""


def test_the_weight_of_a_class_is_the_components(load, rewards):
    reward = load(BASE + RIGHT)
    assert "read as Atropos: its compute takes completions; weight 0.5" in reward.origin
    assert reward.weights == {"f": 0.5}
    assert rewards(reward) == [0.5, -0.5, -0.5, 0.5]


def test_an_object_keeps_what_it_was_made_with_and_is_not_taken_for_trls(load, rewards):
    reward = load(BASE + RIGHT + "good = f(weight=3)", "good")
    assert "read as Atropos" in reward.origin and rewards(reward) == [3, -3, -3, 3]


@pytest.mark.parametrize(
    "compute, expected, error",
    [
        pytest.param(
            "return [1 / len(turns[0]['content']) for turns in completions]",
            [1 / 18, 1 / 18, None, 1],
            "ZeroDivisionError: float division by zero",
            id="an error is no 0, as it would be there",
        ),
        pytest.param(
            "return []", [None] * 4, "returned 0 values for 2 completions", id="a list of another length"
        ),
        pytest.param("return 1.0", [None] * 4, "not a list of scores", id="no list"),
        pytest.param(
            "return [kwargs['item'].pop('level') + 0 * len(kwargs['ground_truth'])] * len(completions)",
            [2, 2, 1, 1],
            None,
            id="the row",
        ),
        pytest.param(
            "longest = max(len(turns[0]['content']) for turns in completions)\n"
            "        return [len(turns[0]['content']) / longest for turns in completions]",
            [1, 1, 0, 1],
            None,
            id="the siblings",
        ),
    ],
)
def test_odd_answers(load, rewards, rollouts, compute, expected, error):
    source = (
        f"{BASE}\nclass f(RewardFunction):\n    def compute(self, completions, **kwargs):\n        {compute}"
    )
    reward = load(source.replace("1 / len", "1.0 / len"))
    assert rewards(reward) == expected
    if error:
        told = rk.score(reward, rollouts).table["error/f"].dropna()
        assert told.str.contains(error).all() and len(told) == expected.count(None)


def test_an_abstract_class_cannot_be_read(load):
    with pytest.raises(
        RewardError, match=r"RewardFunction\(\) failed with TypeError: Can't instantiate abstract"
    ):
        load(BASE, "RewardFunction")


def longest(completion):
    return [float(len(text) == max(map(len, completion))) for text in completion]


def known(completion, ground_truth, level):
    return float(completion == ground_truth) + level if completion else None


GROUP = rk.Reward(
    "group",
    components=[
        rk.Component("longest", longest, group=True),
        rk.Component("known", known, range=None, weight=-1),
    ],
)


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param(
            {"solution": "4", "ground_truth": "4", "item": {"level": 2}, "config": None}, id="one for all"
        ),
        pytest.param({"solution": ["4", "4", "4"], "level": [2, 2, 2]}, id="lists"),
        pytest.param({"ground_truth": "4", "item": {"prompt_id": 7, "level": 2}}, id="with a prompt_id"),
    ],
)
def test_the_completions_of_a_call_are_siblings_and_columns_come_in_any_form(columns):
    compute = atropos.functions(GROUP, missing=-9.0)
    turns = [[{"role": "assistant", "content": text}] for text in ("4", "10", "")]
    before = copy.deepcopy((turns, columns))
    assert compute(turns, **columns) == [-3.0, -1.0, -9.0]
    assert compute(["4", "10", ""], **columns) == [-3.0, -1.0, -9.0]
    assert (turns, columns) == before


def test_a_name_that_ends_with_reward_is_not_cut_off_by_the_registry(tmp_path):
    reward = rk.Reward(
        "my_reward", components=[rk.Component("length", rk.measure.length(full_until=3, zero_from=9))]
    )
    text = export(reward, to="atropos", path=tmp_path / "a.py").path.read_text()
    assert "class MyReward(RewardFunction)" in text and "name='my_reward_'" in text
