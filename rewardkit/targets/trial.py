"""Trials of readings: the answers of a function for a few rows."""

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

    `answers` has a number, a dict, ``None``, or the Reason of a failure for each row.
    """

    target: Target
    reading: TrainerReading
    answers: tuple[Any, ...]

    @property
    def name(self) -> str:
        """Return the name for --as: the target, and the way if there are several."""
        way = self.reading.way
        return f"{self.target.name}:{way}" if way else self.target.name

    @property
    def works(self) -> bool:
        """Return whether at least one answer can be a reward."""
        return any(map(_is_reward, self.answers))

    @property
    def fails(self) -> bool:
        """Return whether no answer can be a reward and a call failed."""
        return bool(self.failures) and not self.works

    @property
    def tells_apart(self) -> bool:
        """Return whether two rows got different rewards."""
        rewards = filter(_is_reward, self.answers)
        return len({*map(repr, rewards)}) > 1

    def agreement(self, rows: Sequence[Row]) -> float | None:
        """Return the share of rows whose logged score the reading reproduces.

        Among several columns of scores the best match counts; a constant column does
        not count. None if the log has no scores.
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
        """Return the reward in an answer, or None."""
        if isinstance(answer, Mapping):
            answer = answer.get(self.main or "score")
        return float(answer) if _is_number(answer) and answer is not None else None

    @property
    def rewards(self) -> list[Any]:
        """Return the answers, with a dict replaced by its reward or only number."""
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
        """Return the answers without those of skipped calls."""
        return [answer for answer in self.answers if not _is_untried(answer)]

    @property
    def failures(self) -> list[Reason]:
        """Return the reasons why calls failed."""
        return [answer for answer in self.calls_made if isinstance(answer, Reason)]

    @property
    def dicts(self) -> list[Mapping[str, Any]]:
        """Return the answers that are dicts."""
        return [answer for answer in self.answers if isinstance(answer, Mapping)]

    @property
    def main(self) -> str | None:
        """Return the key of the reward in dicts, None if all keys are rewards."""
        main = self.reading.main
        if not isinstance(main, tuple):
            return main
        for key in main:
            if any(key in answer for answer in self.dicts):
                return key
        return main[0]

    @property
    def keys(self) -> list[str]:
        """Return the keys of the dicts, in order, whose values are numbers or None."""
        keys = []
        for key, scores in lists_of_columns(self.dicts).items():
            if not all(map(_is_number, scores)):
                continue
            if key == self.main or set(scores) != {None}:
                keys.append(key)
        return keys

    @property
    def says_judged(self) -> bool:
        """Return whether export wrote the function, and its dicts have `JUDGED`."""
        values = getattr(self.reading.adapter.function, "__globals__", {}).values()
        is_ours = any(isinstance(value, RewardHolder) for value in values)
        return is_ours and {JUDGED, self.main} <= set(self.keys)

    def differs(self, other: ReadingTrial) -> bool:
        """Return whether two trials have different answers for a row."""
        for answer, other_answer in zip(self.answers, other.answers, strict=True):
            if _is_untried(answer) or _is_untried(other_answer):
                continue
            if answer != other_answer:
                return True
        return False


Numbers = NDArray[np.float64]


def columns_of_numbers(rows: Sequence[Row]) -> dict[str, Numbers]:
    """Return the numeric columns of these rows, (rows,) each; NaN for missing."""
    columns = {}
    for name, values in lists_of_columns(rows).items():
        if all(map(_is_number, values)):
            columns[name] = np.array(values, dtype=float)
    return columns


def scores_of_log(rows: Sequence[Row]) -> dict[str, Numbers]:
    """Return the logged scores of these rows, (rows,) each; NaN for missing."""
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
    """The `seconds` left for trials of one function, in all its readings.

    The time of a starting process does not count, as it includes imports.
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
    """Call a reading for each of these rows, or for all rows if it needs siblings.

    A call is limited if the function can run in another process; all calls together are
    limited by the allowance. A Reason takes the place of a skipped call's answer.
    """
    together = reading.adapter.together
    inputs: list[Any] = [dict(row) for row in rows]
    if together == "group":
        inputs = [inputs]
    elif together == "batch":
        inputs = [[row] for row in inputs]
    answers: list[Any] = []
    while len(answers) < len(inputs) and allowance.seconds > 0:
        # double the number of rows each time
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
    """Return the answers, from another process if the function can be sent there."""
    adapter = reading.adapter
    calls = Calls(adapter, [inputs], {}, len(inputs), plain_values, is_async(adapter))
    try:
        return limit.run(calls)
    except CannotLimit:
        return answered(calls)
