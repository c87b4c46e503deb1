"""Prints what the monitor says of planted histories, of pairs with equal reward curves, and of real trainings.

`python tests/monitoring/monitor_report.py [SEEDS[+FIRST]]`: 5 seeds of each history; 3+1000 are other histories than
those that the rules were looked at on. `make planted` runs it.
"""

import logging
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from histories import (
    FAULTS,
    GENERATIONS,
    SOUND,
    STEPS,
    History,
    constructed,
    spliced,
)
from real_runs import LAST, all_runs

SEEDS = 5
PAIRS = 40
"""Constructed pairs."""
GRADES = {"healthy": 0, "not decided": 0, "watch": 1, "stop": 2}


def report_histories(seeds: range) -> None:
    """Print of each planted fault how often it was found and how far its step is off."""
    shuffled = 0
    for make in FAULTS:
        hits, errors = 0, []
        for seed in seeds:
            history = make(seed)
            monitor = history.monitor()
            alarms = {alarm.code: alarm for alarm in monitor.alarms}
            hits += history.codes <= alarms.keys()
            for code in history.codes & alarms.keys():
                errors.append(abs(alarms[code].evidence["since"] - history.since))
            shuffled += says_of_shuffled(history, seed)
        error = statistics.median(errors) if errors else float("nan")
        print(
            f"{make.__name__:<36}found in {hits} of {len(seeds)}, median error {error:g} of {STEPS} steps"
        )
    print(f"the same with shuffled steps: {shuffled} findings")
    for make in SOUND:
        verdicts = Counter(make(seed).monitor().verdict for seed in seeds)
        print(f"{make.__name__:<36}{dict(verdicts)}")


def says_of_shuffled(history: History, seed: int) -> int:
    """Return how many findings there are with the steps of groups shuffled."""
    if history.codes in ({"judging_fails"}, {"right_pays_less"}):
        return 0  # what it says depends on the step itself
    steps = history.table["step"].to_numpy()[::GENERATIONS].copy()
    np.random.default_rng(seed).shuffle(steps)
    table = history.table.assign(step=np.repeat(steps, GENERATIONS))
    return len(History(table, history.reward).monitor().findings)


def report_real(runs) -> None:
    """Print verdict by outcome of the real trainings, and how far the step is off."""
    table, errors = Counter(), []
    for run in runs:
        monitor, outcome = run.monitor(), run.outcome()
        table[outcome, monitor.verdict] += 1
        if outcome == "lost" and monitor.since is not None:
            errors.append(abs(monitor.since - run.onset()))
        elif (outcome, monitor.verdict) not in (("kept", "healthy"),):
            print(f"  {run.name}: {outcome}, {monitor.verdict}")
    for (outcome, verdict), count in sorted(table.items()):
        print(f"{outcome:<12}{verdict:<10}{count}")
    print(
        f"step of lost runs: median error {statistics.median(errors):g} of 160 steps, "
        f"{sum(error <= 16 for error in errors)} of {len(errors)} within a tenth"
    )


def splice_runs(runs) -> Iterator[tuple[History, History]]:
    """Yield for each run that lost its task a pair of real rows."""
    lost = [run for run in runs if run.outcome() == "lost"]
    kept = [run for run in runs if run.outcome() == "kept"]
    for place, run in enumerate(lost):
        task = run.name.partition("-")[0]
        honest = [other for other in kept if other.name.startswith(task)]
        chosen = honest[place * 7 % len(honest)]
        yield spliced(place, run.name, chosen.name)


def report_pairs(kind: str, pairs: Iterable[tuple[History, History]]) -> None:
    """Print the area under ROC of the verdict on pairs with equal reward curves."""
    grades, rises = ([], []), ([], [])
    for pair in pairs:
        for place, history in enumerate(pair):
            grades[place].append(GRADES[history.monitor().verdict])
            curve = history.table.groupby("step")["total"].mean()
            at_end = curve.index >= curve.index[-1] - 0.1 * np.ptp(curve.index)
            rises[place].append(curve[at_end].mean() - curve[~at_end].iloc[:2].mean())
    print(
        f"{len(grades[0])} {kind} pairs with equal reward curves: area under ROC of the "
        f"verdict {area(*grades):.2f}, of the rise of the reward {area(*rises):.2f}"
    )


def area(bad, good) -> float:
    """Return the chance that a bad one is above a good one, ties counted half."""
    differences = np.subtract.outer(np.array(bad, float), np.array(good, float))
    return float(((differences > 0) + 0.5 * (differences == 0)).mean())


def main(arguments: list[str]) -> None:
    """Print all three."""
    logging.getLogger("rewardkit").setLevel(logging.ERROR)
    given = re.fullmatch(r"(\d+)(?:\+(\d+))?", arguments[0]) if arguments else None
    first, count = (int(given[2] or 0), int(given[1])) if given else (0, SEEDS)
    report_histories(range(first, first + count))
    runs = all_runs()
    print(f"{len(runs)} real trainings; at the end: the last {LAST} steps")
    report_real(runs)
    report_pairs("spliced", splice_runs(runs))
    report_pairs("constructed", map(constructed, range(first, first + PAIRS)))


if __name__ == "__main__":
    main(sys.argv[1:])
