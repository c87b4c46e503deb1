"""`rewardkit export`: a reward as a file that a trainer loads unchanged."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.group import main
from rewardkit.cli.options import REWARD, as_option, json_option, names_option, rollout_options
from rewardkit.cli.output import emit, recognised
from rewardkit.targets import TARGETS
from rewardkit.targets.export import prove
from rewardkit.targets.exported import identifier

WRITTEN = [target.name for target in TARGETS if target.functions is not None]


@main.command("export", epilog=REWARD)
@click.argument("reward")
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Choice(WRITTEN),
    metavar="TARGET",
    help=f"{', '.join(WRITTEN)}.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write.  [default: REWARD_TARGET.py]",
)
@click.option(
    "--verify",
    metavar="ROLLOUTS",
    help="Load the file with the trainer's own code and compare its rewards on ROLLOUTS with rewardkit's; "
    "exit 1 where they differ.",
)
@click.option(
    "--missing",
    type=float,
    default=0.0,
    show_default=True,
    help="Number for a completion without a reward, where the trainer needs one.",
)
@click.option(
    "--separate", is_flag=True, help="Write one function for each component; the trainer weighs them."
)
@names_option
@as_option
@rollout_options
@json_option
@click.pass_context
def export_command(
    ctx: click.Context,
    reward: str,
    target: str,
    output: Path | None,
    verify: str | None,
    missing: float,
    separate: bool,
    names: Mapping[str, str],
    as_: str | None,
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Write REWARD as a Python file that a trainer loads unchanged, and say what is lost there.

    The options for reading are for the rollouts of --verify, on which a trainer's function is recognised.
    """
    if verify is None and any(value for name, value in reading.items() if name != "on"):
        raise rk.InputError("options for reading rollouts are for those of --verify; give it, too")
    with redirect_stdout(sys.stderr):
        rollouts = rk.load_rollouts(verify, **reading) if verify is not None else None
        loaded = rk.load_reward(reward, as_=as_, rollouts=rollouts)
        path = output or Path(f"{identifier(loaded.name)}_{identifier(target)}.py")
        made = rk.export(loaded, to=target, path=path, columns=names, missing=missing, separate=separate)
        unproved = None
        try:
            made = made if rollouts is None else prove(made, rollouts)
        except rk.InputError as error:
            unproved = error
    text = "\n".join([*recognised(loaded.origin), str(made)])
    emit({**made.record(), "origin": loaded.origin}, text, as_json)
    if unproved is not None:
        raise unproved  # behind what was written, which stays
    ctx.exit(1 if made.proof is not None and not made.proof.equal else 0)
