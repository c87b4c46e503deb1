"""What stands in place of a function in a mutant: one score always, its score turned round, other code."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from types import FunctionType
from typing import Any

import numpy as np

from rewardkit.primitives.gates import Gate
from rewardkit.probes.mutants.code import CodeChange, code_changes, helpers, names_in, with_code
from rewardkit.probes.mutants.options import option_changes, primitive, scaled, written
from rewardkit.rewards.fingerprint import HOLDERS, describe, user_code
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import is_async

__all__ = ["Admits", "Always", "Denied", "Turned", "changes_of_code", "with_change"]

MOST_CODE = 40
"""Changes of one function's code, spread evenly over its text. Our choice."""


@dataclass(frozen=True, repr=False)
class Always:
    """Stands for a function: gives one score whatever comes."""

    value: float

    def __call__(self) -> float:
        """The score."""
        return self.value

    def __repr__(self) -> str:
        return f"always {self.value:g}"


@dataclass(frozen=True, repr=False)
class Turned:
    """A function turned round: (low + high) minus its score.

    `asks` is the column that it asks for, where that is not what the function's parameters name.
    """

    function: Callable[..., Any]
    low: float = 0.0
    high: float = 1.0
    asks: str = ""

    @property
    def __signature__(self) -> inspect.Signature:
        if self.asks:
            return inspect.Signature([inspect.Parameter(self.asks, inspect.Parameter.POSITIONAL_OR_KEYWORD)])
        return inspect.signature(self.function)

    @property
    def is_async(self) -> bool:
        """Whether its answer has to be awaited."""
        return is_async(self.function)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """What the function gives, turned round."""
        answer = self.function(*arguments, **keywords)
        return self._later(answer) if self.is_async else self.turned(answer)

    async def _later(self, answer: Any) -> Any:
        return self.turned(await answer)

    def turned(self, answer: Any) -> Any:
        """The answer turned round; what is no score stays as it is."""
        if isinstance(answer, list):
            return [self.turned(item) for item in answer]
        if isinstance(answer, int | float | np.bool_ | np.integer | np.floating):
            return self.low + self.high - float(answer)
        return answer

    def __repr__(self) -> str:
        return f"{self.low + self.high:g} - {written(self.function)}"


@dataclass(frozen=True, repr=False)
class Admits:
    """The predicate that a gate on a column stands for."""

    gate: Gate

    def __call__(self, value: Any) -> bool | None:
        """Whether the gate is open."""
        return self.gate.admits(value)

    def __repr__(self) -> str:
        return repr(self.gate)


class Denied(Turned):
    """The predicate of a gate turned round: open where it was closed; None, "cannot tell", stays."""

    def turned(self, answer: Any) -> Any:
        """The other decision."""
        return not answer if isinstance(answer, bool | np.bool_) else answer


def changes_of_code(reward: Reward) -> tuple[list[CodeChange], list[str]]:
    """The changes of the users' functions in a reward, and a sentence for each that cannot be changed.

    Beside their code these are the numbers and primitives at the top of their files that they use. Functions
    of components that take a whole group are left alone.
    """
    changes: list[CodeChange] = []
    left_out: list[str] = []
    done: list[Any] = []
    for part in _user_code(reward):
        if not isinstance(part, FunctionType):
            left_out.append(
                f"the code of {describe(part)}: only functions are changed, no objects or methods"
            )
            continue
        for function in helpers(part):
            if any(function is other for other in done):
                continue
            done.append(function)
            found = code_changes(function)
            if found is None:
                left_out.append(
                    f"the code of {function.__qualname__}: its source is not at hand, or not what runs here"
                )
            changes += _spread(found or [], function, left_out)
            for name in names_in(function):
                if (id(function.__globals__), name) not in done:
                    done.append((id(function.__globals__), name))
                    changes += _of_name(function, name)
    return changes, list(dict.fromkeys(left_out))


def _user_code(reward: Reward) -> Iterator[Any]:
    """The users' functions and objects in fields, components and gates, each once."""
    items = [item for item in reward.components if not item.group]
    slots: list[Any] = [*reward.fields.values(), *(item.function for item in items)]
    slots += [gate for gate in (*(item.gate for item in items), reward.gate) if gate and callable(gate.on)]
    seen: list[Any] = []
    for slot in slots:
        for part in user_code(slot):
            if not any(part is other for other in seen):
                seen.append(part)
                yield part


def _spread(changes: list[CodeChange], function: FunctionType, left_out: list[str]) -> list[CodeChange]:
    """At most so many of the changes as are made of one function, from all over it."""
    if len(changes) <= MOST_CODE:
        return changes
    left_out.append(
        f"{len(changes) - MOST_CODE} more changes of {function.__qualname__}: {MOST_CODE} were made"
    )
    return [changes[at * len(changes) // MOST_CODE] for at in range(MOST_CODE)]


def _of_name(function: FunctionType, name: str) -> Iterator[CodeChange]:
    """Other values for a number, or other options for a primitive, at the top of a function's file."""
    value: Any = function.__globals__.get(name)
    if type(value) in (int, float):
        for other in scaled(value):
            yield CodeChange(function, None, f"{name} = {value}", f"{name} = {other}", name, other)
    elif primitive(value):
        for change in option_changes(value):
            yield CodeChange(function, None, change.before, change.after, name, change.function)


def with_change(reward: Reward, change: CodeChange) -> tuple[Reward, list[tuple[str, str | None]]]:
    """The reward with a change of users' code wherever it is used, and what uses it, with its name."""

    def swapped(value: Any) -> Any:
        return _rewritten(value, change)

    users: list[tuple[str, str | None]] = []
    new_fields = {name: swapped(function) for name, function in reward.fields.items()}
    users += [(f"field {name!r}", name) for name in new_fields if new_fields[name] is not reward.fields[name]]
    items = []
    for item in reward.components:
        function, gate = swapped(item.function), swapped(item.gate)
        if function is not item.function or gate is not item.gate:
            users.append((f"component {item.name!r}", item.name))
            item = replace(item, function=function, gate=gate)
        items.append(item)
    gate = swapped(reward.gate)
    users += [("the gate of the reward", None)] if gate is not reward.gate else []
    return replace(reward, fields=new_fields, components=items, gate=gate), users


def _rewritten(value: Any, change: CodeChange) -> Any:
    """A callable with the change in the users' functions that it holds; itself where there are none."""
    if isinstance(value, FunctionType):
        return with_code(value, change) if value.__globals__ is change.function.__globals__ else value
    if isinstance(value, tuple):
        parts = tuple(_rewritten(part, change) for part in value)
        return parts if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    if isinstance(value, functools.partial):
        inner, bound = _rewritten((value.func, value.args), change)
        same = inner is value.func and bound is value.args
        return value if same else functools.partial(inner, *bound, **value.keywords)
    if is_dataclass(value) and (isinstance(value, Gate) or type(value).__module__.startswith(HOLDERS)):
        parts_of = {item.name: getattr(value, item.name) for item in fields(value) if item.init}
        new = {name: _rewritten(part, change) for name, part in parts_of.items()}
        new = {name: part for name, part in new.items() if part is not parts_of[name]}
        return replace(value, **new) if new else value  # type: ignore[type-var]
    return value
