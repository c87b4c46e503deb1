"""Rewards over the same rows again and again: a function is called once for the same arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rewardkit.calling import Failure, Notes, calls, guarded, run_async
from rewardkit.evaluation import GATED, ROLLOUT, STATUSES, Evaluation, Floats
from rewardkit.limits import TimeLimit
from rewardkit.probes.mutated_functions import Turned
from rewardkit.reward import Reward

__all__ = ["Hangs", "Played", "Remembered", "Rows", "play"]

SECONDS: Final = 2.0
"""That a call of code which was changed may take, where no time limit was given: it may loop for ever."""

CHUNK = 16
"""Calls of it that are made at a time: one that hangs ends it, and the others of its chunk are waited for."""

PLAIN = frozenset((str, int, float, bool, type(None)))


class Hangs(Exception):
    """Code that was changed took longer than it may."""


class Remembered(TimeLimit):
    """Calls of functions, each made once for the same arguments; in place of a time limit.

    `own` are the functions of the original reward: they run under `timeout`, as in `check`. All others that
    hold a user's code run in worker processes under that time, or 2 s where there is none.
    """

    def __init__(self, timeout: float | None, own: Collection[Any]) -> None:
        super().__init__(SECONDS if timeout is None else timeout)
        self._always = timeout is not None
        self._own = {id(function) for function in own}
        self._memory: dict[tuple[int, Any], dict[Any, Any]] = {}
        self._alive: list[Any] = list(own)  # what is known by where it lies in memory must stay there
        self._was_late = False

    @staticmethod
    def needed(function: Callable[..., Any]) -> bool:
        """Every call is remembered."""
        return True

    def run(
        self,
        function: Callable[..., Any],
        positional: Sequence[Sequence[Any]],
        keywords: Mapping[str, Sequence[Any]],
        count: int,
        notes: Notes | None,
        *,
        settle: Callable[[Any], Any],
        is_async: bool = False,
    ) -> list[Any]:
        """What the function returns for each of `count` rows, or a Failure; new calls only for new arguments.

        Hangs: code that was changed took too long, where the original's did not.
        """
        if isinstance(function, Turned):
            inner = self.run(
                function.function, positional, keywords, count, None, settle=settle, is_async=is_async
            )
            return [function.turned(value) for value in inner]
        memory = self._memory.setdefault((id(function), settle), {})
        rows = list(zip(*positional, *keywords.values(), strict=True)) or [()] * count
        keys = [tuple(map(_key, row)) for row in rows]
        new = {key: place for place, key in enumerate(keys) if key not in memory}
        places = list(new.values())
        some = [[column[place] for place in places] for column in positional]
        named = {name: [column[place] for place in places] for name, column in keywords.items()}
        memory.update(
            zip(new, self._called(function, some, named, len(places), settle, is_async), strict=True)
        )
        self._alive += [function, *(rows[place] for place in places)]
        return [memory[key] for key in keys]

    def _called(
        self,
        function: Callable[..., Any],
        positional: list[list[Any]],
        keywords: dict[str, list[Any]],
        count: int,
        settle: Callable[[Any], Any],
        is_async: bool,
    ) -> list[Any]:
        own = id(function) in self._own
        if not (TimeLimit.needed(function) and (self._always or not own)):
            made = calls(function, positional, keywords, count)
            return [settle(value) for value in (run_async(made, None) if is_async else map(guarded, made))]
        values: list[Any] = []
        size = count if own else CHUNK
        for start in range(0, count, max(1, size)):
            part = slice(start, start + size)
            some = {name: column[part] for name, column in keywords.items()}
            number = len(range(count)[part])
            values += super().run(
                function,
                [column[part] for column in positional],
                some,
                number,
                None,
                settle=settle,
                is_async=is_async,
            )
            late = any(isinstance(value, Failure) and value.late for value in values[start:])
            if late and not own and not self._was_late:
                raise Hangs(f"a call took longer than {self.seconds:g} s")
            self._was_late = self._was_late or late
        return values


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


@dataclass(frozen=True, eq=False)
class Played:
    """What a reward gave for each row, before any transform: `rewards`, NaN where not judged, and how."""

    rewards: Floats
    found: Evaluation

    def status(self, component: str, row: int) -> str:
        """The status of a component in a row."""
        return STATUSES[self.found.statuses[component][row]]

    def apart(self, other: Played) -> Floats:
        """How far two rewards are apart in each row; infinite where one is judged and the other is not."""
        unjudged = np.isnan(self.rewards), np.isnan(other.rewards)
        away: NDArray[np.float64] = np.abs(self.rewards - other.rewards)
        away[unjudged[0] & unjudged[1]] = 0.0
        away[unjudged[0] ^ unjudged[1]] = np.inf
        return np.round(away, 9)  # what floats make of the same sum in another order is no difference


def play(reward: Reward, rows: Rows, memory: Remembered) -> Played:
    """The reward of each row, as `check` sees it. Hangs: see `Remembered`; CannotLimit: see `TimeLimit`."""
    found = reward.evaluate(rows.columns, rows=rows.count, limit=memory)
    gated = {name: codes == GATED for name, codes in found.statuses.items()}
    return Played(reward.combine(found.scores, gated, found.gate, rows.columns), found)
