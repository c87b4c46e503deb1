"""EasyR1's compute_score, for lists and for one, read and written."""

import copy

import pytest

import rewardkit as rk
from rewardkit.targets import easyr1
from rewardkit.targets.export import export

BATCH = """
REWARD_NAME = "math"
REWARD_TYPE = "batch"
def f(reward_inputs, format_weight=0.5):
    scores = []
    for one in reward_inputs:
        right = float(one["ground_truth"] in one["response"])
        tidy = float(one["response"].startswith("<"))
        scores.append({"overall": 2 * right - 1 + format_weight * tidy, "accuracy": right, "format": tidy})
    return scores
"""
ONE = "def f(one): return {'overall': -1.0 if not one['response'] else float(one['response_length'])}"
NAMED = ONE.replace("(one)", "(reward_input)").replace("one[", "reward_input[")
SIBLINGS = """
def f(reward_inputs):
    longest = max(len(one["response"]) for one in reward_inputs)
    return [{"overall": len(one["response"]) / longest} for one in reward_inputs]
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (BATCH, [1.5, -0.5, -1, 1]),  # a list, as its documentation has it
        (NAMED, [1, 1, -1, 1]),  # one dict, told by the parameter's name
        (f'REWARD_TYPE = "sequential"\n{ONE}', [1, 1, -1, 1]),
        (f'REWARD_TYPE = "batch"\n{NAMED}', [1, 1, -1, 1]),  # which is wrong
        (SIBLINGS, [1, 1, 0, 1]),
    ],
)
def test_a_function_is_read_whether_it_takes_one_or_a_list(reads, source, expected):
    reads(source, expected, "read as EasyR1", "response_length from the words of completion")


def test_only_overall_is_paid_and_the_other_keys_are_recorded(load, rollouts):
    reward = load(BATCH)
    assert reward.weights == {"overall": 1.0, "accuracy": 0.0, "format": 0.0}
    assert rk.score(reward, rollouts).score("accuracy").tolist() == [1, 0, 0, 1]


def test_a_column_with_the_length_in_tokens_is_taken(load, rewards, rollouts):
    longer = rk.load_rollouts([{**row, "response_length": 40} for row in rollouts])
    reward = load(NAMED, rollouts=longer)
    assert "response_length from response_length" in reward.origin
    assert rewards(reward, longer) == [40, 40, -1, 40]


@pytest.mark.parametrize(
    ("gives", "said"),
    [
        ("[]", "returned 0 values for 2 completions"),
        ('[{"score": 1.0}]', "with 'overall'"),
        ("[1.0]", "returned 1.0 for a response"),
        ("None", "returned None"),
    ],
)
def test_what_is_no_such_result_is_an_error_and_no_score(reads, gives, said):
    source = f'REWARD_TYPE = "batch"\ndef f(reward_inputs):\n    return {gives}'
    reads(source, [None] * 4, errors=said)


def close(completion, ground_truth, response_length):
    if not completion:
        return None
    return (ground_truth == completion) + response_length / 100


CLOSE = rk.Reward("close", components=[rk.Component("overall", close, range=None, weight=-2)])


def test_the_function_gives_the_same_finite_keys_for_every_response():
    score = easyr1.functions(CLOSE, missing=-9.0)
    inputs = [
        {"response": "4", "response_length": 50, "ground_truth": "4"},
        {"response": "", "response_length": 0, "ground_truth": "4"},
    ]
    before = copy.deepcopy(inputs)
    assert score(inputs) == [{"judged": 1.0, "overall": -3.0}, {"judged": 0.0, "overall": -9.0}]
    assert inputs == before


def test_a_reward_that_needs_another_column_cannot_be_written(tmp_path):
    reward = rk.Reward("r", components=[rk.Component("p", lambda completion, prompt: 1.0)])
    with pytest.raises(rk.RewardError, match="cannot be written for EasyR1: it needs 'prompt', and EasyR1"):
        export(reward, to="easyr1", path=tmp_path / "r.py")
    assert not list(tmp_path.iterdir())
