"""Atropos' RewardFunction classes, read and written without Atropos."""

import copy

import pytest

import rewardkit as rk
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
class f(RewardFunction):
    def __init__(self, weight=0.5, **kwargs):
        super().__init__(weight)
    def compute(self, completions, **kwargs):
"""
RIGHT = "return [2.0 * (kwargs['solution'] in turns[-1]['content']) - 1 for turns in completions]"
FAILS = "return [1.0 / len(turns[0]['content']) for turns in completions]"
ROW = "return [kwargs['item'].pop('level') + 0 * len(kwargs['ground_truth'])] * len(completions)"
SIBLINGS = (
    "sizes = [len(turns[0]['content']) for turns in completions]; return [n / max(sizes) for n in sizes]"
)


@pytest.mark.parametrize(
    ("compute", "expected", "errors"),
    [
        (RIGHT, [0.5, -0.5, -0.5, 0.5], None),  # by the weight of the class
        (FAILS, [1 / 36, 1 / 36, None, 0.5], "ZeroDivisionError: float division by zero"),  # there a 0
        ("return []", [None] * 4, "returned 0 values for 2 completions"),
        ("return 1.0", [None] * 4, "not a list of scores"),
        (ROW, [1, 1, 0.5, 0.5], None),
        (SIBLINGS, [0.5, 0.5, 0, 0.5], None),
    ],
)
def test_a_class_is_read_with_its_weight(reads, compute, expected, errors):
    said = "read as Atropos: its compute takes completions; weight 0.5"
    reads(f"{BASE}        {compute}", expected, said, weights={"f": 0.5}, errors=errors)


def test_an_object_keeps_what_it_was_made_with_and_is_not_taken_for_trls(reads):
    reads(f"{BASE}        {RIGHT}\ngood = f(weight=3)", [3, -3, -3, 3], "read as Atropos", name="good")


def test_an_abstract_class_cannot_be_read(load):
    with pytest.raises(
        rk.RewardError, match=r"RewardFunction\(\) failed at .*: TypeError: Can't instantiate"
    ):
        load(f"{BASE}        {RIGHT}", "RewardFunction")


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
        {"solution": "4", "ground_truth": "4", "item": {"level": 2}, "config": None},
        {"solution": ["4", "4", "4"], "level": [2, 2, 2]},
        {"ground_truth": "4", "item": {"prompt_id": 7, "level": 2}},
    ],
    ids=["one for all", "lists", "with a prompt_id"],
)
def test_the_completions_of_a_call_are_siblings_and_columns_come_in_any_form(columns):
    compute = atropos.functions(GROUP, missing=-9.0)
    turns = [[{"role": "assistant", "content": text}] for text in ("4", "10", "")]
    before = copy.deepcopy((turns, columns))
    assert compute(turns, **columns) == compute(["4", "10", ""], **columns) == [-3.0, -1.0, -9.0]
    assert (turns, columns) == before


def test_a_name_that_ends_with_reward_is_not_cut_off_by_the_registry(tmp_path):
    reward = rk.Reward("my_reward", components=[rk.Component("length", longest, group=True)])
    text = export(reward, to="atropos", path=tmp_path / "a.py").path.read_text()
    assert "class MyReward(RewardFunction)" in text and "name='my_reward_'" in text
