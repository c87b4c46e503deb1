"""The command line: one module a command, in the order in which `rewardkit --help` lists them."""

from rewardkit.cli import check, diagnose, export, lab, report, sample, score
from rewardkit.cli.group import main

__all__ = ["check", "diagnose", "export", "lab", "main", "report", "sample", "score"]
