"""Prints what probing says of the labelled rewards: hits, misses and false alarms, with the alarms in words.

Of the half that is held back only the sums are printed, so that nobody tunes to it. `python
tests/probes/labelled_report.py [NAME ...]`, or `make probed`. With names only these, with the whole
terminal page. Exit status 1 where a healthy reward of the half that probes are tuned on has an alarm, or a
fault of it is missed and its entry does not say why.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import rewardkit as rk
from rewardkit.findings import Finding

sys.path.insert(0, str(Path(__file__).parent))

from labelled import COLLECTION, HELD_BACK, Entry

TIMEOUT = 1.5  # seconds a call
PROCESSES = 2
ANSWERS = {
    "gaming": "nothing_there shotgun padding judge programs search ignores_truth inverted ignores_completion",
    "near_miss": "near_misses special_values look_alikes wrong_paid containment",
    "loss": "equivalents right_unpaid prompt_left_out prompt_read first_mark_read other_scale",
    "contract": "contract hang",
    "floor": "calibration",
    "signal": "phantom length_bias length_curve column_bias opposed dominant constant",
}
"""Question of `labelled` -> the families and codes of findings that answer it; codes come first."""
QUESTION_OF = {
    name: question for question, names in ANSWERS.items() for name in names.split()
}


@dataclass(frozen=True)
class Line:
    """What probing said of one reward."""

    name: str
    fault: str
    hit: bool
    alarms: tuple[str, ...]
    calls: int
    seconds: float
    page: str
    missed: str = ""

    def __str__(self) -> str:
        verdict = "ok" if self.hit else "MISSED" if self.fault else "FALSE"
        head = f"{verdict:<7}{self.name:<22} {self.fault or 'healthy'}"
        why = [f"        Why: {self.missed}"] if self.missed and not self.hit else []
        return "\n".join(
            [head, *(f"        {sentence}" for sentence in self.alarms), *why]
        )


def signal_alarms(entry: Entry) -> list[Finding]:
    """What `diagnose` warns of in the scored log that answers the question "signal"."""
    scores = rk.score(entry.load(), entry.rollouts(), timeout=None)
    findings = rk.diagnose(scores, label=entry.label).findings
    return [
        item
        for item in findings
        if item.severity in ("warn", "high") and QUESTION_OF.get(item.code) == "signal"
    ]


def probed(entry: Entry) -> Line:
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        result = rk.probe(
            entry.load(), entry.rollouts(), label=entry.label, timeout=TIMEOUT
        )
    at_fault = (
        {None, entry.fault.component} if entry.fault and entry.fault.component else ()
    )
    alarming = list(result.alarms)
    if entry.of_signal:
        alarming += signal_alarms(entry)
    named = [item for item in alarming if not at_fault or item.component in at_fault]
    questions = {
        QUESTION_OF.get(item.code) or QUESTION_OF[item.family] for item in named
    }
    hit = bool(questions & set(entry.fault.questions)) if entry.fault else not alarming
    alarms = tuple(item.sentence for item in alarming)
    fault = missed = ""
    if entry.fault:
        fault, missed = entry.fault.sentence, entry.fault.missed
    seconds = time.perf_counter() - began
    return Line(
        entry.name, fault, hit, alarms, result.calls, seconds, repr(result), missed
    )


EVERY = (*COLLECTION, *HELD_BACK)


def at(place: int) -> Line:
    return probed(EVERY[place])


def summary(lines: Sequence[Line]) -> str:
    faulty = [line for line in lines if line.fault]
    healthy = [line for line in lines if not line.fault]
    return (
        f"{sum(line.hit for line in faulty)} of {len(faulty)} faults found, "
        f"{sum(not line.hit for line in healthy)} of {len(healthy)} healthy rewards with an alarm; "
        f"{sum(line.calls for line in lines) / len(lines):.0f} calls and "
        f"{sum(line.seconds for line in lines) / len(lines):.1f} s a reward"
    )


def main(names: Sequence[str]) -> int:
    """Print a line a reward, and a summary of each half; the exit status."""
    logging.disable(logging.WARNING)
    chosen = [
        place for place, entry in enumerate(EVERY) if entry.name in names or not names
    ]
    with ProcessPoolExecutor(PROCESSES) as pool:
        lines = dict(zip(chosen, pool.map(at, chosen), strict=True))
    tuned = [line for place, line in lines.items() if place < len(COLLECTION)]
    held_back = [line for place, line in lines.items() if place >= len(COLLECTION)]
    if names:
        print(*(line.page for line in lines.values()), sep="\n")
    else:
        print(*tuned, sep="\n")
    for title, some in (("tuned on", tuned), ("held back", held_back)):
        if some:
            print(f"{title}: {summary(some)}")
    return int(not all(line.hit or line.missed for line in tuned))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
