"""Prints what probing says of the labelled collection: recall, false alarms, alarms a fault.

`python tests/probes/collection_report.py [NAME ...]`, or `make probed`: the part that was kept aside while
the probes were written and those that were written later stand apart. With names of rewards only these, with
all findings. Exit status 1 where a fault was missed that is not in `KNOWN`, or a healthy reward has an alarm.
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

sys.path.insert(0, str(Path(__file__).parent))

from collection import COLLECTION, Labelled

KNOWN = {
    "query_by_rubric": "a wrong query on the right table earns .7, the plainest wrong one .5",
    "letter_in_any_case": "a letter in lower case: told as a notation, for information",
    "first_call_in_the_text": "its first call counts: told as a lost layout",
    "split_at_the_tag": "no tag is needed: who has no right answer gains nothing by it",
    "after_the_last_assistant": "the last of several turns counts: one guess",
    "act_from_columns": "the truth is in a column that it does not find: taken for a task without one",
    "undecided_is_neutral": "to say nothing is paid where neutral is right, as a constant guess would be",
    "moves_lowercased": "whether case matters is known to chess players",
    "none_is_none": "only where a truth is None, which none is made to be",
    "found_by_the_tool": "the rollouts' own observation counts: no wrong completion could be written",
    "claims_its_check": "found by the search, which is no family of the labels",
}
"""Faults of the later parts that are not found, or in no family of their label, and why: they do not fail."""

PROCESSES = 2
TIMEOUT = 1.5  # seconds: the hanging rewards of the collection never come back


@dataclass(frozen=True)
class Line:
    """What probing said of one reward."""

    label: Labelled
    alarms: tuple[tuple[str, str, str, str | None], ...]
    seconds: float

    @property
    def found(self) -> bool:
        """Whether an alarm is of the fault's families."""
        return bool({family for _, family, *_ in self.alarms} & set(self.label.families))

    @property
    def verdict(self) -> str:
        """ok, or what is wrong with it."""
        if not self.label.families:
            return "FALSE" if self.alarms else "ok"
        return ("ok" if len(self.alarms) == 1 else "MORE") if self.found else "MISSED"

    def __str__(self) -> str:
        told = ", ".join(f"{severity} {code} ({family})" for code, family, severity, _ in self.alarms)
        expected = " or ".join(self.label.families) or "healthy"
        return f"{self.verdict:<7} {self.label.name:<28} {expected:<42} {told or '-'}"


def probed(label: Labelled) -> tuple[Line, rk.ProbeResult]:
    """The line of a reward and all that was found."""
    began = time.perf_counter()
    rollouts = label.rollouts()
    reward = label.reward()
    with contextlib.redirect_stdout(io.StringIO()):
        result = rk.probe(reward, rollouts, timeout=TIMEOUT)
    alarms = tuple((item.code, item.family, item.severity, item.component) for item in result.alarms)
    return Line(label, alarms, time.perf_counter() - began), result


def summary(title: str, lines: Sequence[Line]) -> str:
    """Recall, false alarms and alarms a fault in one line."""
    faulty = [line for line in lines if line.label.families]
    healthy = [line for line in lines if not line.label.families]
    found = [line for line in faulty if line.found]
    alarms = sum(len(line.alarms) for line in found)
    false = sum(bool(line.alarms) for line in healthy)
    return (
        f"{title}: {len(found)} of {len(faulty)} faults found, {false} of {len(healthy)} healthy rewards "
        f"with an alarm, {alarms / max(1, len(found)):.2f} alarms a fault found, "
        f"{sum(line.seconds for line in lines):.0f} s"
    )


def _part(label: Labelled) -> str:
    """The part of the collection that a label is of."""
    name = label.file.partition("_")[0]
    return {"aside": "kept aside", "second": "second part", "third": "third part"}.get(name, "developing")


def main(names: Sequence[str]) -> int:
    """Print the lines that are not as they should be, and the summaries; the exit status."""
    logging.disable(logging.WARNING)
    wrong = 0
    with ProcessPoolExecutor(PROCESSES) as pool:
        for title in dict.fromkeys(map(_part, COLLECTION)):
            lines = []
            chosen = [
                place
                for place, label in enumerate(COLLECTION)
                if _part(label) == title and (label.name in names or not names)
            ]
            for line, told in pool.map(_told, chosen):
                lines.append(line)
                known = line.verdict == "MISSED" and line.label.name in KNOWN
                wrong += line.verdict in ("FALSE", "MISSED") and not known
                if names:
                    print(line, f"\n  {line.label.why}", *(f"\n  {sentence}" for sentence in told))
                elif line.verdict != "ok":
                    print(line, f" (known: {KNOWN[line.label.name]})" if known else "", sep="", flush=True)
            if lines:
                print(summary(title, lines), flush=True)
    return int(wrong > 0)


def _told(place: int) -> tuple[Line, list[str]]:
    """The line and the findings of a label by its place: what another process can send."""
    line, result = probed(COLLECTION[place])
    return line, [item.sentence for item in result.findings]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
