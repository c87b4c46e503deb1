"""EasyR1 has no wheel: the lines that call a reward there, written again in small."""

import re

import pytest
from table import arithmetic, read_as

import rewardkit as rk
from rewardkit.targets import easyr1

REWARD_NAME = "math"
REWARD_TYPE = "batch"


def compute_score(reward_inputs, format_weight=0.25):
    """In the words of its examples: what is paid, and its parts beside it."""
    scores = []
    for one in reward_inputs:
        tidy = float(
            re.fullmatch(r"<think>.*</think>.*", one["response"], re.DOTALL) is not None
        )
        right = (
            2.0 * one["response"].rstrip().endswith(f"{one['ground_truth']}</answer>")
            - 1
        )
        overall = (1 - format_weight) * right + format_weight * tidy
        scores.append({"overall": overall, "format": tidy, "accuracy": right})
    return scores


def test_a_documented_function_is_read_as_it_is_called_there(tmp_path):
    rollouts, file = arithmetic(), tmp_path / "mine.py"
    read, ours = read_as("EasyR1", "easyr1", f"{__file__}:compute_score", rollouts)
    assert read.weights == {"overall": 1, "format": 0, "accuracy": 0}
    file.write_text("from test_easyr1 import REWARD_TYPE, compute_score\n")
    theirs = easyr1.call(file, None, list(rollouts)).values
    assert ours == pytest.approx(theirs["reward"]) and len(set(theirs["reward"])) > 2
    assert theirs["accuracy"] == rk.score(read, rollouts).score("accuracy").tolist()
