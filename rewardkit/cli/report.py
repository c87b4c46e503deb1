"""`rewardkit report`: the notebooks as pages."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click

from rewardkit.cli.group import main
from rewardkit.cli.options import (
    REWARD,
    as_option,
    baseline_option,
    budget_option,
    by_option,
    json_option,
    label_option,
    leakage_option,
    limit_for,
    no_cache_option,
    rollout_options,
    seed_option,
    timeout_option,
    training_option,
    weights_option,
)
from rewardkit.cli.output import emit, recognised
from rewardkit.rewards.training import Training


@main.command("report", epilog=REWARD)
@click.option(
    "--reward",
    "rewards",
    multiple=True,
    help='The reward; repeat for more. Without it, or with "logged": the scores in the log.',
)
@click.option(
    "--rollouts",
    required=True,
    help="A file of completions (JSONL, Parquet, CSV), a trainer's log (file or folder), or gallery:name.",
)
@click.option("--cases", help="A JSONL file of cases, or gallery:name.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reports"),
    show_default=True,
    help="Folder for the pages.",
)
@training_option
@label_option
@by_option
@seed_option
@budget_option
@leakage_option
@baseline_option
@click.option("--single-file", is_flag=True, help="Put everything into index.html, one page to send.")
@click.option("--redact", is_flag=True, help="Leave out prompts and completions.")
@as_option
@rollout_options
@weights_option
@timeout_option
@no_cache_option
@json_option
@click.pass_context
def report_command(
    ctx: click.Context,
    rewards: tuple[str, ...],
    rollouts: str,
    cases: str | None,
    output: Path,
    training: Training,
    label: str | None,
    by: tuple[str, ...],
    seed: int,
    budget: float,
    leakage: float,
    baseline: str | None,
    single_file: bool,
    redact: bool,
    as_: str | None,
    reading: dict[str, Any],
    log_weights: dict[str, float],
    timeout: float | None,
    as_json: bool,
) -> None:
    """Run the notebooks on a reward and its rollouts and write the pages; exit 1 when a notebook failed."""
    from rewardkit.notebook.report.report import report  # papermill takes seconds to import

    with redirect_stdout(sys.stderr):
        made = report(
            rewards,
            rollouts,
            output,
            cases=cases,
            as_=as_,
            **reading,
            log_weights=log_weights,
            training=training,
            label=label,
            by=by or None,
            seed=seed,
            timeout=lambda loaded: limit_for(timeout, *loaded),
            budget=budget,
            leakage=leakage,
            baseline=baseline,
            single_file=single_file,
            redact=redact,
            progress=not as_json,
        )
    verdicts = {summary.name: summary.verdict for summary in made.summaries}
    record = {
        "index": str(made.index),
        "summary": str(made.summary),
        "verdicts": verdicts,
        "failed": made.failed,
        "origins": [summary.diagnosis.scores.reward.origin for summary in made.summaries],
    }
    text = "\n".join(
        line
        for line in [
            *(line for origin in record["origins"] for line in recognised(origin)),
            *(f"{name}: {verdict}" for name, verdict in verdicts.items()),
            *(f"page failed: {line}" for line in made.failed),
            f"report: {made.index}",
        ]
        if line
    )
    emit(record, text, as_json)
    ctx.exit(1 if made.failed else 0)
