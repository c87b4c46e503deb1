"""What the callables of `functions` give a trainer, called as it calls them; and they change nothing."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets import named


def fits(completion, ground_truth, prompt, level):
    return (completion == ground_truth) * level - len(prompt) if completion else None


def close(completion, ground_truth, response_length):
    return (ground_truth == completion) + response_length / 100 if completion else None


def longest(completion):
    return [float(len(text) == max(map(len, completion))) for text in completion]


def known(completion, ground_truth, level):
    return float(completion == ground_truth) + level if completion else None


def counted(level, prompt, step):
    return level + len(prompt) + step


def length(completion):
    return float(len(completion))


def siblings(completion):
    return [float(len(completion))] * len(completion)


def of(function, **options):
    return rk.Component(function.__name__, function, **{"range": None, **options})


REWARDS = {
    "fits": [of(fits)],
    "close": [of(close, weight=-2)],
    "group": [of(longest, group=True), of(known, weight=-1)],
    "counted": [of(counted)],
    "length": [of(length)],
    "siblings": [of(siblings, group=True)],
}


def says(*texts):
    """Turns: of the user, then of the assistant."""
    return [{"role": ("user", "assistant")[at], "content": text} for at, text in enumerate(texts)]


class Message:
    """As eval-protocol has it."""

    def __init__(self, turn):
        self.turn = turn

    def model_dump(self, exclude_none):
        return self.turn


def state(text, question=None, **more):
    """As Inspect has it."""
    turns = [SimpleNamespace(role=one["role"], text=one["content"]) for one in says("2+2?", text)]
    told = {"output": SimpleNamespace(completion=text), "metadata": {"level": 6, **more}}
    return SimpleNamespace(input=question or turns[:1], messages=turns, **told)


def response(text, length):
    """As EasyR1 has it."""
    return {"response": text, "response_length": length, "ground_truth": "4"}


def stepped(reward, judged):
    """As SkyRL wants it."""
    told = {"score": reward, "judged": judged, "fits": reward}
    return {"observations": [], "reward": reward, "done": True, "metadata": told}


def result(score, judged=True):
    """As eval-protocol wants it."""
    one = {"score": score, "is_score_valid": judged, "reason": "" if judged else "not judged"}
    return {**one, "metrics": {"fits": one}}


FOUR, SPEC, ASKED = SimpleNamespace(text="4"), {"ground_truth": "4"}, says("2+2?")
LEVEL = {"level": 6}
ANSWERS = [[{"role": "assistant", "content": text}] for text in ("4", "10", "")]
TEXTS = np.array(["4", "12345"])
TOOL = [{"role": "assistant", "content": "ab"}, {"role": "tool", "content": "<answer>4</answer>"}]
SWIFT = {"messages": [says("2+2?", "a"), says("2+2?", "b")], "level": [1, 2], "prompt_id": ["", ""]}
SWIFT |= {"trainer_state": SimpleNamespace(global_step=7)}
# target, the reward, what its function is called with, what it gives
CALLED = [
    ("easyr1", "close", ([response("4", 50)],), {}, [{"judged": 1.0, "close": 1.5, "overall": -3.0}]),
    ("easyr1", "close", ([response("", 0)],), {}, [{"judged": 0.0, "close": -9.0, "overall": -9.0}]),
    ("eval-protocol", "fits", (says("2+2?", "4"), "4"), LEVEL, result(2.0)),
    ("eval-protocol", "fits", (list(map(Message, says("2+2?", "4"))), "4"), LEVEL, result(2.0)),
    ("eval-protocol", "fits", (says("2+2?", ""), "4"), LEVEL, result(-9.0, judged=False)),
    ("inspect", "fits", (state("4", "2+2?"), FOUR), {}, {"value": 2.0, "metadata": {"fits": 2.0}}),
    ("inspect", "fits", (state("5"), FOUR), {}, {"value": -4.0, "metadata": {"fits": -4.0}}),
    ("inspect", "fits", (state(""), FOUR), {}, {"value": math.nan, "metadata": {"fits": None}}),
    # the truth is as it is in the data set: a number
    ("inspect", "fits", (state("4", ground_truth=4), FOUR), {}, {"value": -4.0, "metadata": {"fits": -4.0}}),
    ("skyrl-gym", "fits", ("4", ASKED, {"reward_spec": SPEC, **LEVEL}), {}, stepped(2.0, 1.0)),
    ("skyrl-gym", "fits", ("", ASKED, {"reward_model": SPEC, **LEVEL}), {}, stepped(-9.0, 0.0)),
    # Atropos gives one value for all, or lists
    ("atropos", "group", (ANSWERS,), {"ground_truth": "4", "item": {"level": 2}}, [-3.0, -1.0, -9.0]),
    (
        "atropos",
        "group",
        (ANSWERS,),
        {"solution": "4", "item": {"prompt_id": 7, "level": 2}},
        [-3.0, -1.0, -9.0],
    ),
    ("atropos", "group", (["4", "10", ""],), {"answer": ["4"] * 3, "level": [2] * 3}, [-3.0, -1.0, -9.0]),
    ("ms-swift", "counted", (["a", "b"],), SWIFT, [12.0, 13.0]),
    ("ms-swift", "siblings", (["a", "b", "c"],), {"prompt_id": ["x", "x", "y"]}, [2.0, 2.0, 1.0]),
    # an empty prompt_id is none; what a tool said last is no completion
    (
        "ms-swift",
        "siblings",
        (["a", "b"],),
        {"prompt_id": ["", ""], "messages": [says("p", "-"), says("q")]},
        [1.0] * 2,
    ),
    ("ms-swift", "length", (["<answer>4</answer>", "ab"],), {"messages": [TOOL, TOOL[:1]]}, [2.0, 2.0]),
    ("ms-swift", "length", (["<answer>4</answer>"],), {"messages": [ASKED]}, [18.0]),
    # a data pipeline of Tunix gives arrays, and bytes
    (
        "tunix",
        "length",
        (np.array(["p", "q"]), TEXTS),
        {"answer": np.array([b"4"] * 2), "mode": "x"},
        [1.0, 5.0],
    ),
    ("tunix", "siblings", (["a", "b", "a"], ["x", "y", "z"]), {}, [2.0, 1.0, 2.0]),
]


@pytest.mark.parametrize(("target", "reward", "arguments", "keywords", "expected"), CALLED)
def test_a_callable_gives_plain_values_and_leaves_its_arguments_as_they_are(
    target, reward, arguments, keywords, expected
):
    options = {} if target == "inspect" else {"missing": -9.0}
    made = named(target).functions(rk.Reward(reward, components=REWARDS[reward]), **options)
    function = made[0] if isinstance(made, list) else made
    before = repr((arguments, keywords))
    assert repr(function(*arguments, **keywords)) == repr(expected)
    assert repr((arguments, keywords)) == before
