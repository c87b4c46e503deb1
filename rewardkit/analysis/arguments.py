"""Asked: the names of columns and the seed that a caller gave, or one sentence on what they should be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rewardkit.errors import InputError, preview


def names_of(value: Any, what: str) -> list[str]:
    """Names of columns, each once; one text is one name. InputError: no text, or no list of texts.

    >>> names_of("task", "by")
    ['task']
    """
    names = (
        [value]
        if isinstance(value, str)
        else list(value)
        if isinstance(value, Iterable)
        else [value]
    )
    if not all(isinstance(name, str) for name in names):
        raise InputError(
            f'{what}={preview(value)} is no list of names of columns; give one such as ["task"]'
        )
    return list(dict.fromkeys(names))


def check_label(label: Any) -> None:
    """InputError: no name of a column."""
    if not (label is None or isinstance(label, str)):
        raise InputError(
            f'label={preview(label)} is no name of a column; give one such as "is_correct"'
        )


def check_seed(seed: Any) -> None:
    """InputError: no seed that numpy takes."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed={preview(seed)} is not a whole number of at least 0")
