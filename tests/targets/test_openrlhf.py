"""OpenRLHF: reading reward_func, finding the completion in a query, and what the file gives."""

import sys
from types import ModuleType

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets import openrlhf
from rewardkit.targets.calling import loaded
from rewardkit.targets.export import export
from rewardkit.targets.openrlhf import completion_of

DOCUMENTED = """
def f(queries, prompts, labels):
    right = [float(label in query[len(prompt):]) for query, prompt, label in zip(queries, prompts, labels)]
    return {"rewards": [2 * one - 1 for one in right], "scores": right, "extra_logs": {"right": right}}
"""


def test_the_documented_form_is_read_with_what_it_logs_beside_the_reward(load, rollouts):
    reward = load(DOCUMENTED)
    assert reward.origin == (
        "f read as OpenRLHF: it takes queries; queries from prompt and completion, prompts from prompt, "
        "labels from ground_truth"
    )
    assert reward.weights == {"rewards": 1.0, "scores": 0.0, "right": 0.0}
    scores = rk.score(reward, rollouts)
    assert scores.rewards.tolist() == [1, -1, -1, 1] and scores.score("right").tolist() == [1, 0, 0, 1]


# what it returns, the rewards of the four rows, the components
READ = {
    "a list": ("[float(len(q)) for q in queries]", [22, 22, 4, 5], ["f"]),
    "an array": ("__import__('numpy').array([len(q) for q in queries])", [22, 22, 4, 5], ["f"]),
    "a number for all": ("{'rewards': len(queries[0]) / 2}", [11, 11, 2, 2.5], ["rewards"]),
    "the same twice": (
        "{'rewards': [1.5], 'scores': [1.5], 'extra_logs': None}",
        [1.5] * 4,
        ["rewards", "scores"],
    ),
    "logs that are no numbers": (
        "{'rewards': [1], 'extra_logs': {'why': 'x', 'n': 3}}",
        [1] * 4,
        ["rewards", "n"],
    ),
    "another column": ("[float(level[0])]", [2, 2, 1, 1], ["f"]),
    "not judged": ("{'rewards': [1.0] if queries[0][4:] else None}", [1, 1, None, 1], ["rewards"]),
    "not finite": ("[float('inf') if len(queries[0]) == 4 else 1.0]", [1, 1, None, 1], ["f"]),
    "an error": ("[1 / (len(queries[0]) - 4)]", [1 / 18, 1 / 18, None, 1], ["f"]),
}


@pytest.mark.parametrize("kind", READ)
def test_what_a_function_may_return(kind, reads):
    returned, expected, names = READ[kind]
    more = ", level" if "level" in returned else ""
    source = f"def f(queries, prompts, labels{more}): return {returned}"
    assert list(reads(source, expected, "read as OpenRLHF").names) == names


def test_two_rewards_for_one_completion_are_no_score(load):
    with pytest.raises(
        rk.RewardError, match=r"returned \[1.0, 2.0\] of type list for a completion; OpenRLHF"
    ):
        load("def f(queries, prompts, labels): return [1.0, 2.0]")


def test_prompts_of_messages_are_joined_as_text(load, rewards):
    chat = [{"role": "system", "content": "Add."}, {"role": "user", "content": "2+2?"}]
    rows = rk.load_rollouts([{"prompt": chat, "completion": "4", "ground_truth": "4"}])
    source = "def f(queries, prompts, labels): return [float(queries[0] == 'Add.\\n2+2?\\n4')]"
    assert rewards(load(source, rollouts=rows), rows) == [1.0]


CUT = {
    "as it is": ("2+2?4", "2+2?", "4"),
    "with the token that ends a turn": ("2+2?4<|im_end|>", "2+2?", "4"),
    "with two of them": ("2+2?4<|im_end|><|endoftext|>", "2+2?", "4"),
    "one in the middle stays": ("2+2?4</s>no", "2+2?", "4</s>no"),
    "white space of the completion stays": ("2+2? 4\n", "2+2?", " 4\n"),
    "a space that decoding put behind the first token": ("<s> 2+2?4", "<s>2+2?", "4"),
    "a prompt that is repeated": ("ab abab", "ab", " abab"),
    "an empty prompt": ("4", "", "4"),
    "an empty completion": ("2+2?", "2+2?", ""),
    "a prompt of white space": ("  4", " ", " 4"),
    "another prompt": ("2+3?4", "2+2?", None),
    "a query that is too short": ("2+", "2+2?", None),
    "cut from the left": (("word " * 60)[20:] + "end?four", "word " * 60 + "end?", "four"),
    "cut in the middle of a word": (("word " * 60)[22:] + "end?four", "word " * 60 + "end?", "four"),
    "an end of the prompt that is too short to tell": ("end?", "word " * 60 + "end?", None),
    "a few letters alike are no prompt that was cut": ("end?four", "word " * 60 + "end?", None),
}


@pytest.mark.parametrize("kind", CUT)
def test_the_completion_is_what_stands_behind_the_prompt(kind):
    query, prompt, expected = CUT[kind]
    assert completion_of(query, prompt) == expected


def test_a_long_prompt_that_is_not_there_is_told_soon():
    assert completion_of("a" * 20_000 + "b", "a" * 40_000 + "c") is None


def test_the_tokens_that_end_a_turn_can_be_given():
    assert completion_of("2+2?4<stop>", "2+2?") == "4<stop>"
    assert completion_of("2+2?4<stop>", "2+2?", ("<stop>",)) == "4"
    assert completion_of("2+2?4</s>", "2+2?", ()) == "4</s>"


@pytest.fixture
def torch(monkeypatch):
    """What of torch the file uses, where it is not installed: the real one is in the trainers' tests."""

    class Array(np.ndarray):
        def clone(self):
            return self.copy()

    module = ModuleType("torch")
    module.float32 = np.float32
    module.tensor = lambda values, dtype=np.float64: np.array(values, dtype=dtype).view(Array)
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_the_file_gives_rewards_scores_and_components(torch, rollouts, load, tmp_path):
    reward = rk.load_reward("gallery:arithmetic")
    made = export(reward, to="openrlhf", path=tmp_path / "out.py")
    module, texts = loaded(made.path), ["<think>2</think><answer>4</answer>", "five"]
    queries = [f"<s>2+2?{text}</s>" for text in texts]
    found = module.reward_func(queries, ["<s>2+2?"] * 2, ["4", "4"])
    expected = [reward(completion=text, ground_truth="4") for text in texts]
    np.testing.assert_allclose(found["rewards"], [one.reward for one in expected], rtol=1e-6)
    np.testing.assert_array_equal(found["scores"], found["rewards"])
    assert list(found["extra_logs"]) == ["judged", *reward.names]
    assert found["extra_logs"]["correct"].tolist() == [1.0, 0.0]


def test_a_query_without_its_prompt_is_not_judged_and_that_is_logged(torch, caplog):
    reward = rk.load_reward("gallery:arithmetic")
    function = openrlhf.functions(reward, missing=-3.0)
    found = function(["<s>9+9?<answer>4</answer>", "2+2?<answer>4</answer>"], ["2+2?"] * 2, ["4"] * 2)
    assert found["rewards"].tolist()[0] == -3.0 < found["rewards"].tolist()[1]
    assert found["extra_logs"]["judged"].tolist() == [0.0, 1.0]
    assert "in 1 of 2 queries the prompt was not found" in caplog.text
    alone = function(["9+9?4"], ["2+2?"], ["4"])
    assert alone["rewards"].tolist() == [-3.0] and alone["extra_logs"]["correct"].tolist() == [-3.0]


def test_a_label_that_is_a_dict_holds_columns(torch, tmp_path):
    reward = rk.Reward("level", components=[rk.Component("high", level_of, range=None)])
    found = openrlhf.functions(reward)(["2+2?4"], ["2+2?"], [{"level": 3, "answer": "4"}])
    assert found["rewards"].tolist() == [3.0]
    made = export(reward, to="openrlhf", path=tmp_path / "out.py")
    assert "--data.label_key columns   # of dicts with ground_truth, level" in made.usage


def level_of(completion, level):
    return level


def test_a_component_never_overwrites_what_openrlhf_logs_itself(torch):
    reward = rk.Reward("r", components=[rk.Component("reward", level_of, range=None), rk.Component("x", one)])
    found = openrlhf.functions(reward)(["2+2?4"], ["2+2?"], [{"level": 3}])
    assert found["rewards"].tolist() == [4.0]
    assert set(found["extra_logs"]) == {"judged", "component_reward", "x"}


def one(completion):
    return 1.0
