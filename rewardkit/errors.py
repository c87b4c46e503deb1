"""What rewardkit raises for input that cannot be used.

One sentence with what was wrong, what was expected, what to do.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

CAUGHT = (Exception, SystemExit, GeneratorExit, asyncio.CancelledError)
"""What a user's file, or the text of a user's object, may raise without ending the program."""


class InputError(ValueError):
    """Input that cannot be used. The command line prints the sentence and exits 2."""


class RolloutsError(InputError):
    """Rollouts that cannot be read, or that lack what is asked of them."""


class RewardError(InputError):
    """A reward that cannot be loaded or is not consistent in itself or with its columns."""


class CasesError(InputError):
    """A case file that cannot be read or speaks of what the reward does not have."""


class NotJudged(Exception):
    """Raised in a component: this completion is not judged, for the reason given. Never a score of 0."""


class Cancelled(Exception):
    """Work that the `progress` it was given said to end; there is no result."""


class Interrupted(KeyboardInterrupt):
    """Scoring was interrupted; `scores` are those of the rollouts that were done, of `rows` in all."""

    def __init__(self, scores: Any, rows: int) -> None:
        super().__init__(
            f"interrupted: {len(scores):,} of {rows:,} rollouts were scored, and are in the `scores` of this "
            "exception (in a notebook: import sys; sys.last_value.scores)"
        )
        self.scores, self.rows = scores, rows


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest known name, else nothing."""
    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def without_addresses(text: str) -> str:
    """The text without the memory addresses of objects, which differ from run to run."""
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", text)


def describe_error(error: BaseException) -> str:
    """An error in one phrase; the user's exception class may fail even here."""
    try:
        text = without_addresses(str(error))
    except CAUGHT:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def preview(value: Any) -> str:
    """How a value prints, cut to a phrase of at most 80 characters."""
    try:
        text = without_addresses(repr(value))
    except CAUGHT:
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."
