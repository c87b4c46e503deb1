"""What a reward function can be read as: readings that targets propose, tried on a tiny sample."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.rewards.signature import is_async
from rewardkit.scoring.calls import Calls, Failure, answered
from rewardkit.scoring.deadlines import UNTRIED, CannotLimit, TimeLimit
from rewardkit.targets.adapter import Adapter, Row, plain
from rewardkit.targets.target import JUDGED, Reading

__all__ = ["SECONDS", "Allowance", "Trial", "tried"]

SECONDS = 10.0
"""One call on the sample may take, where the caller names no time. Our choice."""

LATE = 2
"""As many calls that take too long may all calls take together. Our choice: one may be chance."""

FIRST = 1, 1, 2, 4
"""Rows of the first calls, after each of which it is known how long the next would take."""

NOT_TRIED = f"{UNTRIED}, as calls take too long"


@dataclass(frozen=True)
class Trial:
    """What a reading gave on the rows of a sample: numbers, dicts, ``None``, or a Failure a row."""

    reading: Reading
    answers: tuple[Any, ...]

    @property
    def works(self) -> bool:
        """Whether one call at least gave what a reward can be."""
        return any(map(_is_reward, self.answers))

    @property
    def tells_apart(self) -> bool:
        """Whether two rows got different rewards: what a function gives that understood its arguments."""
        given = [repr(answer) for answer in self.answers if _is_reward(answer)]
        return len(set(given)) > 1

    @property
    def is_empty(self) -> bool:
        """Whether all that came back are dicts without a key."""
        return bool(self.answers) and all(answer == {} for answer in self.answers)

    @property
    def made(self) -> tuple[Any, ...]:
        """The answers of the calls that were made."""
        return tuple(answer for answer in self.answers if not _untried(answer))

    def differs(self, other: Trial) -> bool:
        """Whether another answer came on one of the rows on which both were tried."""
        pairs = zip(self.answers, other.answers, strict=True)
        return any(one != two for one, two in pairs if not _untried(one) and not _untried(two))

    def is_like(self, other: Trial) -> bool:
        """Whether both told the rows apart, and gave the same."""
        return self.tells_apart and self.answers == other.answers

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the dicts that came back, whose values are numbers, in order."""
        found: dict[str, list[Any]] = {}
        for answer in self.answers:
            for key, value in answer.items() if isinstance(answer, Mapping) else ():
                found.setdefault(key, []).append(value)
        return tuple(
            key
            for key, values in found.items()
            if all(map(_is_number, values))
            and (key == self.reading.main or any(value is not None for value in values))
        )

    @property
    def says_judged(self) -> bool:
        """Whether a 1 stands beside what is paid, or a 0 where there is no reward, as in our own files."""
        said = {answer.get(JUDGED) for answer in self.answers if isinstance(answer, Mapping)}
        return {JUDGED, self.reading.main} <= set(self.keys) and said <= {0, 1}

    @property
    def why_not(self) -> str:
        """What the first call that failed said, or gave."""
        for answer in self.answers:
            if isinstance(answer, Failure):
                return answer.message
        return f"returned {self.answers[0]!r}" if self.answers else "was not called"


def _untried(answer: Any) -> bool:
    return isinstance(answer, Failure) and answer.message == NOT_TRIED


@dataclass(eq=False)
class Allowance:
    """What trying one function may take: `seconds`, in all its readings."""

    seconds: float
    starting: bool = True

    @classmethod
    def of(cls, limit: TimeLimit) -> Allowance:
        """As much as `LATE` calls that come too late take."""
        return cls(LATE * limit.seconds)

    def take(self, answers: Sequence[Any], seconds: float) -> float:
        """Count the seconds, and give those of a call.

        None where a process had to start, and to import what the function needs: that may have taken them.
        """
        late = any(isinstance(one, Failure) and one.late for one in answers)
        counted = 0.0 if self.starting and not late else seconds
        self.seconds, self.starting = self.seconds - counted, late
        return counted / len(answers)


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int | float)


def _is_reward(answer: Any) -> bool:
    if isinstance(answer, Mapping):
        return bool(answer) and any(map(_is_number, answer.values()))
    return _is_number(answer)


def tried(
    reading: Reading, rows: Sequence[Row], limit: TimeLimit, allowance: Allowance | None = None
) -> Trial:
    """The reading on each of these rows by itself, where it needs siblings on them as a group.

    Each call under the limit where the function can be sent, and all of them within the allowance: the answer
    of a call that was not made is a Failure that says so.
    """
    adapter = reading.adapter
    batch = adapter.batch
    handed: list[Any] = [[dict(row)] if batch else dict(row) for row in rows]
    if reading.adapter.siblings:
        handed = [[dict(row) for row in rows]]
    allowance = allowance or Allowance.of(limit)
    answers: list[Any] = []
    each = 0.0
    for size in (*FIRST, len(handed)):
        left = len(handed) - len(answers)
        fit = left if each * left <= allowance.seconds else int(allowance.seconds / each)
        some = handed[len(answers) :][: min(size, fit)]
        if allowance.seconds <= 0 or not some:
            break
        began = time.monotonic()
        got = _answers(adapter, some, limit)
        each = allowance.take(got, min(time.monotonic() - began, limit.seconds * len(some)))
        answers += got
    answers += [Failure(NOT_TRIED)] * (len(handed) - len(answers))
    if reading.adapter.siblings:
        return Trial(reading, tuple(_spread(answers[0], len(rows))))
    return Trial(reading, tuple(_spread(answer, 1)[0] if batch else answer for answer in answers))


def _answers(adapter: Adapter, handed: Sequence[Any], limit: TimeLimit) -> list[Any]:
    """What it gives for each, in another process where it can be sent there."""
    calls = Calls(adapter, [handed], {}, len(handed), plain, is_async=is_async(adapter))
    try:
        return limit.run(calls)
    except CannotLimit:
        return answered(calls)


def _spread(answer: Any, count: int) -> list[Any]:
    """The values of a list for so many rows; for each a Failure that says what it is instead."""
    if isinstance(answer, list) and len(answer) == count:
        return answer
    size = f"{len(answer)} values" if isinstance(answer, list) else f"{answer!r}, not a list,"
    instead = Failure(f"returned {size} for {count} completion{'s' if count > 1 else ''}")
    return [answer if isinstance(answer, Failure) else instead] * count
