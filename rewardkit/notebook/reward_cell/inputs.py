"""What a reward cell takes: the options on its line, and the notebook's rollouts."""

from __future__ import annotations

import math
import os
import shlex
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

from rewardkit.errors import InputError, did_you_mean, preview
from rewardkit.rewards.load import hides_module
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.scores import Scores

USUAL = ("rollouts", "logged")
"""Variables whose rollouts are taken where no others are named."""
KINDS = Rollouts | Scores | pd.DataFrame

USAGE = (
    "write %%reward PATH.py [--rollouts NAME] [--name ATTRIBUTE] [--as TRAINER] "
    "[--cases PATH] "
    "[--timeout SECONDS] [--force]"
)


def options(parser: MagicArgumentParser, line: str) -> Namespace:
    """Read the options on a magic's line.

    Raises:
        InputError: they cannot be read; it says what to write.
    """
    try:
        read: Namespace = parser.parse_args(shlex.split(line, posix=os.name != "nt"))
    except (UsageError, ValueError) as error:
        raise InputError(f"{error}; {USAGE}") from None
    if not 0 <= read.timeout < math.inf:
        raise InputError(
            f"--timeout {read.timeout} is no time; give seconds, or 0 for no limit"
        )
    return read


def reward_path(given: str) -> Path:
    """Return the path of a Python file in a folder that is there.

    Raises:
        InputError: it is none.
    """
    path = Path(os.path.expanduser(given))
    if path.suffix != ".py" or path.is_dir():
        raise InputError(f"{given!r} is no Python file; give a path that ends in .py")
    if not path.parent.is_dir():
        raise InputError(
            f"there is no folder {str(path.parent)!r}; make it, or give another path"
        )
    if hides_module(path):
        raise InputError(
            f"{path.stem!r} is the name of a module, which {path.name} would hide from "
            "Python in its folder; "
            f"take another, such as {path.stem}_reward.py"
        )
    return path


def chosen_rollouts(
    variables: Mapping[str, Any], name: str | None
) -> tuple[Rollouts | None, str]:
    """Return the rollouts of this variable or file, or None and why there are none."""
    given = name or next(
        (one for one in USUAL if isinstance(variables.get(one), KINDS)), None
    )
    if given is None:
        return (
            None,
            "not scored, as there is no variable `rollouts`: make it, or give "
            "--rollouts NAME",
        )
    value = variables.get(given, given)
    if isinstance(value, Rollouts | Scores):
        return value if isinstance(value, Rollouts) else value.rollouts, ""
    if not isinstance(value, str | Path | pd.DataFrame):
        wanted = "give Rollouts, a DataFrame, Scores, or a path"
        raise InputError(f"--rollouts {given} is {preview(value)}; {wanted}")
    if given not in variables and ":" not in given and not Path(given).exists():
        near = did_you_mean(
            given, [one for one, held in variables.items() if isinstance(held, KINDS)]
        )
        raise InputError(
            f"there is no variable and no file {given!r} to take rollouts from{near}"
        )
    return load_rollouts(value), ""
