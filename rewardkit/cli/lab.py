"""`rewardkit lab`: JupyterLab on a copy of the notebooks."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import rewardkit as rk
from rewardkit.cli.command import Answer, Asked, command
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.rollouts.package_data import bundled
from rewardkit.rollouts.write import write_whole
from rewardkit.starting.notebooks import has_same_parameters, notebook_text, seen_from

ALL = BUILD, _, ANALYZE = "01_build", "02_check", "03_analyze"
PATHS = ("rollouts", "cases", "join", "baseline")


@command(
    "[ARGUMENTS] --rollouts --cases --training --label --by --seed --budget --leakage --baseline "
    "--redact --as READING --log-weight",
    {
        "--folder FOLDER": (
            "Folder for the copy.",
            {"default": Path("rewardkit-notebooks")},
        ),
        "--timeout SECONDS": "Limit for one call of your code.  [default: 0, for none]",
        "--reward REWARD": 'The reward for the notebooks, or "logged": the scores in the log.',
    },
    ignore_unknown_options=True,
)
def lab(asked: Asked) -> Answer:
    """Open JupyterLab on a copy of the notebooks.

    ARGUMENTS, such as --no-browser, go to it. With --rollouts the parameters of the copies have the values of
    the options, after these were tried. Without --reward only the notebook that builds one is copied. Nothing
    is overwritten: the same values open the same copies again, with what was done in them, others get a
    number, such as 01_build-2.ipynb.

    Example:
      rewardkit lab --reward gallery:arithmetic --rollouts gallery:arithmetic
    """
    if find_spec("jupyterlab") is None:
        raise ModuleNotFoundError(
            "'rewardkit lab' needs jupyterlab, which the extra 'notebook' brings: pip install "
            "'reward-workbench[notebook]'"
        )
    given = {
        name: written
        for name, written in asked.given.items()
        if name not in ("folder", "arguments")
    }
    stems, values = _checked(asked, given) if given else (ALL, {})
    notebooks = _copied(stems, asked.folder, values)
    run = [sys.executable, "-m", "jupyter", "lab", notebooks[0].name, *asked.arguments]
    return Answer({}, "", subprocess.call(run, cwd=asked.folder))


def _checked(
    asked: Asked, given: Mapping[str, str]
) -> tuple[Sequence[str], dict[str, Any]]:
    """The notebooks that are for the options that were given, and their parameters.

    InputError: what cannot be used.
    """
    if asked.rollouts is None:
        raise rk.InputError(
            f"{next(iter(given.values()))} is for notebooks on rollouts of yours; give --rollouts, too"
        )
    from rewardkit.notebook.inputs import (
        read_inputs,
    )  # what it needs, jupyterlab brings

    reward = asked.reward or ""
    told = asked.some("cases as_ log_weights baseline label by")
    read = read_inputs(
        [reward] if reward else [], asked.rollouts, **told, **asked.reading
    )
    values = {
        "reward": reward,
        "cases": asked.cases or "",
        **asked.some(" ".join(given)),
    }
    values |= {"read_as": values.pop("as_", ""), "ignore": read.ignored}
    if "training" in values:
        values["training"] = asked.training.record()
    stems = (
        (BUILD,) if not reward else (BUILD, ANALYZE) if reward == LOGGED_REWARD else ALL
    )
    return stems, {
        name: _from_folder(name, value, asked.folder) for name, value in values.items()
    }


def _from_folder(name: str, value: Any, folder: Path) -> Any:
    """The value of a parameter for a notebook in the folder, from where paths are others."""
    if name == "reward" and (file := re.fullmatch(r"(.+\.py)(:.*)?", value)):
        return seen_from(folder, file[1]) + (file[2] or "")
    return seen_from(folder, value) if name in PATHS and value else value


def _copied(
    stems: Sequence[str], folder: Path, values: Mapping[str, Any]
) -> list[Path]:
    """The notebooks as they are to be opened: copies in the folder whose parameters have these values.

    A copy that is there is opened again where its parameters are the same, whatever else was changed in it;
    else all get the first number that none with others has: ``01_build-2.ipynb``. Without values copies that
    are there are kept as they are.
    """
    sources = [
        bundled(f"notebooks/{stem}.ipynb").read_text(encoding="utf-8") for stem in stems
    ]
    texts = [notebook_text(source, values) for source in sources]
    for number in count(1):
        behind = "" if number == 1 else f"-{number}"
        wanted = {
            folder / f"{stem}{behind}.ipynb": text
            for stem, text in zip(stems, texts, strict=True)
        }
        there = [path for path in wanted if path.exists()]
        if not values or all(has_same_parameters(path, wanted[path]) for path in there):
            break
    folder.mkdir(parents=True, exist_ok=True)
    for path in wanted.keys() - there:
        write_whole(path, partial(Path.write_text, data=wanted[path], encoding="utf-8"))
    return list(wanted)
