"""What a reward function can be read as: readings that targets propose, tried on a tiny sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.calling import Failure, calls, guarded, run_async
from rewardkit.component import is_async
from rewardkit.limits import CannotLimit, TimeLimit
from rewardkit.targets.adapter import Adapter, Row, plain

__all__ = ["JUDGED", "SAMPLE", "Reading", "Trial"]

SECONDS = 10.0
"""One call on the sample may take. Our choice, as on the command line."""

JUDGED = "judged"
"""The key under which a dict says whether there was a reward, where the trainer needs a number for each."""

LATE = 2
"""Calls that take too long, after which no other is tried. Our choice: one may be chance."""

RIGHT = "<think>6 * 7 = 42</think>\n<answer>42</answer>\nThe answer is \\boxed{42}.\n#### 42"
SAMPLE: tuple[Row, ...] = tuple(
    {
        "prompt_id": "sample",
        "prompt": "What is 6 * 7?",
        "completion": text,
        "ground_truth": "42",
        "data_source": "openai/gsm8k",
        "extra_info": {"index": 0, "split": "train"},
    }
    for text in (RIGHT, RIGHT.replace("=", "may well be").replace("42", "41"))  # of another length, too
)
"""Where no rollouts are given: one right and one wrong completion, in the usual forms of answers."""


@dataclass(frozen=True)
class Reading:
    """One way in which a trainer would call a function.

    `form` is that trainer's signature, `reason` what of it was recognised, `mapping` which column each of the
    trainer's arguments is taken from. `main` is the key that is paid where a dict comes back, ``None`` where
    all are. A `sure` reading needs no further evidence: its names are used by no other trainer. Where the
    trainer calls a function in several ways, `way` names this one ("texts", "messages"); it is `given` where
    the rollouts are such that the trainer takes this one. It is not `provable` where the target's caller for
    the proof does not call such functions.
    """

    target: str
    form: str
    reason: str
    adapter: Adapter
    mapping: Mapping[str, str]
    main: str | None = field(default=None, kw_only=True)
    weight: float = field(default=1.0, kw_only=True)
    sure: bool = field(default=False, kw_only=True)
    way: str = field(default="", kw_only=True)
    given: bool = field(default=False, kw_only=True)
    provable: bool = field(default=True, kw_only=True)

    @property
    def name(self) -> str:
        """What it is called to choose it: the target, and the way where there are several."""
        return f"{self.target}:{self.way}" if self.way else self.target

    @property
    def group(self) -> bool:
        """Whether it gets the siblings of a group."""
        return self.adapter.siblings


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


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int | float)


def _is_reward(answer: Any) -> bool:
    if isinstance(answer, Mapping):
        return bool(answer) and any(map(_is_number, answer.values()))
    return _is_number(answer)


def tried(reading: Reading, rows: Sequence[Row], limit: TimeLimit) -> Trial:
    """The reading on each of these rows by itself, where it needs siblings on them as a group.

    Under the limit where the function can be sent.
    """
    adapter = reading.adapter
    batch, waits = adapter.batch, is_async(adapter)
    handed: list[Any] = [[dict(row)] if batch else dict(row) for row in rows]
    if reading.group:
        handed = [[dict(row) for row in rows]]

    def under_limit(some: list[Any]) -> list[Any]:
        return limit.run(adapter, [some], {}, len(some), None, settle=plain, is_async=waits)

    try:
        answers = under_limit(handed[:LATE])
        if all(isinstance(one, Failure) and one.late for one in answers):
            answers += answers[:1] * len(handed[LATE:])  # the others would take as long, each
        else:
            answers += under_limit(handed[LATE:])
    except CannotLimit:
        one_by_one = calls(adapter, [handed], {}, len(handed))
        found = run_async(one_by_one, None) if is_async(adapter) else [guarded(one) for one in one_by_one]
        answers = [plain(answer) for answer in found]
    if reading.group:
        return Trial(reading, tuple(_spread(answers[0], len(rows))))
    return Trial(reading, tuple(_only(answer) if batch else answer for answer in answers))


def _spread(answer: Any, count: int) -> list[Any]:
    """The values of a list for a group; for each row a Failure that says what it is instead."""
    if isinstance(answer, list) and len(answer) == count:
        return answer
    size = f"{len(answer)} values" if isinstance(answer, list) else f"{answer!r}, not a list,"
    failure = answer if isinstance(answer, Failure) else Failure(f"returned {size} for {count} completions")
    return [failure] * count


def _only(answer: Any) -> Any:
    """The one value of a list for one row; a Failure that says what it is instead."""
    if isinstance(answer, Failure):
        return answer
    if isinstance(answer, list) and len(answer) == 1:
        return answer[0]
    size = f"{len(answer)} values" if isinstance(answer, list) else f"{answer!r}, not a list,"
    return Failure(f"returned {size} for 1 completion")
