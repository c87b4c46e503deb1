"""`rewardkit export`: a reward as a file that a trainer loads unchanged."""

from __future__ import annotations

from pathlib import Path

import click

import rewardkit as rk
from rewardkit.cli.command import Answer, Options, command
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
def export(options: Options) -> Answer:
    """Write REWARD as a file that a trainer loads unchanged.

    It says what is lost there. The options for reading are for the rollouts of
    --verify, on which a trainer's function is recognised.

    Example:
      rewardkit export gallery:arithmetic --to trl
    """
    rollouts = (
        rk.load_rollouts(options.verify, **options.reading)
        if options.verify is not None
        else None
    )
    reward = rk.load_reward(options.reward, as_=options.as_, rollouts=rollouts)
    path = options.output or Path(
        f"{identifier(reward.name)}_{identifier(options.to)}.py"
    )
    settings = {"columns": options.name, **options.select("missing separate")}
    exported, refusal = rk.export(reward, to=options.to, path=path, **settings), ""
    try:
        exported = exported if rollouts is None else prove(exported, rollouts)
    except rk.InputError as error:
        refusal = str(error)  # said behind what was written, which stays
    status = (
        2 if refusal else int(exported.proof is not None and not exported.proof.equal)
    )
    text = "\n".join([*recognised(reward.origin), str(exported)])
    return Answer({**exported.record(), "origin": reward.origin}, text, status, refusal)
