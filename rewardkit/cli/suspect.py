"""`rewardkit suspect`: completions that look like an exploit, and what pays them."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.group import main
from rewardkit.cli.options import (
    Number,
    json_option,
    label_option,
    limit_for,
    rollout_options,
    seed_option,
    timeout_option,
    training_option,
    weights_option,
)
from rewardkit.cli.output import emit
from rewardkit.cli.scored import SCORES, scored_or_logged
from rewardkit.probes.probe import BUDGET
from rewardkit.probes.suspects.likeness import ALIKE
from rewardkit.probes.suspects.suspect import suspect


@main.command("suspect", epilog=SCORES)
@click.argument("scores")
@click.option("--like", metavar="ID", help="Completions with a form like that of this rollout_id.")
@click.option("--pattern", metavar="REGEX", help="Completions with a match of this regular expression.")
@click.option(
    "--alike",
    type=Number(min=0, min_open=True, max=1),
    help=f"With --like: the least likeness, from 0 to 1.  [default: {ALIKE:g}]",
)
@click.option("--patched", metavar="REWARD", help="A fixed reward (file.py:name) to score them with.")
@label_option
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Compare their share between the values of this column; repeat for more.  [default: every column of "
    "few values]",
)
@training_option
@rollout_options
@weights_option
@seed_option
@timeout_option
@click.option(
    "--budget",
    type=Number(min=0, min_open=True),
    default=BUDGET,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for all calls of the fixed reward; what it was not tried on is listed.",
)
@json_option
def suspect_command(
    scores: str,
    like: str | None,
    pattern: str | None,
    alike: float | None,
    patched: str | None,
    label: str | None,
    by: tuple[str, ...],
    training: rk.Training,
    reading: dict[str, Any],
    log_weights: dict[str, float],
    seed: int,
    timeout: float | None,
    budget: float,
    as_json: bool,
) -> None:
    """Say how many completions of SCORES look like an exploit, since when, where, and what pays them.

    With --patched also how many of them would still earn, and which right completions would get less.
    """
    if (like is None) == (pattern is None):
        told = "not both" if like is not None else "neither is there"
        raise rk.InputError(f"give --like ID or --pattern REGEX; {told}")
    with redirect_stdout(sys.stderr):  # what the user's code prints is not the result
        read = scored_or_logged(scores, reading, log_weights)
        mended = None if patched is None else rk.load_reward(patched, rollouts=read.scores.rollouts)
        found = suspect(
            read.scores,
            like=like,
            pattern=pattern,
            alike=alike,
            patched=mended,
            label=label,
            by=by or None,
            training=training,
            seed=seed,
            timeout=None if mended is None else limit_for(timeout, mended),
            budget=budget,
            progress=not as_json and sys.stderr.isatty(),
        )
    emit({**found.record(), **read.about}, f"{read.head}{found}", as_json)
