"""Gains: what completions that are certainly wrong earn on top of plain wrong answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rewardkit.findings import Finding
from rewardkit.probes.results.sentences import components_at_fault
from rewardkit.probes.runner import Outcome, Tries, Variants
from rewardkit.probes.search.exploits import GAIN, KEPT, Exploit, Transfer, is_hole
from rewardkit.probes.search.pieces import PLAINEST, Record, elsewhere, mentions, plain, written
from rewardkit.probes.subjects.subject import Scale, Subject
from rewardkit.probes.verdicts import FULL
from rewardkit.rewards.plan import add_up
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.outcomes import GATED, STATUSES

__all__ = ["OTHERS", "Gains"]

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
    variants: Variants
    skip: Sequence[Finding] = ()
    calls: int = 0
    late: int = 0
    subjects: list[Subject] = field(default_factory=list)
    scales: dict[Any, Scale] = field(default_factory=dict)
    baselines: dict[Any, Outcome] = field(default_factory=dict)
    _known: dict[tuple[Any, str], Outcome] = field(default_factory=dict)
    _weights: dict[Any, dict[str, float]] = field(default_factory=dict)

    @property
    def reward(self) -> Reward:
        """The reward that is tried."""
        return self.tries.reward

    @property
    def others(self) -> int:
        """How many subjects there are beside the one that is searched on."""
        return max(0, len(self.subjects) - 1)

    @property
    def enough(self) -> bool:
        """Whether there are so many subjects that an exploit can be told from chance."""
        return self.others >= OTHERS

    def take(self, subjects: Sequence[Subject], scales: Mapping[Any, Scale]) -> None:
        """Measure what wrong answers earn in plain form; a subject on which that tells nothing is none."""
        subjects = [one for one in subjects if written(plain(one), one) == one.baseline]
        texts = [(one, one.format.write(wrong)) for one in subjects for wrong in one.wrong[:PLAINEST]]
        outcomes = self.outcomes(texts)
        for subject in subjects:
            got = [out for (one, _), out in zip(texts, outcomes, strict=True) if one is subject and out]
            scale = scales[subject.rollout_id]
            paid = max((out.reward for out in got if out.judged), default=scale.wrong)
            measured = replace(scale, wrong=max(scale.wrong, scale.plain, paid))
            if got and got[0].judged and not got[0].failures and measured.span > HALF * scale.span:
                self.subjects.append(subject)
                self.scales[subject.rollout_id] = measured
                self.baselines[subject.rollout_id] = got[0]

    def hopeless(self) -> bool:
        """Whether `skip` explains all there could be to gain."""
        names = {name for one in self.subjects for name in self._inner(one).names}
        known = {item.component for item in self.skip if is_hole(item) and item.evidence["gain"] >= KEPT}
        return None in known if self._alone() else names <= known

    def _alone(self) -> bool:
        """Whether the reward has one component, which findings then do not name."""
        return sum(len(inner.components) for inner in self.reward.inner) < 2

    def outcomes(self, texts: Sequence[tuple[Subject, str]]) -> list[Outcome | None]:
        """What completions of subjects get; what was tried before is not tried again."""
        asked = {(one.rollout_id, text): (one, text) for one, text in texts}
        fresh = [pair for key, pair in asked.items() if key not in self._known]
        for (one, text), outcome in zip(fresh, self._called(fresh), strict=True):
            if outcome is not None:
                self._known[one.rollout_id, text] = outcome
        return [self._known.get((one.rollout_id, text)) for one, text in texts]

    def _called(self, texts: Sequence[tuple[Subject, str]]) -> list[Outcome | None]:
        rows = [self.variants.of(one.columns, text) for one, text in texts]
        siblings = [one.siblings for one, _ in texts]
        got = self.tries.outcomes(rows, siblings if any(siblings) else [])
        self.calls += sum(outcome is not None for outcome in got)
        self.late += sum(outcome is not None and outcome.late for outcome in got)
        return got

    def knows(self, subject: Subject, text: str) -> bool:
        """Whether a completion was tried."""
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
        """Weights of the components for a subject."""
        if subject.rollout_id not in self._weights:
            self._weights[subject.rollout_id] = self._inner(subject).weights
        return self._weights[subject.rollout_id]

    def _inner(self, subject: Subject) -> Reward:
        parts = self.reward.parts({name: [value] for name, value in subject.columns.items()}, 1)
        return parts[0].reward if parts else self.reward

    def gain(self, subject: Subject, outcome: Outcome) -> float:
        """The gain of an outcome; NaN where it was not judged, or a call failed."""
        if not outcome.judged or outcome.failures:
            return math.nan
        inner, free = self._inner(subject), self._free(subject) & set(outcome.scores)
        reward = self._without(subject, outcome, inner, free) if free else outcome.reward
        return self.scales[subject.rollout_id].gain(reward)

    def _free(self, subject: Subject) -> set[str]:
        """Components that may pay wrong answers, or are known to pay them in full."""
        known = [item for item in self.skip if is_hole(item) and item.evidence["gain"] >= KEPT]
        said = {item.name for item in self._inner(subject).components if item.expects_partial}
        return said | {item.component for item in known if item.component is not None}

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
        got = add_up(
            inner,
            {name: np.array([scores.get(name, math.nan)]) for name in names},
            {name: np.array([statuses.get(name) == STATUSES[GATED]]) for name in names},
            np.ones(1),
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
        """The exploit of a record: if it is paid a second time, and on other subjects too.

        Of a text that mentions the right answer: if it is paid at any place, as one guess is no list.
        """
        text = written(record, home)
        assert text is not None
        outcome = self._known[home.rollout_id, text]
        again = self._called([(home, text)])[0]
        if again is None or not self.is_exploit(home, record, again) or not self._anywhere(record, home):
            return None
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
        gain, component = self.gain(home, outcome), self._component(home, outcome)
        return Exploit(record, home, text, outcome, gain, component, tuple(paid), len(tried), self.calls)

    def _anywhere(self, record: Record, home: Subject) -> bool:
        """Whether a right answer that a record mentions is paid at the places of the others as well."""
        if not mentions(record):
            return True
        got = self.outcomes([(home, text) for text in elsewhere(record, home)])
        return all(out is not None and self.is_exploit(home, record, out) for out in got)

    def _component(self, home: Subject, outcome: Outcome) -> str | None:
        """The component that makes most of the gain, where there are several."""
        if self._alone():
            return None
        before = self.baselines[home.rollout_id].scores
        changes = components_at_fault(self.weights(home), outcome.scores, before)
        free = self._free(home)
        return next((name for name, change in changes if change > 0 and name not in free), None)
