"""`rewardkit score`: scores of logged completions."""

from __future__ import annotations

import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.group import main
from rewardkit.cli.options import REWARD, json_option, limit_for, rollout_options, timeout_option
from rewardkit.cli.output import emit
from rewardkit.evaluation import STATUSES
from rewardkit.recorded import LOGGED_REWARD


@main.command("score", epilog=REWARD)
@click.argument("reward")
@click.argument("rollouts")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for scores.parquet and run.json.",
)
@rollout_options
@timeout_option
@json_option
def score_command(
    reward: str,
    rollouts: str,
    output: Path | None,
    columns: dict[str, str],
    group: tuple[str, ...],
    join: str | None,
    on: str,
    fill: dict[str, Any],
    timeout: float | None,
    as_json: bool,
) -> None:
    """Score every completion of ROLLOUTS with REWARD.

    ROLLOUTS is a JSONL, Parquet or CSV file, or what a trainer wrote: a file or folder of TRL, verl, siiRL,
    verifiers, Inspect or datasets. REWARD may be "logged": the scores that stand in the log.
    """
    with redirect_stdout(sys.stderr):  # what the user's code prints is not the result
        given = rk.load_reward(reward) if reward != LOGGED_REWARD else None
        read = rk.load_rollouts(
            rollouts, columns=columns, group=list(group) or None, join=join, on=on, fill=fill
        )
        loaded = given or rk.recorded(read)
        started = time.perf_counter()
        progress = not as_json and sys.stderr.isatty()
        scores = rk.score(loaded, read, timeout=limit_for(timeout, loaded), progress=progress)
        seconds = time.perf_counter() - started
    folder = scores.save(output) if output else None
    totals = {status: sum(counts[status] for counts in scores.counts.values()) for status in STATUSES}
    record = {
        "rows": len(scores),
        "scored": totals["scored"],
        "gated": totals["gated"],
        "abstained": totals["abstained"],
        "errors": totals["error"],
        "rewards_missing": scores.record["rewards_missing"],
        "seconds": round(seconds, 3),
        "output": str(folder) if folder else None,
        "components": scores.counts,
        "rollouts": read.summary(),
    }
    emit(record, f"{read}\n{scores}" + (f"\nwritten to {folder}" if folder else ""), as_json)
