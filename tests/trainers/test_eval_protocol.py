"""eval-protocol's own decorator."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import asks the network

import pytest
from eval_protocol import EvaluateResult, Message, MetricResult, reward_function
from table import read_as, rows


@reward_function
def mine(
    messages: list[Message], ground_truth: str | None = None, **kwargs
) -> EvaluateResult:
    """In the words of its documentation: a score, and metrics beside it."""
    text = messages[-1].content
    right = ground_truth in text
    metrics = {"length": MetricResult(score=float(len(text)), reason="characters")}
    return EvaluateResult(
        score=2.0 * right - 1, reason="", metrics=metrics, is_score_valid=bool(text)
    )


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
def test_a_decorated_function_is_read_as_it_is_called_there(name, no_workers):
    title = "eval-protocol: it is a @reward_function"
    reward, ours = read_as(
        title, "eval-protocol", f"{__file__}:{name}", rows("4", "5!", "", level=3)
    )
    assert ours == READ[name]
    assert name != "mine" or reward.weights == {"length": 0.0, "score": 1.0}
