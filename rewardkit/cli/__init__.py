"""The command line: one module a command, in the order in which `rewardkit --help` lists them."""

from rewardkit.cli import (
    check,
    compare,
    diagnose,
    export,
    forecast,
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
    "check",
    "compare",
    "diagnose",
    "export",
    "forecast",
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
