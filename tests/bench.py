"""One table of speed: rewardkit against named alternatives on the same input, in turn in the same run.

    python tests/bench.py [NAME ...] [--full] [--runs N] [--verbose] [--markdown]

`make bench` prints it all, `make bench-full` the rows at scale. Not a test: nothing here fails. Figures are medians;
a ratio is rewardkit's seconds / the alternative's, below 1 is quicker, with its lowest and highest run.
"""

from __future__ import annotations

import argparse

from benches import (
    forms,
    growth,
    judges,
    large_logs,
    large_tables,
    mathematics,
    probes,
    recorder,
    scoring,
    versions,
    workbench,
)
from benches.table import HEADINGS, NotMeasured, line, machine

BENCHES = {
    "scoring": scoring.scoring,
    "starting": scoring.starting,
    "forms": forms.rows,
    "math": mathematics.rows,
    "growth": growth.rows,
    "diagnosis": large_tables.diagnosis,
    "monitor": large_tables.monitor,
    "judges": judges.rows,
    "probes": probes.rows,
    "recorder": recorder.rows,
    "versions": versions.rows,
    "workbench": workbench.rows,
}
FULL = {
    "logs": large_logs.rows,
    "largest-log": large_logs.largest,
    "ray": large_logs.ray_nodes,
    "largest-diagnosis": large_tables.largest,
}


def main():
    """Print the table, row by row as they come."""
    parser = argparse.ArgumentParser(description=__doc__)
    every = {**BENCHES, **FULL}
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(every))
    parser.add_argument("--full", action="store_true", help="the rows at scale")
    parser.add_argument("--runs", type=int, default=5, help="runs that count, each")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--verbose", action="store_true", help="with details of rows")
    form.add_argument("--markdown", action="store_true", help="a table to be pasted")
    options = parser.parse_args()
    if unknown := set(options.names) - set(every):
        parser.error(f"no bench {min(unknown)!r}; there are {', '.join(every)}")
    if options.runs < 1:
        parser.error("--runs must be 1 or more")
    names = options.names or (FULL if options.full else BENCHES)
    verdicts, reasons = [], []
    print(line(HEADINGS, markdown=options.markdown))
    if options.markdown:
        print(line(["---"] * len(HEADINGS), markdown=True))
    for name in names:
        try:
            for row in every[name](options.runs):
                print(line(row.cells(), markdown=options.markdown), flush=True)
                if options.verbose:
                    print("".join(f"    {detail}\n" for detail in row.details), end="")
                verdicts.append(row.is_met)
        except (ImportError, NotMeasured) as reason:
            reasons.append(f"{name} was not measured: {reason}")
    aims = len(verdicts) - verdicts.count(None)
    met = f"{verdicts.count(True)} of {aims} aims met"
    print(f"\n{met}; counted runs of each side: {options.runs}; {machine()}")
    print(*reasons, sep="\n")


if __name__ == "__main__":
    main()
