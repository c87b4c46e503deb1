"""Intermediate values that a component leaves for whoever is listening."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

VERDICT = "verdict"
"""The note in which a component that asks a model leaves the model's verdict.

A dict with at least the `reason`, and `cost` where calls are paid for. It is kept
whether anybody listens or not."""

_listener: ContextVar[dict[str, Any] | None] = ContextVar(
    "rewardkit_notes", default=None
)


def note(name: str, value: Any) -> None:
    """Leave a value in the trace of the row being scored; free when nobody listens.

    >>> with listen() as notes:
    ...     note("extra_words", 3)
    >>> notes
    {'extra_words': 3}
    """
    notes = _listener.get()
    if notes is not None:
        notes[name] = value


@contextmanager
def listen(on: bool = True) -> Iterator[dict[str, Any]]:
    """Yield the dict that `note` fills in the block; an inner one hides an outer.

    With ``on=False`` nobody listens and the dict stays empty.
    """
    notes: dict[str, Any] = {}
    token = _listener.set(notes if on else None)
    try:
        yield notes
    finally:
        _listener.reset(token)
