"""Readings tried on a few rows: what they answer there."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import is_async
from rewardkit.rollouts.columns import LOGGED, lists_of_columns
from rewardkit.scoring.answers import as_list
from rewardkit.scoring.callers import spread
from rewardkit.scoring.calls import Calls
from rewardkit.scoring.deadlines import CannotLimit, TimeLimit, answered
from rewardkit.targets.adapter import plain_values
from rewardkit.targets.columns import Row
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import JUDGED, Target, TrainerReading


@dataclass(frozen=True)
class ReadingTrial:
    """A target's reading of a value, tried on the rows of a sample.

    `answers` has for each row a number, a dict, ``None``, or the Reason of a failure.
    """

    target: Target
    reading: TrainerReading
    answers: tuple[Any, ...]

    @property
    def name(self) -> str:
        """What to choose it by: the target, and the way where there are several."""
        way = self.reading.way
        return f"{self.target.name}:{way}" if way else self.target.name

    @property
    def works(self) -> bool:
        """Whether one call at least gave what a reward can be."""
        return any(map(_is_reward, self.answers))

    @property
    def fails(self) -> bool:
        """Whether each call that was made failed."""
        return bool(self.failures) and not self.works

    @property
    def tells_apart(self) -> bool:
        """Whether two rows got different rewards, as if it understood its arguments."""
        return len(set(map(repr, filter(_is_reward, self.answers)))) > 1

    def agreement(self, rows: Sequence[Row]) -> float | None:
        """Return the share of the rows on which it gives what the log has.

        Of the columns of scores that one counts which it agrees with most; not one that
        is the same for all rows. None where the log has none.
        """
        shares = []
        numbers = map(self._main_number, self.answers)
        ours = np.array([*numbers], dtype=float)
        for theirs in scores_of_log(rows).values():
            is_logged = ~np.isnan(theirs)
            if len(set(theirs[is_logged])) > 1:
                same = np.isclose(ours, theirs, rtol=1e-9, atol=0.0)
                shares.append(float(same[is_logged].mean()))
        return max(shares, default=None)

    def _main_number(self, answer: Any) -> float | None:
        """Return what an answer pays, None where it pays nothing."""
        if isinstance(answer, Mapping):
            answer = answer.get(self.main or "score")
        return float(answer) if _is_number(answer) and answer is not None else None

    @property
    def rewards(self) -> list[Any]:
        """The answers, of a dict the number that is paid, or the only one."""
        rewards = []
        for answer in self.answers:
            if isinstance(answer, Mapping) and _is_number(answer.get(self.main, "")):
                answer = answer[self.main]
            elif isinstance(answer, Mapping):
                numbers = [value for value in answer.values() if _is_number(value)]
                answer = numbers[0] if len(numbers) == 1 else answer
            rewards.append(answer)
        return rewards

    @property
    def calls_made(self) -> list[Any]:
        """The answers but for those of calls that were not made."""
        return [answer for answer in self.answers if not _is_untried(answer)]

    @property
    def failures(self) -> list[Reason]:
        """Why calls failed."""
        return [answer for answer in self.calls_made if isinstance(answer, Reason)]

    @property
    def dicts(self) -> list[Mapping[str, Any]]:
        """The answers that are dicts."""
        return [answer for answer in self.answers if isinstance(answer, Mapping)]

    @property
    def main(self) -> str | None:
        """The key that is paid where dicts came back, None where all are."""
        main = self.reading.main
        if not isinstance(main, tuple):
            return main
        for key in main:
            if any(key in answer for answer in self.dicts):
                return key
        return main[0]

    @property
    def keys(self) -> list[str]:
        """The keys of the dicts, in order, whose values are all numbers or ``None``."""
        keys = []
        for key, scores in lists_of_columns(self.dicts).items():
            if not all(map(_is_number, scores)):
                continue
            if key == self.main or set(scores) != {None}:
                keys.append(key)
        return keys

    @property
    def says_judged(self) -> bool:
        """Whether export wrote it, with a key that says where there is no reward."""
        values = getattr(self.reading.adapter.function, "__globals__", {}).values()
        is_ours = any(isinstance(value, RewardHolder) for value in values)
        return is_ours and {JUDGED, self.main} <= set(self.keys)

    def differs(self, other: ReadingTrial) -> bool:
        """Whether a row that both were tried on got another answer."""
        for answer, other_answer in zip(self.answers, other.answers, strict=True):
            if _is_untried(answer) or _is_untried(other_answer):
                continue
            if answer != other_answer:
                return True
        return False


Numbers = NDArray[np.float64]


def columns_of_numbers(rows: Sequence[Row]) -> dict[str, Numbers]:
    """Return the columns of numbers of these rows, (rows,) each; NaN for none."""
    columns = {}
    for name, values in lists_of_columns(rows).items():
        if all(map(_is_number, values)):
            columns[name] = np.array(values, dtype=float)
    return columns


def scores_of_log(rows: Sequence[Row]) -> dict[str, Numbers]:
    """Return the scores that the log has of these rows, (rows,) each; NaN for none."""
    columns = columns_of_numbers(rows)
    return {name: columns[name] for name in columns if name.startswith(LOGGED)}


def _is_untried(answer: Any) -> bool:
    return isinstance(answer, Reason) and answer.code is ReasonCode.NOT_TRIED


def _is_late(answer: Any) -> bool:
    return isinstance(answer, Reason) and answer.code is ReasonCode.LATE


def _is_number(answer: Any) -> bool:
    return answer is None or isinstance(answer, int | float)


def _is_reward(answer: Any) -> bool:
    if isinstance(answer, Mapping):
        return any(map(_is_number, answer.values()))
    return _is_number(answer)


# --- trying


@dataclass(eq=False)
class Allowance:
    """The `seconds` that are left for trying one function, in all its readings.

    They are not counted where a process had to start, which also imports what the
    function needs.
    """

    seconds: float
    is_starting: bool = True


def try_reading(
    target: Target,
    reading: TrainerReading,
    rows: Sequence[Row],
    limit: TimeLimit,
    allowance: Allowance,
) -> ReadingTrial:
    """Call a reading for each of these rows, or for all where it needs siblings.

    Each call is limited where the function can be sent to another process, and all of
    them by the allowance: a Reason stands for the answer of a call that was not made.
    """
    together = reading.adapter.together
    inputs: list[Any] = [dict(row) for row in rows]
    if together == "group":
        inputs = [inputs]
    elif together == "batch":
        inputs = [[row] for row in inputs]
    answers: list[Any] = []
    while len(answers) < len(inputs) and allowance.seconds > 0:
        # twice as many each time
        batch = inputs[len(answers) :][: max(1, len(answers))]
        start = time.monotonic()
        batch_answers = _call(reading, batch, limit)
        seconds = min(time.monotonic() - start, limit.seconds * len(batch))
        is_late = any(map(_is_late, batch_answers))
        if is_late or not allowance.is_starting:
            allowance.seconds -= seconds
        allowance.is_starting = is_late
        answers += batch_answers
    untried = Reason(ReasonCode.NOT_TRIED, seconds=limit.seconds)
    answers += [untried] * (len(inputs) - len(answers))
    if together:
        size = len(rows) if together == "group" else 1
        lists, answers = answers, []
        for answer in lists:
            scores = as_list(answer, lambda score: score, "scores")
            answers += spread(scores, size)
    return ReadingTrial(target, reading, tuple(answers))


def _call(
    reading: TrainerReading, inputs: Sequence[Any], limit: TimeLimit
) -> list[Any]:
    """Return the answers, of another process where the function can be sent."""
    adapter = reading.adapter
    calls = Calls(adapter, [inputs], {}, len(inputs), plain_values, is_async(adapter))
    try:
        return limit.run(calls)
    except CannotLimit:
        return answered(calls)
