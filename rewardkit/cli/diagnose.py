"""`rewardkit diagnose`: what scores would do to training."""

from __future__ import annotations

import click

import rewardkit as rk
from rewardkit.analysis.findings import SEVERITIES
from rewardkit.cli.group import main
from rewardkit.cli.options import json_option, scaling_option, seed_option
from rewardkit.cli.output import emit


@main.command("diagnose")
@click.argument("scores")
@scaling_option
@seed_option
@click.option(
    "--fail-on",
    type=click.Choice(["warn", "high"]),
    help="Exit 1 when there is a finding of this severity or above.",
)
@json_option
@click.pass_context
def diagnose_command(
    ctx: click.Context, scores: str, scale_rewards: str, seed: int, fail_on: str | None, as_json: bool
) -> None:
    """Say what SCORES would do to training, and what could be changed.

    SCORES is the folder that `rewardkit score -o` wrote, or its Parquet file.
    """
    diagnosis = rk.diagnose(rk.load_scores(scores), scale_rewards=scale_rewards, seed=seed)
    advice = rk.suggest(diagnosis)
    emit({**diagnosis.record(), "suggestions": advice.record()}, f"{diagnosis}\n\n{advice}", as_json)
    met = fail_on and diagnosis.worst and SEVERITIES.index(diagnosis.worst) <= SEVERITIES.index(fail_on)
    ctx.exit(1 if met else 0)
