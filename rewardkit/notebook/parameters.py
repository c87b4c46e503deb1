"""Notebook parameters that are validated: papermill only prints a warning for a misspelt one."""

from __future__ import annotations

import typing
from collections.abc import MutableMapping
from typing import Any

from rewardkit.errors import InputError, did_you_mean

__all__ = ["check_parameters"]

CHECKED = "_rewardkit_parameters_checked"
SHELL_NAMES = ("In", "Out", "exit", "quit", "get_ipython", "open")


def check_parameters(names: MutableMapping[str, Any], **choices: tuple[Any, ...]) -> None:
    """Check the variables of a notebook right behind its parameters cell; call it with ``globals()``.

    The annotations of the parameters cell say what there is and of which type; `choices` lists the allowed
    values of some. InputError: a variable that is no parameter (a misspelt ``-p``), a value of another type,
    one that is not allowed. When the cell is run again by hand, only types and choices are checked: other
    cells have left variables by then.
    """
    declared: dict[str, Any] = dict(names.get("__annotations__", {}))
    if not names.get(CHECKED):
        for name, value in list(names.items()):
            if (
                name not in declared
                and not name.startswith("_")
                and name not in SHELL_NAMES
                and _is_plain(value)
            ):
                raise InputError(
                    f"this notebook has no parameter {name!r}; it has "
                    f"{list(declared)}{did_you_mean(name, declared)}"
                )
    names[CHECKED] = True
    for name, kind in declared.items():
        if not _fits(names[name], kind):
            raise InputError(
                f"parameter {name}={names[name]!r} is of type {type(names[name]).__name__}; this notebook "
                f"expects {_written(kind)}"
            )
    for name, allowed in choices.items():
        if names[name] not in allowed:
            raise InputError(
                f"parameter {name}={names[name]!r} is not known; use one of {', '.join(map(repr, allowed))}"
            )


def _is_plain(value: Any) -> bool:
    """Whether a variable can come from papermill."""
    return value is None or isinstance(value, str | int | float | list | dict)


def _fits(value: Any, kind: Any) -> bool:
    kinds = typing.get_args(kind) or (kind,)
    if isinstance(value, bool):
        return bool in kinds
    if float in kinds and isinstance(value, int):
        return True
    return isinstance(value, tuple(kinds))


def _written(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind)) if not typing.get_args(kind) else str(kind)
