"""`rewardkit new`, `lab`: start a task from a log, and open its notebooks."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import count, takewhile
from pathlib import Path

import rewardkit as rk
from rewardkit.cli.command import CommandResult, Options, command
from rewardkit.cli.options import ANY_LOG
from rewardkit.plain import Plain, Record
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.rollouts.paths import bundled, write_content
from rewardkit.starting.start import has_same_parameters, notebook_text, seen_from

# --- new


@command(
    "NAME --seed READING --json",
    {
        "--log ROLLOUTS": (ANY_LOG, {"required": True}),
        "-o --output FOLDER": "Folder for the files; made if missing.  [default: NAME]",
    },
)
def new(options: Options) -> CommandResult:
    """Start a task from a log: a first reward, cases to decide, a notebook.

    The reward reads answers as the log's completions state them, and its comments have
    the measurements. The cases are completions where ways to read the answer differ,
    at thresholds and at the top of the reward. Existing files are not overwritten.

    Example:
      rewardkit new sums --log gallery:arithmetic
    """
    folder = options.output or Path(options.name)
    started = rk.start(
        options.name, options.log, folder, **options.reading, seed=options.seed
    )
    return CommandResult(started.record(), str(started))


# --- lab

BUILD = "01_build"
CHECK = "02_check"
ANALYZE = "03_analyze"
COMPARE = "04_compare"
MONITOR = "05_monitor"
PATH_OPTIONS = ("join", "baseline")
PASSED_ON = ("label", "by", "redact")


@command(
    "[ARGUMENTS] --rollouts --cases --training --label --by --seed --budget --leakage "
    "--baseline --redact --as READING --log-weight",
    {
        "--folder FOLDER": (
            "Folder for the copy.",
            {"default": Path("rewardkit-notebooks")},
        ),
        "--timeout SECONDS": "Limit for one call of your code.  [default: 0, for none]",
        "--reward REWARD": 'The reward for the notebooks, or "logged": the scores in '
        "the log.",
    },
    ignore_unknown_options=True,
)
def lab(options: Options) -> CommandResult:
    """Open JupyterLab on a copy of the notebooks.

    ARGUMENTS are REWARD and ROLLOUTS, as for --reward and --rollouts; from the first
    that begins with a dash, such as --no-browser, they are passed to JupyterLab. With
    ROLLOUTS, the options are tried and become the parameters of the copies; without
    REWARD only the notebook that builds one is copied. The notebook on a run needs
    ROLLOUTS with steps, the one that compares rewards is copied without ROLLOUTS.
    Nothing is overwritten: the same values open the same copies again, with all
    changes made in them; others get a number, such as 01_build-2.ipynb.

    Example:
      rewardkit lab gallery:arithmetic gallery:arithmetic
    """
    if find_spec("jupyterlab") is None:
        raise ModuleNotFoundError(
            "'rewardkit lab' needs jupyterlab, which the extra 'notebook' brings: pip "
            "install 'reward-workbench[notebook]'"
        )
    typed = dict(options.typed)
    typed.pop("folder", None)
    typed.pop("arguments", None)
    inputs = [*takewhile(lambda word: not word.startswith("-"), options.arguments)]
    for_jupyter = options.arguments[len(inputs) :]
    names = [name for name in ("reward", "rollouts") if name not in typed]
    if len(inputs) > len(names):
        raise rk.InputError(
            f"{inputs[len(names)]!r} is one argument too many; give REWARD and "
            "ROLLOUTS once each, and behind them what goes to JupyterLab"
        )
    for name, value in zip(names, inputs, strict=False):
        setattr(options, name, value)
        typed[name] = value
    stems: Sequence[str] = (BUILD, CHECK, ANALYZE, COMPARE, MONITOR)
    values: Record = {}
    if typed:
        stems, values = _read_parameters(options, typed)
    notebooks = _copy_notebooks(stems, options.folder, values)
    words = [sys.executable, "-m", "jupyter", "lab", notebooks[0].name]
    status = subprocess.call([*words, *for_jupyter], cwd=options.folder)
    return CommandResult({}, "", status)


def _read_parameters(
    options: Options, typed: Mapping[str, str]
) -> tuple[Sequence[str], Record]:
    """Return the notebooks to copy and their parameters. InputError: invalid."""
    if options.rollouts is None:
        flag = next(iter(typed.values()))
        raise rk.InputError(
            f"{flag} is for notebooks on rollouts of yours; give --rollouts, too"
        )
    # the extra with jupyterlab has its requirements
    from rewardkit.notebook.inputs import read_inputs

    names = [options.reward] if options.reward else []
    reading = options.notebook_reading()
    limits = options.notebook_limits()
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
    folder = options.folder
    values = {
        "reward": seen_reward_from(folder, options.reward or ""),
        "rollouts": seen_from(folder, options.rollouts),
        "cases": options.cases and seen_from(folder, options.cases),
        "reading": seen_options_from(folder, reading),
        "limits": seen_options_from(folder, limits),
    }
    for name in PASSED_ON:
        if name in typed:
            values[name] = getattr(options, name)
    if "training" in typed:
        values["training"] = options.training.record()
    return _stems_for(options.reward, inputs.rollouts), values


def _stems_for(reward: str | None, rollouts: rk.Rollouts) -> Sequence[str]:
    """Return the notebooks for a reward, for the scores of a log, or for no reward.

    Rollouts of two steps or more also get the notebook on a run.
    """
    if not reward:
        return (BUILD,)
    stems = [BUILD, ANALYZE] if reward == LOGGED_REWARD else [BUILD, CHECK, ANALYZE]
    if "step" in rollouts.table and rollouts.table["step"].nunique() > 1:
        stems.append(MONITOR)
    return stems


def seen_reward_from(folder: Path, reward: str) -> str:
    """Return the name of a reward with its path relative to the folder."""
    match = re.fullmatch(r"(.+\.py)(:.*)?", reward)
    if match is None:
        return reward
    return seen_from(folder, match[1]) + (match[2] or "")


def seen_options_from(folder: Path, options: Plain) -> Record:
    """Return options with their paths relative to the folder."""
    options = dict(options)
    for name in PATH_OPTIONS:
        if name in options:
            options[name] = seen_from(folder, options[name])
    return options


def _copy_notebooks(stems: Sequence[str], folder: Path, values: Plain) -> list[Path]:
    """Copy notebooks into the folder with these parameters, and return their paths.

    An existing copy with the same parameters is returned unchanged. If an existing copy
    has others, all copies get the first free number, as ``01_build-2.ipynb``. Without
    values, existing copies are returned unchanged.
    """
    texts = []
    for stem in stems:
        source = bundled(f"notebooks/{stem}.ipynb").read_text(encoding="utf-8")
        texts.append(notebook_text(source, values))
    for number in count(1):
        suffix = "" if number == 1 else f"-{number}"
        paths = [folder / f"{stem}{suffix}.ipynb" for stem in stems]
        copies = dict(zip(paths, texts, strict=True))
        existing = [path for path in paths if path.exists()]
        if not values or all(
            has_same_parameters(path, copies[path]) for path in existing
        ):
            break
    for path in copies.keys() - existing:
        write_content(path, copies[path])
    return paths
