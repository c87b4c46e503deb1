"""The table of speed: a row for each comparison, printed as it comes."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HEADINGS = ("measured", "rewardkit", "compared with", "its", "ratio", "aim", "")
WIDTHS = (66, 9, 30, 9, 24, 7, 8)


class NotMeasured(Exception):
    """Something that a bench needs is not on this machine."""


@dataclass(frozen=True)
class Row:
    """What was measured run by run, alone or in turn with a named alternative on the same input.

    The aim is the most that the ratio to the alternative may be; without one, the most that the figure may be.
    """

    what: str
    ours: Sequence[float]
    against: str = ""
    theirs: Sequence[float] = ()
    unit: str = "s"
    aim: float | None = None
    details: Sequence[str] = ()

    @property
    def ratios(self) -> list[float]:
        """Ours / theirs, run by run."""
        return [a / b for a, b in zip(self.ours, self.theirs, strict=True)]

    @property
    def is_met(self) -> bool | None:
        """Whether the median is at most the aim; None without an aim."""
        if self.aim is None:
            return None
        return statistics.median(self.ratios if self.against else self.ours) <= self.aim

    def cells(self) -> tuple[str, ...]:
        """Return the texts of the row, one for each of `HEADINGS`."""
        theirs = ratio = aim = ""
        if self.aim is not None:
            aim = _text(self.aim, "" if self.against else self.unit)
        if self.against:
            theirs = _text(statistics.median(self.theirs), self.unit)
            ratio = _text(statistics.median(self.ratios))
            if len(self.ratios) > 1:
                lowest, highest = map(_text, (min(self.ratios), max(self.ratios)))
                ratio += f" ({lowest} to {highest})"
        ours = _text(statistics.median(self.ours), self.unit)
        verdict = {None: "", True: "met", False: "not met"}[self.is_met]
        return self.what, ours, self.against, theirs, ratio, aim, verdict


def _text(value: float, unit: str = "") -> str:
    """Return a figure with three digits; seconds below 0.1 as ms or µs."""
    if unit == "s" and value < 1e-4:
        value, unit = value * 1e6, "µs"
    elif unit == "s" and value < 0.1:
        value, unit = value * 1e3, "ms"
    if value >= 100:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3g}"
    return f"{text} {unit}".rstrip()


def line(cells: Sequence[str], *, markdown: bool) -> str:
    """Return the cells as a line of the table."""
    if markdown:
        return f"| {' | '.join(cells)} |"
    return " ".join(map(str.ljust, cells, WIDTHS)).rstrip()


def machine() -> str:
    """Return what the figures were measured on."""
    model = platform.machine()
    with_models = Path("/proc/cpuinfo")
    if with_models.exists():
        names = with_models.read_text().partition("model name")[2]
        model = names.partition("\n")[0].strip(" \t:") or model
    return f"{os.cpu_count()} cores of {model}, Python {platform.python_version()}"


def in_turn(
    *sides: Callable[[], object],
    runs: int,
    clock: Callable[[], float] = time.perf_counter,
) -> list[list[float]]:
    """Return the seconds of each side, so many times in turn after one run that does not count.

    A machine that changes its speed thereby changes all sides.
    """
    seconds: list[list[float]] = [[] for _ in sides]
    for run in range(runs + 1):
        for side, measured in zip(sides, seconds, strict=True):
            started = clock()
            side()
            if run:
                measured.append(clock() - started)
    return seconds
