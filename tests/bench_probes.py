"""Benchmark of probing, run by `make bench`: completions tried a second, against calling the reward for each.

Not a test: nothing here fails. The alternative is the loop that a person would write, `reward(...)` for one
completion after the other, on as many of them.
"""

from __future__ import annotations

import logging
import time

import rewardkit as rk


def main() -> None:
    """Print what is tried a second, and the ratio to the loop."""
    logging.disable(logging.WARNING)
    for name, data in (
        ("gallery:arithmetic", "gallery:arithmetic"),
        ("gallery:arithmetic.flawed", "gallery:arithmetic"),
        ("gallery:mixed", "gallery:mixed"),
    ):
        rollouts, reward = rk.load_rollouts(data), rk.load_reward(name)
        began = time.perf_counter()
        result = rk.probe(reward, rollouts)
        seconds = time.perf_counter() - began
        row = rollouts[0]
        columns = {column: row[column] for column in reward.needs}
        began = time.perf_counter()
        for _ in range(result.calls):
            reward(**columns)
        loop = time.perf_counter() - began
        print(
            f"probing {name:<26} {result.calls:>6,} completions of {len(result.probes)} probes in "
            f"{seconds:5.2f} s, {result.calls / seconds:>7,.0f} a second; one call after the other "
            f"{loop:5.2f} s, ratio {seconds / loop:.2f}"
        )


if __name__ == "__main__":
    main()
