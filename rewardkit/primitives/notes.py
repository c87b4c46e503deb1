"""Intermediate values that a component leaves for whoever is listening."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

VERDICT = "verdict"
"""The note in which a component that asks a model leaves what it was told: a dict with at least the `reason`,
and `cost` where calls are paid for. It is kept whether anybody listens or not."""

_notes: ContextVar[dict[str, Any] | None] = ContextVar("rewardkit_notes", default=None)


def note(name: str, value: Any) -> None:
    """Leave an intermediate value in the trace of the row being scored; free when nobody listens.

    >>> with listen() as notes:
    ...     note("extra_words", 3)
    >>> notes
    {'extra_words': 3}
    """
    notes = _notes.get()
    if notes is not None:
        notes[name] = value


@contextmanager
def listen(on: bool = True) -> Iterator[dict[str, Any]]:
    """The dict that `note` fills until the block ends; an inner listener hides the outer one.

    With ``on=False`` nobody listens and the dict stays empty.
    """
    notes: dict[str, Any] = {}
    token = _notes.set(notes if on else None)
    try:
        yield notes
    finally:
        _notes.reset(token)
