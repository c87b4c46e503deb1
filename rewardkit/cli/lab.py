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
from rewardkit.cli.command import Answer, Options, command
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.rollouts.paths import bundled, write_whole
from rewardkit.starting.notebooks import has_same_parameters, notebook_text, seen_from

ALL = BUILD, _, ANALYZE = "01_build", "02_check", "03_analyze"
PATH_OPTIONS = ("join", "baseline")
AS_GIVEN = ("label", "by", "redact")


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
def lab(options: Options) -> Answer:
    """Open JupyterLab on a copy of the notebooks.

    ARGUMENTS, such as --no-browser, go to it. With --rollouts the parameters of the
    copies have the values of the options, after these were tried. Without --reward only
    the notebook that builds one is copied. Nothing is overwritten: the same values open
    the same copies again, with what was done in them, others get a number, such as
    01_build-2.ipynb.

    Example:
      rewardkit lab --reward gallery:arithmetic --rollouts gallery:arithmetic
    """
    if find_spec("jupyterlab") is None:
        raise ModuleNotFoundError(
            "'rewardkit lab' needs jupyterlab, which the extra 'notebook' brings: pip install "
            "'reward-workbench[notebook]'"
        )
    typed = {
        name: written
        for name, written in options.typed.items()
        if name not in ("folder", "arguments")
    }
    stems, values = _checked(options, typed) if typed else (ALL, {})
    notebooks = _copied(stems, options.folder, values)
    run = [
        sys.executable,
        "-m",
        "jupyter",
        "lab",
        notebooks[0].name,
        *options.arguments,
    ]
    return Answer({}, "", subprocess.call(run, cwd=options.folder))


def _checked(
    options: Options, typed: Mapping[str, str]
) -> tuple[Sequence[str], dict[str, Any]]:
    """Return the notebooks that the options are for, and their parameters.

    InputError: what cannot be used.
    """
    if options.rollouts is None:
        raise rk.InputError(
            f"{next(iter(typed.values()))} is for notebooks on rollouts of yours; give --rollouts, too"
        )
    # jupyterlab brings what it needs
    from rewardkit.notebook.inputs import read_inputs

    names = [options.reward] if options.reward else []
    reading, limits = options.notebook_reading(), options.notebook_limits()
    inputs = read_inputs(
        names,
        options.rollouts,
        **options.select("cases label by"),
        reading=reading,
        limits=limits,
    )
    if not limits.get("timeout"):
        limits.pop("timeout", None)  # 0 is no limit
    if inputs.ignored:
        reading["ignore"] = inputs.ignored
    values = {
        "reward": seen_reward_from(options.folder, options.reward or ""),
        "rollouts": seen_from(options.folder, options.rollouts),
        "cases": options.cases and seen_from(options.folder, options.cases),
        "reading": seen_options_from(options.folder, reading),
        "limits": seen_options_from(options.folder, limits),
        **{name: getattr(options, name) for name in AS_GIVEN if name in typed},
    }
    if "training" in typed:
        values["training"] = options.training.record()
    return _stems_for(options.reward), values


def _stems_for(reward: str | None) -> Sequence[str]:
    """Return the notebooks that are for a reward, for the scores of a log, or for none."""
    if not reward:
        return (BUILD,)
    return (BUILD, ANALYZE) if reward == LOGGED_REWARD else ALL


def seen_reward_from(folder: Path, reward: str) -> str:
    """Return the name of a reward as a notebook in the folder has to write it."""
    file = re.fullmatch(r"(.+\.py)(:.*)?", reward)
    return seen_from(folder, file[1]) + (file[2] or "") if file else reward


def seen_options_from(folder: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with their paths as seen from the folder."""
    seen = dict(options)
    for name in PATH_OPTIONS:
        if name in seen:
            seen[name] = seen_from(folder, seen[name])
    return seen


def _copied(
    stems: Sequence[str], folder: Path, values: Mapping[str, Any]
) -> list[Path]:
    """Return the notebooks to open: copies in the folder with these parameters.

    A copy that is there is opened again where its parameters are the same, whatever
    else was changed in it; else all get the first number that none with others has:
    ``01_build-2.ipynb``. Without values copies that are there are kept as they are.
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
