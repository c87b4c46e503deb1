"""Convert answers of users' functions to plain values, or to the Reason of a failure.

Exceptions of users' functions are caught only here, so none ends a pass over the rows.
"""

from __future__ import annotations

import linecache
import math
import re
import sysconfig
from collections.abc import Callable, Iterator, Mapping, MappingView
from dataclasses import replace
from pathlib import Path
from types import NoneType, TracebackType
from typing import Any

from rewardkit.errors import CAUGHT, LacksKey, NotJudged, error_text, preview
from rewardkit.reasons import Reason, ReasonCode


def reason_of(error: BaseException) -> Reason:
    """Return the Reason for an exception, with the user's line that raised it."""
    name = type(error).__name__
    if isinstance(error, NotJudged):
        return Reason(ReasonCode.NOT_JUDGED, words=str(error) or name)
    if isinstance(error, LacksKey):
        return Reason(ReasonCode.LACKS_KEY, words=str(error))
    words, place = error_text(error), place_of(error)
    text, parser = unparsed_text(error)
    names = (text,) if text else ()
    return Reason(
        ReasonCode.RAISED,
        words=words,
        error=name,
        place=place,
        names=names,
        expected=parser,
    )


def guarded(function: Callable[..., Any], /, *positional: Any, **keywords: Any) -> Any:
    """Call a function; return its result, or a Reason if it raises.

    BaseException is caught, as a panic of a Rust tokenizer is no `Exception`. Only
    KeyboardInterrupt propagates.
    """
    try:
        return function(*positional, **keywords)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return reason_of(error)


VALUES = frozenset({str, int, float, bool, NoneType, list, dict, Reason})
"""Types of answers that need no conversion to be values of a field."""

PLAIN_SCORES = frozenset({int, float, bool, NoneType})
"""Types of scores that the caller converts all at once."""


def as_field(answer: Any) -> Any:
    """Return the value of a field; an iterator becomes a list, as it is read twice."""
    if type(answer) is not str and isinstance(answer, Iterator | MappingView):
        return guarded(list, answer)
    return answer


def as_list(
    answer: Any, settle: Callable[[Any], Any], expected: str
) -> list[Any] | Reason:
    """Return the answer for several rows as settled values, or the Reason of a failure.

    `settle` converts one value. `expected` names the values in the Reason.
    """
    if isinstance(answer, Reason):
        return answer
    if type(answer) is list:
        plain_types = VALUES if settle is as_field else PLAIN_SCORES
        if plain_types.issuperset(map(type, answer)):
            return list(answer)
    no_list = Reason(ReasonCode.NOT_A_LIST, value=preview(answer), expected=expected)
    if isinstance(answer, str | bytes | Mapping):
        return no_list
    settled: list[Any] | Reason = guarded(lambda: [settle(value) for value in answer])
    if isinstance(settled, Reason):
        return replace(no_list, words=str(settled))
    return settled


def as_decision(answer: Any) -> bool | Reason | None:
    """Return the decision of a predicate: a bool, None ("cannot tell"), or a Reason."""
    if answer is None or isinstance(answer, Reason):
        return answer
    if isinstance(answer, bool) or _is_of_numpy(answer, NUMPY_BOOLS):
        return bool(answer)
    return Reason(ReasonCode.NOT_A_DECISION, value=preview(answer))


def as_score(answer: Any) -> float | Reason | None:
    """Return a finite number, None, or the Reason why the answer is not a score.

    A list of answers may contain `NotJudged` for a row without a score.
    """
    if answer is None or isinstance(answer, Reason):
        return answer
    if isinstance(answer, NotJudged):
        return reason_of(answer)
    is_number = type(answer) is float or isinstance(answer, int | float)
    if not is_number and not _is_of_numpy(answer, NUMPY_NUMBERS):
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


NUMPY_BOOLS = frozenset({"bool", "bool_"})
NUMPY_NUMBERS = NUMPY_BOOLS | {"integer", "floating"}
"""Names of numpy's types of booleans and of the base types of its numbers."""


def _is_of_numpy(answer: Any, names: frozenset[str]) -> bool:
    """Return whether the type of an answer is one of these numpy types.

    Compares names, as a worker process starts in half the time without numpy.
    """
    types = type(answer).__mro__
    return any(kind.__module__ == "numpy" and kind.__name__ in names for kind in types)


def place_of(error: BaseException) -> str:
    """Return the innermost line of a user's file in a traceback, or ""."""
    step = _users_step(error)
    if step is None:
        return ""
    name = step.tb_frame.f_code.co_filename
    file = "cell" if CELL_FOLDER in name else Path(name).name
    return f"{file}:{step.tb_lineno}"


def _users_step(error: BaseException) -> TracebackType | None:
    """Return the innermost step of a traceback in a user's file, or None."""
    innermost = None
    step = error.__traceback__
    while step is not None:
        if not step.tb_frame.f_code.co_filename.startswith(LIBRARY_PREFIXES):
            innermost = step
        step = step.tb_next
    return innermost


def unparsed_text(error: BaseException) -> tuple[str, str]:
    """Find a text that the user's code used as a dict, list or number.

    This is a common mistake, as extracted fields are texts.

    Returns:
        The name of the variable, and the function that parses it ("json.loads" or
        "float"); both are "" if the error has another cause.
    """
    step = _users_step(error)
    if step is None:
        return "", ""
    values = step.tb_frame.f_locals
    if isinstance(error, AttributeError) and isinstance(error.obj, str):
        names = [name for name, value in values.items() if value is error.obj]
        parser = _parser_with(str(error.name))
    elif isinstance(error, TypeError) and "str" in error_text(error):
        words = re.findall(r"\w+", _failing_code(step))
        names = [name for name in words if isinstance(values.get(name), str)]
        is_index = error_text(error).startswith("string indices")
        parser = "json.loads" if is_index else "float"
    else:
        return "", ""
    return (names[0], parser) if names and parser else ("", "")


def _parser_with(method: str) -> str:
    """Return the parser of a text into a value with this method, or ""."""
    if hasattr(dict, method) or hasattr(list, method):
        return "json.loads"
    return "float" if hasattr(float, method) else ""


def _failing_code(step: TracebackType) -> str:
    """Return the expression that failed in a step of a traceback, or ""."""
    code = step.tb_frame.f_code
    positions = list(code.co_positions())
    line, last_line, start, end = positions[step.tb_lasti // 2]
    if line is None or line != last_line:
        return ""
    text = linecache.getline(code.co_filename, line, step.tb_frame.f_globals)
    return text.encode()[start:end].decode(errors="replace")


CELL_FOLDER = "ipykernel_"
"""Part of the name of the folder in which ipykernel stores a notebook's cells."""

LIBRARY_PREFIXES = (
    "<",
    str(Path(__file__).parents[1]),
    *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")),
)
"""Prefixes of file names that are not the user's: no file, rewardkit, libraries."""
