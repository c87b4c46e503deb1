"""calibrate(): which prompts can be probed, how answers are written there, what right and wrong ones earn."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from rewardkit.answers.formats import Format
from rewardkit.answers.marks import find_likely_mark
from rewardkit.probes.runner import Tries, are_equal, part_for
from rewardkit.probes.subjects.log import NO_TRUTHS, Log, Part, labels_of, parts
from rewardkit.probes.subjects.logged import TELLS, logged
from rewardkit.probes.subjects.scales import Calibration, LeftOut, Scale
from rewardkit.probes.subjects.written import (
    ENOUGH,
    Best,
    best_format,
    drafts,
    skeletons,
    with_format,
)
from rewardkit.rewards.fingerprint import user_code
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import column_values
from rewardkit.strategies.subject import Row, Subject
from rewardkit.targets.adapter import Adapter, uses

SUBJECTS = 8  # prompts that are probed, or 4 of each of several parts: our choice
WHOLE = 1500  # calls that all of it takes, about
PAID = 0.6  # share of full marks from which an answer of the log counts as right: our choice
LONGEST_ANSWER = 2000  # characters of an answer that is kept of a log

MORE = "give rollouts, or cases (cases=...), with right ones"

Written = Sequence[tuple[int, Subject]]  # with the places of their rows


def calibrate(
    tries: Tries, rollouts: Rollouts, *, label: str | None = None, seed: int = 0
) -> Calibration:
    """Subjects and scales for the probes, chosen with a seed from all parts of the rollouts."""
    columns = rollouts.as_logged()
    rows: list[Row] = [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    labels = (
        labels_of(column_values(rollouts.table[label]), label)
        if label is not None
        else ()
    )
    log = Log(tries, rows, rollouts.groups, labels)
    found, draw = (
        parts(tries.reward.routed_by or "data_source", rows),
        np.random.default_rng(seed),
    )
    for part in found:
        log.score(part, draw, share=0.2 / len(found))
    chooser = _Chooser(log, max(4, SUBJECTS // len(found)) if found else 0)
    for part in found:
        chooser.look(part)
    return Calibration(
        tuple(chooser.subjects),
        chooser.scales,
        tuple((rows[place], outcome) for place, outcome in log.outcomes.items()),
        chooser.modes,
        chooser.why,
        tuple(chooser.left_out),
        chooser.constants,
        tuple(item for part in found for item in _best_by_label(log, part)),
    )


@dataclass(eq=False)
class _Chooser:
    """The subjects chosen so far, at most `count` of each part, and what there is to say of the parts."""

    log: Log
    count: int
    subjects: list[Subject] = field(default_factory=list)
    scales: dict[Any, Scale] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    constants: dict[str, tuple[float, int]] = field(default_factory=dict)

    def look(self, part: Part) -> None:
        """Choose the subjects of a part: by its right completions, and by answers written from its truths."""
        if not any(place in self.log.outcomes for place in part.places):
            return self._say(part, "slow", self._too_slow())
        count = 2 if self._slow else self.count
        drafted = list(islice(drafts(self.log, part), count))
        of_log = logged(self.log, part, count)
        alike = {draft.kind for _, draft in drafted or of_log} & {
            one.kind for _, one in of_log
        }
        best = (
            Best() if alike else best_format(self.log, part, drafted, slow=self._slow)
        )
        written = [
            (place, with_format(draft, best.format))
            for place, draft in drafted
            if best.format
        ]
        if not best.paid(part):
            written += of_log
            known = self.log.by_prompt(place for place, _ in of_log)
            written += [
                (place, with_format(draft, option))
                for place, draft in drafted
                if int(self.log.groups[place]) not in known
                for option in [
                    *(one.format for _, one in of_log[:1] if one.kind == draft.kind),
                    *islice(skeletons(self.log, place, draft), 2),
                ]
            ]
        if self._told_apart(part, written, best.format):
            self.modes[part.name] = "truth"
        elif why := self._none_right(part, drafted):
            self._say(part, "unknown", why)
            self._without_truth(part, count, flat=part.high - part.low <= 1e-9)
        elif not drafted:
            self.modes[part.name] = "no truth"
            self._without_truth(part, count)
        elif best.inverted and not best.format:
            self.modes[part.name] = "inverted"
        else:
            self._undecided(part, count, tried=best.tried)

    def _say(self, part: Part, mode: str, why: str) -> None:
        self.modes[part.name], self.why[part.name or "reward"] = mode, why

    @property
    def _slow(self) -> bool:
        """Whether there is no time for all that is tried of a quick reward."""
        return self.log.tries.each * WHOLE > self.log.tries.left

    def _too_slow(self) -> str:
        tries = self.log.tries
        if tries.hopeless:
            return "no call came back in its time; give a longer timeout, or mend what takes so long"
        before = f"{tries.over} before right and wrong answers could be told apart"
        if tries.cancelled:
            return before
        needed = max(1, tries.each * WHOLE)
        return f"{before} (a call takes {tries.each:.2g} s); about budget={needed:.0f} would do for all"

    def _told_apart(self, part: Part, written: Written, usual: Format | None) -> bool:
        """Whether right earns more than wrong on some of these; the fairest of each prompt is then kept."""
        subjects = [subject for _, subject in written]
        pairs = [
            (one, text) for one in subjects for text in (one.reference, one.baseline)
        ]
        bare = [
            (one, text)
            for one in subjects
            for text in (f"It is {one.wrong[0]}.", f"It is {one.right}.", "")
        ]
        earned = np.array(self.log.rewards(part, pairs)).reshape(-1, 2)
        others = np.full((len(subjects), 3), math.nan)
        if (
            not self.log.tries.late
        ):  # where a call was late, what has no form may be late as well
            others = np.array(self.log.rewards(part, bare)).reshape(-1, 3)
        told: dict[int, list[tuple[Subject, Scale]]] = defaultdict(list)
        alike: list[tuple[int, LeftOut]] = []
        for (place, subject), (right, wrong), rest in zip(
            written, earned.tolist(), others, strict=True
        ):
            scale = _scale(right, wrong, rest.tolist(), part.low)
            if right - wrong > TELLS * max(
                part.high - scale.floor, right - scale.floor, 1e-9
            ):
                told[place].append((subject, scale))
            elif not math.isnan(right) and not math.isnan(wrong):
                alike.append((place, LeftOut(subject, right, wrong)))
        for place, options in told.items():
            subject, scale = _fairest(options)
            right, wrong = self._told(place, subject.format, scale)
            self.subjects.append(
                replace(subject, paid_answers=right, unpaid_answers=wrong)
            )
            self.scales[subject.rollout_id] = scale
        marks = (
            {usual.opening}
            if usual
            else {one.format.opening for some in told.values() for one, _ in some}
        )
        left = {
            place: item
            for place, item in reversed(alike)
            if item.subject.format.opening in marks
        }
        self.left_out += [
            item for place, item in left.items() if told and place not in told
        ][::-1]
        return bool(told)

    def _told(
        self, place: int, form: Format, scale: Scale
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The answers that the completions of a prompt give in this form: those that are paid, and others."""
        found: dict[str, bool] = {}
        for at in self.log.beside(place):
            answer = form.read(self.log.text(at))
            if answer and len(answer) <= LONGEST_ANSWER:
                found[answer] = (
                    found.get(answer, False) or scale.gain(self.log.earned(at)) >= PAID
                )
        right = tuple(answer for answer, paid in found.items() if paid)
        return right, tuple(answer for answer in found if answer not in right)

    def _undecided(self, part: Part, count: int, *, tried: bool) -> None:
        """Where no right answer earns more than a wrong one: whether the truth is read at all."""
        if self._slow and (
            not tried or self.log.tries.left < self.log.tries.budget / 2
        ):
            self._say(part, "slow", self._too_slow())
        elif not part.seen:
            self._say(part, "unknown", "no completion was judged there")
        elif are_equal(part.seen):
            self.modes[part.name] = "constant"
            self.constants[part.name] = (part.seen[0], len(part.seen))
        elif self._truth_matters(part):
            told = f"no right answer could be told from a wrong one: {self._spread(part)}, and none could be "
            more = "give rollouts, or cases (cases=...), with a completion that earns full marks beside one that"
            self._say(
                part,
                "unknown",
                f"{told}written that earns more than a wrong one; {more} does not",
            )
        elif asks_for_truth(self.log.tries.reward):
            self.modes[part.name] = "deaf"
        else:
            self.modes[part.name] = "no truth"
            self._without_truth(part, count)

    def _none_right(self, part: Part, drafted: Written) -> str:
        """Why no completion of the log can be a right one, where they are held against something; else ""."""
        log, reward, count = self.log, self.log.tries.reward, len(part.places)
        if log.labels:
            found = [log.labels[place] for place in part.places]
            said = f"{found.count(False)} are called wrong, {found.count(None)} have no label"
            return (
                ""
                if True in found
                else f"the label calls none of {count} completions right ({said}); {MORE}"
            )
        asked = sorted(
            {*reward.needs, *(["ground_truth"] if asks_for_truth(reward) else [])}
            - NO_TRUTHS
        )
        earned, full = self._spread(part), part.high >= self._ceiling(part.places[0])
        if not part.seen or part.high - part.low > 1e-9 or full or not asked:
            return ""
        if not any(log.truth(place) for place in part.places):
            named = "name the column of the log with load_rollouts(..., columns={...})"
            return f"{earned}, and no row has a {' or '.join(asked)}, which it reads; {named}"
        if any(any(skeletons(log, place, draft)) for place, draft in drafted):
            return ""
        return f"{earned}, perhaps because none of them is right; {MORE}"

    def _ceiling(self, place: int) -> float:
        """Full marks of all components for a row, which are taken for 1 where none are declared."""
        part = part_for(self.log.tries.reward, self.log.rows[place])
        ranges = {item.name: item.range or (0.0, 1.0) for item in part.components}
        return sum(
            part.weights[name] * ends[part.weights[name] > 0]
            for name, ends in ranges.items()
        )

    def _spread(self, part: Part) -> str:
        scored, alike = len(self.log.ranked(part.places)), part.high - part.low <= 1e-9
        to = f"{part.high:.4g}" if alike else f"{part.low:.4g} to {part.high:.4g}"
        return f"{'all' if alike else 'the'} {scored} completions that were scored earn {to}"

    def _truth_matters(self, part: Part) -> bool:
        """Whether rollouts earn otherwise when they are held against another prompt's truth."""
        ranked, log = self.log.ranked(part.places), self.log
        rows, before = [], []
        for place in [*ranked[:8], *ranked[-4:]]:
            truth = log.truth(place)
            other = next(
                (found for at in part.places if (found := log.truth(at)) != truth), None
            )
            if other is not None:
                rows.append(
                    (
                        log.tries.variants.of(log.rows[place], **other),
                        log.siblings(place),
                    )
                )
                before.append(log.earned(place))
        beside = [siblings for _, siblings in rows]
        outcomes = log.tries.outcomes([row for row, _ in rows], beside, share=0.3)
        return any(
            outcome is not None
            and not math.isclose(outcome.reward, reward, abs_tol=1e-9)
            for outcome, reward in zip(outcomes, before, strict=True)
        )

    def _without_truth(self, part: Part, count: int, *, flat: bool = False) -> None:
        """Subjects whose reference and baseline are the rollouts that earn most and least.

        Where all earn the same, `flat`, as none is right: what earns more and knows no answer is a hole.
        """
        ranked = self.log.ranked(part.places)
        full = ranked and self._ceiling(ranked[0]) <= part.high
        if not ranked or (part.high - part.low <= 1e-9) is not flat or (flat and full):
            return
        for place, *_ in list(self.log.by_prompt(ranked).values())[:count]:
            subject = self.log.plain(place, part, baseline=self.log.text(ranked[-1]))
            scale = Scale(part.high, part.low, part.low, part.low)
            if flat:
                form = find_likely_mark(subject.reference).format
                scale = replace(scale, right=self._ceiling(place))
                subject = replace(
                    subject,
                    format=form,
                    unpaid_answers=self._told(place, form, scale)[1],
                )
            self.subjects.append(subject)
            self.scales[subject.rollout_id] = scale


def asks_for_truth(reward: Reward) -> bool:
    """Whether the reward reads a truth, as far as its parameters and code say."""
    parts = [
        part
        for one in reward.functions
        for part in ([one] if isinstance(one, Adapter) else user_code(one))
    ]
    adapters = [
        part
        for part in parts
        if isinstance(part, Adapter) and "ground_truth" in part.needs
    ]
    return "ground_truth" in reward.needs or any(
        uses(one.called, "ground_truth") for one in adapters
    )


def _best_by_label(log: Log, part: Part) -> Iterator[LeftOut]:
    """Of each prompt the best paid of the completions that a label calls right, and of the others."""
    for places in log.by_prompt(log.ranked(part.places) if log.labels else ()).values():
        right, wrong = (
            [at for at in places if log.labels[at] is said] for said in (True, False)
        )
        if right and wrong:
            subject = log.plain(wrong[0], part)
            yield LeftOut(subject, log.earned(right[0]), log.earned(wrong[0]))


def _scale(right: float, wrong: float, others: Sequence[float], lowest: float) -> Scale:
    """What a subject's completions earn; what was not judged counts as the least."""
    plain, bare, empty = others
    floor = min(
        (value for value in (wrong, plain, empty, lowest) if not math.isnan(value)),
        default=0.0,
    )
    wrong, plain, bare = (
        floor if math.isnan(value) else value for value in (wrong, plain, bare)
    )
    return Scale(right, wrong, plain, floor, bare)


def _fairest(options: Sequence[tuple[Subject, Scale]]) -> tuple[Subject, Scale]:
    """The option in which being right adds most; of those that are alike one with neutral reasoning.

    What a rollout says besides its answer may be what is paid, for right and wrong alike.
    """
    most = max(scale.span for _, scale in options)
    fair = [item for item in options if item[1].span >= ENOUGH * most]
    return max(fair, key=lambda item: (item[0].format.neutral, item[1].right))
