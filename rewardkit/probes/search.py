"""Search: completions beyond the fixed list that are certainly wrong and paid all the same."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rewardkit.evaluation import GATED, STATUSES
from rewardkit.probes.attempts import Subject
from rewardkit.probes.calibration import Calibration, Scale
from rewardkit.probes.edits import crossed, edited, openers
from rewardkit.probes.exploits import GAIN, KEPT, Exploit, Transfer, explained, is_hole
from rewardkit.probes.findings import ProbeFinding, components_at_fault
from rewardkit.probes.pieces import Record, mentions, plain, shortlex, written
from rewardkit.probes.shrinking import shrunk
from rewardkit.probes.trying import Outcome, Tries, Variants
from rewardkit.probes.verdicts import FULL
from rewardkit.probes.vocabulary import Vocabulary, gathered
from rewardkit.reward import Reward

__all__ = ["CALLS", "search"]

CALLS = 400
"""Completions that are tried to find an exploit. Our choice."""

SHRINK = 300
"""Completions that are tried to shrink one. Our choice."""

OTHERS = 2
"""Other prompts, with other answers, on which an exploit must gain as well, and `HALF` of those tried."""
HALF = 0.5

HOMES = 3  # prompts on which is searched, one after the other
WAVE = 24  # completions that are tried at a time
ELITE = 8  # records that others are made from
FRESH = 0.25  # share of the records that are made from the plain one
CROSSED = 0.15  # share of those that are made of two
LATE = 3  # calls that did not come back, after which no more of a part are made
PLAINEST = 3  # wrong answers in plain form, the best paid of which is what gains are measured from


def search(
    tries: Tries,
    calibration: Calibration,
    variants: Variants,
    *,
    calls: int = CALLS,
    seed: int = 0,
    skip: Sequence[ProbeFinding] = (),
) -> list[Exploit]:
    """Exploits that were found within so many calls, shrunk, the cheapest first; none that `skip` explains.

    Each part of the rollouts gets its share of the calls. Nothing is tried where a part has no truth, as it
    is not known there what is wrong, or fewer than three prompts, as nothing could be told from chance; nor
    where a finding of `skip` already earns full marks by the only component. Another `SHRINK` calls may be
    used to make an exploit small. The same seed gives the same exploits, as long as there is time.
    """
    by_part: dict[str, list[Subject]] = defaultdict(list)
    for subject in calibration.subjects:
        if subject.answer is not None:
            by_part[subject.part].append(subject)
    found: list[Exploit] = []
    for part, subjects in by_part.items():
        board = _Board(tries, variants, calls // len(by_part), skip=[x for x in skip if x.part == part])
        board.take(subjects, calibration.scales)
        if len(board.scales) > OTHERS and not board.hopeless():
            draw = np.random.default_rng([seed, *part.encode()])
            vocabulary = gathered(tries.reward, calibration, subjects)
            found += _of_part(board, vocabulary, draw)
    return sorted(found, key=lambda exploit: shortlex(exploit.record, exploit.subject))


def _of_part(board: _Board, vocabulary: Vocabulary, draw: np.random.Generator) -> list[Exploit]:
    """The exploits of a part: searched on some subjects in turn, until one earns full marks."""
    found: dict[str | None, Exploit] = {}
    homes = [board.subjects[at] for at in draw.permutation(len(board.subjects))[:HOMES].tolist()]
    for place, home in enumerate(homes):
        until = board.calls + (board.budget - board.calls) // (len(homes) - place)
        record = _climbed(board, home, vocabulary, draw, until)
        exploit = board.exploit(record, home) if record is not None else None
        if exploit is None or any(explained(exploit, [item]) for item in board.skip):
            continue
        exploit = _shrunk(board, exploit)
        known = found.get(exploit.component)
        if known is None or exploit.gain > known.gain + 0.01:
            found[exploit.component] = exploit
        if exploit.gain >= FULL:
            break
    return list(found.values())


def _climbed(
    board: _Board, home: Subject, vocabulary: Vocabulary, draw: np.random.Generator, until: int
) -> Record | None:
    """The best exploit on a subject, by edits of the best so far; ``None`` where there is none."""
    start = plain(home)
    elite = _Elite(board)
    wave: list[Record] = [start, *openers(start, vocabulary)]
    while board.calls < until:
        tried = board.tried(home, wave[: until - board.calls])
        if tried is None:
            break
        elite.take(home, tried)
        if elite.best is not None and board.worth(home, *elite.best) >= FULL:
            break
        wave = _wave(board, home, start, elite.records(), vocabulary, draw)
        if not wave:
            break
    if elite.best is None or not board.is_exploit(home, *elite.best):
        return None
    return elite.best[0]


def _wave(
    board: _Board,
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
        if text is not None and text not in texts and not board.knows(home, text):
            texts.add(text)
            made.append(record)
    return made


@dataclass(eq=False)
class _Elite:
    """The records to go on from: those of the most worth, and the best by each component alone."""

    board: _Board
    kept: list[tuple[float, int, Record]] = field(default_factory=list)
    by_component: dict[str, tuple[float, Record]] = field(default_factory=dict)
    best: tuple[Record, Outcome] | None = None
    number: int = 0

    def take(self, home: Subject, tried: Iterable[tuple[Record, Outcome]]) -> None:
        weights = self.board.weights(home)
        for record, outcome in tried:
            worth = self.board.worth(home, record, outcome)
            if math.isnan(worth):
                continue
            self.number += 1
            self.kept.append((worth, self.number, record))
            if self.board.is_exploit(home, record, outcome) and (
                self.best is None or worth > self.board.worth(home, *self.best)
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


@dataclass(eq=False)
class _Board:
    """What was tried on the subjects of a part, what it earned, and how many calls are left."""

    tries: Tries
    variants: Variants
    budget: int
    skip: Sequence[ProbeFinding] = ()
    calls: int = 0
    late: int = 0
    subjects: list[Subject] = field(default_factory=list)
    scales: dict[Any, Scale] = field(default_factory=dict)
    baselines: dict[Any, Outcome] = field(default_factory=dict)
    _known: dict[tuple[Any, str], Outcome] = field(default_factory=dict)
    _weights: dict[Any, dict[str, float]] = field(default_factory=dict)

    @property
    def reward(self) -> Reward:
        return self.tries.reward

    def take(self, subjects: Sequence[Subject], scales: Mapping[Any, Scale]) -> None:
        """Measure what wrong answers in plain form earn: gains are what comes on top of the best of them."""
        subjects = [one for one in subjects if written(plain(one), one) == one.baseline]
        texts = [(one, one.format.write(wrong)) for one in subjects for wrong in one.wrong[:PLAINEST]]
        outcomes = self.outcomes(texts)
        for subject in subjects:
            got = [out for (one, _), out in zip(texts, outcomes, strict=True) if one is subject and out]
            scale = scales[subject.rollout_id]
            paid = max((out.reward for out in got if out.judged), default=scale.wrong)
            measured = replace(scale, wrong=max(scale.wrong, paid))
            if got and got[0].judged and not got[0].failures and measured.span > HALF * scale.span:
                self.subjects.append(subject)
                self.scales[subject.rollout_id] = measured
                self.baselines[subject.rollout_id] = got[0]

    def hopeless(self) -> bool:
        """Whether all there could be to gain is explained already."""
        names = {name for one in self.subjects for name in self._inner(one).names}
        alone = sum(len(inner.components) for inner in self.reward.inner) == 1
        known = [item for item in self.skip if is_hole(item) and item.evidence["gain"] >= KEPT]
        return bool(known) if alone else names <= {item.component for item in known}

    def outcomes(self, texts: Sequence[tuple[Subject, str]]) -> list[Outcome | None]:
        """What completions of subjects get; what was tried before is not tried again."""
        asked = {(one.rollout_id, text): (one, text) for one, text in texts}
        fresh = [pair for key, pair in asked.items() if key not in self._known]
        rows = [self.variants.of(one.columns, text) for one, text in fresh]
        siblings = [one.siblings for one, _ in fresh]
        got = self.tries.outcomes(rows, siblings if any(siblings) else [])
        for (one, text), outcome in zip(fresh, got, strict=True):
            if outcome is not None:
                self.calls += 1
                self.late += outcome.late
                self._known[one.rollout_id, text] = outcome
        return [self._known.get((one.rollout_id, text)) for one, text in texts]

    def knows(self, subject: Subject, text: str) -> bool:
        return (subject.rollout_id, text) in self._known

    def tried(self, subject: Subject, records: Sequence[Record]) -> list[tuple[Record, Outcome]] | None:
        """The records that can be written for a subject, with what they got.

        ``None`` where the time is over, or calls do not come back.
        """
        got = self.of(subject, records)
        if self.late >= LATE or (records and all(outcome is None for outcome in got)):
            return None
        return [(record, out) for record, out in zip(records, got, strict=True) if out is not None]

    def of(self, subject: Subject, records: Sequence[Record]) -> list[Outcome | None]:
        """What each record gets on a subject; ``None`` where it cannot be written, or was not tried."""
        texts = [written(record, subject) for record in records]
        got = iter(self.outcomes([(subject, text) for text in texts if text is not None]))
        return [next(got) if text is not None else None for text in texts]

    def weights(self, subject: Subject) -> dict[str, float]:
        if subject.rollout_id not in self._weights:
            self._weights[subject.rollout_id] = self._inner(subject).weights
        return self._weights[subject.rollout_id]

    def _inner(self, subject: Subject) -> Reward:
        parts = self.reward.parts({name: [value] for name, value in subject.columns.items()}, 1)
        return parts[0].reward if parts else self.reward

    def gain(self, subject: Subject, outcome: Outcome) -> float:
        """The gain, without what components add that may pay wrong answers, or are known to; or NaN."""
        if not outcome.judged or outcome.failures:
            return math.nan
        inner = self._inner(subject)
        free = {item.name for item in inner.components if item.expects_partial} | self._explained()
        free &= set(outcome.scores)
        reward = self._without(subject, outcome, inner, free) if free else outcome.reward
        return self.scales[subject.rollout_id].gain(reward)

    def _explained(self) -> set[str]:
        """Components that are known to pay wrong answers in full: what else is there is looked for."""
        holes = [item for item in self.skip if is_hole(item) and item.evidence["gain"] >= KEPT]
        return {item.component for item in holes if item.component is not None}

    def _without(self, subject: Subject, outcome: Outcome, inner: Reward, free: Iterable[str]) -> float:
        """The reward, had these components given what they gave the baseline, where that is less."""
        before = self.baselines[subject.rollout_id]
        scores, statuses = dict(outcome.scores), dict(outcome.statuses)
        for name in free:
            sign = 1 if inner.weights[name] >= 0 else -1
            old, new = before.scores.get(name, math.nan), scores[name]
            if math.isnan(old) or (not math.isnan(new) and sign * new > sign * old):
                scores[name], statuses[name] = old, before.statuses.get(name, statuses[name])
        names = inner.names
        got = inner.combine(
            {name: np.array([scores.get(name, math.nan)]) for name in names},
            {name: np.array([statuses.get(name) == STATUSES[GATED]]) for name in names},
            np.ones(1),
            {name: [value] for name, value in subject.columns.items()},
        )
        return min(outcome.reward, float(got[0]))

    def worth(self, subject: Subject, record: Record, outcome: Outcome) -> float:
        """How good a record is to go on from: its gain, and half of that for a mention that is no exploit."""
        gain = self.gain(subject, outcome)
        return gain / 2 if mentions(record) and gain < FULL else gain

    def is_exploit(self, subject: Subject, record: Record, outcome: Outcome) -> bool:
        """Whether it gains enough: of a text that mentions the right answer, full marks.

        A reward that goes by likeness may honestly pay a part for what is right among what is wrong.
        """
        gain = self.gain(subject, outcome)
        return gain >= (FULL if mentions(record) else GAIN)

    def exploit(self, record: Record, home: Subject) -> Exploit | None:
        """The exploit of a record, if it holds on other subjects too."""
        text = written(record, home)
        assert text is not None
        outcome = self._known[home.rollout_id, text]
        others = [one for one in self.subjects if one.answer != home.answer]
        texts = [(one, said) for one in others if (said := written(record, one)) is not None]
        got = self.outcomes(texts)
        tried = [(one, said, out) for (one, said), out in zip(texts, got, strict=True) if out is not None]
        paid = [
            Transfer(one, said, out, self.gain(one, out))
            for one, said, out in tried
            if self.is_exploit(one, record, out)
        ]
        if len(paid) < OTHERS or len(paid) < HALF * len(tried):
            return None
        return Exploit(
            record,
            home,
            text,
            outcome,
            self.gain(home, outcome),
            self._component(home, outcome),
            tuple(paid),
            len(tried),
            self.calls,
        )

    def _component(self, home: Subject, outcome: Outcome) -> str | None:
        """The component that makes most of the gain, where there are several."""
        if sum(len(inner.components) for inner in self.reward.inner) < 2:
            return None
        before = self.baselines[home.rollout_id].scores
        changes = components_at_fault(self.weights(home), outcome.scores, before)
        return next((name for name, change in changes if change > 0), None)


def _shrunk(board: _Board, exploit: Exploit) -> Exploit:
    """The smallest form of an exploit that was found, and still holds on other subjects."""
    home, goal = exploit.subject, min(FULL, KEPT * exploit.gain)
    began = board.calls

    def holds(records: Sequence[Record]) -> list[bool]:
        left = max(0, began + SHRINK - board.calls)
        outcomes = board.of(home, records[:left])
        kept = [
            out is not None and board.is_exploit(home, record, out) and board.gain(home, out) >= goal
            for record, out in zip(records[:left], outcomes, strict=True)
        ]
        return kept + [False] * (len(records) - left)

    chain = shrunk(exploit.record, holds, lambda record: shortlex(record, home))
    small, place, failed = exploit, 0, len(chain)
    while failed - place > 1:  # the last that holds elsewhere: mostly the last of all
        middle = failed - 1 if failed == len(chain) else (place + failed) // 2
        found = board.exploit(chain[middle], home)
        if found is not None and found.rate >= exploit.rate:
            small, place = found, middle
        else:
            failed = middle
    board.budget += board.calls - began
    return replace(small, calls=exploit.calls)
