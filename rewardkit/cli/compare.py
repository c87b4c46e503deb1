"""`rewardkit compare`: what differs between two scored tables."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

import click

import rewardkit as rk
from rewardkit.analysis.compare import compare
from rewardkit.cli.group import main
from rewardkit.cli.options import (
    REWARD,
    json_option,
    label_option,
    limit_for,
    seed_option,
    timeout_option,
    training_option,
)
from rewardkit.cli.output import emit
from rewardkit.cli.scored import scores_of
from rewardkit.findings import SEVERITIES


@main.command("compare", epilog=REWARD)
@click.argument("a")
@click.argument("b")
@click.option("--cases", help="A JSONL file of cases, to list those that B loses and gains.")
@click.option("--reward-a", metavar="REWARD", help="The reward that scored A, to run on the cases.")
@click.option("--reward-b", metavar="REWARD", help="The reward that scored B, to run on the cases.")
@training_option
@label_option
@seed_option
@timeout_option
@click.option(
    "--fail-on",
    type=click.Choice(["warn", "high"]),
    help="Exit 1 when B has a finding of this severity or above that A lacks; a lost case is high.",
)
@json_option
@click.pass_context
def compare_command(
    ctx: click.Context,
    a: str,
    b: str,
    cases: str | None,
    reward_a: str | None,
    reward_b: str | None,
    training: rk.Training,
    label: str | None,
    seed: int,
    timeout: float | None,
    fail_on: str | None,
    as_json: bool,
) -> None:
    """Say what differs between the scores A and B: definition, rewards, advantages, ranks, cases, findings.

    A and B are folders that `rewardkit score -o` wrote, or their Parquet files; rows are matched by
    rollout_id. The folders tell of a reward but cannot run it, so that --cases needs both rewards too.
    """
    if cases is None and (reward_a or reward_b):
        raise rk.InputError("--reward-a and --reward-b are for cases; give --cases too")
    with redirect_stdout(sys.stderr):  # what the user's code prints is not the result
        sides = [scores_of(a, reward_a), scores_of(b, reward_b)]
        run = [side.reward for side, name in zip(sides, (reward_a, reward_b), strict=True) if name]
        limit = limit_for(timeout, *run) if run else None
        found = compare(*sides, cases=cases, training=training, label=label, seed=seed, timeout=limit)
    emit(found.record(), str(found), as_json)
    if fail_on and found.cases and found.cases["reason"]:
        raise rk.InputError(
            f"--fail-on cannot speak of the cases: {found.cases['reason']}; name both with --reward-a and "
            "--reward-b"
        )
    worst = found.worst_new
    ctx.exit(1 if fail_on and worst and SEVERITIES.index(worst) <= SEVERITIES.index(fail_on) else 0)
