"""Targets: trainers whose reward functions are read, and for which files are written.

Each trainer has a module; `README.md` in this folder says how to add one.
"""

from rewardkit.errors import RewardError, did_you_mean
from rewardkit.targets import (
    areal,
    atropos,
    benchmax,
    easyr1,
    environments,
    eval_protocol,
    inspect_ai,
    ms_swift,
    nemo_gym,
    nemo_rl,
    openai_grader,
    openrlhf,
    plain,
    rllm,
    siirl,
    skyrl_gym,
    slime,
    torchtune,
    trl,
    tunix,
    verifiers,
    verifiers_rubrics,
    verl,
)
from rewardkit.targets.target import Target

TARGETS: tuple[Target, ...] = (
    trl.TRL,
    verl.VERL,
    siirl.SIIRL,
    tunix.TUNIX,
    openrlhf.OPENRLHF,
    benchmax.BENCHMAX,
    verifiers.VERIFIERS,
    verifiers_rubrics.VERIFIERS_RUBRIC,
    ms_swift.MS_SWIFT,
    easyr1.EASYR1,
    atropos.ATROPOS,
    inspect_ai.INSPECT,
    skyrl_gym.SKYRL_GYM,
    eval_protocol.EVAL_PROTOCOL,
    openai_grader.OPENAI,
    areal.AREAL,
    nemo_gym.NEMO_GYM,
    nemo_rl.NEMO_RL,
    slime.SLIME,
    rllm.RLLM,
    torchtune.TORCHTUNE,
    environments.ENVIRONMENTS,
    plain.PLAIN,
)
"""All targets. If a function fits several equally well, the first one wins."""


def find_target(name: str) -> Target:
    """Return the target called `name`, or raise a RewardError."""
    targets = {target.name: target for target in TARGETS}
    if name not in targets:
        raise RewardError(
            f"there is no target {name!r}; known are {list(targets)}"
            f"{did_you_mean(name, targets)}"
        )
    return targets[name]
