"""What the tests of the primitives share: tables of cases whose last column says why, and notes of a call."""

from __future__ import annotations

import pytest

from rewardkit.primitives.notes import listen


def table(*rows):
    """The rows as parameters: the last column is the id."""
    return [pytest.param(*row[:-1], id=row[-1]) for row in rows]


def columns(made, *rows):
    """The rows of several columns as one row a column: what is called, with what, what it gives, and why."""
    return [
        (call, row[0], value, row[-1]) for row in rows for call, value in zip(made, row[1:-1], strict=True)
    ]


def noted(call, *arguments):
    """What is noted while it is called."""
    with listen() as notes:
        call(*arguments)
    return notes
