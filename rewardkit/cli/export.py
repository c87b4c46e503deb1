"""`rewardkit export`: a reward as a file that a trainer loads unchanged."""

from __future__ import annotations

from pathlib import Path

import click

import rewardkit as rk
from rewardkit.cli.command import Answer, Asked, command
from rewardkit.cli.output import recognised
from rewardkit.targets import TARGETS
from rewardkit.targets.export import prove
from rewardkit.targets.exported import identifier

WRITTEN = [target.name for target in TARGETS if target.functions is not None]


@command(
    "REWARD --as READING --json",
    {
        "--to TARGET": (
            f"{', '.join(WRITTEN)}.",
            {"required": True, "type": click.Choice(WRITTEN)},
        ),
        "-o --output OUTPUT": "The file to write.  [default: REWARD_TARGET.py]",
        "--verify ROLLOUTS": "Compare its rewards in the trainer's own code; exit 1 where they differ.",
        "--missing NUMBER": (
            "What a completion without a reward gets, if it must.",
            {"default": 0.0},
        ),
        "--separate": "Write one function for each component; the trainer weighs them.",
        "--name NAME=SOURCE...": "Name of a column in the training set: ground_truth=label.",
    },
)
def export(asked: Asked) -> Answer:
    """Write REWARD as a file that a trainer loads unchanged.

    It says what is lost there. The options for reading are for the rollouts of --verify, on which a trainer's
    function is recognised.

    Example:
      rewardkit export gallery:arithmetic --to trl
    """
    rollouts = (
        rk.load_rollouts(asked.verify, **asked.reading)
        if asked.verify is not None
        else None
    )
    reward = rk.load_reward(asked.reward, as_=asked.as_, rollouts=rollouts)
    path = asked.output or Path(f"{identifier(reward.name)}_{identifier(asked.to)}.py")
    options = {"columns": asked.name, **asked.some("missing separate")}
    made, unproved = rk.export(reward, to=asked.to, path=path, **options), ""
    try:
        made = made if rollouts is None else prove(made, rollouts)
    except rk.InputError as error:
        unproved = str(error)  # said behind what was written, which stays
    status = 2 if unproved else int(made.proof is not None and not made.proof.equal)
    text = "\n".join([*recognised(reward.origin), str(made)])
    return Answer({**made.record(), "origin": reward.origin}, text, status, unproved)
