"""The command line: one module a command, in the order in which `rewardkit --help` lists them."""

from rewardkit.cli import (
    cache,
    check,
    compare,
    diagnose,
    export,
    forecast,
    judge,
    lab,
    new,
    probe,
    report,
    sample,
    score,
    suspect,
    whatif,
)
from rewardkit.cli.group import main

__all__ = [
    "cache",
    "check",
    "compare",
    "diagnose",
    "export",
    "forecast",
    "judge",
    "lab",
    "main",
    "new",
    "probe",
    "report",
    "sample",
    "score",
    "suspect",
    "whatif",
]
