"""Check the parameters of a notebook, and read its reward, rollouts and cases.

Papermill itself only warns of an unknown parameter.
"""

from __future__ import annotations

import typing
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
from IPython import get_ipython
from IPython.display import HTML, display
from matplotlib_inline.backend_inline import set_matplotlib_formats

from rewardkit.errors import InputError, did_you_mean
from rewardkit.history.baseline import load_baseline
from rewardkit.history.parts import holds_scores, load_scores
from rewardkit.history.run import Run
from rewardkit.history.runs import find_run, runs
from rewardkit.html.excerpts import hide_user_texts
from rewardkit.plain import Plain, Record
from rewardkit.probes.subjects.log import rollouts_of
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import Case, load_cases
from rewardkit.scoring.check import cases_for, components_of
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores
from rewardkit.targets.load import reward_named


class Inputs(NamedTuple):
    """A reward (None if none was named), and rollouts and cases for it.

    For "logged" with a folder of scores: these scores, and the reward of their record.
    """

    reward: Reward | None
    rollouts: Rollouts | Scores
    cases: list[Case]


def load_inputs(
    reward: Reward | str | None,
    rollouts: Rollouts | Scores | str | Path | None,
    cases: list[Case] | str | Path | None = None,
    *,
    as_: str | None = None,
    log_weights: Mapping[str, float] | None = None,
    ignore: Collection[str] = (),
    **reading: Any,
) -> Inputs:
    """Read a reward, rollouts and cases, and check that they match.

    Arguments that are already loaded are returned as they are, so that a cell can run
    again.

    Args:
        reward: A name as `load_reward` takes it, "logged" for the scores recorded in
            the log, or "" or None for no reward.
        rollouts: A source as `load_rollouts` or `load_scores` takes it; by default the
            completions of the cases.
        cases: A case file, or nothing.
        as_: The trainer whose kind of reward function it is, as in `load_reward`.
        log_weights: Weights of the scores, for "logged".
        ignore: Components that cases may name although the reward lacks them.
        **reading: Options of `load_rollouts`: columns, group, join, on, fill.

    Returns:
        The reward, the rollouts or scores, and the cases.

    Raises:
        InputError: An input cannot be read; neither rollouts nor cases; a case lacks a
            column that the reward asks for.
    """
    if not rollouts and not cases:
        raise InputError(
            "neither rollouts nor cases are given; give a log, a case file, or both"
        )
    if isinstance(cases, list):
        case_list = cases
    else:
        case_list = load_cases(cases) if cases else []
    source = rollouts
    if not source:
        source = rollouts_of(case_list)
    elif not isinstance(source, Rollouts | Scores):
        source = load_source(source, **reading)
    if isinstance(source, Scores):
        if reward == LOGGED_REWARD or reward is source.reward:
            return Inputs(source.reward, source, case_list)
        source = source.rollouts
    if not reward:
        reward = None
    elif isinstance(reward, str):
        reward = reward_named(reward, source, log_weights, as_=as_)
    if reward is not None:
        cases_for(reward, case_list, ignore)
    return Inputs(reward, source, case_list)


def load_source(source: str | Path, **reading: Any) -> Rollouts | Scores:
    """Read scores from a file or folder that has them, else rollouts."""
    if holds_scores(source):
        return load_scores(source)
    return load_rollouts(source, **reading)


def load_versions(
    versions: Sequence[str],
    rollouts: Rollouts | str | Path | None,
    *,
    last: int = 0,
    timeout: float | None = None,
    as_: str | None = None,
    log_weights: Mapping[str, float] | None = None,
    **reading: Any,
) -> dict[str, Run | Scores]:
    """Return versions of a reward with their scores, by name, for a comparison.

    Args:
        versions: Kept runs ("v2", a tag) and folders of scores, which are read, or
            rewards as `load_reward` takes them, which are scored.
        rollouts: The rollouts on which rewards are scored.
        last: Number of the newest versions in the folder ``runs`` to add.
        timeout: Seconds of one call, as in `score`.
        as_: The trainer whose kind of reward function it is, as in `load_reward`.
        log_weights: Weights of the scores, for "logged".
        **reading: Options of `load_rollouts`: columns, group, join, on, fill.

    Raises:
        InputError: A version cannot be read, or is named twice; rewards without
            rollouts.
    """
    if len({*versions}) < len(versions):
        raise InputError(f"versions={list(versions)} names one twice; name each once")
    scored: dict[str, Run | Scores] = {}
    for name in versions:
        run = find_run(name)
        if run is not None:
            scored[name] = run
        elif holds_scores(name):
            scored[name] = load_scores(name)
        else:
            if not rollouts:
                raise InputError(
                    f"{name!r} is no kept run and no folder of scores; rewards are "
                    "scored on rollouts, which are not given"
                )
            if not isinstance(rollouts, Rollouts):
                rollouts = load_rollouts(rollouts, **reading)
            reward = reward_named(name, rollouts, log_weights, as_=as_)
            scored[name] = score(reward, rollouts, timeout=timeout)
    newest = runs().newest(last) if last else []
    return scored | {run.version.name: run for run in newest}


class NotebookInputs(NamedTuple):
    """The inputs of a report or lab, read before its first notebook runs.

    `rewards` are by name. `ignored` are components that the cases name although some
    reward lacks them. `scores` are the scores of "logged" if a folder of scores was
    given.
    """

    rewards: dict[str, Reward]
    rollouts: Rollouts
    cases: list[Case]
    ignored: list[str]
    scores: Scores | None


def read_inputs(
    names: Sequence[str],
    rollouts: str | Path,
    *,
    cases: str | Path | None = None,
    label: str | None = None,
    by: Sequence[str] | None = None,
    reading: Plain,
    limits: Plain,
) -> NotebookInputs:
    """Read the inputs of notebooks; `reading` and `limits` are their parameters.

    `names` are names of rewards, "logged" for the scores recorded in the log.
    InputError: inputs cannot be read, or do not match.
    """
    log_weights = reading.get("log_weights")
    baseline = limits.get("baseline")
    if cases and (not names or LOGGED_REWARD in names):
        raise InputError(
            "the scores of a log cannot be checked against cases; "
            "leave them out, or give a reward"
        )
    if log_weights and LOGGED_REWARD not in names:
        raise InputError(
            "weights are given of the scores of a log, which is not among the rewards "
            f"{list(names)}; give {LOGGED_REWARD!r} as one, or leave them out"
        )
    if baseline:
        load_baseline(baseline)
    options = {name: reading[name] for name in ROLLOUT_OPTIONS if name in reading}
    logged = load_source(rollouts, **options)
    scores = None
    if isinstance(logged, Scores):
        scores = logged
        logged = logged.rollouts
    rewards = {}
    for name in names:
        if scores is not None and name == LOGGED_REWARD:
            rewards[name] = scores.reward
            continue
        reward = reward_named(name, logged, log_weights, as_=reading.get("as_"))
        reward.check_columns(logged.names, logged.mapping)
        rewards[name] = reward
    columns = [label] if label else []
    logged.check_columns([*columns, *(by or ())])
    case_list = load_cases(cases) if cases else []
    ignored: set[str] = set()
    for reward in rewards.values():
        ignored |= components_of(case_list).difference(reward.names)
    return NotebookInputs(rewards, logged, case_list, sorted(ignored), scores)


ROLLOUT_OPTIONS = ("columns", "group", "join", "on", "fill")
"""Options of `reading` for `load_rollouts`."""

CHECKED = "_rewardkit_parameters_checked"
SHELL_NAMES = ("In", "Out", "exit", "quit", "get_ipython", "open")
PARAMETER_TYPES = (str, int, float, list, dict)
"""Types of parameters that papermill can set, besides None."""

OPTION_TYPES: dict[str, Record] = {
    "reading": {
        "columns": dict,
        "group": list,
        "join": str,
        "on": str,
        "fill": dict,
        "as_": str,
        "log_weights": dict,
        "ignore": list,
    },
    "limits": {
        "timeout": float,
        "budget": float,
        "leakage": float,
        "seed": int,
        "expects_partial": bool,
        "only": list,
        "baseline": str,
    },
}
"""Parameter with a dict of options -> the type of each option."""

PARAMETER_CHOICES = {"fail_on": ("", "miss", "warn", "high")}

SCROLLED_OUTPUT = """<style>
.jp-OutputArea-output[data-mime-type^='application/vnd.jupyter.std'] {
    max-height: 20em; overflow-y: auto; }
</style>"""
"""Style for a reward that prints for every row: its output scrolls."""


def set_up_notebook(*, redact: bool = False) -> None:
    """Check the parameters of this notebook, hide texts on request, draw plots as SVG.

    Call it in the first cell after the parameters cell, whose annotations declare the
    parameters and their types. A second run of the cell by hand only checks types, as
    other cells have set variables by then.

    Args:
        redact: Hide prompts, completions, truths and error messages in all records
            shown from now on.

    Raises:
        InputError: A variable that is no parameter (a misspelt ``-p``), an unknown
            option of `reading` or `limits`, or a value of another type.
    """
    hide_user_texts(redact)
    shell = get_ipython()
    if shell is not None:
        check_parameters(shell.user_ns)
    plt.rcParams["svg.fonttype"] = "none"
    set_matplotlib_formats("svg")  # type: ignore[no-untyped-call]
    display(HTML(SCROLLED_OUTPUT))


def check_parameters(variables: MutableMapping[str, Any]) -> None:
    """Check the variables of a notebook, as `set_up_notebook` does."""
    declared: Record = dict(variables.get("__annotations__", {}))
    if declared and not variables.get(CHECKED):
        _refuse_undeclared(variables, declared)
    variables[CHECKED] = True
    for name, kind in declared.items():
        if name in variables:
            _check_value(name, variables[name], kind)


def _refuse_undeclared(variables: Plain, declared: Plain) -> None:
    for name, value in variables.items():
        if name.startswith("_") or name in declared or name in SHELL_NAMES:
            continue
        if value is None or isinstance(value, PARAMETER_TYPES):
            problem = f"this notebook has no parameter {name!r}"
            raise InputError(_name_others(problem, name, declared))


def _check_value(name: str, value: Any, kind: Any) -> None:
    """Raise an InputError if a parameter or one of its options is invalid."""
    if not _has_type(value, kind):
        expected = kind.__name__ if isinstance(kind, type) else kind
        raise InputError(
            f"parameter {name}={value!r} is of type {type(value).__name__}; "
            f"this notebook expects {expected}"
        )
    choices = PARAMETER_CHOICES.get(name, ())
    if choices and value not in choices:
        raise InputError(
            f"parameter {name}={value!r} is not known; "
            f"use one of {', '.join(map(repr, choices))}"
        )
    if name in OPTION_TYPES:
        _check_options(name, value)


def _check_options(name: str, options: Plain) -> None:
    types = OPTION_TYPES[name]
    for option, setting in options.items():
        if option not in types:
            problem = f"parameter {name} has no option {option!r}"
            raise InputError(_name_others(problem, option, types))
        if not _has_type(setting, types[option]):
            raise InputError(
                f"{name}[{option!r}]={setting!r} is of type {type(setting).__name__}; "
                f"it expects {types[option].__name__}"
            )


def _name_others(problem: str, name: str, names: Iterable[str]) -> str:
    names = list(names)
    return f"{problem}; it has {names}{did_you_mean(name, names)}"


def _has_type(value: Any, kind: Any) -> bool:
    kinds = typing.get_args(kind) or (kind,)
    if isinstance(value, bool):
        return bool in kinds
    if float in kinds and isinstance(value, int):
        return True
    return isinstance(value, tuple(kinds))
