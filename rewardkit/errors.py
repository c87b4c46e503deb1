"""Errors that rewardkit raises for unusable input, and checks of arguments.

Each error says in one sentence what was wrong, what was expected and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral
from typing import Any

CAUGHT = (Exception, SystemExit, GeneratorExit)
"""Exceptions that users' files and objects may raise without ending the program."""
LONGEST_PREVIEW = 80
"""Characters of a value's repr in a sentence, at most."""


class InputError(ValueError):
    """Input that cannot be used; a command prints the sentence and exits with 2."""


class RolloutsError(InputError):
    """Rollouts that cannot be read, or that lack a column."""


class FolderInUse(RolloutsError):
    """A folder into which another process scores; a command exits with 1."""


class RewardError(InputError):
    """A reward that cannot be loaded, or that contradicts itself or its columns."""


class CasesError(InputError):
    """A case file that cannot be read, or that names what the reward does not have."""


class NotJudged(Exception):
    """A component's refusal to judge a completion; never a score of 0."""


class LacksKey(ValueError):
    """A returned dict that lacks a key of the dicts for other rows."""


class Cancelled(Exception):
    """Work that its `progress` callback ended; there is no result."""


class Interrupted(KeyboardInterrupt):
    """Scoring that was interrupted: `scores` of some of `rows` rollouts.

    `rows` is None where they were not counted beforehand.
    """

    def __init__(self, scores: Any, rows: int | None) -> None:
        count = f"{len(scores):,}"
        if rows is not None:
            count += f" of {rows:,}"
        super().__init__(
            f"interrupted: {count} rollouts were scored, and are "
            "in the `scores` of this exception (in a notebook: import sys; "
            "sys.last_value.scores)"
        )
        self.scores, self.rows = scores, rows


def did_you_mean(name: str, names: Iterable[str], *, likeness: float = 0.6) -> str:
    """Suggest the nearest of the names as `; did you mean 'x'?`, or return ""."""
    near = get_close_matches(name, list(names), n=1, cutoff=likeness)
    if not near:
        return ""
    return f"; did you mean {near[0]!r}?"


def without_addresses(text: str) -> str:
    """Remove the memory addresses of objects, which differ from run to run."""
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", text)


def error_text(error: BaseException) -> str:
    """Return the message of an error, or "" if its class fails to make one."""
    try:
        return without_addresses(str(error))
    except CAUGHT:
        return ""


def describe_error(error: BaseException) -> str:
    """Describe an error in one phrase: its type and its message."""
    kind, text = type(error).__name__, error_text(error)
    return f"{kind}: {text}" if text else kind


def preview(value: Any) -> str:
    """Return the repr of a value, cut to `LONGEST_PREVIEW` characters."""
    try:
        text = without_addresses(repr(value))
    except CAUGHT:
        text = f"an object of type {type(value).__name__}"
    if len(text) <= LONGEST_PREVIEW:
        return text
    return text[: LONGEST_PREVIEW - 3] + "..."


# --- checks of arguments


def names_of(value: Any, argument: str) -> list[str]:
    """Return column names without repeats; a text is one name.

    Raises:
        InputError: `value` is neither a text nor an iterable of texts.

    >>> names_of("task", "by")
    ['task']
    """
    names = [value]
    if isinstance(value, Iterable) and not isinstance(value, str):
        names = list(value)
    if not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{argument}={preview(value)} is no list of names of columns; give one "
            'such as ["task"]'
        )
    return list(dict.fromkeys(names))


def check_label(label: Any) -> None:
    """Raise InputError unless a label is None or a text, the name of a column."""
    if not (label is None or isinstance(label, str)):
        raise InputError(
            f"label={preview(label)} is no name of a column; give one such as "
            '"is_correct"'
        )


def check_whole_number(name: str, value: Any, least: int) -> None:
    """Raise InputError unless an argument is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(
            f"{name}={preview(value)} is not a whole number of at least {least}"
        )


SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,3})?) ?([kmgtKMGT]?)i?[bB]?")
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
"""Letter of a size -> bytes."""


def read_size(name: str, value: Any) -> int:
    """Return the bytes of an argument such as 2_000_000_000 or "2GB".

    Raises:
        InputError: `value` is not a size, or not above 0.

    >>> read_size("memory", "1.5 GB")
    1500000000
    """
    size = 0
    match = SIZE.fullmatch(value) if isinstance(value, str) else None
    if match:
        size = int(float(match[1]) * UNITS[match[2].upper()])
    elif type(value) is int:
        size = value
    if size < 1:
        raise InputError(f"{name}={value!r} is no size; give one such as '2GB'")
    return size
