"""Notes: heard by the innermost listener only, and free when nobody listens."""

import threading

import rewardkit as rk
from rewardkit.primitives.notes import listen


def test_a_note_without_a_listener_goes_nowhere():
    with listen() as earlier:
        pass
    rk.note("x", 1)
    assert earlier == {}


def test_a_listener_hears_the_last_value_of_each_name():
    with listen() as notes:
        rk.note("x", 1)
        rk.note("x", 2)
        rk.note("y", None)
    assert notes == {"x": 2, "y": None}


def test_an_inner_listener_hides_the_outer_one_until_it_ends():
    with listen() as outer:
        rk.note("a", 1)
        with listen() as inner:
            rk.note("b", 2)
        rk.note("c", 3)
    assert (outer, inner) == ({"a": 1, "c": 3}, {"b": 2})


def test_listening_ends_when_the_block_raises():
    try:
        with listen() as notes:
            raise KeyError
    except KeyError:
        rk.note("late", 1)
    assert notes == {}


def test_another_threads_notes_are_not_heard():
    with listen() as notes:
        other = threading.Thread(target=rk.note, args=("x", 1))
        other.start()
        other.join()
    assert notes == {}
