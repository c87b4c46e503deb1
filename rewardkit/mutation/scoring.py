"""Scores of a reward and its mutants, with each call made once."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rewardkit.mutation.code import Changed
from rewardkit.reasons import Reason
from rewardkit.rewards.reward import Columns, Floats, Reward
from rewardkit.rewards.route import bind
from rewardkit.scoring.calls import Calls, answered, concurrency
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.reuse import content_of

SECONDS: Final = 2.0
"""Least seconds for a call of changed code without a time limit: it may loop."""

SLOWEST_MULTIPLE: Final = 3.0
"""Times the original's slowest call that changed code may take then. Our choice."""


class Hangs(Exception):
    """Changed code took longer than it may."""


class BudgetOver(Exception):
    """There is no time left for new calls."""


class Memory(TimeLimit):
    """A time limit that remembers what functions gave for which arguments.

    Functions of the original reward run under `timeout`, as in `check`. Other code of
    users runs in worker processes under that time; without it for 2 s, or three times
    the slowest call of the original. After `budget` seconds new calls are BudgetOver; a
    call of the original that runs in this process is waited for.
    """

    def __init__(
        self, timeout: float | None, originals: Collection[Any], budget: float
    ) -> None:
        super().__init__(SECONDS if timeout is None else timeout)
        self._timeout = timeout
        self._originals = {id(function): function for function in originals}
        self._answers: dict[Any, dict[Any, Any]] = {}
        self._alive: list[Any] = []  # what is known by its id must keep its place
        self._slowest = 0.0
        self._was_late = False
        self._budget, self._ends = budget, time.monotonic() + budget

    @property
    def seconds_left(self) -> float:
        """Return the seconds left of the budget."""
        return self._ends - time.monotonic()

    @staticmethod
    def needed(function: Callable[..., Any]) -> bool:
        """Return True: every call is remembered."""
        return True

    def run(self, calls: Calls) -> list[Any]:
        """Return what each call gives, and call for new arguments alone.

        Raises:
            Hangs: Changed code took too long where the original did not.
            BudgetOver: There is no time left for new calls.
        """
        answers = self._answers.setdefault((id(calls.function), calls.settle), {})
        rows = list(zip(*calls.positional, *calls.keywords.values(), strict=True))
        if not rows:
            rows = [()] * calls.count
        keys = [tuple(map(content_of, row)) for row in rows]
        new = {key: row for row, key in enumerate(keys) if key not in answers}
        places = list(new.values())
        if places:
            self._alive += [calls.function, *(rows[place] for place in places)]
        is_users = TimeLimit.needed(calls.function)
        is_original = id(calls.function) in self._originals
        runs_here = not isinstance(calls.function, Changed) and (
            not is_users or (is_original and self._timeout is None)
        )
        size = calls.count
        if calls.is_async:
            size = concurrency(calls.function)
        elif runs_here and is_users:
            size = 1
        for start in range(0, len(places), size):  # the clock is read before each
            batch = places[start : start + size]
            part = _select(calls, batch)
            self._check()
            began = time.monotonic()
            if runs_here:
                values = answered(part)
            else:
                values = self._run_elsewhere(part, is_original)
            answers.update(zip([keys[place] for place in batch], values, strict=True))
            if runs_here and is_users:
                self._slowest = max(self._slowest, time.monotonic() - began)
        return [answers[key] for key in keys]

    def _check(self) -> None:
        if self.seconds_left <= 0:
            raise BudgetOver(f"the budget of {self._budget:g} s was over")

    def _run_elsewhere(self, calls: Calls, is_original: bool) -> list[Any]:
        """Run calls in worker processes; after a late call of changed code no more."""
        limit = max(SECONDS, SLOWEST_MULTIPLE * self._slowest)
        self.seconds = self._timeout or limit
        self._workers.seconds = max(0.01, min(self.seconds, self.seconds_left))
        self.patience = None if is_original or self._was_late else 1
        values = super().run(calls)
        self._check()
        if any(map(_is_late, values)):
            if self.patience:
                raise Hangs(f"a call took longer than {self.seconds:.3g} s")
            self._was_late = True
        return values

    def _ended(self, calls: Calls) -> Iterator[Any]:
        for answer in super()._ended(calls):
            yield answer
            self._check()


def _select(calls: Calls, rows: list[int]) -> Calls:
    positional, keywords, count = calls.columns(rows)
    return replace(
        calls, positional=positional, keywords=keywords, count=count, notes=None
    )


def _is_late(value: Any) -> bool:
    return isinstance(value, Reason) and value.is_out_of_time


def outcomes_of(reward: Reward, columns: Columns, memory: Memory) -> Outcomes:
    """Score rows as `check` does, before any transform.

    Raises:
        Hangs: See `Memory`.
        BudgetOver: See `Memory`.
        CannotLimit: Changed code cannot be sent to a worker process.
    """
    return evaluate(bind(reward, columns), columns, limit=memory)


def find_late(outcomes: Outcomes) -> NDArray[np.bool_]:
    """Mark the rows of which a call was ended, (rows,): a mutant may get further."""
    is_late = np.zeros(len(outcomes.rewards), dtype=bool)
    for outcome in outcomes.components.values():
        for row, reason in outcome.reasons.items():
            is_late[row] |= reason.is_out_of_time
    return is_late


def distances(original: Outcomes, other: Outcomes) -> Floats:
    """Measure how far two rewards are apart in each row, (rows,).

    Infinite where one is judged and the other is not; 0 where a call of the original
    was ended.
    """
    unjudged, other_unjudged = np.isnan(original.rewards), np.isnan(other.rewards)
    away: Floats = np.abs(original.rewards - other.rewards)
    away[unjudged & other_unjudged] = 0.0
    away[unjudged ^ other_unjudged] = np.inf
    away[find_late(original)] = 0.0
    return np.round(away, 9)  # the same sum in another order is no difference
