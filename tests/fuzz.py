"""`make fuzz`: hostile texts through every primitive; no exception, no call over its deadline.

Prints the longest call of each primitive. Texts come from a seed, so a failure can be made again:
``python tests/fuzz.py --seed S --texts N``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import hostile
import inventory

from rewardkit.primitives.verify.math import PAIR_CPU_SECONDS

DEADLINE = 2.0
"""Seconds. Our choice: a million characters take a fraction of that."""
MATH_DEADLINE = 2 * PAIR_CPU_SECONDS
"""Of `math_equal`, by the clock: its own is in processor time."""
RARELY = {"math_equal": 10, "math_equal, hostile truth": 10}
"""What waits for a worker process sees one text in so many; its deadline is of its own."""
SEEDED_BY = (
    10_000  # texts that come from one seed, so that processes can share the work
)


@dataclass
class Longest:
    """The calls of one primitive: how many, the seconds and the length of the one that took longest."""

    calls: int = 0
    longest: tuple[float, int] = (0.0, 0)
    faults: list[str] = field(default_factory=list)

    def add(self, other: Longest) -> None:
        """Count another run in."""
        self.calls += other.calls
        self.longest = max(self.longest, other.longest)
        self.faults += other.faults


def run(seed: int, count: int) -> dict[str, Longest]:
    """Make every call on `count` texts, and check what each gives."""
    for call, _ in inventory.CALLS.values():
        call(
            "x"
        )  # what a first call makes, such as patterns and a worker process, takes seconds
    found = {name: Longest() for name in inventory.CALLS}
    for place, text in enumerate(hostile.texts(seed, count, inventory.samples())):
        for name, (call, check) in inventory.CALLS.items():
            if place % RARELY.get(name, 1) == 0:
                deadline = MATH_DEADLINE if name in RARELY else DEADLINE
                found[name].add(
                    one(call, check, text, deadline, f"seed {seed}, text {place}")
                )
    return found


def one(
    call: Callable[[str], Any],
    check: Callable[[str, Any], Any],
    text: str,
    deadline: float,
    where: str,
) -> Longest:
    """One call: its time, and what is wrong with its value."""
    started = time.perf_counter()
    try:
        value = call(text)
        seconds = time.perf_counter() - started
        fault = check(text, value)
    except Exception as error:
        seconds = time.perf_counter() - started
        fault = f"{type(error).__name__}: {error}"
    if seconds > deadline:
        fault = f"took {seconds:.1f} s"
    return Longest(
        1,
        (seconds, len(text)),
        [f"{where}, {len(text)} characters: {fault}"] if fault else [],
    )


def main() -> None:
    """Run the texts in two processes, and end with status 1 where a call failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if min(options.texts, options.processes) < 1:
        parser.error("--texts and --processes must be 1 or more: no text shows nothing")
    started = time.perf_counter()
    shares = [
        (options.seed + number, min(SEEDED_BY, options.texts - start))
        for number, start in enumerate(range(0, options.texts, SEEDED_BY))
    ]
    total = {name: Longest() for name in inventory.CALLS}
    with ProcessPoolExecutor(options.processes) as pool:
        for found in pool.map(run, *zip(*shares, strict=True)):
            for name, item in found.items():
                total[name].add(item)
    faults = 0
    for name, item in sorted(
        total.items(), key=lambda pair: pair[1].longest, reverse=True
    ):
        faults += len(item.faults)
        seconds, length = item.longest
        longest = f"{1e3 * seconds:.1f} ms of {length:,} characters"
        print(
            f"{name:<50.50} {item.calls:>9,} calls, longest {longest}, {len(item.faults)} faults"
        )
        print("".join(f"  {fault}\n" for fault in item.faults[:3]), end="")
    print(
        f"{options.texts:,} texts in {time.perf_counter() - started:.0f} s, {faults} faults"
    )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
