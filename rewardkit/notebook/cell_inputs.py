"""What a reward cell is given: the options on its line, its text, and the rollouts of the notebook."""

from __future__ import annotations

import math
import os
import shlex
import tokenize
from argparse import Namespace
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

from rewardkit.errors import InputError, did_you_mean, preview
from rewardkit.html.excerpts import one_line
from rewardkit.rewards.load import hides_module
from rewardkit.rollouts.table import Rollouts, load_rollouts
from rewardkit.scoring.scores import Scores

__all__ = ["chosen_rollouts", "encoded", "options", "reward_path", "unquoted"]

USUAL = ("rollouts", "logged")
"""Variables whose rollouts are taken where no others are named."""

USAGE = (
    "write %%reward PATH.py [--rollouts NAME] [--name ATTRIBUTE] [--as TRAINER] [--cases PATH] "
    "[--timeout SECONDS] [--force]"
)


def options(parser: MagicArgumentParser, line: str) -> Namespace:
    """The options on a magic's line; InputError: they cannot be read, with what to write."""
    try:
        read: Namespace = parser.parse_args([unquoted(word) for word in _words(line)])
    except (UsageError, ValueError) as error:
        raise InputError(f"{error}; {USAGE}") from None
    if not 0 <= read.timeout < math.inf:
        raise InputError(f"--timeout {read.timeout} is no time; give seconds, or 0 for no limit")
    return read


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=False)  # a backslash is a character of a path
    lexer.whitespace_split, lexer.commenters = True, ""
    return list(lexer)


def unquoted(word: str) -> str:
    """A word of the line without the quotes around it."""
    quoted = len(word) > 1 and word[0] == word[-1] and word[0] in "'\""
    return word[1:-1] if quoted else word


def reward_path(given: str) -> Path:
    """The path of a Python file in a folder that is there; InputError: it is none."""
    path = Path(os.path.expanduser(given))
    if path.suffix != ".py" or path.is_dir():
        raise InputError(f"{given!r} is no Python file; give a path that ends in .py")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {str(path.parent)!r}; make it, or give another path")
    if hides_module(path):
        raise InputError(
            f"{path.stem!r} is the name of a module, which {path.name} would hide from Python in its folder; "
            f"take another, such as {path.stem}_reward.py"
        )
    return path


def encoded(cell: str) -> bytes:
    """The file that the body of a cell is, byte for byte; InputError: it cannot be UTF-8."""
    try:
        data = cell.encode()
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
    except UnicodeEncodeError as error:
        raise InputError(f"the cell holds half a character, {cell[error.start]!r}; take it out") from None
    except SyntaxError:  # which is told with its line
        return data
    if not encoding.startswith("utf-8"):
        raise InputError(f"the cell says that its encoding is {encoding}, but it is saved as UTF-8; say that")
    return data


def chosen_rollouts(variables: Mapping[str, Any], name: str | None) -> tuple[Rollouts | None, str]:
    """The rollouts of this name, or of the notebook; ``None`` and why, where it does not say which."""
    if name is not None:
        return _named(variables, name), ""
    try:
        for usual in USUAL:
            if (found := _as_rollouts(variables.get(usual))) is not None:
                return found, ""
    except InputError as error:
        return None, f"not scored, as `{usual}` cannot be used: {one_line(error)}"
    others = _others(variables)
    if len(others) == 1:
        return variables[others[0]], ""
    if others:
        return None, f"not scored, as there are several rollouts here; give --rollouts and one of {others}"
    return None, "not scored, as there are no rollouts here: make `rollouts`, or give --rollouts NAME or PATH"


def _others(variables: Mapping[str, Any]) -> list[str]:
    """The names of the Rollouts that there are, each under one of its names."""
    names = {id(value): name for name, value in variables.items()
             if isinstance(value, Rollouts) and not name.startswith("_")}  # fmt: skip
    return list(names.values())


def _named(variables: Mapping[str, Any], name: str) -> Rollouts:
    value = variables.get(name, name)
    found = _as_rollouts(value)
    if found is not None:
        return found
    if not isinstance(value, str | Path):
        raise InputError(
            f"--rollouts {name} is {preview(value)}; give Rollouts, a DataFrame, Scores, or a path"
        )
    if name not in variables and ":" not in name and not Path(name).exists():
        near = did_you_mean(name, [*USUAL, *_others(variables)])
        raise InputError(f"there is no variable and no file {name!r} to take rollouts from{near}")
    return load_rollouts(value)


def _as_rollouts(value: Any) -> Rollouts | None:
    if isinstance(value, Scores):
        return value.rollouts
    return (
        load_rollouts(value)
        if isinstance(value, pd.DataFrame)
        else value
        if isinstance(value, Rollouts)
        else None
    )
