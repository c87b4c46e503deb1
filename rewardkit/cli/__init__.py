"""The command line: one module a command, in the order in which `rewardkit --help` lists them."""

from rewardkit.cli import check, compare, diagnose, export, lab, report, sample, score
from rewardkit.cli.group import main

__all__ = ["check", "compare", "diagnose", "export", "lab", "main", "report", "sample", "score"]
