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
    """Return the parameters of a callable by name; {} if they cannot be read."""
    # the second reader is for callables that cannot be hashed
    for reader in (_read_signature, inspect.signature):
        with suppress(TypeError, ValueError):
            return reader(function).parameters
    return {}


@functools.lru_cache(maxsize=64)  # adapters ask again for every shard
def _read_signature(function: Any) -> inspect.Signature:
    return inspect.signature(function)


class ColumnName(str):
    """Annotation of a parameter: the column it takes, which may be no identifier."""


@dataclass(frozen=True)
class Call:
    """A function, and the column that each of its parameters takes.

    Only parameters without a default and those named in `columns` take one; ``*args``
    and ``**kwargs`` get nothing.
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
        """Read which columns `function` takes; errors call it `owner`.

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
        named = {
            p.name: p
            for p in parameters
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        }
        return cls(function, *_fill_parameters(named, columns or {}, owner), owner)

    @property
    def asks_for(self) -> tuple[str, ...]:
        """Names of the columns that the function takes."""
        return (*self.positional, *self.keywords.values())

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the columns that the function reads.

        A trainer's function may take more than it reads.
        """
        reads = getattr(self.function, "reads", None)
        if reads is None:
            return self.asks_for
        return tuple(filter(reads, self.asks_for))

    @cached_property  # needed for each shard
    def is_async(self) -> bool:
        """Whether the function returns an awaitable."""
        return is_async(self.function)

    @cached_property
    def has_user_code(self) -> bool:
        """Whether the function is, or contains, code that is not rewardkit's."""
        return bool(user_code(self.function))


def _fill_parameters(
    parameters: Mapping[str, inspect.Parameter], columns: Mapping[str, str], owner: str
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the columns of positional parameters, and of keywords by name."""
    for name in columns:
        if name not in parameters:
            raise RewardError(
                f"{owner}: columns= names the parameter {name!r}; the "
                f"function has {list(parameters)}{did_you_mean(name, parameters)}"
            )
    positional: list[str] = []
    keywords: dict[str, str] = {}
    for place, (name, p) in enumerate(parameters.items()):
        if p.default is not p.empty and name not in columns:
            continue
        default = p.annotation if isinstance(p.annotation, ColumnName) else name
        column = columns.get(name, default)
        if p.kind is not p.KEYWORD_ONLY and place == len(positional):
            positional.append(column)
        elif p.kind is p.POSITIONAL_ONLY:
            raise RewardError(
                f"{owner}: the positional parameter {name!r} comes after one that is "
                "not filled; name that in columns="
            )
        else:
            keywords[name] = column
    return tuple(positional), keywords


def is_async(function: Any) -> bool:
    """Return whether a function returns an awaitable.

    An object that wraps another may say so with an attribute `is_async`.
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
    """Return the call of a gate, None without a gate."""
    if gate is None:
        return None
    owner = f"the gate of {owner}"
    if callable(gate.on):
        return Call.of(gate.on, owner)
    return Call(gate.admits, (gate.on,), {}, owner)


PENALTY = re.compile(r"(?i)penal|punish|malus")
"""Names of penalties: a trainer's function may return them without a weight."""

COMPONENT_KINDS = {False: "row", True: "batch", "group": "batch by group"}


@dataclass(frozen=True, eq=False)
class Component:
    """One scored aspect of a completion.

    `function` returns a finite number in `range` (default (0, 1); ``None``: unbounded),
    a bool, or ``None`` for "not judged". An `async def` is run on an event loop. The
    names of its parameters are the columns it takes: rollout columns, fields, scores of
    earlier components. `columns` maps a parameter to a column of another name.

    `weight` is a number, negative for a penalty, 0 to record only, or a `schedule` over
    training steps; rows without a step get its first weight. `why` says what the
    component rewards. Behind a closed `gate` it is not run.

    ``batch=True``: the function takes a list a column and returns a list.
    ``batch="group"``: the same, one call a group if there are groups; a call that fails
    is repeated row by row. ``group=True``: the function takes lists of the siblings of
    one group whose gate is open; without groups it is not judged. Primitives that
    compare siblings set this themselves.

    `primary` marks the task itself (by default the component of the largest weight).
    `expects_partial` says that a wrong answer may earn a part of the score, so that
    probes do not report it. RewardError: inconsistent options.

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
            object.__setattr__(self, "schedule", None)  # replaced by another weight
        # some functions can only be called for several rows
        if not (self.batch or self.group):
            together = getattr(self.function, "together", "")
            object.__setattr__(self, "group", together == "group")
            object.__setattr__(self, "batch", together == "all")
        owner = f"component {self.name!r}"
        for problem in self._problems():
            raise RewardError(f"{owner}: {problem}")
        # a function that cannot be called by name is an error here, where it is written
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
        """The call of its function."""
        return Call.of(self.function, f"component {self.name!r}", self.columns)

    @cached_property
    def gate_call(self) -> Call | None:
        """The call of its gate, None without a gate."""
        return read_gate(self.gate, f"component {self.name!r}")

    @property
    def calls(self) -> list[Call]:
        """The call of its function, then of its gate if it has one."""
        return [call for call in (self.call, self.gate_call) if call is not None]

    @property
    def asks_for(self) -> tuple[str, ...]:
        """Names of the columns that its function takes."""
        return self.call.asks_for

    def scoring_record(self) -> dict[str, Any]:
        """Return the options that decide its scores, as plain data."""
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
        """Return the other options, such as its weight, as plain data."""
        record = {"weight": self.weight, "why": self.why, "primary": self.primary}
        if self.expects_partial:
            record["expects_partial"] = True
        if self.schedule is not None:
            record["schedule"] = repr(self.schedule)
        return record

    @property
    def is_penalty(self) -> bool:
        """Whether it is a penalty by its weight, its name or the start of `why`."""
        is_named = PENALTY.search(self.name) or PENALTY.match(self.why)
        return self.largest_weight < 0 or is_named is not None

    @property
    def largest_weight(self) -> float:
        """Return the weight; of a schedule, the weight farthest from 0."""
        if self.schedule is None:
            return float(self.weight)
        return max(self.schedule.weights, key=abs)

    def at(self, step: float) -> Component:
        """Return a copy with the weight at a step in place of the schedule."""
        if self.schedule is None:
            return self
        return replace(self, weight=self.schedule.at(step), schedule=None)


def _is_range(value: Any) -> bool:
    """Return whether a value is (low, high), numbers with low < high."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        return False
    low, high = value
    are_numbers = isinstance(low, int | float) and isinstance(high, int | float)
    return are_numbers and low < high
