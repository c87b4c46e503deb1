"""Observed: all that is known of a reward, and how findings are made from it."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from statistics import median
from typing import Any

import numpy as np

from rewardkit.answers.judging import JudgedLog, judge_components
from rewardkit.answers.kinds import read_truth
from rewardkit.answers.logged import Answers, LoggedAnswer
from rewardkit.findings import Example, Finding, read_codes, severity_of
from rewardkit.probes.falls import (
    Fall,
    RewardRange,
    Tally,
    expected_rewards,
    find_fall,
    wilson,
)
from rewardkit.probes.runner import Measured, RowOutcome, Tries
from rewardkit.probes.subjects.scales import Calibration, Scale
from rewardkit.probes.trials import ProbeTrial
from rewardkit.rewards.component import Component
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.columns import ALIASES
from rewardkit.rollouts.logs.log import Logged
from rewardkit.rollouts.table import NOT_LOGGED
from rewardkit.strategies.strategy import Attempt, Row, Subject, completion_of

LEAST_WRONG_ROWS = 8
"""Least wrong rows of a log for a median. Our choice."""
EXAMPLES_OF_A_FINDING = 3
"""Examples that a finding keeps, the clearest first."""

USUAL_COLUMNS = "prompt completion messages ground_truth data_source extra_info".split()
"""Columns that are shown for a reward that asks for whole rows."""


def rate_of(count: int, n: int) -> dict[str, Any]:
    """Return the evidence of a share: its value, its interval, and the count."""
    return {"value": count / n, "interval": wilson(count, n), "found": count}


def alarms_among(findings: Iterable[Finding]) -> list[Finding]:
    """List the findings that are more than information."""
    return [finding for finding in findings if finding.severity != "info"]


def shortest_first(answers: Answers) -> list[LoggedAnswer]:
    """Sort completions of the log, the shortest first."""
    return sorted(answers, key=lambda answer: len(answer.completion))


def special_truth(truth: Any) -> str:
    """Return what is special about a truth: "empty", "zero", "negative", or "".

    >>> special_truth(" "), special_truth("2 - 2 = 0 #### 0")
    ('empty', 'zero')
    >>> special_truth(-3), special_truth("12")
    ('negative', '')
    """
    if truth is None:
        return ""
    answer = read_truth(truth)
    if answer is None:
        return "empty"
    if re.fullmatch(r"[-+]?0+(\.0*)?", answer):
        return "zero"
    return "negative" if re.match(r"[-−]\s?[\d.]", answer) else ""


@dataclass(frozen=True, eq=False)
class Observed:
    """A reward and all that is known of it, on all rollouts or on one `part` of them.

    Attributes:
        tries: The reward, and an account of the calls so far.
        calibration: The subjects and their scales.
        special_truths: The special truths of the rollouts, see `special_truth`.
        measured: Rollout id of a subject -> the measurement of its two answers.
        trials: The trials of the strategies.
        tallies: The result of each strategy in each part.
        failed: Failed rows that are neither of the log nor of a trial.
        calls: The number of calls among which these rows failed.
        part: The part of the log, "" for all of it.
        logged_scores: The columns of scores in the log.
    """

    tries: Tries
    calibration: Calibration
    special_truths: frozenset[str] = frozenset()
    measured: Mapping[Any, Measured] = field(default_factory=dict)
    trials: Sequence[ProbeTrial] = ()
    tallies: Sequence[Tally] = ()
    failed: Sequence[tuple[Row, RowOutcome]] = ()
    calls: int = 0
    part: str = ""
    logged_scores: Logged = NOT_LOGGED

    @property
    def reward(self) -> Reward:
        """Return the reward."""
        return self.tries.reward

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Return the prompts that are probed."""
        return self.calibration.subjects

    @property
    def subjects_with_truth(self) -> list[Subject]:
        """Return the prompts of which a right answer is known."""
        return [subject for subject in self.subjects if subject.answer is not None]

    @property
    def pool(self) -> tuple[tuple[Row, RowOutcome], ...]:
        """Return the rollouts that were scored, with their outcomes."""
        return self.calibration.pool

    @cached_property
    def rows(self) -> list[Row]:
        """Return the rollouts that were scored."""
        return [row for row, _ in self.pool]

    @cached_property
    def outcomes_in_groups(self) -> list[RowOutcome]:
        """Score these rollouts once more, all siblings in one call; see `Tries`."""
        return self.tries.in_groups(self.rows)

    @property
    def completions(self) -> list[str]:
        """Return the completions of these rollouts as texts."""
        return [completion_of(row) for row in self.rows]

    def of(self, part: str) -> Observed:
        """Return the observations on the prompts of one part."""
        tallies = [tally for tally in self.tallies if tally.part == part]
        calibration = self.calibration.of(part)
        return replace(self, calibration=calibration, tallies=tallies, part=part)

    def since(self, calls: int, failures: int, *, only_gone: bool = False) -> Observed:
        """Add the calls and failed rows that came after the given numbers of them.

        With `only_gone` only rows with a call that did not come back are added.
        """
        failed = self.tries.failed[failures:]
        if only_gone:
            failed = [pair for pair in failed if pair[1].is_gone]
        calls = self.calls + self.tries.calls - calls
        later = copy(self)  # with what is cached, which is of the same rows
        vars(later).update(failed=[*self.failed, *failed], calls=calls)
        return later

    @cached_property
    def noise(self) -> float:
        """Return the largest difference between rewards of one completion.

        It is a share of the span.
        """
        scales = self.calibration.scales
        noises = [item.spread / scales[key].span for key, item in self.measured.items()]
        return max(noises, default=0.0)

    @property
    def logged(self) -> Answers:
        """Return the scored completions of the log, judged right or wrong."""
        return self.judged_log.answers

    @cached_property
    def judged_log(self) -> JudgedLog:
        """Judge the scored completions of the log."""
        labels = self.calibration.labels
        earned: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(self.pool))
        for place, (row, outcome) in enumerate(self.pool):
            for name, reward in self._earned_by_task(row, outcome).items():
                earned[name][place] = reward
        return judge_components(
            self.rows,
            earned,
            routed_by=self.reward.routed_by,
            labels=[labels.get(row.get("rollout_id")) for row in self.rows if labels],
        )

    @property
    def logged_wrong(self) -> float:
        """Return the median reward of wrong completions as a share of full marks.

        NaN for fewer than `LEAST_WRONG_ROWS` of them, if right ones earn no more than
        the floor, and for a route, whose parts have different scales.
        """
        rewards = {row.get("rollout_id"): item.reward for row, item in self.pool}
        wrong = []
        for answer in self.logged:
            if answer.is_right is False:
                wrong.append(rewards[answer.row.get("rollout_id")])
        scales = self.calibration.scales.values()
        if self.reward.routed_by or not scales or len(wrong) < LEAST_WRONG_ROWS:
            return math.nan
        floor = min(scale.floor for scale in scales)
        right = max(scale.right for scale in scales)
        return (median(wrong) - floor) / (right - floor) if right > floor else math.nan

    @property
    def unread_truth(self) -> str:
        """Return the log's column of the truth if no function reads it, else ""."""
        if self.reward.is_blind and any("ground_truth" in row for row in self.rows):
            return self.tries.logged_names.get("ground_truth", "ground_truth")
        return ""

    def _earned_by_task(self, row: Row, outcome: RowOutcome) -> dict[str, float]:
        """Return the weighted scores of the task's components; NaN if not judged.

        If no component compares with the truth, the whole reward counts.
        """
        reward = self.reward_for(row)
        names = reward.task
        if reward.is_blind or len(reward.components) == 1:
            return {names[0]: outcome.reward}
        if not outcome.is_judged:
            return dict.fromkeys(names, math.nan)
        weights = reward.weights
        return {
            name: weights[name] * outcome.scores.get(name, math.nan) for name in names
        }

    def scale(self, subject: Subject) -> Scale:
        """Return the scale of a subject; for a left out one the scale of the first."""
        scales = self.calibration.scales
        if subject.rollout_id in scales:
            return scales[subject.rollout_id]
        return scales[self.subjects[0].rollout_id]

    def is_beyond(self, subject: Subject) -> bool:
        """Return whether no completion of the log earns the declared full marks."""
        if subject.answer is not None:
            return False
        return self.scale(subject).right > max(self.calibration.rewards) + 1e-9

    def falls(self, trial: ProbeTrial) -> bool:
        """Return whether a single trial shows a fault."""
        scale = self.scale(trial.subject)
        return find_fall(trial, scale, graded=False, noise=self.noise) is not None

    def has_truth(self, attempt: Attempt) -> bool:
        """Return whether the log has truths like the one of an attempt, if any."""
        if "ground_truth" not in attempt.columns:
            return True
        return special_truth(attempt.columns["ground_truth"]) in self.special_truths

    def reward_for(self, row: Row) -> Reward:
        """Return the reward for a row: for a route one of its rewards."""
        return self.reward.for_row(row) or self.reward

    def weights(self, subject: Subject) -> dict[str, float]:
        """Return the weights of the components for a subject."""
        return self.reward_for(subject.columns).weights

    def changes(
        self,
        subject: Subject,
        scores: Mapping[str, float],
        before: Mapping[str, float],
    ) -> list[tuple[str, float]]:
        """List components with their share of a change in reward, the largest first.

        A score that is missing or NaN counts as 0. Components without a change are left
        out.
        """
        changes = []
        for name, weight in self.weights(subject).items():
            pair = [before.get(name, 0.0), scores.get(name, 0.0)]
            change = weight * float(np.diff(np.nan_to_num(pair))[0])
            if abs(change) > 1e-9:
                changes.append((name, change))
        return sorted(changes, key=lambda change: -abs(change[1]))

    @property
    def has_one_component(self) -> bool:
        """Return whether the reward has a single component."""
        return len(self.reward.all_components) < 2

    @cached_property
    def components(self) -> dict[str, Component]:
        """Return the components by name."""
        return {component.name: component for component in self.reward.all_components}

    def finding(
        self,
        code: str,
        n: int,
        count: int | None = None,
        *,
        family: str = "",
        severity: str = "",
        component: str | None = None,
        components: Sequence[str] | None = None,
        threshold: float | None = None,
        examples: Iterable[Example] = (),
        rows: Iterable[tuple[Row, float]] = (),
        **evidence: Any,
    ) -> Finding:
        """Make a finding on this part; name the component unless there is only one.

        Args:
            code: Its code in `findings.toml`.
            n: The number of attempts.
            count: The number of them that show the finding; None if there is no share.
            family: The family of the probe; by default that of the table.
            severity: By default that of the table, else that of the risk, which is the
                gain times the share that shows the finding.
            component: The component that it is about.
            components: The components at fault; the finding is about the first.
            threshold: The limit that was passed.
            examples: Examples, the clearest first. A few are kept.
            rows: More examples: rows with their rewards.
            **evidence: Values for its sentence.
        """
        row = read_codes()["probe"].get(code, {})
        counts: dict[str, Any] = {"value": 1.0, "tried": n}
        if count is not None:
            counts |= rate_of(count, n)
            if "gain" in evidence:
                counts["risk"] = evidence["gain"] * count / n
        counts |= evidence
        if self.has_one_component:
            component = None
        elif components is not None:
            component = components[0] if components else None
            counts["components"] = list(components)
        of_rows = (self.row_example(*pair, code) for pair in rows)
        clearest = islice(chain(examples, of_rows), EXAMPLES_OF_A_FINDING)
        return Finding(
            code,
            severity or row.get("severity") or severity_of(counts["risk"]),
            component,
            counts,
            n,
            threshold,
            part=self.part,
            family=family or row["family"],
            examples=tuple(clearest),
        )

    def example(
        self,
        subject: Subject,
        completion: str,
        reward: float,
        expected: RewardRange,
        probe: str,
        /,
        **columns: Any,
    ) -> Example:
        """Make an example with the rewards of right and wrong answers."""
        scale = self.scale(subject)
        row = self.tries.varied(subject.columns, completion, **columns)
        other = subject.reference if reward >= scale.right else subject.baseline
        other_row = self.tries.varied(subject.columns, other)
        return Example(
            subject.rollout_id,
            self.shown_columns(row),
            reward,
            expected,
            right=math.nan if self.is_beyond(subject) else scale.right,
            wrong=scale.wrong,
            probe=probe,
            of_rollouts=subject.answer is None,
            beside=self.shown_columns(other_row),
        )

    def row_example(
        self,
        row: Row,
        reward: float,
        probe: str,
        outcome: str = "",
        **fields: Any,
    ) -> Example:
        """Make an example of a row without an expected range of rewards.

        `fields` are further fields of `Example`.
        """
        columns, rollout_id = self.shown_columns(row), row.get("rollout_id")
        return Example(
            rollout_id, columns, reward, None, probe=probe, outcome=outcome, **fields
        )

    def example_of(self, fall: Fall) -> Example:
        """Make an example of the completion of a trial that fell."""
        trial = fall.trial
        rewards = trial.rewards
        place = 0
        if trial.probe.expects == "right":
            place = rewards.index(min(rewards))
        elif trial.probe.expects == "more":
            place = len(rewards) - 1
        expected = expected_rewards(trial.probe, self.scale(trial.subject))
        text, columns = trial.attempt.rows[place]
        return self.example(
            trial.subject, text, rewards[place], expected, trial.probe.name, **columns
        )

    def shown_columns(self, row: Row) -> dict[str, Any]:
        """Return the columns that the reward asks for, or the usual ones.

        A column with two names keeps its canonical one, unless the reward alone uses
        the other.
        """
        names = set(self.reward.needs)
        if not names <= set(row):  # it asks for whole rows
            names |= {*USUAL_COLUMNS}
            for function in self.reward.functions:
                names |= {*getattr(function, "needs", ())}
            for name, logged_name in self.tries.logged_names.items():
                if logged_name != name and logged_name in names:
                    is_known = logged_name in ALIASES[name]
                    names.discard(logged_name if is_known else name)
        return {name: row[name] for name in row if name in names}

    def components_of(self, falls: Sequence[Fall]) -> list[str]:
        """List the components that cause falls, the largest share first.

        Components with less than a tenth of the largest share are left out.
        """
        parts: dict[str, float] = defaultdict(float)
        for fall in falls:
            for name, change in self._changes(fall.trial):
                parts[name] += change
        limit = max(parts.values(), default=0.0) / 10
        names = [name for name, part in parts.items() if part > 0 and part >= limit]
        return sorted(names, key=lambda name: -parts[name])

    def _changes(self, trial: ProbeTrial) -> list[tuple[str, float]]:
        """List the components with what each adds to a fall."""
        measured = self.measured[trial.subject.rollout_id]
        outcome = min(trial.outcomes, key=lambda outcome: outcome.reward)
        before = measured.baseline.scores
        sign = 1
        match trial.probe.expects:
            case "right" | "place":
                before, sign = measured.reference.scores, -1
            case "more":
                outcome, before = trial.outcomes[-1], measured.reference.scores
            case "form":
                before = {}  # all that is paid without the task
        changes = self.changes(trial.subject, outcome.scores, before)
        return [(name, sign * change) for name, change in changes]
