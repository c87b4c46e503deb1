"""Rollouts for tests of trainers, and what has been proved of which target, for the table that is printed."""

import json
import os
from pathlib import Path

import rewardkit as rk


def arithmetic(size=64):
    return rk.load_rollouts("gallery:arithmetic").select(range(size))


def read_as(title, target, place, rollouts):
    """The reward that a place is read as, and its rewards of the rollouts, None where there is none."""
    reward = rk.load_reward(place, rollouts=rollouts)
    assert f"read as {title}" in reward.origin
    proved(target, "recognised", "read")
    rewards = rk.score(reward, rollouts).rewards.tolist()
    return reward, [None if value != value else value for value in rewards]


def rows(*completions, **more):
    """Rollouts of one prompt, whose right completion is 4."""
    given = {"prompt": "2+2?", "ground_truth": "4", **more}
    return rk.load_rollouts([{**given, "completion": text} for text in completions])


def proved(target, *steps, by=""):
    """Note that steps (recognised, read, written, called, equal) were seen to hold for a target."""
    place = os.environ.get("REWARDKIT_TABLE")
    if place:
        with Path(place).open("a") as file:
            file.writelines(
                json.dumps({"target": target, "step": step, "by": by}) + "\n"
                for step in steps
            )
