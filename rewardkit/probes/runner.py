"""Try rows on a reward within a budget of time, and keep account of all calls."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rewardkit.analysis.statistics import Codes
from rewardkit.probes.text_columns import TextColumns
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.route import bind
from rewardkit.rollouts.columns import lists_of_columns
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.strategies.strategy import Completion, Row, Subject

ROWS_OF_FIRST_PIECE = 2  # rows that are scored before the time of a call is known
PIECE_SECONDS = 1.0  # target seconds of a piece, so that the budget holds: our choice
MOST_IN_PIECE = 1024  # rows of a piece
NO_BUDGET = 1e9  # seconds that stand for an unlimited budget
HOPELESS_CALLS = 4  # late calls after which trying ends if none came back: our choice

ROWS_WITH_OTHER_VALUES = 5
"""Number of the best paid rows that are tried with other values of a column. Our
choice."""

UNPAID_BESIDE = 0.25
"""Share of the span of all rewards. The best completion counts as unpaid if it earns
less than that with other values of a column. Our choice."""

SHARE_OF_RULE = 0.1
"""Share of the remaining budget for the rows that one rule tries. Our choice."""

GROUP_COLUMNS = ("prompt_id", "prompt", "step")
"""Columns that siblings share in a log."""

MEASURED_TIMES = 4
"""Times that a completion is scored to measure the noise of its reward. Our choice."""


def _ends_in_calls(row: Row) -> bool:
    """Return whether the last turn of a row's messages calls tools."""
    turns = row.get("messages")
    last = turns[-1] if isinstance(turns, list) and turns else {}
    return isinstance(last, dict) and bool(last.get("tool_calls"))


@dataclass(frozen=True)
class RowOutcome:
    """The outcome of one row: its reward before any transform, NaN if not judged.

    `scores` are by component, like the `reasons` of errors and abstentions. `failures`
    are the reasons of errors alone.
    """

    reward: float
    scores: Mapping[str, float]
    reasons: Mapping[str, Reason]
    failures: Mapping[str, Reason]

    @property
    def is_tried(self) -> bool:
        """Return whether all calls were made."""
        return not self._has(ReasonCode.NOT_TRIED)

    @property
    def is_late(self) -> bool:
        """Return whether a call was ended because it took too long."""
        return self.is_tried and self._has(ReasonCode.LATE)

    @property
    def is_gone(self) -> bool:
        """Return whether a call was ended as late, or ended its process."""
        return self.is_late or self._has(ReasonCode.PROCESS_ENDED)

    def _has(self, code: ReasonCode) -> bool:
        return any(reason.code is code for reason in self.reasons.values())

    @property
    def is_judged(self) -> bool:
        """Return whether there is a reward."""
        return not math.isnan(self.reward)

    @property
    def is_lost(self) -> bool:
        """Return whether there is no reward because a call failed."""
        return not self.is_judged and bool(self.failures)


UNTRIED = RowOutcome(math.nan, {}, {"": Reason(ReasonCode.NOT_TRIED)}, {})
"""The outcome of a row for which there was no time."""


def rewards_in(outcomes: Iterable[RowOutcome]) -> list[float]:
    """List the rewards of outcomes; NaN where a row was not tried or not judged."""
    return [outcome.reward for outcome in outcomes]


def scores_in(outcomes: Iterable[RowOutcome], component: str) -> list[float]:
    """List the scores of a component, leaving out rows on which it has none."""
    scores = [outcome.scores.get(component, math.nan) for outcome in outcomes]
    return [score for score in scores if not math.isnan(score)]


def score_rows(
    reward: Reward, rows: Sequence[Row], limit: TimeLimit | None, groups: Any = None
) -> Outcomes:
    """Score rows in one pass; `groups` are codes, (rows,)."""
    columns = lists_of_columns(rows)
    plan = bind(reward, columns, len(rows))
    return evaluate(plan, columns, groups=groups, limit=limit)


def group_rows(rows: Sequence[Row], names: Sequence[str]) -> Codes:
    """Return codes of groups with equal values in the named columns, (rows,)."""
    keys = [repr(list(map(row.get, names))) for row in rows]
    return np.unique(keys, return_inverse=True)[1]


def are_equal(rewards: Sequence[float]) -> bool:
    """Return whether all rewards are the same, or there are none."""
    return max(rewards, default=0.0) - min(rewards, default=0.0) <= 1e-9


@dataclass(eq=False)
class Tries:
    """A reward to be tried, the time left for it, and an account of what was tried.

    Attributes:
        reward: The reward.
        limit: The time limit of each call.
        budget: Seconds for all tries. They count from the end of the first rows, since
            these start processes.
        logged_names: Canonical name of a column -> its name in the log. Rows have both.
        calls: The number of calls made.
        late: The number of calls that did not come back.
        failed: Rows on which a component failed, with their outcomes.
        rewards: The rewards of all rows that were judged.
        seconds: Seconds spent on scoring.
        progress: A function of the share of the work that is done. Once it returns
            False, no time is left.
        share: The share of the work that is done.
        is_cancelled: Whether `progress` returned False.
        text_columns: How to write the columns that change with a completion.
        unwritable: Columns that the reward reads and that cannot be written for another
            completion, such as a judge's reply.
        worst_values: Values of these columns with which the best completion of the log
            is unpaid. With them a probe can show a hole, but no loss. If there are
            none, no completion is tried but those of the log.
    """

    reward: Reward
    limit: TimeLimit | None
    budget: float
    logged_names: Mapping[str, str] = field(default_factory=dict)
    calls: int = 0
    late: int = 0
    failed: list[tuple[Row, RowOutcome]] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    seconds: float = 0.0
    progress: Callable[[float], bool] | None = None
    share: float = 0.0
    is_cancelled: bool = False
    text_columns: TextColumns = field(default_factory=TextColumns)
    unwritable: tuple[str, ...] = ()
    worst_values: Mapping[str, Any] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)
    _first_calls: int = 0
    _first_seconds: float = 0.0

    @cached_property
    def by_group(self) -> bool:
        """Return whether a component or field looks at the siblings of a group."""
        if any(component.group for component in self.reward.all_components):
            return True
        return self.has_functions_for("group")

    def has_functions_for(self, rows: str) -> bool:
        """Return whether a function takes several rows a call: a "group" or "batch"."""
        functions = self.reward.functions
        return any(getattr(item, "together", "") == rows for item in functions)

    @cached_property
    def runs_users_code(self) -> bool:
        """Return whether a function of the reward is not rewardkit's own."""
        return any(map(TimeLimit.needed, filter(callable, self.reward.functions)))

    @cached_property
    def asks_model(self) -> bool:
        """Return whether a function of the reward asks a model."""
        functions = self.reward.functions
        return any(getattr(function, "asks_model", False) for function in functions)

    @property
    def seconds_left(self) -> float:
        """Return the seconds left of the budget; 0 where it was cancelled."""
        if self.is_cancelled:
            return 0.0
        return min(self.budget, NO_BUDGET) - (time.monotonic() - self._began)

    @property
    def seconds_a_call(self) -> float:
        """Return the mean seconds of a call after the first, which start processes."""
        later = self.calls - self._first_calls
        if later:
            return (self.seconds - self._first_seconds) / later
        return self.seconds / max(1, self.calls)

    @property
    def seconds_in_one_process(self) -> float:
        """Return the mean seconds of a call where one process makes all of them."""
        processes = max(2, self.limit.processes) if self.limit else 2
        return max(1e-9, processes * self.seconds_a_call)

    @property
    def is_over(self) -> bool:
        """Return whether there is no time for another call."""
        return self.seconds_left <= self.seconds_a_call

    @property
    def why_over(self) -> str:
        """Say why there is no time left."""
        if self.is_cancelled:
            return "probing was cancelled"
        return f"the budget of {self.budget:g} s was over"

    @property
    def is_hopeless(self) -> bool:
        """Return whether no call came back."""
        return self.late == self.calls >= HOPELESS_CALLS

    def reach(self, share: float) -> None:
        """Report that this share of all the work is done."""
        self.share = share
        if self.progress is not None and not self.progress(share):
            self.is_cancelled = True

    def find_unwritable(self, scored: Sequence[tuple[Row, RowOutcome]]) -> None:
        """Find the columns that the reward reads and that may be written wrongly.

        The reward reads a column if other values of it change what rows earn. The best
        paid rows are tried: an unpaid row may earn nothing whatever the column says.
        Where most completions end in calls of tools, no text can be one of them.
        """
        judged = [pair for pair in scored if pair[1].is_judged]
        judged.sort(key=lambda pair: pair[1].reward)
        rows = [row for row, _ in judged]
        sample = [*rows[-ROWS_WITH_OTHER_VALUES:], *rows[:1]]
        doubtful = [*self.text_columns.doubtful]
        if 2 * sum(map(_ends_in_calls, rows)) > len(rows):
            doubtful.append("messages")
        unwritable = []
        for name in doubtful:
            pairs = self.text_columns.other_values(sample, name)
            same = [row for row, _ in pairs] * 2  # is a difference more than noise?
            changed = [self.varied(row, **{name: value}) for row, value in pairs]
            rewards = np.array(rewards_in(self.outcomes([*same, *changed])))
            first, again, other = np.split(np.nan_to_num(rewards), 3)
            if np.allclose(first, again) and not np.allclose(first, other):
                unwritable.append(name)
        self.unwritable = tuple(unwritable)
        if unwritable:
            low, high = judged[0][1].reward, judged[-1][1].reward
            self.worst_values = self._find_worst_values(rows, low, high)

    def _find_worst_values(
        self, ranked: Sequence[Row], low: float, high: float
    ) -> dict[str, Any]:
        """Return values of a badly paid row with which the best completion is unpaid.

        Return {} if the completion is paid with all values that are tried.
        """
        worst = ranked[:ROWS_WITH_OTHER_VALUES]
        values = [{name: row.get(name) for name in self.unwritable} for row in worst]
        outcomes = self.outcomes([self.varied(ranked[-1], **item) for item in values])
        rewards = np.nan_to_num(rewards_in(outcomes), nan=math.inf)
        least = int(rewards.argmin())
        is_unpaid = rewards[least] - low < UNPAID_BESIDE * (high - low)
        return values[least] if is_unpaid else {}

    def varied(
        self, row: Row, /, completion: str | None = None, **columns: Any
    ) -> dict[str, Any]:
        """Return a row with other values.

        A new completion also replaces the last turn of the messages, and columns that
        the log made from the completion are made anew.
        """
        if completion is not None:
            follow = self.text_columns.write(row, completion)
            columns = {**follow, "completion": completion, **columns}
            turns = columns.get("messages", row.get("messages"))
            if isinstance(turns, list) and turns:
                last = turns[-1] if isinstance(turns[-1], dict) else {}
                turn = {"role": "assistant", **last, "content": completion}
                columns["messages"] = [*turns[:-1], turn]
        changed = {**row, **columns}
        for name, value in columns.items():
            logged_name = self.logged_names.get(name, name)
            if logged_name in row:
                changed[logged_name] = value
        return changed

    def on(self, completions: Iterable[Completion], **options: Any) -> list[RowOutcome]:
        """Try completions of subjects; see `outcomes`, also for the options."""
        rows = []
        siblings = []
        for subject, text in completions:
            rows.append(self.varied(subject.columns, text))
            siblings.append(subject.siblings)
        return self.outcomes(rows, siblings, **options)

    def retry(self, rows: Sequence[Row]) -> list[float]:
        """Return the rewards of a rule's rows; NaN if a row was not tried or judged."""
        return rewards_in(self.outcomes(rows, share=SHARE_OF_RULE))

    def outcomes(
        self,
        rows: Sequence[Row],
        siblings: Sequence[Sequence[Row]] = (),
        *,
        share: float = 1.0,
        until_gone: bool = False,
    ) -> list[RowOutcome]:
        """Try rows in pieces, while there is time.

        Args:
            rows: The rows.
            siblings: For each row the other rows of its group, if the reward looks at
                groups.
            share: Share of the remaining budget that may be used.
            until_gone: Whether to stop at the first call that does not come back.

        Returns:
            The outcome of each row, `UNTRIED` if it was not tried.
        """
        if not self.by_group or not siblings:
            siblings = [()] * len(rows)
        outcomes: list[RowOutcome] = []
        reserve = self.seconds_left * (1 - share)
        while len(outcomes) < len(rows):
            seconds = self.seconds_left - reserve
            if seconds <= self.seconds_a_call or self.is_hopeless:
                break
            size = ROWS_OF_FIRST_PIECE
            if self.seconds_a_call:
                fitting = int(min(PIECE_SECONDS, seconds) / self.seconds_a_call)
                size = min(MOST_IN_PIECE, max(size, fitting))
            start = len(outcomes)
            piece = self._try_piece(
                rows[start : start + size], siblings[start : start + size]
            )
            for outcome in piece:
                outcomes.append(outcome if outcome.is_tried else UNTRIED)
            if until_gone and any(outcome.is_gone for outcome in piece):
                break
        return outcomes + [UNTRIED] * (len(rows) - len(outcomes))

    def in_groups(self, rows: Sequence[Row]) -> list[RowOutcome]:
        """Try rows in one pass, all siblings in a call, as `score` does.

        Returns:
            The outcome of each row, `UNTRIED` if no time is left for all of them.
        """
        if self.seconds_left <= self.seconds_a_call * len(rows) or self.is_hopeless:
            return [UNTRIED] * len(rows)
        scored = self._score(rows, group_rows(rows, GROUP_COLUMNS))
        outcomes = [outcome_of(scored, place) for place in range(len(rows))]
        self.calls += sum(outcome.is_tried for outcome in outcomes)
        self.late += sum(outcome.is_late for outcome in outcomes)
        return outcomes

    def _score(self, rows: Sequence[Row], groups: Any) -> Outcomes:
        """Score rows in one pass, and account for the seconds."""
        self.reach(self.share)
        began = time.monotonic()
        scored = score_rows(self.reward, rows, self.limit, groups)
        self.seconds += time.monotonic() - began
        return scored

    def _try_piece(
        self, rows: Sequence[Row], siblings: Sequence[Sequence[Row]]
    ) -> list[RowOutcome]:
        """Score rows, each as the first of a group with its siblings."""
        all_rows: list[Row] = []
        firsts = []
        codes = []
        for code, (row, others) in enumerate(zip(rows, siblings, strict=True)):
            firsts.append(len(all_rows))
            all_rows += [row, *others]
            codes += [code] * (1 + len(others))
        groups = np.array(codes, dtype=np.intp) if self.by_group else None
        scored = self._score(all_rows, groups)
        outcomes = [outcome_of(scored, row) for row in firsts]
        calls_a_row, is_first = len(all_rows) // max(1, len(rows)), not self.calls
        for row, outcome in zip(rows, outcomes, strict=True):
            self.calls += calls_a_row * outcome.is_tried
            self.late += calls_a_row * outcome.is_late
            if outcome.is_judged:
                self.rewards.append(outcome.reward)
            if outcome.failures and outcome.is_tried:
                self.failed.append((row, outcome))
        if is_first:
            self._first_calls, self._first_seconds = self.calls, self.seconds
            self._began = time.monotonic()
        return outcomes


def outcome_of(scored: Outcomes, row: int) -> RowOutcome:
    """Return the outcome of one row."""
    scores, reasons, failures = {}, {}, {}
    for name, outcome in scored.components.items():
        scores[name] = float(outcome.scores[row])
        reason = scored.reason(name, row)
        if reason:
            reasons[name] = reason
            if scored.status(name, row) == "error":
                failures[name] = reason
    return RowOutcome(float(scored.rewards[row]), scores, reasons, failures)


@dataclass(frozen=True)
class Measured:
    """The outcomes of a subject's reference and baseline, and their rewards over time.

    `rewards` has a pair for each time that both were scored.
    """

    reference: RowOutcome
    baseline: RowOutcome
    rewards: list[tuple[float, float]] = field(default_factory=list)

    @property
    def spread(self) -> float:
        """Return the largest difference between rewards of the same completion."""
        rewards = np.array(self.rewards)  # (times, 2)
        spreads = np.fmax.reduce(rewards) - np.fmin.reduce(rewards)
        return float(np.nan_to_num(spreads).max())  # NaN where none was judged


def both_answers(subjects: Iterable[Subject]) -> list[Completion]:
    """List the reference and the baseline of each subject in turn."""
    completions = []
    for subject in subjects:
        completions += [(subject, subject.reference), (subject, subject.baseline)]
    return completions


def measure_subjects(tries: Tries, subjects: Sequence[Subject]) -> dict[Any, Measured]:
    """Score the reference and the baseline of each subject.

    They are scored several times if the reward runs code of the user.

    Returns:
        Rollout id -> the measurement, for subjects that could be tried.
    """
    measured: dict[Any, Measured] = {}
    for _ in range(MEASURED_TIMES if tries.runs_users_code else 1):
        outcomes = iter(tries.on(both_answers(subjects)))
        for subject in subjects:
            reference, baseline = next(outcomes), next(outcomes)
            if reference.is_tried and baseline.is_tried:
                first = Measured(reference, baseline)
                rewards = reference.reward, baseline.reward
                measured.setdefault(subject.rollout_id, first).rewards.append(rewards)
    return measured
