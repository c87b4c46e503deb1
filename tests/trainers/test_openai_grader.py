"""OpenAI's graders run in its own sandbox: they can be read here, and nothing else be proved."""

from table import proved

import rewardkit as rk


def grade(sample, item) -> float:
    """In the words of its guide: a number for what was sampled, and the row of the data set."""
    right = item["reference_answer"] in sample["output_text"]
    return 1.0 if right else 0.25 * (sample["output_json"] is None)


def test_a_documented_grader_is_read():
    texts = ("it is 4", "five", "[5]")
    rollouts = rk.load_rollouts([{"prompt": "2+2?", "completion": one, "ground_truth": "4"} for one in texts])
    reward = rk.load_reward(f"{__file__}:grade", rollouts=rollouts)
    assert "read as OpenAI's graders" in reward.origin
    assert rk.score(reward, rollouts).rewards.tolist() == [1, 0.25, 0]
    proved("openai", "recognised", "read")
