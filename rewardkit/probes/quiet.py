"""Quiet: what users' code prints while it is probed goes nowhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

__all__ = ["quiet"]

STDERR = 2  # to which worker processes print


@contextmanager
def quiet() -> Iterator[None]:
    """Drop what is printed inside, by worker processes that start there as well.

    A reward that prints what it judges would print every attempt, megabytes with control characters in them.
    """
    sys.stderr.flush()
    try:
        kept = os.dup(STDERR)
    except OSError:  # there is none to print to
        kept = None
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        try:
            if kept is not None:
                os.dup2(nowhere.fileno(), STDERR)
            yield
        finally:
            if kept is not None:
                os.dup2(kept, STDERR)
                os.close(kept)
