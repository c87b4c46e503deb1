"""`rewardkit report`: the notebooks as pages."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

import rewardkit as rk
from rewardkit.cli.group import main
from rewardkit.cli.options import (
    REWARD,
    json_option,
    limit_for,
    rollout_options,
    scaling_option,
    seed_option,
    timeout_option,
)
from rewardkit.cli.output import emit


@main.command("report", epilog=REWARD)
@click.option(
    "--reward",
    "rewards",
    multiple=True,
    required=True,
    help="The reward; may be repeated for several in one report.",
)
@click.option(
    "--rollouts", required=True, help="A JSONL, Parquet or CSV file of completions, or gallery:name."
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
@scaling_option
@seed_option
@click.option("--single-file", is_flag=True, help="Put everything into index.html, one page to send.")
@click.option("--redact", is_flag=True, help="Leave out prompts and completions.")
@rollout_options
@timeout_option
@json_option
@click.pass_context
def report_command(
    ctx: click.Context,
    rewards: tuple[str, ...],
    rollouts: str,
    cases: str | None,
    output: Path,
    scale_rewards: str,
    seed: int,
    single_file: bool,
    redact: bool,
    columns: dict[str, str],
    group: tuple[str, ...],
    timeout: float | None,
    as_json: bool,
) -> None:
    """Run the notebooks on a reward and its rollouts and write the pages; exit 1 when a notebook failed."""
    from rewardkit.notebook.report import report  # papermill takes seconds to import

    with redirect_stdout(sys.stderr):
        made = report(
            rewards,
            rollouts,
            output,
            cases=cases,
            columns=columns,
            group=group,
            scale_rewards=scale_rewards,
            seed=seed,
            timeout=limit_for(timeout, *map(rk.load_reward, rewards)),
            single_file=single_file,
            redact=redact,
            progress=not as_json,
        )
    verdicts = {summary.name: summary.verdict[1] for summary in made.summaries}
    record = {
        "index": str(made.index),
        "summary": str(made.summary),
        "verdicts": verdicts,
        "failed": made.failed,
    }
    text = "\n".join(
        [
            *(f"{name}: {verdict}" for name, verdict in verdicts.items()),
            *(f"page failed: {line}" for line in made.failed),
            f"report: {made.index}",
        ]
    )
    emit(record, text, as_json)
    ctx.exit(1 if made.failed else 0)
