"""Notes: heard by the innermost listener only, and free when nobody listens."""

import pytest

import rewardkit as rk
from rewardkit.primitives.notes import listen


def test_the_innermost_listener_hears_the_last_value_of_each_name_until_its_block_ends_or_raises():
    with listen() as outer:
        rk.note("a", 1)
        with pytest.raises(KeyError), listen() as inner:
            rk.note("b", 1)
            rk.note("b", 2)
            raise KeyError
        rk.note("c", None)
    rk.note("late", 1)
    assert (outer, inner) == ({"a": 1, "c": None}, {"b": 2})
