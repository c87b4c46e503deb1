"""Trying: rows through a reward within a budget of time; what was not tried is known."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.plan import bind
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.strategies.subject import Row, Subject

FIRST = 2  # rows of the first piece, after which the time of a call is known
PIECE = 1.0  # seconds that a piece of work should take, so that the budget is kept: our choice
LARGEST = 1024  # rows of a piece
FOREVER = 1e9  # seconds, for a budget without an end
HOPELESS = 4  # late calls, none of which came back, after which nothing more is tried: our choice


@dataclass(frozen=True)
class Outcome:
    """What a row got: reward before any transform, NaN where not judged; scores and statuses by component.

    `errors` are the reasons of errors and abstentions; `late` says that a call did not come back in time.
    """

    reward: float
    scores: Mapping[str, float]
    statuses: Mapping[str, str]
    errors: Mapping[str, Reason]
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def late(self) -> bool:
        """Whether a call was ended because it took too long."""
        return self.tried and self._any(ReasonCode.LATE)

    @property
    def gone(self) -> bool:
        """Whether a call was ended, or ended its process."""
        return self.late or self._any(ReasonCode.PROCESS_ENDED)

    @property
    def tried(self) -> bool:
        """Whether all calls were made."""
        return not self._any(ReasonCode.NOT_TRIED)

    def _any(self, code: ReasonCode) -> bool:
        return any(reason.code is code for reason in self.errors.values())

    @property
    def failures(self) -> dict[str, Reason]:
        """Component -> what went wrong, of those with status ``error``."""
        return {
            name: self.errors[name]
            for name, status in self.statuses.items()
            if status == "error"
        }

    @property
    def judged(self) -> bool:
        """Whether there is a reward."""
        return not math.isnan(self.reward)


def part_for(reward: Reward, row: Row) -> Reward:
    """The reward of a route that is for this row; one without parts is for any."""
    return reward.for_row(row) or reward


def evaluated(
    reward: Reward, rows: Sequence[Row], limit: TimeLimit | None, groups: Any = None
) -> Outcomes:
    """What a reward gives for rows in one pass; `groups` are codes, (rows,)."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return evaluate(
        bind(reward, columns, len(rows)), columns, groups=groups, limit=limit
    )


@dataclass(frozen=True)
class Variants:
    """Rows with another completion in all the columns that hold it, or with other values."""

    names: Mapping[str, str]
    """Canonical column -> the log's name for it, under which it stands in the row as well."""

    def of(
        self, row: Row, completion: str | None = None, **columns: Any
    ) -> dict[str, Any]:
        """The row with this completion (also as the last turn of its transcript) and these values."""
        changed = dict(row)
        if completion is not None:
            columns = {"completion": completion, **columns}
            turns = columns.get("messages", row.get("messages"))
            if isinstance(turns, list) and turns:
                columns["messages"] = [*turns[:-1], _said(turns[-1], completion)]
        for name, value in columns.items():
            for key in {name, self.names.get(name, name)} & {*row, name}:
                changed[key] = value
        return changed


def _said(turn: Any, completion: str) -> dict[str, Any]:
    return {
        **(turn if isinstance(turn, dict) else {"role": "assistant"}),
        "content": completion,
    }


def by_group(reward: Reward) -> bool:
    """Whether a component or field looks at the siblings of a group."""
    fields = [
        function for branch in reward.branches for function in branch.fields.values()
    ]
    grouped = any(item.group for item in reward.all_components)
    return grouped or any(
        getattr(function, "together", "") == "group" for function in fields
    )


def same(rewards: Sequence[float]) -> bool:
    """Whether there are none, or all are the same."""
    return max(rewards, default=0.0) - min(rewards, default=0.0) <= 1e-9


@dataclass(eq=False)
class Tries:
    """A reward to be tried: `calls` so far, and whether there is time `left` of `budget` seconds.

    `variants` puts completions into rows. `late` calls did not come back, `failed` are rows of which a
    component failed, with what they got; `rewards` is what all others got. `progress` is told the `share` of
    all the work that is done, now and then, and says whether to go on: if not, no time is left. The budget
    counts from behind the first rows on, with which processes start.
    """

    reward: Reward
    limit: TimeLimit | None
    budget: float
    variants: Variants = field(default_factory=lambda: Variants({}))
    calls: int = 0
    late: int = 0
    failed: list[tuple[Row, Outcome]] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    seconds: float = 0.0
    progress: Callable[[float], bool] | None = None
    share: float = 0.0
    cancelled: bool = False
    _began: float = field(default_factory=time.monotonic)
    _first_calls: int = 0
    _first_seconds: float = 0.0

    @cached_property
    def by_group(self) -> bool:
        """Whether a component or field looks at the siblings of a group."""
        return by_group(self.reward)

    @property
    def left(self) -> float:
        """Seconds of the budget; 0 where it was cancelled."""
        return (
            0.0
            if self.cancelled
            else min(self.budget, FOREVER) - (time.monotonic() - self._began)
        )

    @property
    def each(self) -> float:
        """Seconds that a call took, on average, without the first ones, for which processes had to start."""
        later = self.calls - self._first_calls
        if later:
            return (self.seconds - self._first_seconds) / later
        return self.seconds / self.calls if self.calls else 0.0

    @property
    def over(self) -> str:
        """Why there is no time left."""
        return (
            "probing was cancelled"
            if self.cancelled
            else f"the budget of {self.budget:g} s was over"
        )

    def reach(self, share: float) -> None:
        """So much of all the work is done."""
        self.share = share
        if self.progress is not None and not self.progress(share):
            self.cancelled = True

    @property
    def hopeless(self) -> bool:
        """Whether no call came back."""
        return self.late == self.calls >= HOPELESS

    def on(
        self,
        asked: Iterable[tuple[Subject, str, Mapping[str, Any]]],
        *,
        share: float = 1.0,
    ) -> list[Outcome | None]:
        """What completions of subjects get, each with other values for columns; see `outcomes`."""
        asked = list(asked)
        rows = [
            self.variants.of(subject.columns, text, **columns)
            for subject, text, columns in asked
        ]
        return self.outcomes(
            rows, [subject.siblings for subject, *_ in asked], share=share
        )

    def outcomes(
        self,
        rows: Sequence[Row],
        siblings: Sequence[Sequence[Row]] = (),
        *,
        share: float = 1.0,
        until: Callable[[Outcome], bool] | None = None,
    ) -> list[Outcome | None]:
        """What each row gets; ``None`` for those that were not tried when the time was over.

        `siblings` are the rows that each stands beside in a group of its own, where the reward looks at it.
        At most a `share` of what is left of the budget is used. Nothing more is tried when there is an
        outcome of which `until` is true.
        """
        siblings = siblings if self.by_group and siblings else [()] * len(rows)
        found: list[Outcome | None] = []
        stop = self.left * (1 - share)
        while (
            len(found) < len(rows)
            and self.left - stop > self.each
            and not self.hopeless
        ):
            seconds = min(PIECE, self.left - stop)
            size = (
                min(LARGEST, max(FIRST, int(seconds / self.each)))
                if self.each
                else FIRST
            )
            at = len(found)
            piece = self._piece(rows[at : at + size], siblings[at : at + size])
            found += [outcome if outcome.tried else None for outcome in piece]
            if until is not None and any(map(until, piece)):
                break
        return found + [None] * (len(rows) - len(found))

    def _piece(
        self, rows: Sequence[Row], siblings: Sequence[Sequence[Row]]
    ) -> list[Outcome]:
        """The rows, each first in a group with its siblings where there are any."""
        groups = [[row, *beside] for row, beside in zip(rows, siblings, strict=True)]
        every, sizes = (
            [row for group in groups for row in group],
            [len(group) for group in groups],
        )
        firsts = np.cumsum([0, *sizes[:-1]])
        codes = np.repeat(np.arange(len(groups)), sizes) if self.by_group else None
        began = time.monotonic()
        self.reach(self.share)
        found = evaluated(self.reward, every, self.limit, codes)
        self.seconds += time.monotonic() - began
        rewards = found.rewards
        outcomes = [
            Outcome(
                float(rewards[row]),
                {name: float(scores[row]) for name, scores in found.scores.items()},
                {name: found.status(name, row) for name in found.components},
                {
                    name: reason
                    for name in found.components
                    if (reason := found.reason(name, row))
                },
                {name: values[row] for name, values in found.fields.items()},
            )
            for row in firsts.tolist()
        ]
        self._count(outcomes, len(every) // max(1, len(rows)))
        self.failed += [
            pair for pair in zip(rows, outcomes, strict=True) if pair[1].failures
        ]
        return outcomes

    def _count(self, outcomes: Sequence[Outcome], calls: int) -> None:
        """Keep account of what was tried, so many calls a row, and of what it earned."""
        first = not self.calls
        self.calls += calls * sum(outcome.tried for outcome in outcomes)
        if first:
            self._first_calls, self._first_seconds = self.calls, self.seconds
            self._began = time.monotonic()
        self.late += calls * sum(outcome.late for outcome in outcomes)
        self.rewards += [outcome.reward for outcome in outcomes if outcome.judged]
