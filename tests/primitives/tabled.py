"""What the tests of the primitives share: tables of cases whose last column says why, and notes of a call."""

import pytest

from rewardkit.primitives.primitive import listen


def table(*rows):
    """The rows as parameters: the last column is the id."""
    return [pytest.param(*row[:-1], id=row[-1]) for row in rows]


def noted(call, *arguments):
    """What is noted while it is called."""
    with listen() as notes:
        call(*arguments)
    return notes
