"""Whole solutions with a truth, labelled by hand: is the final answer of the solution the truth?

In the styles of GSM8K, MATH, AIME and Chinese exams; about two in five are near misses (another factor, sign,
end of an interval, a missing member, an intermediate result). `DEVELOPMENT` was looked at while `math_equal`
was written; `HELD_OUT` was written and labelled before any verdict on it was seen: nothing was tuned to it.

`LOOKED_AT` and `DECIDING` are 300 short pairs, kept in ``data_math_pairs.txt`` because a person reads them there:
a truth with the source of its form (answer fields of public data sets, or our own), and below it right (+) and
wrong (-) predictions. Their verdicts were written, by hand, before `math_equal` was changed for them, and every
second truth decides: nothing was tuned to it. Units and percentages count where both sides have them; what a
person would call another answer (a part of a set, another rounding, a swapped pair) is wrong.
"""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import NamedTuple


class Labelled(NamedTuple):
    """A solution, the truth of its problem, whether the solution's final answer is that, and the truth's source."""

    solution: str
    truth: str
    right: bool
    source: str = "own"


_ROWS = list(
    map(
        json.loads,
        Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").splitlines(),
    )
)
DEVELOPMENT, HELD_OUT = (
    [
        Labelled(row["solution"], row["truth"], row["right"])
        for row in _ROWS
        if row["part"] == part
    ]
    for part in ("development", "held_out")
)


def _pairs() -> list[list[Labelled]]:
    """Read the pairs of each truth; a line break within one is written as a return sign."""
    path = Path(__file__).with_name("data_math_pairs.txt")
    pairs: list[list[Labelled]] = []
    source = truth = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith((" + ", " - ")):
            solution = line[3:].replace("\u23ce", "\n")
            row = Labelled(solution, truth, line.startswith(" + "), source)
            pairs[-1].append(row)
        else:
            source, truth = line.split(maxsplit=1)
            pairs.append([])
    return pairs


LOOKED_AT, DECIDING = (list(chain(*_pairs()[half::2])) for half in (0, 1))
