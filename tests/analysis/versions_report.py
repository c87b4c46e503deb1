"""Prints how many planted pairs of versions a comparison calls right, of each kind.

`python tests/analysis/versions_report.py [SEEDS]`: 20 pairs of each kind, seeds that no test has. It is run
by `make planted`.
"""

import logging
import sys
from collections import Counter

from planted.versions import KINDS, compared

SEEDS, FIRST = 20, 100


def main(seeds: int = SEEDS) -> None:
    """Print a line a kind: how many are right, and what the others were called."""
    logging.disable(logging.WARNING)
    for kind, (_, expected, _) in KINDS.items():
        verdicts = Counter(
            compared(kind, seed).verdict for seed in range(FIRST, FIRST + seeds)
        )
        right = verdicts.pop(expected, 0)
        line = f"{kind:30} {expected:15} {right:3} of {seeds}"
        if verdicts:
            line += f"   others: {dict(verdicts)}"
        print(line, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
