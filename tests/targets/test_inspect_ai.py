"""Inspect's scorers, read and written; with states of its own where it is installed, else with stand-ins."""

import copy
import math
from types import SimpleNamespace

import pytest

import rewardkit as rk
from rewardkit.targets import inspect_ai
from rewardkit.targets.inspect_ai import state_of, target_of

SCORE = """
class Score:
    def __init__(self, value):
        self.value = value
"""


@pytest.mark.parametrize(
    "body, expected",
    [
        pytest.param(
            "return Score('C' if target.text in state.output.completion else 'I')", [1, 0, 0, 1], id="C and I"
        ),
        pytest.param(
            "return Score('P' if state.output.completion else 'N')", [0.5, 0.5, 0, 0.5], id="P and N"
        ),
        pytest.param("return Score(target[0] == state.output.completion)", [0, 0, 0, 1], id="a bool"),
        pytest.param("return Score(2.5 - 2 * len(str(state.metadata['level'])))", [0.5] * 4, id="metadata"),
        pytest.param("return Score('0.25')", [0.25] * 4, id="a number as text"),
        pytest.param("return Score('Yes')", [1] * 4, id="a word that Inspect knows"),
        pytest.param("return Score(float('nan'))", [None] * 4, id="unscored"),
        pytest.param(
            "return None if state.output.completion else Score(-1)", [None, None, -1, None], id="no score"
        ),
        pytest.param(
            "return Score(len(state.messages) + len(state.input_text))", [6] * 4, id="the conversation"
        ),
    ],
)
def test_the_values_of_a_score_are_read_as_inspect_takes_them(load, rewards, body, expected):
    reward = load(f"{SCORE}\nasync def f(state, target):\n    {body}")
    assert "read as Inspect: it takes state and target" in reward.origin
    assert rewards(reward) == expected


def test_a_dict_of_values_is_a_component_each(load, rewards):
    reward = load(f"{SCORE}\nasync def f(state, target):\n    return Score({{'right': 'C', 'short': 0.5}})")
    assert reward.weights == {"right": 1.0, "short": 1.0} and rewards(reward) == [1.5] * 4


def test_unscored_is_not_judged_and_no_error(load, rollouts):
    reward = load(f"{SCORE}\nasync def f(state, target):\n    return Score(float('nan'))")
    assert set(rk.score(reward, rollouts).table["status/f"]) == {"abstained"}


def test_a_value_that_stands_for_no_number_is_an_error(load, rollouts):
    reward = load(f"{SCORE}\nasync def f(state, target):\n    return Score('maybe')")
    told = rk.score(reward, rollouts).table["error/f"]
    assert told.str.contains("its value is 'maybe', neither a number nor C, I, P, N, yes, no").all()


def test_a_class_and_a_plain_function_are_read_too(load, rewards):
    source = f"{SCORE}\nclass f:\n    async def __call__(self, state, target):\n        return Score(0.5)\n"
    assert rewards(load(source)) == [0.5] * 4
    assert rewards(load(f"{SCORE}\ndef f(state, target):\n    return Score(1)")) == [1] * 4


ROW = {"prompt": "2+2?", "completion": "4", "ground_truth": ["4", "four"], "level": {"n": 1}}


def test_a_state_is_a_copy_of_the_row():
    before = copy.deepcopy(ROW)
    state, target = state_of(ROW), target_of(ROW)
    assert (state.input_text, state.output.completion, state.messages[-1].text) == ("2+2?", "4", "4")
    assert (list(target), target.text) == (["4", "four"], "4four")
    state.metadata["level"]["n"] = 2
    assert before == ROW
    assert list(target_of({"ground_truth": None})) == []


def right(completion, ground_truth, level, prompt):
    return (completion == ground_truth) * level - len(prompt) if completion else None


RIGHT = rk.Reward("right", components=[rk.Component("right", right, range=None)])


def turn(role, text):
    return SimpleNamespace(role=role, text=text)


@pytest.mark.parametrize("question", ["2+2?", [turn("user", "2+2?")]])
def test_the_callable_takes_a_state_and_gives_the_fields_of_a_score(question):
    def state(text):
        turns = [turn("user", "2+2?"), turn("assistant", text)]
        output = SimpleNamespace(completion=text)
        return SimpleNamespace(input=question, messages=turns, output=output, metadata={"level": 6})

    score = inspect_ai.functions(RIGHT)
    target = SimpleNamespace(text="4")
    assert score(state("4"), target) == {"value": 2.0, "metadata": {"right": 2.0}}
    assert score(state("5"), target) == {"value": -4.0, "metadata": {"right": -4.0}}
    missing = score(state(""), target)
    assert math.isnan(missing["value"]) and missing["metadata"] == {"right": None}
    told = state("4")
    told.metadata["ground_truth"] = 4
    assert score(told, target)["value"] == -4.0  # as it is in the data set: a number
