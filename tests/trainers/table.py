"""Rollouts for tests of trainers, and what has been proved of which target, for the table that is printed."""

import json
import os
from pathlib import Path

import rewardkit as rk


def arithmetic(size=64):
    return rk.load_rollouts("gallery:arithmetic").select(range(size))


def proved(target, *steps, by=""):
    """Note that steps (recognised, read, written, called, equal) were seen to hold for a target."""
    place = os.environ.get("REWARDKIT_TABLE")
    if place:
        with Path(place).open("a") as file:
            file.writelines(json.dumps({"target": target, "step": step, "by": by}) + "\n" for step in steps)
