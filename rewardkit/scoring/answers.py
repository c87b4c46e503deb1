"""Answers of users' functions: plain values, or the Reason why there is none.

The one place that catches what users' functions raise. No error ends a pass over the
rows.
"""

from __future__ import annotations

import math
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, MappingView
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from rewardkit.errors import CAUGHT, LacksKey, NotJudged, error_text, preview
from rewardkit.reasons import Reason, ReasonCode


def reason_of(error: BaseException) -> Reason:
    """Return why a call that raised this has no value, with the user's line."""
    name = type(error).__name__
    if isinstance(error, NotJudged):
        return Reason(ReasonCode.NOT_JUDGED, words=str(error) or name)
    if isinstance(error, LacksKey):
        return Reason(ReasonCode.LACKS_KEY, words=str(error))
    words, place = error_text(error), place_of(error)
    return Reason(ReasonCode.RAISED, words=words, error=name, place=place)


def guarded(function: Callable[..., Any], *positional: Any, **keywords: Any) -> Any:
    """Return what a call returns, or a Reason where it raises.

    Any exception counts, as a panic of a Rust tokenizer is no `Exception`; only an
    interrupt from the keyboard goes on.
    """
    try:
        return function(*positional, **keywords)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return reason_of(error)


VALUES = frozenset({str, int, float, bool, NoneType, list, dict, Reason})
"""Types of answers that are values of a field as they are."""

NUMBERS = frozenset({int, float, bool, NoneType})
"""Types of scores whose taker settles all of them at once."""


def as_field(answer: Any) -> Any:
    """Return the value of a field; an iterator becomes a list, to be read twice."""
    if type(answer) is not str and isinstance(answer, Iterator | MappingView):
        return guarded(list, answer)
    return answer


def as_list(
    answer: Any, settle: Callable[[Any], Any], expected: str
) -> list[Any] | Reason:
    """Return the answer for several rows as settled values, or why it is no list."""
    if isinstance(answer, Reason):
        return answer
    if type(answer) is list:
        as_they_are = VALUES if settle is as_field else NUMBERS
        if as_they_are.issuperset(map(type, answer)):
            return list(answer)
    no_list = Reason(ReasonCode.NOT_A_LIST, value=preview(answer), expected=expected)
    if isinstance(answer, str | bytes | Mapping):
        return no_list
    settled: list[Any] | Reason = guarded(lambda: [settle(value) for value in answer])
    if isinstance(settled, Reason):
        return replace(no_list, words=str(settled))
    return settled


def as_decision(answer: Any) -> bool | Reason | None:
    """Return what a predicate decides: a bool, None ("cannot tell"), or a Reason."""
    if answer is None or isinstance(answer, Reason):
        return answer
    if isinstance(answer, bool | np.bool_):
        return bool(answer)
    return Reason(ReasonCode.NOT_A_DECISION, value=preview(answer))


def as_score(answer: Any) -> float | Reason | None:
    """Return a finite number, None, or a Reason why the answer is no score.

    In the answer for several rows a `NotJudged` stands for a row without a score.
    """
    if answer is None or isinstance(answer, Reason):
        return answer
    if isinstance(answer, NotJudged):
        return reason_of(answer)
    if type(answer) is not float and not isinstance(answer, SCORE_TYPES):
        name = type(answer).__name__
        return Reason(ReasonCode.WRONG_TYPE, value=preview(answer), type_name=name)
    try:
        number = float(answer)
    except OverflowError:
        number = math.inf
    except CAUGHT as error:  # a subclass of float may do anything
        return replace(reason_of(error), place="")
    if math.isfinite(number):
        return number
    return Reason(ReasonCode.NOT_FINITE, value=repr(number))


SCORE_TYPES = (bool, int, float, np.bool_, np.integer, np.floating)


def place_of(error: BaseException) -> str:
    """Return the innermost line of a user's file that an error came from, or ""."""
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if not name.startswith(LIBRARY_PREFIXES):
            file = "cell" if CELL_FOLDER in name else Path(name).name
            place = f"{file}:{line}"
    return place


CELL_FOLDER = "ipykernel_"
"""In the name of the folder in which a notebook's cells are files."""

LIBRARY_PREFIXES = (
    "<",
    str(files("rewardkit")),
    *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")),
)
"""Beginnings of files that are no user's: no file at all, rewardkit's, libraries'."""
