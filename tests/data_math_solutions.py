"""Whole solutions with a truth, labelled by hand: is the final answer of the solution the truth?

In the styles of GSM8K, MATH, AIME and Chinese exams; about two in five are near misses (another factor, sign,
end of an interval, a missing member, an intermediate result). `DEVELOPMENT` was looked at while `math_equal`
was written; `HELD_OUT` was written and labelled before any verdict on it was seen: nothing was tuned to it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Labelled(NamedTuple):
    """A solution, the truth of its problem, and whether the solution's final answer is that."""

    solution: str
    truth: str
    right: bool


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
