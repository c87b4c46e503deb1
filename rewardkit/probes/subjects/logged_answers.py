"""What each completion of a log states, whether that is right, and what it earned."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from rewardkit.answers.kinds import kind_of, read_truth
from rewardkit.answers.stated import (
    Statement,
    answers_truth,
    read_statement,
    uses_decimal_comma,
)
from rewardkit.primitives.texts import normal_text
from rewardkit.probes.runner import RowOutcome, reward_for
from rewardkit.probes.subjects.log import prompt_text
from rewardkit.rewards.reward import Reward
from rewardkit.strategies.strategy import Row

PAID_FROM, UNPAID_TO = 0.9, 0.1
"""Shares of the span of all rewards from which a row is paid, and to which it is not.
Our choice."""

MARKED_SHARE = 0.5
"""Share of marked answers from which one without a mark states nothing. Our choice."""

OWN_SCALE = 0.5
"""Share of the span of all rewards from which that of a part is a scale of its own. Our
choice."""


@dataclass(frozen=True)
class LoggedAnswer:
    """A completion of the log: what it states, and what the task earned there.

    `truth` is None where the log has none, or several. `gain` is a share of what the
    task can earn: 0 for the least of the log, 1 for the most; NaN where all
    earn the same. `is_right` is None where
    that is not certain.
    """

    row: Row
    part: str
    truth: str | None
    statement: Statement
    reward: float
    gain: float = math.nan
    is_right: bool | None = None
    is_open: bool = False

    @property
    def completion(self) -> str:
        """The completion."""
        return str(self.row.get("completion"))

    @property
    def prompt(self) -> tuple[str, str]:
        """Tell prompts apart that differ in their truths alone."""
        return prompt_text(self.row.get("prompt")), repr(self.row.get("ground_truth"))

    @property
    def answer(self) -> str:
        """The answer that it states, "" where it states none."""
        return self.statement.answer

    @property
    def mark(self) -> str:
        """The name of the mark, "" where no answer is stated."""
        return self.statement.mark

    @property
    def is_marked(self) -> bool:
        """Whether its answer is marked on purpose."""
        return self.statement.is_marked

    @property
    def is_paid(self) -> bool:
        """Whether the task earned as much as the best of the log."""
        return self.gain >= PAID_FROM

    @property
    def is_unpaid(self) -> bool:
        """Whether the task earned nothing."""
        return self.gain <= UNPAID_TO

    @property
    def states_nothing(self) -> bool:
        """Whether it marks no answer, and does not mention the truth."""
        if self.truth is None or self.is_marked:
            return False
        return normal_text(self.truth) not in normal_text(self.completion)


def read_log(
    reward: Reward,
    pool: Sequence[tuple[Row, RowOutcome]],
    labels: Mapping[Any, bool | None],
) -> list[LoggedAnswer]:
    """Read the judged rows of a log.

    Args:
        reward: The reward.
        pool: Rows of the log with what they got.
        labels: Rollout id -> whether a trusted label calls the row right; without any
            a row is right if it states the truth, or what a sibling was paid for.
    """
    answers: list[LoggedAnswer] = []
    for row, outcome in pool:
        earned = _earned_by_task(reward, row, outcome)
        if not math.isnan(earned):
            answers.append(_read_row(reward, row, earned))
    answers = _measure_gains(answers, is_routed=bool(reward.routed_by))
    if not labels:
        return _judge_by_siblings(_judge_by_truths(answers))
    judged: list[LoggedAnswer] = []
    for answer in answers:
        is_right = labels.get(answer.row.get("rollout_id"))
        judged.append(replace(answer, is_right=is_right))
    return judged


def _earned_by_task(reward: Reward, row: Row, outcome: RowOutcome) -> float:
    """Return what the task earned; NaN where it is gated or was not judged."""
    reward = reward_for(reward, row)
    if not outcome.is_judged or len(reward.components) == 1:
        return outcome.reward
    earned = 0.0
    for name in reward.task:
        earned += reward.weights[name] * outcome.scores.get(name, math.nan)
    return earned


def _read_row(reward: Reward, row: Row, earned: float) -> LoggedAnswer:
    truth = row.get("ground_truth")
    is_several = isinstance(truth, dict)
    if isinstance(truth, list | tuple):
        is_several = len(truth) != 1
    return LoggedAnswer(
        row,
        str(row.get(reward.routed_by or "data_source") or ""),
        None if is_several else read_truth(truth),
        read_statement(str(row.get("completion")), truth),
        earned,
    )


def _measure_gains(
    answers: Sequence[LoggedAnswer], *, is_routed: bool
) -> list[LoggedAnswer]:
    """Measure what rows earned between the least and the most that a reward gave.

    Parts of a log that one reward pays on scales of their own are measured apart.
    """
    rewards: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        rewards[answer.part].append(answer.reward)
    everything = [answer.reward for answer in answers]
    measured: list[LoggedAnswer] = []
    for answer in answers:
        earned = rewards[answer.part]
        if not is_routed and _span(earned) < OWN_SCALE * _span(everything):
            earned = everything
        if _span(earned) > 1e-9:
            gain = (answer.reward - min(earned)) / _span(earned)
            answer = replace(answer, gain=gain)
        measured.append(answer)
    return measured


def _span(rewards: Sequence[float]) -> float:
    return max(rewards) - min(rewards)


def _judge_by_truths(answers: Sequence[LoggedAnswer]) -> list[LoggedAnswer]:
    """Say of each row whether it states the truth, where that is certain.

    Certainly wrong is only an answer that is marked on purpose; and none at all, where
    others have a mark.
    """
    numbers: dict[str, list[str]] = defaultdict(list)
    for answer in answers:
        if answer.truth and kind_of(answer.truth) == "number":
            numbers[answer.part].append(answer.answer)
    local = {part for part, texts in numbers.items() if uses_decimal_comma(texts)}
    is_marked = [answer.is_marked for answer in answers]
    has_marks = bool(answers) and fmean(is_marked) >= MARKED_SHARE
    judged: list[LoggedAnswer] = []
    for answer in answers:
        is_right = None
        if answer.answer and answer.truth:
            has_comma = answer.part in local
            is_right = answers_truth(
                answer.answer, answer.truth, decimal_comma=has_comma
            )
        if not is_right and not answer.is_marked:
            is_right = False if has_marks and answer.states_nothing else None
        judged.append(replace(answer, is_right=is_right))
    return judged


def _judge_by_siblings(answers: Sequence[LoggedAnswer]) -> list[LoggedAnswer]:
    """Add that rows are right which state what a sibling was paid for.

    Where a prompt pays all that it was answered, wrong answers too, that says nothing:
    there another number than the truth is a wrong answer.
    """
    by_prompt: dict[tuple[str, str], list[LoggedAnswer]] = defaultdict(list)
    for answer in answers:
        by_prompt[answer.prompt].append(answer)
    open_prompts = set()
    for prompt, siblings in by_prompt.items():
        pays_all = all(answer.is_paid for answer in siblings)
        if pays_all and any(answer.is_right is False for answer in siblings):
            open_prompts.add(prompt)
    paid = {_key(answer) for answer in answers if answer.is_paid}
    judged: list[LoggedAnswer] = []
    for answer in answers:
        is_open = answer.prompt in open_prompts
        is_right = answer.is_right
        if is_right is None and answer.is_marked:
            if is_open and kind_of(answer.truth or "") == "number":
                is_right = False
            elif not is_open and _key(answer) in paid:
                is_right = True
        judged.append(replace(answer, is_right=is_right, is_open=is_open))
    return judged


def _key(answer: LoggedAnswer) -> tuple[str, ...]:
    return (*answer.prompt, answer.mark, answer.answer)
