"""Rewards over the same rows again and again: a function is called once for the same arguments."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rewardkit.probes.mutants.functions import Turned
from rewardkit.probes.mutants.timed import TOOK, Timed
from rewardkit.rewards.plan import ROLLOUT, Floats
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.calls import LATE, Calls, Failure, answered, concurrency
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.workers.pool import DeadlinePassed, Lost, Workers

__all__ = ["BudgetOver", "Hangs", "Played", "Remembered", "Rows", "as_many", "play"]

SECONDS: Final = 2.0
"""That a call of code which was changed may take at least, where no time limit was given: it may loop."""

MULTIPLE: Final = 3.0
"""Of the slowest call of the original, that a call of changed code may take in any case. Our choice."""

PLAIN = frozenset((str, int, float, bool, type(None)))

FIRST: Final = 4
"""Rows that a reward judges first; then up to four times as many, as time allows. Our choice."""


class Hangs(Exception):
    """Code that was changed took longer than it may."""


class BudgetOver(Exception):
    """There is no time left for calls that were not made before."""


class _Ending(Workers):
    """Processes whose calls all end at a time: BudgetOver, also where a call would have been given longer."""

    ends = math.inf

    def map(
        self, function: Callable[..., Any], calls: Sequence[Sequence[Any]], **options: Any
    ) -> Iterator[tuple[int, Any]]:
        """As in `Workers`."""
        full = self.seconds
        answers = super().map(function, calls, **options)
        try:
            self.seconds = self._within(full)
            for place, value in answers:
                late = isinstance(value, Lost) and isinstance(value.error, DeadlinePassed)
                if time.monotonic() > self.ends or (late and self.seconds < full):
                    raise BudgetOver
                yield place, value
                self.seconds = self._within(full)
        finally:
            answers.close()  # type: ignore[attr-defined]  # which ends what is still running
            self.seconds = full

    def _within(self, seconds: float) -> float:
        return max(0.01, min(seconds, self.ends - time.monotonic()))


class Remembered(TimeLimit):
    """Calls of functions, each made once for the same arguments; in place of a time limit.

    `own` are the functions of the original reward: they run under `timeout`, as in `check`. All others that
    hold a user's code run in worker processes under that time, or 2 s where there is none, and for no less
    than three times what the slowest call of the original took. After `budget` seconds, or the fewer of
    `until`, calls that were not made before are BudgetOver; one of the original that runs in this process is
    waited for.
    """

    def __init__(self, timeout: float | None, own: Collection[Any], budget: float = math.inf) -> None:
        super().__init__(SECONDS if timeout is None else timeout)
        self._workers: _Ending = _Ending(seconds=self.seconds, count=self._workers.count)
        self._always, self._least = timeout is not None, self.seconds
        self._own = {id(function) for function in own}
        self._memory: dict[tuple[int, Any], dict[Any, Any]] = {}
        self._timed: dict[int, Timed] = {}
        self._alive: list[Any] = list(own)  # what is known by where it lies in memory must stay there
        self._was_late = False
        self.slowest = 0.0
        self._workers.ends = time.monotonic() + budget

    @property
    def left(self) -> float:
        """Seconds of the budget, or of the part of it that may be used."""
        return self._workers.ends - time.monotonic()

    def __enter__(self) -> Remembered:
        return self

    @contextmanager
    def until(self, seconds: float) -> Iterator[None]:
        """At most so many seconds of what is left may be used inside."""
        ends = self._workers.ends
        self._workers.ends = min(ends, time.monotonic() + seconds)
        try:
            yield
        finally:
            self._workers.ends = ends

    @staticmethod
    def needed(function: Callable[..., Any]) -> bool:
        """Every call is remembered."""
        return True

    def run(self, calls: Calls) -> list[Any]:
        """What each call gives; new calls are only made for new arguments, and notes are not kept.

        Hangs: code that was changed took too long, where the original's did not. BudgetOver: see above.
        """
        if isinstance(calls.function, Turned):
            inner = self.run(replace(calls, function=calls.function.function))
            return [calls.function.turned(value) for value in inner]
        memory = self._memory.setdefault((id(calls.function), calls.settle), {})
        rows = list(zip(*calls.positional, *calls.keywords.values(), strict=True)) or [()] * calls.count
        keys = [tuple(map(_key, row)) for row in rows]
        new = {key: place for place, key in enumerate(keys) if key not in memory}
        if new:
            places = list(new.values())
            self._alive += [calls.function, *(rows[place] for place in places)]
            values: list[Any] = []
            try:
                for value in self._called(_at(calls, places)):
                    values.append(value)
            finally:  # what was found before the time was over stays known
                memory.update(zip(new, values, strict=False))
        return [memory[key] for key in keys]

    def _called(self, calls: Calls) -> Iterator[Any]:
        if self.left <= 0:
            raise BudgetOver
        own, users = id(calls.function) in self._own, TimeLimit.needed(calls.function)
        if users and (self._always or not own):
            yield from self._elsewhere(calls, own)
            return
        if not users and not calls.is_async:
            yield from answered(calls)
            return
        size = concurrency(calls.function) if calls.is_async else 1
        seconds = 0.0
        for start in range(0, calls.count, size):
            if self.left <= seconds * size / max(start, 1):  # not even as many as before would fit
                raise BudgetOver
            began = time.perf_counter()
            yield from answered(_at(calls, range(calls.count)[start : start + size]))
            took = time.perf_counter() - began
            self.slowest, seconds = max(self.slowest, took), seconds + took

    def _elsewhere(self, calls: Calls, own: bool) -> list[Any]:
        """In worker processes; of changed code that is late nothing more is tried."""
        self.seconds, self.patience = self._least, None
        if own:
            timed = self._timed.setdefault(id(calls.function), Timed(calls.function, calls.is_async))
            calls = replace(calls, function=timed, notes=[{} for _ in range(calls.count)])
        else:
            self.seconds = max(self._least, MULTIPLE * self.slowest)
            self.patience = None if self._was_late else 1
        self._workers.seconds = self.seconds
        values = super().run(calls)
        late = any(isinstance(value, Failure) and value.late for value in values)
        if late and not own and not self._was_late:
            raise Hangs(f"a call took longer than {self.seconds:.3g} s")
        self._was_late = self._was_late or late
        self.slowest = max([self.slowest, *(heard.get(TOOK, 0.0) for heard in calls.notes or ())])
        return values


def _at(calls: Calls, places: Sequence[int]) -> Calls:
    """Some of the calls."""
    positional, keywords, count = calls.columns(places)
    return replace(calls, positional=positional, keywords=keywords, count=count, notes=None)


def _key(value: Any) -> Any:
    """What tells arguments apart: the type and value of plain ones, the items of lists, else identity."""
    kind = type(value)
    if kind is str:
        return value
    if kind in PLAIN:
        return kind, value
    return (list, *map(_key, value)) if kind is list else (object, id(value))


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to play rewards on, each a group of its own."""

    columns: Mapping[str, list[Any]]
    count: int

    @classmethod
    def of(cls, columns: Mapping[str, list[Any]], count: int, reward: Reward) -> Rows:
        """With the whole rows made once, where the reward asks for them."""
        if ROLLOUT in reward.needs and ROLLOUT not in columns:
            whole = [
                dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
            ]
            columns = {**columns, ROLLOUT: whole}
        return cls(columns, count)

    def at(self, places: Sequence[int]) -> Rows:
        """Some of them, with the same values."""
        if len(places) == self.count:
            return self
        return Rows(
            {name: [column[place] for place in places] for name, column in self.columns.items()}, len(places)
        )


@dataclass(frozen=True, eq=False)
class Played:
    """What a reward gave for each row, before any transform: `rewards`, NaN where not judged, and how."""

    rewards: Floats
    found: Outcomes

    def status(self, component: str, row: int) -> str:
        """The status of a component in a row."""
        return self.found.status(component, row)

    @property
    def late(self) -> NDArray[np.bool_]:
        """The rows of which a call was ended: another might get further there, which says nothing of it."""
        late = np.zeros(len(self.rewards), dtype=bool)
        for outcome in self.found.components.values():
            late[[row for row, reason in outcome.reasons.items() if LATE in reason]] = True
        return late

    def apart(self, other: Played) -> Floats:
        """How far two rewards are apart in each row; infinite where one is judged and the other is not.

        0 where a call of this one was ended.
        """
        unjudged = np.isnan(self.rewards), np.isnan(other.rewards)
        away: NDArray[np.float64] = np.abs(self.rewards - other.rewards)
        away[unjudged[0] & unjudged[1]] = 0.0
        away[unjudged[0] ^ unjudged[1]] = np.inf
        away[self.late] = 0.0
        return np.round(away, 9)  # what floats make of the same sum in another order is no difference


def play(reward: Reward, rows: Rows, memory: Remembered) -> Played:
    """The reward of each row, as `check` sees it. Hangs, BudgetOver: see `Remembered`; CannotLimit."""
    found = evaluate(reward.bind(rows.columns, rows.count), rows.columns, limit=memory)
    return Played(found.rewards, found)


def as_many(
    reward: Reward, rows: Rows, order: NDArray[np.intp], memory: Remembered, seconds: float
) -> tuple[list[int], Played | None]:
    """What a reward gives for as many rows as there is time for, the first of the order; and which these are.

    None of no row. Functions that take all rows as a list have them at once: a part would be a second call.
    """
    lists = any(item.batch is True for item in reward.components)
    size = len(order) if lists else min(FIRST, len(order))
    done: list[int] = []
    found = None
    with memory.until(seconds):
        began = time.monotonic()
        while len(done) < len(order):
            some = sorted(order[:size].tolist())
            try:
                found = play(reward, rows.at(some), memory)
            except BudgetOver:
                if done or size == 1:
                    break
                size -= max(1, size // 4)  # which may be known already
                continue
            done = some
            each = max(time.monotonic() - began, 1e-6) / size
            fit = int(memory.left / each)
            if fit < 1:
                break
            size = min(len(order), 4 * size, size + fit)
    return done, found
