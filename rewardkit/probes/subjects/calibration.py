"""calibrate(): which prompts can be probed, how answers are written there, what right and wrong ones earn."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from rewardkit.probes.runner import Extent, Outcome, Row, Tries, Variants
from rewardkit.probes.strategies.attempts import Subject
from rewardkit.probes.subjects.answers import answer_in, wrong_answers
from rewardkit.probes.subjects.declared import asks_for_truth, by_group
from rewardkit.probes.subjects.drafting import drafts, prompt_text, with_format
from rewardkit.probes.subjects.formats import Format, formats, skeleton
from rewardkit.probes.subjects.logged import answers_kind, marked, marks_in
from rewardkit.probes.subjects.scales import Calibration, LeftOut, Scale
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts

__all__ = ["calibrate"]

SUBJECTS = 8  # prompts that are probed, or 4 of each of several parts: our choice
PARTS = 24
"""Data sources, or parts of a route, that are probed, the largest first. Our choice."""
TRIED_ON = 3  # prompts on which a format is tried
WAVE = 8  # formats that are tried at a time
LOOKED = 16  # formats that are tried where the log shows what right answers look like
IDLE = 3  # waves without a better format than one in which right answers are fully paid
WHOLE = 2500  # calls that all of it takes, about
POOL = 96  # rollouts that are scored to see what the reward gives
ENOUGH = 0.98
"""Share of the highest reward of the rollouts that a reference earns to be taken for a fully paid one."""
NO_TRUTHS = {"prompt", "completion", "messages", "data_source", "prompt_id", "rollout_id", "step"}
LONGEST_ANSWER = 2000  # characters of an answer that is kept of a log
TELLS = 0.02
"""Share of the span of all rewards by which right and wrong differ to be told apart. Our choice."""


@dataclass(eq=False)
class _Candidates:
    """Rows of one part, as the subjects are chosen from."""

    part: str
    rows: list[int]


def calibrate(
    tries: Tries, rollouts: Rollouts, variants: Variants, *, label: str | None = None, seed: int = 0
) -> Calibration:
    """Subjects and scales for the probes, chosen with a seed from all parts of the rollouts."""
    reward = tries.reward
    logged = rollouts.as_logged()
    rows: list[dict[str, Any]] = [
        dict(zip(logged, values, strict=True)) for values in zip(*logged.values(), strict=True)
    ]
    chooser = _Chooser(tries, variants, rows, rollouts.groups, by_group(reward), label)
    chooser.look(_parts(reward, rows), np.random.default_rng(seed))
    return chooser.calibration()


def _parts(reward: Reward, rows: Sequence[Row]) -> list[_Candidates]:
    """The rows by what answers may differ in: the parts of a route, or the data sources."""
    column = (*reward.split_by, "data_source")[0]
    found: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        found[str(row[column]) if row.get(column) is not None else ""].append(place)
    largest = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))[:PARTS]
    return [_Candidates(part if len(found) > 1 else "", places) for part, places in largest]


@dataclass(eq=False)
class _Chooser:
    tries: Tries
    variants: Variants
    rows: Sequence[Row]
    groups: Any
    whole_groups: bool
    label: str | None
    pool: list[tuple[Row, Outcome]] = field(default_factory=list)
    subjects: list[Subject] = field(default_factory=list)
    scales: dict[Any, Scale] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)
    by_row: dict[int, Outcome] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    constants: dict[str, tuple[float, int]] = field(default_factory=dict)
    extents: dict[str, Extent] = field(default_factory=lambda: defaultdict(Extent))

    def calibration(self) -> Calibration:
        return Calibration(
            tuple(self.subjects),
            self.scales,
            tuple(self.pool),
            self.modes,
            self.why,
            tuple(self.left_out),
            self.constants,
        )

    def look(self, parts: Sequence[_Candidates], draw: np.random.Generator) -> None:
        for part in parts:
            self._score(part, self._spread(part, draw), share=0.2 / len(parts))
        for part in parts:
            self._part(part, max(4, SUBJECTS // len(parts)), draw)

    def _spread(self, part: _Candidates, draw: np.random.Generator) -> list[int]:
        """Rows of the part: all siblings of prompts drawn at random, up to a number."""
        of_group: dict[int, list[int]] = defaultdict(list)
        for place in part.rows:
            of_group[int(self.groups[place])].append(place)
        order = draw.permutation(sorted(of_group)).tolist()
        places = [place for group in order for place in of_group[group][:16]]
        return places[:POOL]

    def _beside(self, place: int) -> list[int]:
        """The rows of its group."""
        return list(np.flatnonzero(self.groups == self.groups[place]).tolist())

    def _siblings(self, place: int) -> tuple[Row, ...]:
        """The rows beside one in its group, where the reward looks at them."""
        if not self.whole_groups:
            return ()
        beside = self._beside(place)
        return tuple(self.rows[other] for other in beside[:8] if other != place)

    def _score(self, part: _Candidates, places: Sequence[int], share: float) -> None:
        siblings = [self._siblings(place) for place in places] if self.whole_groups else []
        outcomes = self.tries.outcomes([self.rows[place] for place in places], siblings, share=share)
        for place, outcome in zip(places, outcomes, strict=True):
            if outcome is not None:
                self.by_row[place] = outcome
                self.pool.append((self.rows[place], outcome))
                self._note(part.part, outcome)

    @property
    def slow(self) -> bool:
        """Whether there is no time for all that is tried of a quick reward."""
        return self.tries.each * WHOLE > self.tries.left

    def _too_slow(self) -> str:
        each, needed = self.tries.each, max(1, self.tries.each * WHOLE)
        if self.tries.hopeless:
            return "no call came back in its time; give a longer timeout, or mend what takes so long"
        before = f"{self.tries.over} before right and wrong answers could be told apart"
        if self.tries.cancelled:
            return before
        return f"{before} (a call takes {each:.2g} s); about budget={needed:.0f} would do for all"

    def _part(self, part: _Candidates, count: int, draw: np.random.Generator) -> None:
        if not any(place in self.by_row for place in part.rows):
            self.modes[part.part], self.why[part.part or "reward"] = "slow", self._too_slow()
            return
        scored = [place for place in part.rows if place in self.by_row]
        rows = {place: self.rows[place] for place in dict.fromkeys([*scored, *part.rows])}
        count = 2 if self.slow else count
        drafted = list(islice(drafts(rows, self.groups, part.part, self._siblings), count))
        logged = self._logged(part, count)
        best = self._best_format(part, drafted, self._extent(part)[1], LOOKED if logged else None)
        written = [(place, with_format(draft, best[0])) for place, draft in drafted if best]
        if best is None or best[1] < ENOUGH * self._extent(part)[1]:
            written += logged or [
                (place, with_format(draft, option))
                for place, draft in drafted
                for option in islice(self._skeletons(place, draft), 2)
            ]
        if self._told_apart(part, written, best[0] if best else None):
            self.modes[part.part] = "truth"
        elif not drafted:
            self._without_truth(part, count)
        elif self.modes.get(part.part) != "inverted":
            self._undecided(part, count)

    def _logged(self, part: _Candidates, count: int) -> list[tuple[int, Subject]]:
        """Subjects of right completions of the log, one a prompt, by what stands in their mark."""
        right: dict[int, int] = {}
        for place in sorted(part.rows, key=lambda place: -self._earned(place)):
            if self._is_right(place, part):
                right.setdefault(int(self.groups[place]), place)
        places = list(right.values())[:count]
        mark = self._mark(part, places)
        return [] if mark is None else self._marked(part, places, mark)

    @property
    def truths(self) -> set[str]:
        """The columns that may hold a truth: what the reward asks for beside prompt and completion."""
        return {"ground_truth", *self.tries.reward.needs} - NO_TRUTHS

    def _is_right(self, place: int, part: _Candidates) -> bool:
        """Whether a label says so; without one, whether it earns the most, and others of its part less."""
        if self._earned(place) == -math.inf:
            return False
        if self.label:
            return bool(self.rows[place].get(self.label))
        if all(self.rows[place].get(name) is None for name in self.truths):
            return False
        lowest, highest = self._extent(part)
        return self._earned(place) - lowest >= ENOUGH * (highest - lowest) > 1e-9

    def _mark(self, part: _Candidates, places: Sequence[int]) -> str | None:
        """The shortest mark of right completions that carries their reward; ``None`` where none does.

        It is lost without what stands in the mark, and with what another right completion has there.
        """
        some = places[: TRIED_ON + 1]
        texts = [str(self.rows[place].get("completion")) for place in some]
        named = [{item.format.name: item for item in marks_in(text)} for text in texts]
        plans: dict[str, list[tuple[int, str]]] = {}
        for name in dict.fromkeys(name for marks in named for name in marks):
            known = [(place, marks[name]) for place, marks in zip(some, named, strict=True) if name in marks]
            if len(known) < max(2, len(some) - 1):
                continue
            others = [*known[1:], known[0]]
            plans[name] = [
                (place, text)
                for (place, item), (_, other) in zip(known, others, strict=True)
                for text in (item.format.write(""), item.format.write(other.answer))
            ]
        every = [item for plan in plans.values() for item in plan]
        rewards = iter(self._tried([place for place, _ in every], [text for _, text in every]))
        lowest, highest = self._extent(part)
        for name, plan in plans.items():
            lost = [self._earned(place) - next(rewards) > TELLS * (highest - lowest) for place, _ in plan]
            if sum(lost) >= len(lost) - 1:
                return name
        return None

    def _tried(self, places: Sequence[int], texts: Sequence[str]) -> list[float]:
        """Rewards of other completions of rows; the lowest of all where not judged."""
        rows = [self.variants.of(self.rows[at], text) for at, text in zip(places, texts, strict=True)]
        siblings = [self._siblings(at) for at in places] if self.whole_groups else []
        outcomes = self.tries.outcomes(rows, siblings, share=0.3)
        return [out.reward if out is not None and out.judged else -math.inf for out in outcomes]

    def _marked(self, part: _Candidates, places: Sequence[int], mark: str) -> list[tuple[int, Subject]]:
        """The subjects of right completions by one mark, with wrong answers of other prompts."""
        right = [marked(str(self.rows[place].get("completion")), mark) for place in places]
        answers = [item.answer for item in right if item is not None]
        if len(set(answers)) < 2:
            return []
        kind, subjects = answers_kind(answers, mark), []
        for place, item in zip(places, right, strict=True):
            if item is None:
                continue
            row = self.rows[place]
            prompt = prompt_text(row.get("prompt"))
            wrong = wrong_answers(item.answer, kind, prompt=prompt, others=sorted(set(answers)))[:6]
            if not wrong:
                continue
            draft = Subject(
                row.get("rollout_id", place),
                row,
                prompt,
                item.answer,
                kind,
                wrong,
                item.format,
                "",
                "",
                part.part,
                self._siblings(place),
            )
            subjects.append((place, with_format(draft, item.format)))
        return subjects

    def _try(self, subjects: Sequence[Subject], completions: Sequence[str], share: float) -> list[float]:
        """Rewards of completions of subjects; NaN where not judged or not tried."""
        rows = [
            self.variants.of(subject.columns, completion)
            for subject, completion in zip(subjects, completions, strict=True)
        ]
        siblings = [subject.siblings for subject in subjects] if self.whole_groups else []
        outcomes = self.tries.outcomes(rows, siblings, share=share)
        for subject, outcome in zip(subjects, outcomes, strict=True):
            self._note(subject.part, outcome)
        return [math.nan if outcome is None else outcome.reward for outcome in outcomes]

    def _note(self, part: str, outcome: Outcome | None) -> None:
        """Keep in mind between which rewards those of a part lie."""
        if outcome is not None and outcome.judged:
            self.extents[part].take(outcome.reward)

    def _told_apart(
        self, part: _Candidates, written: Sequence[tuple[int, Subject]], best: Format | None
    ) -> bool:
        """Whether right earns more than wrong on some of these; the fairest of each prompt is then kept."""
        lowest, highest = self._extent(part)
        subjects = [subject for _, subject in written]
        texts = [text for subject in subjects for text in (subject.reference, subject.baseline)]
        rewards = self._try([subject for subject in subjects for _ in range(2)], texts, share=0.3)
        others = [math.nan] * (3 * len(subjects))
        if not self.tries.late:  # where a call was late, what has no form may be late as well
            texts = [
                text
                for subject in subjects
                for text in (f"It is {subject.wrong[0]}.", f"It is {subject.right}.", "")
            ]
            others = self._try([subject for subject in subjects for _ in range(3)], texts, share=0.3)
        of_place: dict[int, list[tuple[float, Subject, Scale]]] = defaultdict(list)
        for at, (place, subject) in enumerate(written):
            right, wrong = rewards[2 * at : 2 * at + 2]
            plain, bare, empty = others[3 * at : 3 * at + 3]
            floor = min((value for value in (wrong, plain, empty, lowest) if value == value), default=0.0)
            wrong, plain, bare = (floor if math.isnan(value) else value for value in (wrong, plain, bare))
            if right - wrong > TELLS * max(highest - floor, right - floor, 1e-9):
                of_place[place].append((right, subject, Scale(right, wrong, plain, floor, bare)))
        for place in dict.fromkeys(place for place, _ in written):
            if found := of_place.get(place):
                _, subject, scale = _fairest(found, best)
                self.subjects.append(replace(subject, told=self._told(place, subject.format)))
                self.scales[subject.rollout_id] = scale
        marks = {subject.format.opening for options in of_place.values() for _, subject, _ in options}
        left: dict[int, LeftOut] = {}
        for at, (place, subject) in enumerate(written):
            right, wrong = rewards[2 * at : 2 * at + 2]
            usual = subject.format == best if best else subject.format.opening in marks
            if of_place and place not in of_place and usual and not math.isnan(right):
                left.setdefault(place, LeftOut(subject, right, wrong))
        self.left_out += left.values()
        return bool(of_place)

    def _told(self, place: int, form: Format) -> tuple[str, ...]:
        """The answers that the completions of a prompt give in this form."""
        beside = self._beside(place)
        answers = (form.read(str(self.rows[at].get("completion"))) for at in beside)
        return tuple(dict.fromkeys(answer for answer in answers if answer and len(answer) <= LONGEST_ANSWER))

    def _extent(self, part: _Candidates) -> tuple[float, float]:
        """The lowest and highest reward of the part's rollouts; NaN and 0 where none was judged."""
        found = [
            self.by_row[place].reward
            for place in part.rows
            if place in self.by_row and self.by_row[place].judged
        ]
        return (min(found), max(found)) if found else (math.nan, 0.0)

    def _best_format(
        self,
        part: _Candidates,
        drafted: Sequence[tuple[int, Subject]],
        highest: float,
        most: int | None,
    ) -> tuple[Format, float] | None:
        """The format in which right earns most more than wrong, and what right earns there."""
        ranked = sorted(part.rows, key=lambda place: -self._earned(place))
        shown = [str(self.rows[place].get("completion")) for place in ranked[: POOL // 2]]
        if not drafted:
            return None
        drafts = [draft for _, draft in drafted]
        some, wave_of = (drafts[:1], 2) if self.slow else (drafts[:TRIED_ON], WAVE)
        candidates = islice(formats(shown, [draft.prompt for draft in some], some[0].kind), most)
        best: tuple[tuple[float, float], Format] | None = None
        paid = [
            any(self._earned(at) >= ENOUGH * highest for at in self._beside(place))
            for place, _ in drafted[: len(some)]
        ]  # where no rollout is, a written answer need not be
        known = np.array(paid if any(paid) else [True] * len(some))
        least = 0.0  # by how much right earns less than wrong, at the most
        idle = 0  # waves without a better one
        while (
            idle < IDLE
            and not (best and self.tries.late)  # where one was late, unusual forms may be late as well
            and self.tries.left > self.tries.budget / 2
            and (wave := list(islice(candidates, wave_of)))
        ):
            idle += best is not None and best[0][1] >= ENOUGH * highest
            subjects = [with_format(draft, option) for option in wave for draft in some for _ in range(2)]
            texts = [
                subject.baseline if place % 2 else subject.reference for place, subject in enumerate(subjects)
            ]
            rewards = np.array(self._try(subjects, texts, share=0.3)).reshape(len(wave), len(some), 2)
            for option, pairs in zip(wave, rewards, strict=True):
                right, wrong = _mean(pairs[known, 0]), _mean(pairs[known, 1])
                wrong = min(right, 0.0) if math.isnan(wrong) else wrong
                rank = (round(right - wrong, 6), round(right, 6))
                if right - wrong > 1e-9 and (best is None or rank > best[0]):
                    best, idle = (rank, option), 0
                least = min(least, right - wrong)
        if best is None and least < -1e-9:
            self.modes[part.part] = "inverted"
        return (best[1], best[0][1]) if best else None

    def _earned(self, place: int) -> float:
        outcome = self.by_row.get(place)
        return outcome.reward if outcome is not None and outcome.judged else -math.inf

    def _skeletons(self, place: int, draft: Subject) -> Iterator[Format]:
        """What stands around the right answer in the prompt's own rollouts, of those that earn most first."""
        beside = self._beside(place)
        for other in sorted(beside, key=lambda at: -self._earned(at)):
            if self._earned(other) == -math.inf or (self.label and not self.rows[other].get(self.label)):
                continue
            if found := skeleton(str(self.rows[other].get("completion")), draft.right):
                yield found
        for other in sorted(
            beside, key=lambda at: -self._earned(at)
        ):  # an agent says what it found on the way
            text = str(self.rows[other].get("completion"))
            if self._earned(other) > -math.inf and (found := skeleton(text, draft.right, last=True)):
                yield found

    def _undecided(self, part: _Candidates, count: int) -> None:
        """Where no right answer earns more than a wrong one: whether the truth is read at all."""
        if self.slow and self.tries.left < self.tries.budget / 2:
            self.modes[part.part], self.why[part.part or "reward"] = "slow", self._too_slow()
        elif not (extent := self.extents[part.part]).count:
            self.modes[part.part], self.why[part.part or "reward"] = (
                "unknown",
                "no completion was judged there",
            )
        elif extent.constant:
            self.modes[part.part] = "constant"
            self.constants[part.part] = (extent.low, extent.count)
        elif self._truth_matters(part):
            self.modes[part.part] = "unknown"
            self.why[part.part or "reward"] = (
                "no completion could be written that earns more with the right answer than with a wrong one; "
                "give rollouts or cases (cases=...) with completions that earn full marks"
            )
        elif asks_for_truth(self.tries.reward):
            self.modes[part.part] = "deaf"
        else:
            self._without_truth(part, count)

    def _truth_matters(self, part: _Candidates) -> bool:
        """Whether rollouts earn otherwise when they are held against another prompt's truth."""
        ranked = sorted((place for place in part.rows if self._earned(place) > -math.inf), key=self._earned)
        places = [*ranked[-8:], *ranked[:4]]
        truths = [self.rows[place].get("ground_truth") for place in part.rows]
        rows, earned, siblings = [], [], []
        for place in places:
            answer = answer_in(self.rows[place].get("ground_truth"))
            other = next(
                (truth for truth in truths if truth is not None and answer_in(truth) != answer), None
            )
            if other is not None:
                rows.append(self.variants.of(self.rows[place], ground_truth=other))
                earned.append(self.by_row[place].reward)
                siblings.append(self._siblings(place))
        outcomes = self.tries.outcomes(rows, siblings if self.whole_groups else [], share=0.3)
        return any(
            outcome is not None and not math.isclose(outcome.reward, before, abs_tol=1e-9)
            for outcome, before in zip(outcomes, earned, strict=True)
        )

    def _without_truth(self, part: _Candidates, count: int) -> None:
        """Subjects whose reference and baseline are the rollouts that earn most and least."""
        ranked = sorted((place for place in part.rows if self._earned(place) > -math.inf), key=self._earned)
        lowest, highest = self._extent(part)
        self.modes[part.part] = "no truth"
        if not ranked or highest - lowest <= 1e-9:
            return
        seen: set[int] = set()
        low = str(self.rows[ranked[0]].get("completion"))
        for place in reversed(ranked):
            if int(self.groups[place]) in seen or len(seen) >= count:
                continue
            seen.add(int(self.groups[place]))
            row = self.rows[place]
            subject = Subject(
                row.get("rollout_id", place),
                row,
                prompt_text(row.get("prompt")),
                None,
                "text",
                (),
                Format("bare"),
                str(row.get("completion")),
                low,
                part.part,
                self._siblings(place),
            )
            self.subjects.append(subject)
            self.scales[subject.rollout_id] = Scale(highest, lowest, lowest, lowest)


def _fairest(
    options: Sequence[tuple[float, Subject, Scale]], usual: Format | None
) -> tuple[float, Subject, Scale]:
    """The option in which being right adds most; of those that are alike the usual form, or what earns most.

    What a rollout says besides its answer may be what is paid, for right and wrong alike.
    """
    most = max(scale.span for *_, scale in options)
    fair = [item for item in options if item[2].span >= ENOUGH * most]
    return max(fair, key=lambda item: (item[1].format == usual, item[0]))


def _mean(values: Any) -> float:
    """Mean of what is not NaN; NaN where nothing is."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan
