"""Search: completions beyond the fixed list that are certainly wrong and paid all the same."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rewardkit.findings import Finding
from rewardkit.probes.runner import Outcome, Tries, Variants
from rewardkit.probes.search.completions import Record, plain, written
from rewardkit.probes.search.edits import crossed, edited, openers
from rewardkit.probes.search.exploits import KEPT, Exploit, explained
from rewardkit.probes.search.gains import OTHERS, Gains
from rewardkit.probes.search.shrinking import shrunk
from rewardkit.probes.search.vocabulary import Vocabulary, gathered
from rewardkit.probes.subjects.subject import Calibration, Subject
from rewardkit.probes.verdicts import FULL

__all__ = ["CALLS", "cannot_search", "search"]

CALLS = 400
"""Completions that are tried to find exploits. Our choice: a second or less where a call takes no time."""

SHRINK = 300
"""Completions that are tried to make an exploit small. Our choice."""

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
        if not gains.hopeless():
            draw = np.random.default_rng([seed, *part.encode()])
            found += _of_part(gains, gathered(tries.reward, calibration, subjects), draw, calls // len(parts))
    return sorted(found, key=lambda item: (len(item.home.completion), item.home.completion))


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
        record = _Climb(gains, home, vocabulary, draw).best(until)
        exploit = gains.exploit(record, home) if record is not None else None
        if exploit is None or explained(exploit, gains.skip):
            continue
        began = gains.calls
        exploit = _shrunk(gains, exploit)
        shrinking += gains.calls - began
        known = found.get(exploit.component)
        if known is None or exploit.home.gain > known.home.gain + 0.01:
            found[exploit.component] = exploit
        if exploit.home.gain >= FULL:
            break
    return list(found.values())


@dataclass(eq=False)
class _Climb:
    """A search on one subject by edits of the best so far: what was `tried`, with its worth."""

    gains: Gains
    home: Subject
    vocabulary: Vocabulary
    draw: np.random.Generator
    tried: list[tuple[float, Record, Outcome]] = field(default_factory=list)

    def best(self, until: int) -> Record | None:
        """The best exploit within so many calls; ``None`` where there is none."""
        start = plain(self.home)
        wave = self._new([start, *openers(start, self.vocabulary)])
        while wave and self.gains.calls < until and not self.gains.over:
            wave = wave[: until - self.gains.calls]
            outcomes = self.gains.outcomes([(self.home, text) for _, text in wave])
            for (record, _), outcome in zip(wave, outcomes, strict=True):
                worth = self.gains.worth(self.home, record, outcome)
                if outcome is not None and not math.isnan(worth):
                    self.tried.append((worth, record, outcome))
            if max((worth for worth, *_ in self._exploits()), default=0.0) >= FULL:
                break
            parents = self._parents()
            wave = self._new([self._made(start, parents) for _ in range(4 * WAVE)])[:WAVE]
        return max(self._exploits(), key=lambda item: item[0], default=(0.0, None, None))[1]

    def _exploits(self) -> list[tuple[float, Record, Outcome]]:
        return [item for item in self.tried if self.gains.pays(self.home, *item[1:])]

    def _new(self, records: Sequence[Record]) -> list[tuple[Record, str]]:
        """The records that can be written and were not tried yet, with their texts."""
        found: dict[str, Record] = {}
        for record in records:
            text = written(record, self.home)
            if text is not None and (self.home.rollout_id, text) not in self.gains.known:
                found.setdefault(text, record)
        return [(record, text) for text, record in found.items()]

    def _parents(self) -> list[Record]:
        """The records to go on from: those of the most worth, the newest first, and the best by component."""
        # the newest of those worth the same: so the search drifts, and does not stay where it began
        ranked = sorted(reversed(self.tried), key=lambda item: -round(item[0], 6))
        weights = self.gains.inner(self.home).weights
        best = [
            max(self.tried, key=lambda item: sign * item[2].scores.get(name, math.nan), default=None)
            for name, sign in ((name, math.copysign(1, weight)) for name, weight in weights.items())
        ]
        return list(dict.fromkeys(item[1] for item in (*ranked[:ELITE], *best) if item is not None))

    def _made(self, start: Record, parents: Sequence[Record]) -> Record:
        """A record of the best so far, the better the more often, or of the plain one."""
        record = start
        if parents and self.draw.random() > FRESH:
            record = parents[int(len(parents) * self.draw.random() ** 2)]
            if self.draw.random() < CROSSED:
                record = crossed(record, parents[int(self.draw.integers(len(parents)))], self.draw)
        return edited(record, self.draw, self.vocabulary)


def _shrunk(gains: Gains, exploit: Exploit) -> Exploit:
    """The smallest form of an exploit that was found, and still holds on other subjects."""
    pair, end = (exploit.home, exploit.others[0]), gains.calls + SHRINK - 2 * len(gains.subjects)

    def holds(record: Record) -> bool:
        for paid in pair:
            text = written(record, paid.subject)
            if text is None or (gains.calls >= end and (paid.subject.rollout_id, text) not in gains.known):
                return False
            outcome = gains.outcomes([(paid.subject, text)])[0]
            goal = min(FULL, KEPT * paid.gain)
            if not gains.pays(paid.subject, record, outcome) or gains.gain(paid.subject, outcome) < goal:
                return False
        return True

    found = gains.exploit(shrunk(exploit.record, holds), exploit.home.subject)
    better = found is not None and found.rate >= exploit.rate and not explained(found, gains.skip)
    return replace(found, calls=exploit.calls) if found is not None and better else exploit
