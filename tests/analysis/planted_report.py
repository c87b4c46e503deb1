"""Prints what rk.diagnose finds of planted faults, and what it says of clean controls.

`python tests/analysis/planted_report.py [SEEDS[+FIRST]] [NAME ...]`: 20 seeds, all faults and controls;
20+1000 are seeds 1000 to 1019, other tables than those that the rules were looked at on. A fault is found
where the finding that names it is there and not "inconclusive"; `unsure` are those that it says
inconclusively. `beside` are other findings of severity warn or high about the same component, `elsewhere`
about others, with the number of tables that have them. No threshold is read here.
"""

from __future__ import annotations

import logging
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from planted import CONTROLS, FAULTS, Outcome, false_findings, outcome

SEEDS = 20
WIDTH = 37


def faults(names: Iterable[str], seeds: range) -> dict[tuple[str, bool], list[Outcome]]:
    """The outcomes of each fault and strength (True: hard), one a seed."""
    return {
        (name, hard): [outcome(name, seed, hard=hard) for seed in seeds]
        for name in names
        for hard in (False, True)
    }


def controls(names: Iterable[str], seeds: range) -> dict[str, list[list[tuple[str, str]]]]:
    """Severities and codes of the findings on each control, one list a seed."""
    return {name: [false_findings(name, seed) for seed in seeds] for name in names}


def print_faults(found: dict[tuple[str, bool], list[Outcome]], seeds: int) -> None:
    """A line a fault and strength, then the sums by code and of all."""
    print(f"{'fault':<{WIDTH}}{'code':<20}{'strength':<9}{'found':>6}{'unsure':>7}{'missed':>7}  besides")
    by_code: dict[tuple[str, bool], list[int]] = {}
    for (name, hard), outcomes in found.items():
        hits, unsure = sum(item.found for item in outcomes), sum(item.unsure for item in outcomes)
        line = f"{name:<{WIDTH}}{FAULTS[name].code:<20}{_strength(hard):<9}"
        print(f"{line}{hits:>6}{unsure:>7}{seeds - hits - unsure:>7}  {_besides(outcomes)}")
        for key in ((FAULTS[name].code, hard), ("all", hard)):
            sums = by_code.setdefault(key, [0, 0, 0])
            sums[0], sums[1], sums[2] = sums[0] + hits, sums[1] + unsure, sums[2] + seeds
    print(f"\n{'code':<20}{'strength':<9}{'found':>6}{'unsure':>7}{'missed':>7}{'share':>7}")
    for (code, hard), (hits, unsure, total) in sorted(by_code.items(), key=lambda item: item[0][0] == "all"):
        counts = f"{hits:>6}{unsure:>7}{total - hits - unsure:>7}{hits / total:>7.0%}"
        print(f"{code:<20}{_strength(hard):<9}{counts}")
    kinds = sum(any(item.beside for item in outcomes) for outcomes in found.values())
    each = [len(item.beside) for outcomes in found.values() for item in outcomes]
    mean = sum(each) / max(len(each), 1)
    print(
        f"\nco-findings about the same component: {mean:.3f} a table, in {kinds} of {len(found)} rows above"
    )


def print_controls(false: dict[str, list[list[tuple[str, str]]]], seeds: int) -> None:
    """A line a control, then the sums by code; the number of tables that have such a finding."""
    print(f"\n{'control':<{WIDTH}}{'high':>6}{'warn':>6}  codes")
    by_code: Counter[tuple[str, str]] = Counter()
    for name, tables in false.items():
        counts = Counter(item for table in tables for item in set(table))
        by_code += counts
        levels = [{level for level, _ in table} for table in tables]
        loud = [sum(level in found for found in levels) for level in ("high", "warn")]
        codes = ", ".join(f"{code} ({level}) {count}" for (level, code), count in counts.most_common())
        print(f"{name:<{WIDTH}}{loud[0]:>6}{loud[1]:>6}  {codes}")
    print(f"\nfalse findings by code, of {len(false) * seeds} tables of {len(false)} controls:")
    for (level, code), count in sorted(by_code.items()):
        print(f"  {level:<6}{code:<20}{count:>6}")
    if not by_code:
        print("  none")


def _besides(outcomes: Sequence[Outcome]) -> str:
    told = []
    for word in ("beside", "elsewhere"):
        counts = Counter(code for item in outcomes for code in set(getattr(item, word)))
        if counts:
            told.append(f"{word}: " + ", ".join(f"{code} {count}" for code, count in counts.most_common()))
    return "; ".join(told)


def _strength(hard: bool) -> str:
    return "hard" if hard else "easy"


def main(arguments: Sequence[str]) -> None:
    """Both tables for these arguments: how many seeds, and names of faults and controls."""
    given = re.fullmatch(r"(\d+)(?:\+(\d+))?", arguments[0]) if arguments else None
    first, count = int(given[2] or 0) if given else 0, int(given[1]) if given else SEEDS
    seeds, names = range(first, first + count), list(arguments[1:] if given else arguments)
    if unknown := [name for name in names if name not in FAULTS and name not in CONTROLS]:
        sys.exit(f"no fault or control is called {unknown[0]!r}; faults: {list(FAULTS)}; "
                 f"controls: {list(CONTROLS)}")  # fmt: skip
    logging.getLogger("rewardkit").setLevel(logging.ERROR)
    if kept := [name for name in FAULTS if not names or name in names]:
        print_faults(faults(kept, seeds), count)
    if kept := [name for name in CONTROLS if not names or name in names]:
        print_controls(controls(kept, seeds), count)


if __name__ == "__main__":
    main(sys.argv[1:])
