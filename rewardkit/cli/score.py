"""`rewardkit score`: scores of logged completions."""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.group import INTERRUPTED, interrupts_held, main
from rewardkit.cli.options import (
    REWARD,
    as_option,
    json_option,
    limit_for,
    no_cache_option,
    rollout_options,
    timeout_option,
)
from rewardkit.cli.output import emit, printable, recognised
from rewardkit.scoring.outcomes import STATUSES
from rewardkit.scoring.scores import folder_for
from rewardkit.targets.load import reward_named


def _most_often(scores: rk.Scores) -> str:
    """The most frequent reason why a component was not scored."""
    columns = [scores.table[f"error/{name}"].dropna().tolist() for name in scores.reward.names]
    found = Counter(reason for reasons in columns for reason in reasons if reason)
    return printable(f"; most often: {found.most_common(1)[0][0]}") if found else ""


@main.command("score", epilog=REWARD)
@click.argument("reward")
@click.argument("rollouts")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for scores.parquet and run.json.",
)
@as_option
@rollout_options
@timeout_option
@click.option(
    "--workers",
    type=int,
    metavar="NUMBER",
    help="Number of worker processes; groups stay together.  [default: score in this process]",
)
@no_cache_option
@json_option
@click.pass_context
def score_command(
    ctx: click.Context,
    reward: str,
    rollouts: str,
    output: Path | None,
    as_: str | None,
    reading: dict[str, Any],
    timeout: float | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """Score every completion of ROLLOUTS with REWARD.

    ROLLOUTS is a JSONL, Parquet or CSV file, or what a trainer wrote: a file or folder of TRL, verl, siiRL,
    verifiers, Inspect or datasets. REWARD may be "logged": the scores that stand in the log. The exit code is
    1 where no completion has a reward, 130 where scoring was interrupted: what was done is written then.
    """
    interrupted = None
    folder = ctx.with_resource(folder_for(output)) if output else None  # known before the work is done
    with redirect_stdout(sys.stderr):  # what the user's code prints is not the result
        read = rk.load_rollouts(rollouts, **reading)
        loaded = reward_named(reward, read, as_=as_)
        started = time.perf_counter()
        progress = not as_json and sys.stderr.isatty()
        limit = limit_for(timeout, loaded)
        try:
            scores = rk.score(loaded, read, timeout=limit, workers=workers, progress=progress)
        except rk.Interrupted as error:
            scores, interrupted = error.scores, error
        seconds = time.perf_counter() - started
    with interrupts_held() as held:
        if folder:
            scores.save(folder)
    totals = {status: sum(counts[status] for counts in scores.counts.values()) for status in STATUSES}
    record = {
        "rows": len(scores),
        **({"interrupted": True, "rows_given": interrupted.rows} if interrupted else {}),
        "scored": totals["scored"],
        "gated": totals["gated"],
        "abstained": totals["abstained"],
        "errors": totals["error"],
        "rewards_missing": scores.record["rewards_missing"],
        "seconds": round(seconds, 3),
        "output": str(folder) if folder else None,
        "components": scores.counts,
        "asked": scores.asked,
        "rollouts": read.summary(),
        "origin": loaded.origin,
    }
    lines = [str(read), *recognised(loaded.origin), str(scores)]
    emit(record, "\n".join([*lines, *([f"written to {folder}"] if folder else [])]), as_json)
    if interrupted or held:
        kept = f"written to {folder}" if folder else "not written, as no -o FOLDER was given"
        done = f"{len(scores):,} of {len(read):,} rollouts were scored"
        click.echo(f"rewardkit: interrupted; {done}, {kept}", err=True)
        ctx.exit(INTERRUPTED)
    if scores.record["rewards_missing"] == len(scores):
        click.echo(f"rewardkit: no rollout has a reward{_most_often(scores)}", err=True)
        ctx.exit(1)
