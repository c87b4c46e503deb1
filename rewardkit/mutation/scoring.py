"""What a reward and its mutants give for the same rows, each call made once."""

from __future__ import annotations

import marshal
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rewardkit.mutation.code import Changed
from rewardkit.rewards.plan import Columns, Floats
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.calls import LATE, Calls, Failure, answered, concurrency
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcomes

SECONDS: Final = 2.0
"""That a call of changed code may take at least, where no time limit was given: it may loop."""

MULTIPLE: Final = 3.0
"""Of the slowest call of the original, that a call of changed code may take then. Our choice."""


class Hangs(Exception):
    """Code that was changed took longer than it may."""


class BudgetOver(Exception):
    """There is no time left for calls that were not made before."""


class Memory(TimeLimit):
    """What functions gave for which arguments; stands where a time limit does, and is one.

    `own` are the functions of the original reward: they run under `timeout`, as in `check`. Other code of
    users runs in worker processes under that time; where there is none, for 2 s, or three times what the
    slowest call of the original took. After `budget` seconds calls that were not made before are BudgetOver;
    a call of the original that runs in this process is waited for.
    """

    def __init__(
        self, timeout: float | None, own: Collection[Any], budget: float
    ) -> None:
        super().__init__(SECONDS if timeout is None else timeout)
        self._timeout, self._own = timeout, {id(function): function for function in own}
        self._known: dict[Any, dict[Any, Any]] = {}
        self._alive: list[
            Any
        ] = []  # what is known by where it lies in memory must stay there
        self._slowest, self._was_late = 0.0, False
        self._budget, self._ends = budget, time.monotonic() + budget

    @property
    def left(self) -> float:
        """Seconds of the budget."""
        return self._ends - time.monotonic()

    @staticmethod
    def needed(function: Callable[..., Any]) -> bool:
        """Every call is remembered."""
        return True

    def run(self, calls: Calls) -> list[Any]:
        """What each call gives; new calls are only made for new arguments, and notes are not kept.

        Hangs: code that was changed took too long, where the original's did not. BudgetOver: see above.
        """
        known = self._known.setdefault((id(calls.function), calls.settle), {})
        rows = (
            list(zip(*calls.positional, *calls.keywords.values(), strict=True))
            or [()] * calls.count
        )
        keys = [tuple(map(_key, row)) for row in rows]
        places = list(
            {key: place for place, key in enumerate(keys) if key not in known}.values()
        )
        self._alive += (
            [calls.function, *(rows[place] for place in places)] if places else []
        )
        users, own = TimeLimit.needed(calls.function), id(calls.function) in self._own
        here = not isinstance(calls.function, Changed) and (
            not users or (own and self._timeout is None)
        )
        size = (
            concurrency(calls.function)
            if calls.is_async
            else 1
            if here and users
            else calls.count
        )
        for start in range(0, len(places), size):  # the clock is read before each
            some, began = places[start : start + size], time.monotonic()
            positional, keywords, count = calls.columns(some)
            part = replace(
                calls, positional=positional, keywords=keywords, count=count, notes=None
            )
            self._check()
            values = answered(part) if here else self._elsewhere(part, own)
            known.update(zip([keys[place] for place in some], values, strict=True))
            if here and users:
                self._slowest = max(self._slowest, time.monotonic() - began)
        return [known[key] for key in keys]

    def _check(self) -> None:
        if self.left <= 0:
            raise BudgetOver(f"the budget of {self._budget:g} s was over")

    def _elsewhere(self, calls: Calls, own: bool) -> list[Any]:
        """In worker processes; of changed code that is late nothing more is tried."""
        self.seconds = self._timeout or max(SECONDS, MULTIPLE * self._slowest)
        self._workers.seconds = max(0.01, min(self.seconds, self.left))
        self.patience = None if own or self._was_late else 1
        values = super().run(calls)
        self._check()
        if any(isinstance(value, Failure) and value.late for value in values):
            if self.patience:
                raise Hangs(f"a call took longer than {self.seconds:.3g} s")
            self._was_late = True
        return values

    def _ended(self, calls: Calls) -> Iterator[Any]:
        for answer in super()._ended(calls):
            yield answer
            self._check()


def _key(value: Any) -> Any:
    """What tells arguments apart: what texts, numbers, lists and dicts hold, of others where they lie."""
    try:
        return (
            value if type(value) is str else marshal.dumps(value, 2)
        )  # of this version alike for the alike
    except ValueError:
        return id(value)


def outcomes_of(reward: Reward, columns: Columns, memory: Memory) -> Outcomes:
    """What a reward gives for each row of these columns, as `check` sees it: before any transform.

    Hangs, BudgetOver: see `Memory`; CannotLimit.
    """
    return evaluate(reward.bind(columns), columns, limit=memory)


def late(outcomes: Outcomes) -> NDArray[np.bool_]:
    """The rows of which a call was ended: another reward might get further, which says nothing of it."""
    found = np.zeros(len(outcomes.rewards), dtype=bool)
    for outcome in outcomes.components.values():
        found[[row for row, reason in outcome.reasons.items() if LATE in reason]] = True
    return found


def apart(original: Outcomes, other: Outcomes) -> Floats:
    """How far two rewards are apart in each row; infinite where one is judged and the other is not.

    0 where a call of the original was ended.
    """
    unjudged = np.isnan(original.rewards), np.isnan(other.rewards)
    away: Floats = np.where(unjudged[0], 0.0, np.abs(original.rewards - other.rewards))
    away[unjudged[0] ^ unjudged[1]] = np.inf
    away[late(original)] = 0.0
    return np.round(
        away, 9
    )  # what floats make of the same sum in another order is no difference
