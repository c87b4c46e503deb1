"""What a reward function can be read as: readings that targets propose, tried on a tiny sample."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.errors import preview
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.signature import is_async
from rewardkit.scoring.calls import Calls, answered
from rewardkit.scoring.deadlines import CannotLimit, TimeLimit
from rewardkit.targets.adapter import Row, plain
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import JUDGED, Reading, Target

SECONDS = 10.0
"""One call on the sample may take, where the caller names no time. Our choice."""

LATE = 2
"""As many calls that take too long may all calls take together. Our choice: one may be chance."""


@dataclass(frozen=True)
class Trial:
    """What a target's reading gave on the rows of a sample: numbers, dicts, ``None``, or a Reason a row."""

    target: Target
    reading: Reading
    answers: tuple[Any, ...]

    @property
    def name(self) -> str:
        """What it is called to choose it: the target, and the way where there are several."""
        return (
            f"{self.target.name}:{self.reading.way}"
            if self.reading.way
            else self.target.name
        )

    @property
    def works(self) -> bool:
        """Whether one call at least gave what a reward can be."""
        return any(map(_is_reward, self.answers))

    @property
    def tells_apart(self) -> bool:
        """Whether two rows got different rewards: what a function gives that understood its arguments."""
        return len({repr(answer) for answer in self.answers if _is_reward(answer)}) > 1

    @property
    def made(self) -> list[Any]:
        """The answers of the calls that were made."""
        return [answer for answer in self.answers if not _is_untried(answer)]

    @property
    def failed(self) -> list[Reason]:
        """Why those failed that did."""
        return [answer for answer in self.made if isinstance(answer, Reason)]

    @property
    def dicts(self) -> list[Mapping[str, Any]]:
        """Those answers that are dicts."""
        return [answer for answer in self.answers if isinstance(answer, Mapping)]

    @property
    def keys(self) -> list[str]:
        """The keys of the dicts that came back, whose values are numbers, in order."""
        found = {
            key: [one.get(key) for one in self.dicts]
            for one in self.dicts
            for key in one
        }
        return [
            key
            for key, values in found.items()
            if all(map(_is_number, values))
            and (key == self.reading.main or set(values) != {None})
        ]

    @property
    def says_judged(self) -> bool:
        """Whether export wrote the function, and a 0 stands beside what is paid where there is no reward."""
        held = getattr(self.reading.adapter.function, "__globals__", {}).values()
        ours = any(isinstance(value, RewardHolder) for value in held)
        return ours and {JUDGED, self.reading.main} <= set(self.keys)

    def differs(self, other: Trial) -> bool:
        """Whether another answer came on one of the rows on which both were tried."""
        pairs = zip(self.answers, other.answers, strict=True)
        return any(
            answer != another
            for answer, another in pairs
            if not (_is_untried(answer) or _is_untried(another))
        )


def _is_untried(answer: Any) -> bool:
    return isinstance(answer, Reason) and answer.code is ReasonCode.NOT_TRIED


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int | float)


def _is_reward(answer: Any) -> bool:
    return (
        any(map(_is_number, answer.values()))
        if isinstance(answer, Mapping)
        else _is_number(answer)
    )


@dataclass(eq=False)
class Allowance:
    """What trying one function may take: `seconds`, in all its readings.

    They are not counted where a process had to start, which also imports what the
    function needs.
    """

    seconds: float
    starting: bool = True


def tried(
    target: Target,
    reading: Reading,
    rows: Sequence[Row],
    limit: TimeLimit,
    allowance: Allowance,
) -> Trial:
    """The reading on each of these rows by itself, where it needs siblings on them as a group.

    Each call under the limit where the function can be sent, and all of them within the
    allowance: the answer of a call that was not made is a Reason that says so.
    """
    together = reading.adapter.together
    copies = [dict(row) for row in rows]
    ways: dict[str, list[Any]] = {
        "group": [copies],
        "batch": [[row] for row in copies],
        "": copies,
    }
    handed = ways[together]
    answers: list[Any] = []
    while len(answers) < len(handed) and allowance.seconds > 0:
        some = handed[len(answers) :][: max(1, len(answers))]  # twice as many each time
        began = time.monotonic()
        got = _answers(reading, some, limit)
        took = min(time.monotonic() - began, limit.seconds * len(some))
        late = any(
            isinstance(answer, Reason) and answer.code is ReasonCode.LATE
            for answer in got
        )
        allowance.seconds -= took if late or not allowance.starting else 0.0
        allowance.starting = late
        answers += got
    untried = Reason(ReasonCode.NOT_TRIED, seconds=limit.seconds)
    answers += [untried] * (len(handed) - len(answers))
    size = len(rows) if together == "group" else 1
    return Trial(
        target,
        reading,
        tuple(one for answer in answers for one in _spread(answer, size, together)),
    )


def _answers(reading: Reading, handed: Sequence[Any], limit: TimeLimit) -> list[Any]:
    """What it gives for each, in another process where it can be sent there."""
    adapter = reading.adapter
    calls = Calls(adapter, [handed], {}, len(handed), plain, is_async=is_async(adapter))
    try:
        return limit.run(calls)
    except CannotLimit:
        return answered(calls)


def _spread(answer: Any, count: int, together: str) -> list[Any]:
    """The values of a list for so many rows; for each a Reason that says what it is instead."""
    if isinstance(answer, Reason) or not together:
        return [answer] * count
    if isinstance(answer, list) and len(answer) == count:
        return answer
    if isinstance(answer, list):
        reason = Reason(ReasonCode.WRONG_LENGTH, returned=len(answer), rows=count)
    else:
        value = preview(answer)
        reason = Reason(ReasonCode.NOT_A_LIST, value=value, expected="scores")
    return [reason] * count
