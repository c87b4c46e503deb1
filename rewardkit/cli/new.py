"""`rewardkit new`: the first hour of a new task."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.group import main
from rewardkit.cli.options import Integer, json_option, rollout_options
from rewardkit.cli.output import emit


@main.command("new")
@click.argument("name")
@click.option(
    "--log",
    required=True,
    help="Completions of the task (JSONL, Parquet, CSV), a trainer's log (file or folder), or gallery:name.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("."),
    metavar="FOLDER",
    help="Folder for the files; made if missing.  [default: the working folder]",
)
@click.option(
    "--seed",
    type=Integer(min=0),
    default=0,
    show_default=True,
    help="Seed of the sample from a long log.",
)
@rollout_options
@json_option
def new_command(name: str, log: str, output: Path, seed: int, reading: dict[str, Any], as_json: bool) -> None:
    """Start a task from a log: a reward NAME.py, cases to decide NAME_cases.jsonl, a notebook NAME.ipynb.

    The reward reads answers as the log's completions state them, and its comments say what was measured. The
    cases are completions where ways to read the answer differ, at thresholds and at the top of the reward.
    Nothing that is there is written over.
    """
    with redirect_stdout(sys.stderr):
        made = rk.start(name, log, output, **reading, seed=seed)
    emit(made.record(), str(made), as_json)
