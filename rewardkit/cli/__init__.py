"""The command line; `command.JOBS` lists the commands in the order of the help."""

from rewardkit.cli import analyse, check, design, run, runs, score, watch
from rewardkit.cli.command import main

__all__ = ["analyse", "check", "design", "main", "run", "runs", "score", "watch"]
