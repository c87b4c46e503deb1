"""The command line: one module a command; `group.JOBS` lists them in the order of `rewardkit --help`."""

from importlib import import_module

from rewardkit.cli.group import JOBS, main

__all__ = ["main"]

for names in JOBS.values():
    for name in names:
        import_module(f"rewardkit.cli.{name}")
