"""Prints what rk.diagnose finds of planted faults, and what it says of clean controls, at three sizes.

`python tests/analysis/planted_report.py [SEEDS[+FIRST]] [NAME ...]`: 10 seeds at 30 and 200 prompts and 2 at
2,000, all faults and controls; 20+1000 are seeds 1000 to 1019, other tables than those that the rules were
looked at on. A fault is found where the finding that names it is there and not "inconclusive"; behind it
stand tables that have it only inconclusively (?). No threshold is read here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

SIZES = {30: 1.0, 200: 1.0, 2000: 0.2}
"""Prompts, and the share of the seeds that are looked at: the large ones take their time."""
SEEDS = 10
STRENGTHS = ("easy", "hard")
WIDTH = 37

Found = dict[str, dict[str, list[str]]]
"""Name -> strength, or "" for a control -> what each seed gave: "found", "unsure", "missed", or codes."""


def outcomes(names: Iterable[str], seeds: Sequence[int]) -> Found:
    """What is found on faults and said of controls, with as many prompts as the environment says."""
    from planted import FAULTS, false_findings, outcome

    def of_fault(name: str, seed: int, strength: str) -> str:
        seen = outcome(name, seed, hard=strength == "hard")
        return "found" if seen.found else "unsure" if seen.unsure else "missed"

    def of_control(name: str, seed: int) -> str:
        return ", ".join(sorted({f"{code} ({level})" for level, code in false_findings(name, seed)}))

    return {
        name: {each: [of_fault(name, seed, each) for seed in seeds] for each in STRENGTHS}
        if name in FAULTS
        else {"": [of_control(name, seed) for seed in seeds]}
        for name in names
    }


def at(prompts: int, names: Sequence[str], seeds: Sequence[int]) -> Found:
    """The same in a process of its own, with so many prompts."""
    environment = {**os.environ, "PLANTED_PROMPTS": str(prompts)}
    asked = json.dumps([list(names), list(seeds)])
    done = subprocess.run([sys.executable, __file__, "--one", asked], env=environment, check=True, stdout=-1)
    found: Found = json.loads(done.stdout)
    return found


def print_faults(codes: Mapping[str, str], found: Mapping[int, Found]) -> None:
    """A line a fault: found of the seeds, by size and strength; then the shares."""
    heads = "".join(f"{f'{size:,} {strength}':>14}" for size in found for strength in STRENGTHS)
    print(f"{'fault':<{WIDTH}}{'code':<18}{heads}")
    total: Counter[tuple[int, str]] = Counter()
    for name, code in codes.items():
        line = f"{name:<{WIDTH}}{code:<18}"
        for size, strength in product(found, STRENGTHS):
            counts = Counter(found[size][name][strength])
            unsure = f" {counts['unsure']}?" if counts["unsure"] else ""
            line += f"{counts['found']}/{counts.total()}{unsure}".rjust(14)
            total[size, strength] += counts["found"]
        print(line)
    print()
    for (size, strength), hits in total.items():
        tables = sum(len(found[size][name][strength]) for name in codes)
        print(f"{size:>6,} prompts, {strength}: {hits} of {tables} tables ({hits / tables:.0%})")


def print_controls(names: Sequence[str], found: Mapping[int, Found]) -> None:
    """The controls of which something is said, and how many are silent, by size."""
    for size, tables in found.items():
        loud = {name: told for name in names if (told := list(filter(None, tables[name][""])))}
        silent = f"{len(names) - len(loud)} of {len(names)}"
        print(f"{size:>6,} prompts: {silent} controls silent in all tables")
        for name, told in loud.items():
            print(f"        {name}: {'; '.join(sorted(set(told)))} in {len(told)} tables")


def main(arguments: Sequence[str]) -> None:
    """Both tables for these arguments: how many seeds, and names of faults and controls."""
    from planted import CONTROLS, FAULTS

    given = re.fullmatch(r"(\d+)(?:\+(\d+))?", arguments[0]) if arguments else None
    first, count = int(given[2] or 0) if given else 0, int(given[1]) if given else SEEDS
    names = list(arguments[1:] if given else arguments)
    if unknown := [name for name in names if name not in FAULTS and name not in CONTROLS]:
        sys.exit(f"no fault or control is called {unknown[0]!r}; faults: {list(FAULTS)}; "
                 f"controls: {list(CONTROLS)}")  # fmt: skip
    chosen = names or [*FAULTS, *CONTROLS]
    found = {
        size: at(size, chosen, range(first, first + max(1, round(count * share))))
        for size, share in SIZES.items()
    }
    if faults := {name: FAULTS[name].code for name in chosen if name in FAULTS}:
        print_faults(faults, found)
    if controls := [name for name in chosen if name in CONTROLS]:
        print_controls(controls, found)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    if sys.argv[1:2] == ["--one"]:
        import logging

        logging.getLogger("rewardkit").setLevel(logging.ERROR)
        print(json.dumps(outcomes(*json.loads(sys.argv[2]))))
    else:
        main(sys.argv[1:])
