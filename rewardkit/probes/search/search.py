"""Search: completions beyond the fixed list that are certainly wrong and paid all the same."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rewardkit.findings import Finding
from rewardkit.probes.runner import Outcome, Tries, Variants
from rewardkit.probes.search.edits import crossed, edited, openers
from rewardkit.probes.search.exploits import KEPT, Exploit, explained
from rewardkit.probes.search.gains import OTHERS, Gains
from rewardkit.probes.search.pieces import Record, plain, shortlex, written
from rewardkit.probes.search.shrinking import shrunk
from rewardkit.probes.search.vocabulary import Vocabulary, gathered
from rewardkit.probes.subjects.subject import Calibration, Subject
from rewardkit.probes.verdicts import FULL

__all__ = ["CALLS", "cannot_search", "search"]

CALLS = 400
"""Completions that are tried to find exploits. Our choice: a second or less where a call takes no time."""

SHRINK = 300
"""Completions that are tried to make an exploit small. Our choice."""

CHECKS = 4  # smaller forms that are tried on other subjects

HOMES = 3  # prompts on which is searched, one after the other
WAVE = 24  # completions that are tried at a time
ELITE = 8  # records that others are made from
FRESH = 0.25  # share of the records that are made from the plain one
CROSSED = 0.15  # share of the others that are made of two


def search(
    tries: Tries,
    calibration: Calibration,
    variants: Variants,
    *,
    calls: int = CALLS,
    seed: int = 0,
    skip: Sequence[Finding] = (),
) -> list[Exploit]:
    """Exploits that were found within so many calls, shrunk, the smallest first; none that `skip` explains.

    Each part of the rollouts gets its share of the calls. A part is left out of which `cannot_search` says
    why, and one where findings of `skip` explain all there is to gain. Up to `SHRINK` more calls are used to
    make an exploit small. Where the time of `tries` is over, it ends with what it has. The same seed gives
    the same exploits. Calls are completions here, without the siblings that a group brings along.
    """
    found: list[Exploit] = []
    parts = _parts(calibration)
    for part, subjects in parts.items():
        gains = Gains(tries, variants, [item for item in skip if item.part == part])
        gains.take(subjects, calibration.scales)
        if gains.enough and not gains.hopeless():
            draw = np.random.default_rng([seed, *part.encode()])
            vocabulary = gathered(tries.reward, calibration, subjects)
            found += _of_part(gains, vocabulary, draw, calls // len(parts))
    return sorted(found, key=lambda exploit: shortlex(exploit.record, exploit.subject))


def cannot_search(calibration: Calibration) -> str | None:
    """Why nothing can be searched for, as far as that is known beforehand; ``None`` where it can."""
    parts = _parts(calibration)
    if not parts:
        return "no prompt has a truth that tells right from wrong, so no completion is certainly wrong"
    if all(len({one.answer for one in subjects}) <= OTHERS for subjects in parts.values()):
        return (
            f"there are fewer than {OTHERS + 1} prompts with answers of their own, so nothing could be told "
            "from chance; give more rollouts"
        )
    return None


def _parts(calibration: Calibration) -> dict[str, list[Subject]]:
    """The subjects with a truth, by part."""
    found: dict[str, list[Subject]] = defaultdict(list)
    for subject in calibration.subjects:
        if subject.answer is not None:
            found[subject.part].append(subject)
    return found


def _of_part(gains: Gains, vocabulary: Vocabulary, draw: np.random.Generator, calls: int) -> list[Exploit]:
    """The exploits of a part: searched on some subjects in turn, until one earns full marks."""
    found: dict[str | None, Exploit] = {}
    homes = [gains.subjects[at] for at in draw.permutation(len(gains.subjects))[:HOMES].tolist()]
    shrinking = 0
    for place, home in enumerate(homes):
        left = calls + shrinking - gains.calls
        until = gains.calls + left // (len(homes) - place) - gains.others - 1
        record = _climbed(gains, home, vocabulary, draw, until)
        exploit = gains.exploit(record, home) if record is not None else None
        if exploit is None or explained(exploit, gains.skip):
            continue
        began = gains.calls
        exploit = _shrunk(gains, exploit)
        shrinking += gains.calls - began
        known = found.get(exploit.component)
        if not explained(exploit, gains.skip) and (known is None or exploit.gain > known.gain + 0.01):
            found[exploit.component] = exploit
        if exploit.gain >= FULL:
            break
    return list(found.values())


def _climbed(
    gains: Gains, home: Subject, vocabulary: Vocabulary, draw: np.random.Generator, until: int
) -> Record | None:
    """The best exploit on a subject, by edits of the best so far; ``None`` where there is none."""
    start = plain(home)
    elite = _Elite(gains)
    wave: list[Record] = [start, *openers(start, vocabulary)]
    while gains.calls < until:
        tried = gains.tried(home, wave[: until - gains.calls])
        if tried is None:
            break
        elite.take(home, tried)
        if elite.best is not None and gains.worth(home, *elite.best) >= FULL:
            break
        wave = _wave(gains, home, start, elite.records(), vocabulary, draw)
        if not wave:
            break
    if elite.best is None or not gains.is_exploit(home, *elite.best):
        return None
    return elite.best[0]


def _wave(
    gains: Gains,
    home: Subject,
    start: Record,
    parents: Sequence[Record],
    vocabulary: Vocabulary,
    draw: np.random.Generator,
) -> list[Record]:
    """Records that were not tried yet, made from the best so far, the better the more often."""
    made: list[Record] = []
    texts: set[str] = set()
    for _ in range(20 * WAVE):
        if len(made) == WAVE:
            break
        record = start
        if parents and draw.random() > FRESH:
            record = parents[int(len(parents) * draw.random() ** 2)]
            if draw.random() < CROSSED:
                record = crossed(record, parents[int(draw.integers(len(parents)))], draw)
        record = edited(record, draw, vocabulary)
        text = written(record, home)
        if text is not None and text not in texts and not gains.knows(home, text):
            texts.add(text)
            made.append(record)
    return made


@dataclass(eq=False)
class _Elite:
    """The records to go on from: those of the most worth, and the best by each component alone."""

    gains: Gains
    kept: list[tuple[float, int, Record]] = field(default_factory=list)
    by_component: dict[str, tuple[float, Record]] = field(default_factory=dict)
    best: tuple[Record, Outcome] | None = None
    number: int = 0

    def take(self, home: Subject, tried: Iterable[tuple[Record, Outcome]]) -> None:
        weights = self.gains.weights(home)
        for record, outcome in tried:
            worth = self.gains.worth(home, record, outcome)
            if math.isnan(worth):
                continue
            self.number += 1
            self.kept.append((worth, self.number, record))
            if self.gains.is_exploit(home, record, outcome) and (
                self.best is None or worth > self.gains.worth(home, *self.best)
            ):
                self.best = record, outcome
            for name, score in outcome.scores.items():
                signed = score if weights.get(name, 0.0) >= 0 else -score
                if not math.isnan(score) and signed > self.by_component.get(name, (-math.inf, ()))[0]:
                    self.by_component[name] = signed, record
        # of those that are worth the same the newest: so the search drifts, and does not stay where it began
        self.kept.sort(key=lambda item: (-round(item[0], 6), -item[1]))
        del self.kept[ELITE:]

    def records(self) -> list[Record]:
        """The records, those of the most worth first."""
        return list(
            dict.fromkeys([record for *_, record in self.kept] + [r for _, r in self.by_component.values()])
        )


def _shrunk(gains: Gains, exploit: Exploit) -> Exploit:
    """The smallest form of an exploit that was found, and still holds on other subjects."""
    home, goal = exploit.subject, min(FULL, KEPT * exploit.gain)
    end = gains.calls + SHRINK

    def holds(records: Sequence[Record]) -> list[bool]:
        left = max(0, end - CHECKS * (gains.others + 1) - gains.calls)
        outcomes = gains.of(home, records[:left])
        kept = [
            out is not None and gains.is_exploit(home, record, out) and gains.gain(home, out) >= goal
            for record, out in zip(records[:left], outcomes, strict=True)
        ]
        return kept + [False] * (len(records) - len(kept))

    chain = shrunk(exploit.record, holds, lambda record: shortlex(record, home))
    smallest, place, failed = exploit, 0, len(chain)
    for _ in range(CHECKS):  # the last of the chain that holds elsewhere, which is mostly the last of all
        if failed - place <= 1:
            break
        middle = failed - 1 if failed == len(chain) else (place + failed) // 2
        found = gains.exploit(chain[middle], home)
        if found is not None and found.rate >= exploit.rate:
            smallest, place = found, middle
        else:
            failed = middle
    return replace(smallest, calls=exploit.calls)
