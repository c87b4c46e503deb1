"""Prints what rk.diagnose finds of planted faults, and what it says of clean controls, at three sizes.

`python tests/analysis/planted_report.py [SEEDS[+FIRST]] [NAME ...]`: 10 seeds at 30 and 200 prompts and 2 at
2,000, all faults and controls; 20+1000 are seeds 1000 to 1019, other tables than those that the rules were
looked at on. A fault is found where the finding that names it is there and not "inconclusive"; behind it
stand tables that have it only inconclusively (?). No threshold is read here.
"""

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

SIZES = {30: 1.0, 200: 1.0, 2000: 0.2}
"""Prompts, and the share of the seeds that are looked at: the large ones take their time."""
SEEDS = 10


def report(names, seeds):
    """Prints a line a fault, by strength, and the controls of which something is said."""
    from planted import CONTROLS, FAULTS, false_findings, outcome

    for name in filter(FAULTS.get, names):
        line = f"{name:<37}{FAULTS[name].code:<18}"
        for strength in ("easy", "hard"):
            seen = [outcome(name, seed, hard=strength == "hard") for seed in seeds]
            hits, unsure = (
                sum(item.found for item in seen),
                sum(item.unsure for item in seen),
            )
            line += f"{hits}/{len(seen)}{f' {unsure}?' if unsure else ''}".rjust(14)
        print(line)
    controls, silent = [name for name in names if name in CONTROLS], 0
    for name in controls:
        told = [
            {f"{code} ({level})" for level, code in false_findings(name, seed)}
            for seed in seeds
        ]
        silent += not any(told)
        if any(told):
            print(
                f"{name}: {', '.join(sorted(set().union(*told)))} in {sum(map(bool, told))} tables"
            )
    print(f"{silent} of {len(controls)} controls silent in all tables", flush=True)


def main(arguments):
    """The report of these arguments at each size, in a process of its own, which knows how many prompts."""
    from planted import CONTROLS, FAULTS

    given = re.fullmatch(r"(\d+)(?:\+(\d+))?", arguments[0]) if arguments else None
    first, count = int(given[2] or 0) if given else 0, int(given[1]) if given else SEEDS
    names = list(arguments[1:] if given else arguments) or [*FAULTS, *CONTROLS]
    if unknown := [
        name for name in names if name not in FAULTS and name not in CONTROLS
    ]:
        sys.exit(
            f"no fault or control is called {unknown[0]!r}; there are {[*FAULTS, *CONTROLS]}"
        )
    for prompts, share in SIZES.items():
        print(f"{prompts:,} prompts", flush=True)
        seeds = map(str, (first, first + max(1, round(count * share))))
        environment = {**os.environ, "PLANTED_PROMPTS": str(prompts)}
        subprocess.run(
            [sys.executable, __file__, "--at", *seeds, *names],
            env=environment,
            check=True,
        )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    if sys.argv[1:2] == ["--at"]:
        logging.getLogger("rewardkit").setLevel(logging.ERROR)
        report(sys.argv[4:], range(*map(int, sys.argv[2:4])))
    else:
        main(sys.argv[1:])
