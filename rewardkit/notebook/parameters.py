"""The first step of a notebook: check its parameters, of which papermill only warns."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

import matplotlib.pyplot as plt
from IPython import get_ipython
from IPython.display import HTML, display
from matplotlib_inline.backend_inline import set_matplotlib_formats

from rewardkit.errors import InputError, did_you_mean
from rewardkit.html.excerpts import hide_user_texts

CHECKED = "_rewardkit_parameters_checked"
SHELL_NAMES = ("In", "Out", "exit", "quit", "get_ipython", "open")
PARAMETER_TYPES = (str, int, float, list, dict)
"""What papermill can set a parameter to, beside None."""

OPTION_TYPES: dict[str, dict[str, Any]] = {
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
"""Parameter that is a dict of options -> the type of each option."""

PARAMETER_CHOICES = {"fail_on": ("", "miss", "warn", "high")}

SCROLLED_OUTPUT = """<style>
.jp-OutputArea-output[data-mime-type^='application/vnd.jupyter.std'] {
    max-height: 20em; overflow-y: auto; }
</style>"""
"""A reward that prints for every row would push the rest out of sight."""


def set_up_notebook(*, redact: bool = False) -> None:
    """Check the parameters of this notebook, hide texts on request, draw plots as SVG.

    Call it in the first cell behind the parameters cell. The annotations there say
    which parameters exist and of which type they are. When the cell is run again by
    hand only types are checked, as other cells have left variables by then.

    Args:
        redact: Hide prompts, completions, truths and messages of errors wherever a
            record shows itself from now on.

    Raises:
        InputError: A variable that is no parameter (a misspelt ``-p``), an option of
            `reading` or `limits` that does not exist, or a value of another type.
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
    declared: dict[str, Any] = dict(variables.get("__annotations__", {}))
    if declared and not variables.get(CHECKED):
        _refuse_undeclared(variables, declared)
    variables[CHECKED] = True
    for name, kind in declared.items():
        if name in variables:
            _check_value(name, variables[name], kind)


def _refuse_undeclared(
    variables: Mapping[str, Any], declared: Mapping[str, Any]
) -> None:
    for name, value in variables.items():
        if name.startswith("_") or name in declared or name in SHELL_NAMES:
            continue
        if value is None or isinstance(value, PARAMETER_TYPES):
            problem = f"this notebook has no parameter {name!r}"
            raise InputError(_name_others(problem, name, declared))


def _check_value(name: str, value: Any, kind: Any) -> None:
    """Raise an InputError where a parameter or one of its options cannot be used."""
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


def _check_options(name: str, options: Mapping[str, Any]) -> None:
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
