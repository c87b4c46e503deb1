"""How the time of every primitive grows with the length of a completion.

Each is timed on every repeated unit of `hostile.UNITS` and on ordinary text, and then on the one that is slowest
at a million characters.
"""

from __future__ import annotations

import timeit

import hostile
import inventory
from benches.table import Row

LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
ORDINARY = "First 3 apples cost $1.50 each, so 3 * 1.5 = 4.5 in all; then the rest is 10 - 4.5. "
SLOW = 0.05
"""Seconds for 1 MB below which a growth is noise, as `test_long_texts.py` has it."""

AIM = 2.0
"""Times the seconds of linear growth, as there."""


def seconds(call, text, best_of):
    """Return the quickest of some calls."""
    return min(timeit.repeat(lambda: call(text), number=1, repeat=best_of))


def slowest_text(call, best_of):
    """Return the unit that takes longest at the greatest length, and the seconds at each length."""
    units = (ORDINARY, *hostile.UNITS)
    longest = [seconds(call, hostile.repeated(unit, LENGTHS[-1]), 1) for unit in units]
    unit = units[longest.index(max(longest))]
    texts = [hostile.repeated(unit, length) for length in LENGTHS]
    return unit, [seconds(call, text, best_of) for text in texts]


def rows(runs):
    """Give the slowest primitive, and the one that grows most; the details are a table of all."""
    times, details = {}, {}
    for name, (call, _) in inventory.CALLS.items():
        unit, times[name] = slowest_text(call, runs)
        figures = " ".join(f"{value:9.6f}" for value in times[name])
        details[name] = f"{name:<52.52} {figures}  {unit[:24]!r}"
    order = sorted(times, key=lambda name: -times[name][-1])
    table = [f"{'seconds for 1, 10, 100 kB, 1 MB of the worst text':<52}"]
    table += [details[name] for name in order]
    title = f"the slowest primitive on 1 MB, {order[0]:.32}"
    yield Row(title, times[order[0]][-1:], details=table)
    slow = [name for name in order if times[name][-1] > SLOW]
    steepest = max(slow, key=lambda name: times[name][-1] / times[name][-2])
    tenth, whole = times[steepest][-2:]
    title = f"the steepest primitive on 1 MB, {steepest:.32}"
    yield Row(title, [whole], "10 times its 100 kB", [10 * tenth], aim=AIM)
