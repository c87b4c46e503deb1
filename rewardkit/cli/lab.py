"""`rewardkit lab`: JupyterLab on a copy of the notebooks."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import rewardkit as rk
from rewardkit.cli.group import READ_AS, Asked, command
from rewardkit.cli.options import NAMED
from rewardkit.cli.output import Answer
from rewardkit.cli.presets import copied
from rewardkit.errors import did_you_mean
from rewardkit.probes.results.baseline import load_baseline
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.rollouts.package_data import bundled
from rewardkit.targets.load import reward_named

RENAMED = {**READ_AS, "as": "read_as", "log_weight": "log_weights"}
"""Option -> what notebooks call it."""

ALL = BUILD, _, ANALYZE = "01_build", "02_check", "03_analyze"


@command(
    "lab",
    "[ARGUMENTS] --rollouts --cases --training --label --by --seed --budget --leakage --baseline "
    "--redact --as READING --log-weight",
    {
        "--folder FOLDER": ("Folder for the copy.", {"default": Path("rewardkit-notebooks")}),
        "--timeout SECONDS": "Limit for one call of your code.  [default: 0, for none]",
        "--reward REWARD": 'The reward for the notebooks, or "logged": the scores in the log.',
    },
    note=NAMED,
    example="rewardkit lab --reward gallery:arithmetic --rollouts gallery:arithmetic",
    ignore_unknown_options=True,
)
def lab(asked: Asked) -> Answer:
    """Open JupyterLab on a copy of the notebooks.

    ARGUMENTS, such as --no-browser, go to it. With --rollouts the parameters of the copies have the values of
    the options, after these were tried. Without --reward only the notebook that builds one is copied. Nothing
    is overwritten: the same values open the same copies again, with what was done in them, others get a
    number, such as 01_build-2.ipynb.
    """
    if find_spec("jupyterlab") is None:
        raise ModuleNotFoundError(
            "'rewardkit lab' needs jupyterlab, which the extra 'notebook' brings: pip install "
            "'reward-workbench[notebook]'"
        )
    given = {name: written for name, written in asked.given.items() if name not in ("folder", "arguments")}
    stems, values = _checked(asked, given) if given else (ALL, {})
    notebooks = copied([bundled(f"notebooks/{stem}.ipynb") for stem in stems], asked.folder, values)
    run = [sys.executable, "-m", "jupyter", "lab", notebooks[0].name, *asked.arguments]
    return Answer({}, "", subprocess.call(run, cwd=asked.folder, env=dict(os.environ)))


def _checked(asked: Asked, given: dict[str, str]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The notebooks that are for the options that were given, and their parameters.

    InputError: what cannot be used.
    """
    if asked.rollouts is None:
        raise rk.InputError(
            f"{next(iter(given.values()))} is for notebooks on rollouts of yours; give --rollouts, too"
        )
    reward, logged = asked.reward or "", asked.reward == LOGGED_REWARD
    if asked.cases and (logged or not reward):
        raise rk.InputError("--cases are what a reward is checked against; give one with --reward, too")
    if asked.log_weight and not logged:
        raise rk.InputError("--log-weight is of the scores in a log; give --reward logged, too")
    rollouts = rk.load_rollouts(asked.rollouts, **asked.reading)
    known = list(map(str, rollouts.table.columns))
    if reward:
        reward_named(reward, rollouts, asked.log_weight, as_=asked.as_).check_columns(known)
    if asked.cases:
        rk.load_cases(asked.cases)
    if asked.baseline:
        load_baseline(asked.baseline)
    for written, name in [("--label", asked.label), *(("--by", name) for name in asked.by)]:
        if name is not None and name not in known:
            raise rk.InputError(
                f"{written} names {name!r}; the rollouts have {known}{did_you_mean(name, known)}"
            )
    values = {**vars(asked), **asked.reading, "read_as": asked.as_, "log_weights": asked.log_weight}
    named = {RENAMED.get(name, name) for name in given}
    plain = {name: _plain(value) for name, value in values.items() if name in named}
    stems = (BUILD,) if not reward else (BUILD, ANALYZE) if logged else ALL
    return stems, {"reward": reward, "cases": asked.cases or "", **plain}


def _plain(value: Any) -> Any:
    """A value as notebooks have it."""
    if isinstance(value, rk.Training):
        return value.record()
    return list(value) if isinstance(value, tuple) else value
