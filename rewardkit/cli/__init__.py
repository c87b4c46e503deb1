"""The command line; `command.JOBS` lists the commands in the order of the help."""

from rewardkit.cli.command import main

__all__ = ["main"]
