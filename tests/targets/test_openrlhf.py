"""OpenRLHF: reading reward_func, finding the completion in a query, and what the file gives."""

import sys
from types import ModuleType

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets import openrlhf
from rewardkit.targets.export import export
from rewardkit.targets.openrlhf import completion_of

CUT = {
    "as it is": ("2+2?4", "2+2?", "4"),
    "with the token that ends a turn": ("2+2?4<|im_end|>", "2+2?", "4"),
    "with two of them": ("2+2?4<|im_end|><|endoftext|>", "2+2?", "4"),
    "no token that is known": ("2+2?4<stop>", "2+2?", "4<stop>"),
    "a token that is given": ("2+2?4<stop>", "2+2?", "4", ("<stop>",)),
    "where none is given": ("2+2?4</s>", "2+2?", "4</s>", ()),
    "white space of the completion stays": ("2+2? 4\n", "2+2?", " 4\n"),
    "a space that decoding put behind the first token": ("<s> 2+2?4", "<s>2+2?", "4"),
    "a prompt that is repeated": ("ab abab", "ab", " abab"),
    "another prompt": ("2+3?4", "2+2?", None),
    "cut from the left": (
        ("word " * 60)[20:] + "end?four",
        "word " * 60 + "end?",
        "four",
    ),
    "cut in the middle of a word": (
        ("word " * 60)[22:] + "end?four",
        "word " * 60 + "end?",
        "four",
    ),
    "an end of the prompt that is too short to tell": (
        "end?",
        "word " * 60 + "end?",
        None,
    ),
    "a few letters alike are no prompt that was cut": (
        "end?four",
        "word " * 60 + "end?",
        None,
    ),
    "a long prompt that is not there is told soon": (
        "a" * 20_000 + "b",
        "a" * 40_000 + "c",
        None,
    ),
}


@pytest.mark.parametrize("kind", CUT)
def test_the_completion_is_what_stands_behind_the_prompt(kind):
    query, prompt, expected, *ends = CUT[kind]
    assert completion_of(query, prompt, *ends) == expected


@pytest.fixture
def torch(monkeypatch):
    """What of torch the file uses, where it is not installed: the real one is in the trainers' tests."""

    class Array(np.ndarray):
        def clone(self):
            return self.copy()

    module = ModuleType("torch")
    module.float32 = np.float32
    module.tensor = lambda values, dtype=np.float64: np.array(values, dtype=dtype).view(
        Array
    )
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_a_query_without_its_prompt_is_not_judged_and_that_is_logged(torch, caplog):
    reward = rk.load_reward("gallery:arithmetic")
    function = openrlhf.functions(reward, missing=-3.0)
    found = function(
        ["<s>9+9?<answer>4</answer>", "2+2?<answer>4</answer>"], ["2+2?"] * 2, ["4"] * 2
    )
    assert found["rewards"].tolist()[0] == -3.0 < found["rewards"].tolist()[1]
    assert found["extra_logs"]["judged"].tolist() == [0.0, 1.0]
    assert "in 1 of 2 queries the prompt was not found" in caplog.text
    alone = function(["9+9?4"], ["2+2?"], ["4"])
    assert alone["rewards"].tolist() == [-3.0] and alone["extra_logs"][
        "correct"
    ].tolist() == [-3.0]


def test_a_label_that_is_a_dict_holds_columns_and_no_component_overwrites_what_is_logged(
    torch, tmp_path
):
    reward = rk.Reward(
        "level", components=[rk.Component("reward", level_of, range=None)]
    )
    found = openrlhf.functions(reward)(
        ["2+2?4"], ["2+2?"], [{"level": 3, "answer": "4"}]
    )
    assert found["rewards"].tolist() == [3.0] and set(found["extra_logs"]) == {
        "judged",
        "component_reward",
        "judged/reward",
    }
    made = export(reward, to="openrlhf", path=tmp_path / "out.py")
    assert (
        "--data.label_key columns   # of dicts with ground_truth, level" in made.usage
    )


def level_of(completion, level):
    return level
