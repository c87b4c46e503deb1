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
    verifiers_rubrics,
    verl,
)
from rewardkit.targets.target import Target

__all__ = ["TARGETS", "named"]

_FIRST = (
    trl,
    verl,
    siirl,
    tunix,
    openrlhf,
    benchmax,
    verifiers,
    verifiers_rubrics,
    ms_swift,
    easyr1,
)
_MODULES = (
    *_FIRST,
    atropos,
    inspect_ai,
    skyrl_gym,
    eval_protocol,
    openai_grader,
    plain,
)
TARGETS: tuple[Target, ...] = tuple(module.TARGET for module in _MODULES)
"""In the order in which a function that fits several alike is taken for one."""


def named(name: str) -> Target:
    """The target of this name; RewardError where there is none."""
    known = {target.name: target for target in TARGETS}
    if name not in known:
        raise RewardError(
            f"there is no target {name!r}; known are {list(known)}{did_you_mean(name, known)}"
        )
    return known[name]
