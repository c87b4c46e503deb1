"""Gains: what completions that are certainly wrong earn on top of plain wrong answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.findings import Finding
from rewardkit.probes.runner import Outcome, Tries, part_for
from rewardkit.probes.search.completions import (
    WRONG,
    Record,
    filled,
    mentions,
    plain,
    written,
)
from rewardkit.probes.search.exploits import GAIN, KEPT, Exploit, Paid, known_holes
from rewardkit.probes.subjects.scales import Scale
from rewardkit.probes.verdicts import FULL, components_at_fault
from rewardkit.strategies.subject import Subject

OTHERS = 2
"""Other prompts, with other answers, on which an exploit must gain as well, and `HALF` of those tried."""

HALF = 0.5
"""Also of what being right adds: where wrong answers differ by more, a subject is none. Our choice."""

LATE = 3  # calls that did not come back, after which no more are made


@dataclass(eq=False)
class Gains:
    """What was tried on the subjects of a part, and what it gained: `calls` so far, of them `late` ones.

    A gain is a share of what being right adds, on top of what the best paid of some wrong answers earn, in
    plain form and in none. What components add that are said to pay wrong answers a part, or that `skip`
    knows to pay them in full, is none.
    """

    tries: Tries
    skip: Sequence[Finding] = ()
    calls: int = 0
    late: int = 0
    subjects: list[Subject] = field(default_factory=list)
    scales: dict[Any, Scale] = field(default_factory=dict)
    baselines: dict[Any, Outcome] = field(default_factory=dict)
    known: dict[tuple[Any, str], Outcome] = field(default_factory=dict)

    def take(self, subjects: Sequence[Subject], scales: Mapping[Any, Scale]) -> None:
        """Measure what wrong answers earn in plain form; a subject on which that tells nothing is none."""
        for subject, outcomes in zip(subjects, self._plain(subjects), strict=True):
            scale = scales[subject.rollout_id]
            got = [outcome for outcome in outcomes if outcome is not None]
            paid = max(
                (outcome.reward for outcome in got if outcome.judged),
                default=scale.wrong,
            )
            measured = replace(scale, wrong=max(scale.wrong, scale.plain, paid))
            if (
                got
                and got[0].judged
                and not got[0].failures
                and measured.span > HALF * scale.span
            ):
                self.subjects.append(subject)
                self.scales[subject.rollout_id] = measured
                self.baselines[subject.rollout_id] = got[0]

    def _plain(self, subjects: Sequence[Subject]) -> list[list[Outcome | None]]:
        """What the wrong answers of each subject get in plain form."""
        texts = [
            (subject, filled(plain(subject, slot), subject))
            for subject in subjects
            for slot in WRONG
        ]
        outcomes = self.outcomes(texts)
        return [
            outcomes[at : at + len(WRONG)] for at in range(0, len(outcomes), len(WRONG))
        ]

    @property
    def others(self) -> int:
        """How many subjects there are beside the one that is searched on."""
        return max(0, len(self.subjects) - 1)

    def hopeless(self) -> bool:
        """Whether there are too few subjects to tell an exploit from chance, or `skip` explains all of it."""
        names = {name for one in self.subjects for name in self.weights(one)}
        holes = self._holes()
        return self.others < OTHERS or (
            None in holes if self._alone() else names <= holes
        )

    def _holes(self) -> set[str | None]:
        return {component for _, component in known_holes(self.skip, KEPT)}

    def _alone(self) -> bool:
        """Whether the reward has one component, which findings then do not name."""
        return len(self.tries.reward.all_components) < 2

    def outcomes(self, texts: Sequence[tuple[Subject, str]]) -> list[Outcome | None]:
        """What completions of subjects get; what was tried before is not tried again."""
        asked = {(one.rollout_id, text): (one, text) for one, text in texts}
        fresh = [pair for key, pair in asked.items() if key not in self.known]
        for (one, text), outcome in zip(fresh, self._called(fresh), strict=True):
            if outcome is not None:
                self.known[one.rollout_id, text] = outcome
        return [self.known.get((one.rollout_id, text)) for one, text in texts]

    def _called(self, texts: Sequence[tuple[Subject, str]]) -> list[Outcome | None]:
        got = self.tries.on((one, text, {}) for one, text in texts)
        self.calls += sum(outcome is not None for outcome in got)
        self.late += sum(outcome is not None and outcome.gone for outcome in got)
        return got

    @property
    def over(self) -> bool:
        """Whether nothing more can be tried: no time is left, or calls do not come back."""
        return self.late >= LATE or self.tries.left <= self.tries.each

    def weights(self, subject: Subject) -> dict[str, float]:
        """The weights of the components for a subject."""
        return dict(part_for(self.tries.reward, subject.columns).weights)

    def gain(self, subject: Subject, outcome: Outcome | None) -> float:
        """The gain of an outcome; NaN where there is none, it was not judged, or a call failed."""
        if outcome is None or not outcome.judged or outcome.failures:
            return math.nan
        gain = self.scales[subject.rollout_id].gain(outcome.reward)
        free = self._free(subject)
        rises = [
            (name, change)
            for name, change in self._changes(subject, outcome)
            if change > 0
        ]
        if not free or not rises:
            return gain
        return (
            gain
            * sum(change for name, change in rises if name not in free)
            / sum(c for _, c in rises)
        )

    def _free(self, subject: Subject) -> set[str | None]:
        """Components that may pay wrong answers, or are known to pay them in full."""
        said = {
            item.name
            for item in part_for(self.tries.reward, subject.columns).components
            if item.expects_partial
        }
        return said | self._holes() - {None}

    def _changes(self, subject: Subject, outcome: Outcome) -> list[tuple[str, float]]:
        """What components add to what the plain wrong answer gets, the largest change first."""
        before = self.baselines[subject.rollout_id].scores
        return components_at_fault(self.weights(subject), outcome.scores, before)

    def worth(self, subject: Subject, record: Record, outcome: Outcome | None) -> float:
        """How good a record is to go on from: its gain, and half of that for a mention that is no exploit."""
        gain = self.gain(subject, outcome)
        return gain / 2 if mentions(record) and gain < FULL else gain

    def pays(self, subject: Subject, record: Record, outcome: Outcome | None) -> bool:
        """Whether it gains enough: of a text that mentions the right answer, full marks.

        A reward that goes by likeness may honestly pay a part for what is right among what is wrong.
        """
        return self.gain(subject, outcome) >= (FULL if mentions(record) else GAIN)

    def exploit(self, record: Record, home: Subject) -> Exploit | None:
        """The exploit of a record: if it is paid a second time, and on other subjects too.

        Of a text that mentions the right answer: if it is paid at any place, as one guess is no list.
        """
        text = written(record, home)
        outcome = self.outcomes([(home, text)])[0] if text is not None else None
        if (
            text is None
            or outcome is None
            or not self.pays(home, record, self._called([(home, text)])[0])
        ):
            return None
        places = (0, 2) if mentions(record) else ()
        moved = self.outcomes([(home, filled(record, home, place)) for place in places])
        if not all(self.pays(home, record, out) for out in moved):
            return None
        others = [one for one in self.subjects if one.answer != home.answer]
        texts = [
            (one, said) for one in others if (said := written(record, one)) is not None
        ]
        pairs = zip(texts, self.outcomes(texts), strict=True)
        tried = [
            Paid(one, said, out, self.gain(one, out))
            for (one, said), out in pairs
            if out is not None
        ]
        paid = tuple(
            item for item in tried if self.pays(item.subject, record, item.outcome)
        )
        if len(paid) < OTHERS or len(paid) < HALF * len(tried):
            return None
        found = Paid(home, text, outcome, self.gain(home, outcome))
        return Exploit(
            record, found, paid, len(tried), self._component(home, outcome), self.calls
        )

    def _component(self, home: Subject, outcome: Outcome) -> str | None:
        """The component that makes most of the gain, where there are several."""
        free = self._free(home)
        changes = [] if self._alone() else self._changes(home, outcome)
        return next(
            (name for name, change in changes if change > 0 and name not in free), None
        )
