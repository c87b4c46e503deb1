"""eval-protocol's reward functions, read and written without eval-protocol."""

import copy

import pytest

import rewardkit as rk
from rewardkit.targets import eval_protocol

RESULT = """
class MetricResult:
    def __init__(self, score, is_score_valid=True, reason=""):
        self.held = {"score": score, "is_score_valid": is_score_valid, "reason": reason}

class EvaluateResult:
    def __init__(self, score, is_score_valid=True, metrics=None, reason=None):
        self.score, self.is_score_valid, self.metrics = score, is_score_valid, metrics or {}
    def model_dump(self):
        metrics = {name: one.held for name, one in self.metrics.items()}
        return {"score": self.score, "is_score_valid": self.is_score_valid, "metrics": metrics}

def f(messages, ground_truth=None, **kwargs):
    text = messages.pop()["content"]
    metrics = {"length": MetricResult(float(len(text)), is_score_valid=bool(text))}
    return EvaluateResult(1.5 if ground_truth in text else -0.5, is_score_valid=bool(text), metrics=metrics)

async def waits(messages, **kwargs):
    return {"score": kwargs["level"] / 2, "metrics": {"score": {"score": 9.0}}}

def number(messages, ground_truth=None, **kwargs):
    return 1.0

def decorated(messages, ground_truth=None, **kwargs):
    return number(messages, ground_truth)
decorated._reward_function_mode = "pointwise"

def batch(messages, **kwargs):
    return []
batch._reward_function_mode = "batch"
"""


def test_the_score_is_paid_the_metrics_are_recorded_and_what_is_not_valid_is_not_judged(reads, rollouts):
    weights = {"length": 0.0, "score": 1.0}
    said = "read as eval-protocol: it takes messages and keywords"
    reward = reads(RESULT, [1.5, -0.5, None, 1.5], said, weights=weights)
    assert rk.score(reward, rollouts).score("length").tolist()[:2] == [18, 18]


def test_an_async_function_with_a_metric_called_score_and_a_number_where_a_result_belongs(reads, load):
    reads(RESULT, [1, 1, 0.5, 0.5], name="waits", weights={"score": 1.0})
    reads(RESULT, [None] * 4, "read as eval-protocol: it is a @reward_function", name="decorated")
    with pytest.raises(rk.RewardError, match=r"returned 1.0; eval-protocol expects an EvaluateResult"):
        load(RESULT, "number")
    with pytest.raises(rk.RewardError, match=r"batch is not a reward|asks for 'messages'"):
        load(RESULT, "batch")


def right(completion, ground_truth, prompt, level):
    return (completion == ground_truth) * level - len(prompt) if completion else None


RIGHT = rk.Reward("right", components=[rk.Component("right", right, range=None)])


class Message:
    def __init__(self, role, content):
        self.held = {"role": role, "content": content}

    def model_dump(self, exclude_none):
        return self.held


@pytest.mark.parametrize("form", [lambda role, content: {"role": role, "content": content}, Message])
def test_the_callable_gives_the_fields_of_a_result(form):
    def turns(text):
        return [form("user", "2+2?"), form("assistant", text)]

    evaluate = eval_protocol.functions(RIGHT, missing=-9.0)
    given = turns("4")
    before = copy.deepcopy(given) if isinstance(given[0], dict) else None
    good = {"score": 2.0, "is_score_valid": True, "reason": ""}
    assert evaluate(given, "4", level=6) == {**good, "metrics": {"right": good}}
    bad = {"score": -9.0, "is_score_valid": False, "reason": "not judged"}
    assert evaluate(turns(""), ground_truth="4", level=6) == {**bad, "metrics": {"right": bad}}
    assert before is None or given == before
