"""`rewardkit diagnose`: what scores would do to training."""

from __future__ import annotations

from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.group import main
from rewardkit.cli.options import (
    by_option,
    json_option,
    label_option,
    rollout_options,
    seed_option,
    training_option,
    weights_option,
)
from rewardkit.cli.output import emit
from rewardkit.cli.scored import scored_or_logged
from rewardkit.findings import SEVERITIES


@main.command("diagnose")
@click.argument("scores")
@rollout_options
@weights_option
@training_option
@label_option
@by_option
@seed_option
@click.option(
    "--fail-on",
    type=click.Choice(["warn", "high"]),
    help="Exit 1 when there is a finding of this severity or above.",
)
@click.option("--verbose", is_flag=True, help="Show all findings, changes and normalizations.")
@json_option
@click.pass_context
def diagnose_command(
    ctx: click.Context,
    scores: str,
    reading: dict[str, Any],
    log_weights: dict[str, float],
    training: rk.Training,
    label: str | None,
    by: tuple[str, ...],
    seed: int,
    fail_on: str | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Say what SCORES would do to training, and what could be changed.

    SCORES is the folder that `rewardkit score -o` wrote, or its Parquet file; or the log of a trainer, whose
    own scores are diagnosed then, and which the options for reading are for.
    """
    read = scored_or_logged(scores, reading, log_weights)
    diagnosis = rk.diagnose(read.scores, training=training, label=label, by=by or None, seed=seed)
    advice = rk.suggest(diagnosis)
    pages = (item.page(verbose=verbose, path=scores) for item in (diagnosis, advice))
    text = "\n\n".join(page.text for page in pages)
    told = {"suggestions": advice.record(), "notes": list(advice.notes)}
    emit({**diagnosis.record(), **told, **read.about}, f"{read.head}{text}", as_json)
    met = fail_on and diagnosis.worst and SEVERITIES.index(diagnosis.worst) <= SEVERITIES.index(fail_on)
    ctx.exit(1 if met else 0)
