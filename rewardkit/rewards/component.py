"""Components: functions of columns, and how they are called by parameter name."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from keyword import iskeyword
from typing import Any, Literal

from rewardkit.errors import RewardError, did_you_mean
from rewardkit.plain import is_finite_number
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.primitive import Made
from rewardkit.rewards.fingerprint import Recorded, describe, sources_seen
from rewardkit.rewards.schedule import Schedule
from rewardkit.rewards.users_code import user_code, without_partial


def parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a callable by name; {} where they cannot be read."""
    for reader in (_read_signature, inspect.signature):  # some cannot be hashed
        with suppress(TypeError, ValueError):
            return reader(function).parameters
    return {}


@functools.lru_cache(maxsize=64)  # adapters ask anew for every shard
def _read_signature(function: Any) -> inspect.Signature:
    return inspect.signature(function)


class ColumnName(str):
    """The column that a parameter takes, as its annotation: it may be no identifier."""


@dataclass(frozen=True)
class Call:
    """A function and the column each of its filled parameters takes.

    Filled are the parameters without a default and those that `columns` names;
    ``*args`` and ``**kwargs`` get nothing.
    """

    function: Callable[..., Any]
    positional: tuple[str, ...]  # columns
    keywords: Mapping[str, str]  # parameter -> column
    owner: str

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        owner: str,
        columns: Mapping[str, str] | None = None,
    ) -> Call:
        """Read how `function`, named `owner` in errors, is called.

        RewardError: not callable, no signature, unknown parameter.
        """
        if isinstance(function, Recorded):
            return cls(function, function.asked_for, {}, owner)
        if not callable(function):
            raise RewardError(f"{owner} needs a function, not {function!r}")
        if isinstance(function, type) and issubclass(function, Made):
            name = function.__name__
            raise RewardError(
                f"{owner}: {name} makes the function that is needed; call it: "
                f"{name}(...)"
            )
        try:
            parameters = inspect.signature(function).parameters.values()
        except (ValueError, TypeError):
            raise RewardError(
                f"{owner}: the parameters of {function!r} cannot be read; wrap it in "
                "a function that names "
                "them"
            ) from None
        columns = dict(columns or {})
        named = {
            p.name: p
            for p in parameters
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        }
        for name in columns:
            if name not in named:
                raise RewardError(
                    f"{owner}: columns= names the parameter {name!r}; the "
                    f"function has {list(named)}{did_you_mean(name, named)}"
                )
        positional: list[str] = []
        keywords: dict[str, str] = {}
        for place, (name, p) in enumerate(named.items()):
            if p.default is not p.empty and name not in columns:
                continue
            own_name = p.annotation if isinstance(p.annotation, ColumnName) else name
            column = columns.get(name, own_name)
            if p.kind is not p.KEYWORD_ONLY and place == len(positional):
                positional.append(column)
            elif p.kind is p.POSITIONAL_ONLY:
                raise RewardError(
                    f"{owner}: the positional parameter {name!r} comes after one "
                    "that is not filled; "
                    "name that in columns="
                )
            else:
                keywords[name] = column
        return cls(function, tuple(positional), keywords, owner)

    @property
    def asks_for(self) -> tuple[str, ...]:
        """Names of the columns it needs."""
        return (*self.positional, *self.keywords.values())

    @property
    def reads(self) -> tuple[str, ...]:
        """Those of `asks_for` that the function reads: a trainer's may ignore some."""
        reads = getattr(self.function, "reads", None)
        if reads is None:
            return self.asks_for
        return tuple(filter(reads, self.asks_for))

    @cached_property  # asked for each shard
    def is_async(self) -> bool:
        """Whether what the function returns has to be awaited."""
        return is_async(self.function)

    @cached_property
    def has_user_code(self) -> bool:
        """Whether the function is, or holds, code that is not rewardkit's."""
        return bool(user_code(self.function))


def is_async(function: Any) -> bool:
    """Return whether what a function returns has to be awaited.

    An object that calls another may say so itself, by an attribute `is_async`.
    """
    function = without_partial(function)
    return (
        getattr(function, "is_async", False) is True
        or inspect.iscoroutinefunction(function)
        or inspect.iscoroutinefunction(type(function).__call__)
    )


def check_name(name: Any, owner: str) -> None:
    """Raise a RewardError unless `name` can be a parameter name."""
    if not isinstance(name, str) or not name.isidentifier() or iskeyword(name):
        raise RewardError(
            f"{owner} {name!r}: a name must be a Python identifier (letters, digits, "
            "_; no keyword), so that "
            "others can ask for it"
        )


def read_gate(gate: Gate | None, owner: str) -> Call | None:
    """Return how a gate is called, None where there is none."""
    if gate is None:
        return None
    owner = f"the gate of {owner}"
    if callable(gate.on):
        return Call.of(gate.on, owner)
    return Call(gate.admits, (gate.on,), {}, owner)


PENALTY = re.compile(r"(?i)penal|punish|malus")
"""Words for what takes off: a trainer's function may do that without a weight."""

COMPONENT_KINDS = {False: "row", True: "batch", "group": "batch by group"}


@dataclass(frozen=True, eq=False)
class Component:
    """One scored aspect of a completion.

    `function` returns a finite number in `range` (default (0, 1); ``None``: unbounded),
    a bool, or ``None`` for "not judged". Its parameters name the columns it needs:
    rollout columns, fields, earlier components' scores; `columns` maps a parameter to a
    column of another name. `weight` is its share of the reward, negative for a penalty,
    0 to record only, or a `schedule` of the training's steps, of which the first weight
    is taken where no step is told; `why` says what it is paid for; behind a closed
    `gate` it is not run. ``batch=True``: columns in, list out; ``batch="group"``: the
    same, a call a group where there are groups, and row by row where that call fails;
    ``group=True``: lists of the siblings of one group whose gate is open, and without
    groups not judged; primitives that compare siblings set it themselves. An `async
    def` is run on an event loop. `primary` marks the task itself (by default the
    component of the largest weight); `expects_partial` says that a wrong answer may
    earn a part of it, which probes then do not hold against it. RewardError:
    inconsistent options.

    >>> Component("short", lambda completion: len(completion) < 10, weight=0.1).asks_for
    ('completion',)
    """

    name: str
    function: Callable[..., Any]
    _: KW_ONLY
    weight: Any = 1.0
    why: str = ""
    gate: Gate | None = None
    columns: Mapping[str, str] | None = None
    range: tuple[float, float] | None = (0.0, 1.0)
    batch: bool | Literal["group"] = False
    group: bool = False
    primary: bool = False
    expects_partial: bool = False
    schedule: Schedule | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "component")
        if isinstance(self.weight, Schedule):
            object.__setattr__(self, "schedule", self.weight)
            object.__setattr__(self, "weight", self.weight.start)
        elif self.schedule is not None and self.weight != self.schedule.start:
            object.__setattr__(self, "schedule", None)  # another weight takes its place
        # some functions can only be called for several rows
        if not (self.batch or self.group):
            together = getattr(self.function, "together", "")
            object.__setattr__(self, "group", together == "group")
            object.__setattr__(self, "batch", together == "all")
        owner = f"component {self.name!r}"
        for problem in self._problems():
            raise RewardError(f"{owner}: {problem}")
        # what cannot be called by name is an error here, where it is written
        Call.of(self.function, owner, self.columns)
        read_gate(self.gate, owner)
        sources_seen(filter(None, [self.function, self.gate]))

    def _problems(self) -> Iterator[str]:
        weight = self.weight
        low_high = self.range
        if not is_finite_number(weight):
            yield f"weight={weight!r} is not a finite number"
        if self.gate is not None and not isinstance(self.gate, Gate):
            yield f"gate={self.gate!r} is not a gate; make one with rk.gate(...)"
        if self.columns is not None and not isinstance(self.columns, Mapping):
            yield f"columns={self.columns!r} is not a dict of parameter: column"
        if low_high is not None and not _is_range(low_high):
            yield (
                f"range={low_high!r} is not (low, high) with low below high; "
                "use None for unbounded"
            )
        if self.batch not in tuple(COMPONENT_KINDS):
            yield f"batch={self.batch!r} is not known; use True, False or 'group'"
        if weight < 0 and getattr(self.function, "negative", False):
            yield (
                "its rubric is negative, so it scores 1 where the fault is absent; "
                f"weight={weight!r} turns "
                "that around, and the fault would be paid: give a positive weight, or "
                "negative=False"
            )
        if self.batch and self.group:
            yield "batch and group exclude each other; group=True already gets lists"

    @cached_property
    def call(self) -> Call:
        """How its function is called."""
        return Call.of(self.function, f"component {self.name!r}", self.columns)

    @cached_property
    def gate_call(self) -> Call | None:
        """How its gate is called; ``None`` where there is none."""
        return read_gate(self.gate, f"component {self.name!r}")

    @property
    def calls(self) -> list[Call]:
        """The call of its function, and that of its gate where there is one."""
        return [call for call in (self.call, self.gate_call) if call is not None]

    @property
    def asks_for(self) -> tuple[str, ...]:
        """Names of the columns that its function needs."""
        return self.call.asks_for

    def scoring_record(self) -> dict[str, Any]:
        """Return what decides its scores, as plain data."""
        limits = None
        if self.range:
            limits = [end if math.isfinite(end) else str(end) for end in self.range]
        return {
            "name": self.name,
            "function": describe(self.function),
            "asks_for": list(self.asks_for),
            "gate": describe(self.gate) if self.gate else None,
            "columns": dict(self.columns or {}),
            "range": limits,
            "kind": "group" if self.group else COMPONENT_KINDS[self.batch],
        }

    def paying_record(self) -> dict[str, Any]:
        """Return what it is paid and why, as plain data."""
        record = {"weight": self.weight, "why": self.why, "primary": self.primary}
        if self.expects_partial:
            record["expects_partial"] = True
        if self.schedule is not None:
            record["schedule"] = repr(self.schedule)
        return record

    @property
    def is_penalty(self) -> bool:
        """Whether it takes off, by its weight, its name or how its `why` begins."""
        is_named = PENALTY.search(self.name) or PENALTY.match(self.why)
        return self.largest_weight < 0 or is_named is not None

    @property
    def largest_weight(self) -> float:
        """Return the weight, of a schedule the one that is farthest from 0."""
        if self.schedule is None:
            return float(self.weight)
        return max(self.schedule.weights, key=abs)

    def at(self, step: float) -> Component:
        """Return the component with its weight at a step, and no schedule."""
        if self.schedule is None:
            return self
        return replace(self, weight=self.schedule.at(step), schedule=None)


def _is_range(value: Any) -> bool:
    """Return whether a value is (low, high), two numbers that rise."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        return False
    low, high = value
    are_numbers = isinstance(low, int | float) and isinstance(high, int | float)
    return are_numbers and low < high
