"""Targets: the trainers whose reward functions are read, and for which ours are written and proved.

A module a trainer; `README.md` in this folder says how to add one.
"""

from rewardkit.errors import RewardError, did_you_mean
from rewardkit.targets import (
    atropos,
    benchmax,
    easyr1,
    eval_protocol,
    inspect_ai,
    ms_swift,
    openai_grader,
    openrlhf,
    plain,
    siirl,
    skyrl_gym,
    trl,
    tunix,
    verifiers,
    verl,
)
from rewardkit.targets.target import Target

__all__ = [
    "TARGETS",
    "atropos",
    "benchmax",
    "easyr1",
    "eval_protocol",
    "inspect_ai",
    "ms_swift",
    "named",
    "openai_grader",
    "openrlhf",
    "plain",
    "siirl",
    "skyrl_gym",
    "trl",
    "tunix",
    "verifiers",
    "verl",
]

TARGETS: tuple[Target, ...] = (
    trl.TARGET,
    verl.TARGET,
    siirl.TARGET,
    tunix.TARGET,
    openrlhf.TARGET,
    benchmax.TARGET,
    verifiers.TARGET,
    ms_swift.TARGET,
    easyr1.TARGET,
    atropos.TARGET,
    inspect_ai.TARGET,
    skyrl_gym.TARGET,
    eval_protocol.TARGET,
    openai_grader.TARGET,
    plain.TARGET,
)
"""In the order in which a function that fits several alike is taken for one."""


def named(name: str) -> Target:
    """The target of this name; RewardError where there is none."""
    known = {target.name: target for target in TARGETS}
    if name not in known:
        raise RewardError(f"there is no target {name!r}; known are {list(known)}{did_you_mean(name, known)}")
    return known[name]
