"""How scoring time grows with the length of a completion, for every primitive: the table of `make bench`.

Each primitive is timed on every repeated unit of `hostile.UNITS` and on ordinary text; the row shows the one
that is slowest at a million characters. Growth is the factor from 100 kB to 1 MB: 10 is linear.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import hostile
import inventory

LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
ORDINARY = "First 3 apples cost $1.50 each, so 3 * 1.5 = 4.5 in all; then the rest is 10 - 4.5. "


def seconds(call: Callable[[str], Any], text: str, best_of: int) -> float:
    """The quickest of some calls."""
    quickest = float("inf")
    for _ in range(best_of):
        started = time.perf_counter()
        call(text)
        quickest = min(quickest, time.perf_counter() - started)
    return quickest


def worst(call: Callable[[str], Any]) -> tuple[str, list[float]]:
    """The unit that takes longest at the greatest length, and the seconds at each length."""
    units = (ORDINARY, *hostile.UNITS)
    last = [seconds(call, hostile.repeated(unit, LENGTHS[-1]), 1) for unit in units]
    unit = units[max(range(len(units)), key=last.__getitem__)]
    return unit, [
        seconds(call, hostile.repeated(unit, length), 3) for length in LENGTHS
    ]


def main() -> None:
    """Print the table, the slowest first."""
    rows = sorted(
        ((name, *worst(call)) for name, (call, _) in inventory.CALLS.items()),
        key=lambda row: -row[2][-1],
    )
    print(
        "seconds for one completion of 1 kB, 10 kB, 100 kB and 1 MB, in the text that is worst for each"
    )
    lengths = " ".join(f"{name:>9}" for name in ("1 kB", "10 kB", "100 kB", "1 MB"))
    print(f"{'primitive':<52} {lengths} {'growth':>7}  repeated text")
    for name, unit, taken in rows:
        shown = " ".join(f"{value:9.6f}" for value in taken)
        print(f"{name:<52.52} {shown} {taken[-1] / taken[-2]:>7.1f}  {unit[:24]!r}")


if __name__ == "__main__":
    main()
