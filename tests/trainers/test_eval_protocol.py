"""eval-protocol's own decorator."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import asks the network

import pytest
from eval_protocol import EvaluateResult, Message, MetricResult, reward_function
from table import proved

import rewardkit as rk


@reward_function
def mine(messages: list[Message], ground_truth: str | None = None, **kwargs) -> EvaluateResult:
    """In the words of its documentation: a score, and metrics beside it."""
    text = messages[-1].content
    right = ground_truth in text
    metrics = {"length": MetricResult(score=float(len(text)), reason="characters")}
    return EvaluateResult(score=2.0 * right - 1, reason="", metrics=metrics, is_score_valid=bool(text))


@reward_function
async def waits(messages, ground_truth=None, **kwargs):
    return EvaluateResult(score=kwargs["level"] / 2, reason="")


@reward_function
def wrong(messages, ground_truth=None, **kwargs):
    return 1.0


READ = {
    "mine": [1, -1, None],  # metrics, and a score that is not valid
    "waits": [1.5, 1.5, 1.5],
    "wrong": [None, None, None],  # a number, which their decorator refuses
}


@pytest.mark.parametrize("name", READ)
def test_a_decorated_function_is_read_as_it_is_called_there(name):
    rows = [{"prompt": "2+2?", "completion": one, "ground_truth": "4", "level": 3} for one in ("4", "5!", "")]
    rollouts = rk.load_rollouts(rows)
    reward = rk.load_reward(f"{__file__}:{name}", rollouts=rollouts)
    assert "read as eval-protocol: it is a @reward_function" in reward.origin
    ours = [None if value != value else value for value in rk.score(reward, rollouts).rewards.tolist()]
    assert ours == READ[name]
    assert name != "mine" or reward.weights == {"length": 0.0, "score": 1.0}
    proved("eval-protocol", "recognised", "read")
