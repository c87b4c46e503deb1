"""`rewardkit lab`: JupyterLab on a copy of the notebooks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

from rewardkit.bundle import bundled
from rewardkit.cli.group import main


@main.command("lab", context_settings={"ignore_unknown_options": True})
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("rewardkit-notebooks"),
    show_default=True,
    help="Where the copy lies; made if missing, files that are there are kept.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def lab_command(folder: Path, arguments: tuple[str, ...]) -> None:
    """Open JupyterLab on a copy of the notebooks; ARGUMENTS, such as --no-browser, go to JupyterLab."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in sorted(bundled("notebooks").glob("*.ipynb")):
        target = folder / source.name
        if not target.exists():
            target.write_bytes(source.read_bytes())
    raise SystemExit(
        subprocess.call(
            [sys.executable, "-m", "jupyter", "lab", *arguments], cwd=folder, env=dict(os.environ)
        )
    )
