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


NONE = [None] * 4


@pytest.mark.parametrize(
    ("body", "expected", "errors"),
    [
        ("Score('C' if target.text in state.output.completion else 'I')", [1, 0, 0, 1], None),
        ("Score('P' if state.output.completion else 'N')", [0.5, 0.5, 0, 0.5], None),
        ("Score(target[0] == state.output.completion)", [0, 0, 0, 1], None),
        ("Score(2.5 - 2 * len(str(state.metadata['level'])))", [0.5] * 4, None),
        ("Score('0.25')", [0.25] * 4, None),
        ("Score('Yes')", [1] * 4, None),
        ("Score(float('nan'))", NONE, "returned None"),  # unscored: not judged, and no error
        ("None if state.output.completion else Score(-1)", [None, None, -1, None], None),
        ("Score(len(state.messages) + len(state.input))", [6] * 4, None),
        ("Score('maybe')", NONE, "its value is 'maybe', neither a number nor C, I, P, N, yes, no"),
        ("Score({'right': 'C', 'short': 0.5})", [1.5] * 4, None),  # a component each
    ],
)
def test_the_values_of_a_score_are_read_as_inspect_takes_them(reads, rollouts, body, expected, errors):
    source = f"{SCORE}\nasync def f(state, target):\n    return {body}"
    reward = reads(source, expected, "read as Inspect: it takes state and target", errors=errors)
    assert len(reward.names) == (2 if "right" in body else 1)
    if "nan" in body:
        assert set(rk.score(reward, rollouts).table["status/f"]) == {"abstained"}


def test_a_class_and_a_plain_function_are_read_too(reads):
    reads(f"{SCORE}\nclass f:\n    async def __call__(self, state, target): return Score(0.5)", [0.5] * 4)
    reads(f"{SCORE}\ndef f(state, target): return Score(1)", [1] * 4)


ROW = {"prompt": "2+2?", "completion": "4", "ground_truth": ["4", "four"], "level": {"n": 1}}


def test_a_state_is_a_copy_of_the_row():
    before = copy.deepcopy(ROW)
    state, target = state_of(ROW), target_of(ROW)
    assert (state.input, state.output.completion, state.messages[-1].text) == ("2+2?", "4", "4")
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
