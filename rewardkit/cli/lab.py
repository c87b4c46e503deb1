"""`rewardkit lab`: JupyterLab on a copy of the notebooks."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

import rewardkit as rk
from rewardkit.cli.group import main
from rewardkit.cli.options import (
    REWARD,
    Number,
    as_option,
    baseline_option,
    budget_option,
    by_option,
    label_option,
    leakage_option,
    rollout_options,
    seed_option,
    training_option,
    weights_option,
)
from rewardkit.cli.presets import copied
from rewardkit.errors import did_you_mean
from rewardkit.probes.results.baseline import load_baseline
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.rollouts.package_data import bundled
from rewardkit.targets.load import reward_named

ALL = BUILD, _, ANALYZE = "01_build", "02_check", "03_analyze"
READING = ("columns", "group", "join", "on", "fill")


@main.command("lab", epilog=REWARD, context_settings={"ignore_unknown_options": True})
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("rewardkit-notebooks"),
    show_default=True,
    help="Folder for the copy; made if missing, existing files are kept.",
)
@click.option("--reward", help='The reward for the notebooks, or "logged": the scores in the log.')
@click.option("--rollouts", help="Completions, a trainer's log (file or folder), or gallery:name.")
@click.option("--cases", help="A JSONL file of cases, or gallery:name.")
@training_option
@label_option
@by_option
@seed_option
@budget_option
@leakage_option
@baseline_option
@click.option("--redact", is_flag=True, help="Leave out prompts and completions.")
@as_option
@rollout_options
@weights_option
@click.option(
    "--timeout",
    type=Number(min=0),
    metavar="SECONDS",
    help="Time limit for one call of your code; 0 for no limit.  [default: 0]",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def lab_command(
    ctx: click.Context, /, folder: Path, arguments: tuple[str, ...], reading: dict[str, Any], **given: Any
) -> None:
    """Open JupyterLab on a copy of the notebooks; ARGUMENTS, such as --no-browser, go to JupyterLab.

    With --rollouts the parameters of the copies have the values of the options, after these were tried.
    Without --reward only the notebook that builds one is copied. Nothing is overwritten: the same values open
    the same copies again, with what was done in them, others get a number, such as 01_build-2.ipynb.
    """
    if find_spec("jupyterlab") is None:
        raise ModuleNotFoundError(
            "'rewardkit lab' needs jupyterlab, which the extra 'notebook' brings: pip install "
            "'reward-workbench[notebook]'"
        )
    asked = {
        parameter.name: ({**given, **reading}[parameter.name], parameter.opts[0])
        for parameter in ctx.command.params
        if parameter.name not in (None, "folder", "arguments")
        and ctx.get_parameter_source(parameter.name) == ParameterSource.COMMANDLINE
    }
    with redirect_stdout(sys.stderr):
        stems, values = _checked(asked) if asked else (ALL, {})
    notebooks = copied([bundled(f"notebooks/{stem}.ipynb") for stem in stems], folder, values)
    command = [sys.executable, "-m", "jupyter", "lab", notebooks[0].name, *arguments]
    raise SystemExit(subprocess.call(command, cwd=folder, env=dict(os.environ)))


def _checked(asked: dict[str, tuple[Any, str]]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The notebooks that are for these values of options, and their parameters; each value with its option.

    InputError: what cannot be used.
    """
    values = {name: value for name, (value, _) in asked.items()}
    if "rollouts" not in values:
        ((_, option), *_) = asked.values()
        raise rk.InputError(f"{option} is for notebooks on rollouts of yours; give --rollouts, too")
    reward, cases = values.get("reward", ""), values.get("cases", "")
    if reward in ("", LOGGED_REWARD) and cases:
        raise rk.InputError("--cases are what a reward is checked against; give one with --reward, too")
    if reward != LOGGED_REWARD and "log_weights" in values:
        raise rk.InputError("--log-weight is of the scores in a log; give --reward logged, too")
    rollouts = rk.load_rollouts(
        values["rollouts"], **{name: values[name] for name in READING if name in values}
    )
    if reward:
        loaded = reward_named(reward, rollouts, values.get("log_weights"), as_=values.get("as_"))
        loaded.check_columns(list(map(str, rollouts.table.columns)))
    if cases:
        rk.load_cases(cases)
    if "baseline" in values:
        load_baseline(values["baseline"])
    for option, names in (("--label", [values.get("label")]), ("--by", values.get("by", ()))):
        for name in names:
            if name is not None and name not in rollouts.table:
                known = list(map(str, rollouts.table.columns))
                near = did_you_mean(name, known)
                raise rk.InputError(f"{option} names {name!r}; the rollouts have {known}{near}")
    stems = (BUILD,) if not reward else (BUILD, ANALYZE) if reward == LOGGED_REWARD else ALL
    renamed = {"as_": "read_as"}
    plain = {renamed.get(name, name): _plain(value) for name, value in values.items()}
    return stems, {"reward": reward, "cases": cases, **plain}


def _plain(value: Any) -> Any:
    """A value as notebooks have it."""
    if isinstance(value, rk.Training):
        return value.record()
    return list(value) if isinstance(value, tuple) else value
