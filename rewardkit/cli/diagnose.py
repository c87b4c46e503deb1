"""`rewardkit diagnose`: what scores would do to training."""

from __future__ import annotations

from typing import Any

import click

import rewardkit as rk
from rewardkit.analysis.findings import SEVERITIES
from rewardkit.cli.group import main
from rewardkit.cli.options import (
    json_option,
    rollout_options,
    seed_option,
    training_option,
    weights_option,
)
from rewardkit.cli.output import emit
from rewardkit.scoring import is_scored


@main.command("diagnose")
@click.argument("scores")
@rollout_options
@weights_option
@training_option
@seed_option
@click.option(
    "--fail-on",
    type=click.Choice(["warn", "high"]),
    help="Exit 1 when there is a finding of this severity or above.",
)
@json_option
@click.pass_context
def diagnose_command(
    ctx: click.Context,
    scores: str,
    reading: dict[str, Any],
    log_weights: dict[str, float],
    training: rk.Training,
    seed: int,
    fail_on: str | None,
    as_json: bool,
) -> None:
    """Say what SCORES would do to training, and what could be changed.

    SCORES is the folder that `rewardkit score -o` wrote, or its Parquet file; or the log of a trainer, whose
    own scores are diagnosed then, and which the options for reading are for.
    """
    about: dict[str, Any] = {}
    head = ""
    if is_scored(scores):
        given = [name for name in ("columns", "group", "join", "fill") if reading[name]]
        if given or log_weights:
            raise rk.InputError(
                f"{scores!r} is scored already; options for reading a log are for the log itself, or for "
                "'rewardkit score'"
            )
        scored = rk.load_scores(scores)
    else:
        log = rk.load_rollouts(scores, **reading)
        about, head = {"rollouts": log.summary()}, f"{log}\n\n"
        scored = rk.score(rk.recorded(log, log_weights), log)
    diagnosis = rk.diagnose(scored, training=training, seed=seed)
    advice = rk.suggest(diagnosis)
    record = {**diagnosis.record(), "suggestions": advice.record(), **about}
    emit(record, f"{head}{diagnosis}\n\n{advice}", as_json)
    met = fail_on and diagnosis.worst and SEVERITIES.index(diagnosis.worst) <= SEVERITIES.index(fail_on)
    ctx.exit(1 if met else 0)
