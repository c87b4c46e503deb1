"""Component: one scored aspect of a completion, a function of columns by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from rewardkit.errors import RewardError
from rewardkit.primitives.gates import Gate
from rewardkit.rewards.fingerprint import describe, sources_seen
from rewardkit.rewards.signature import Call, check_name, read_gate

COMPONENT_KINDS = {False: "row", True: "batch", "group": "batch by group"}


@dataclass(frozen=True, eq=False)
class Component:
    """One scored aspect of a completion.

    `function` returns a finite number in `range` (default (0, 1); ``None``: unbounded),
    a bool, or ``None`` for "not judged". Its parameters name the columns it needs:
    rollout columns, fields, earlier components' scores; `columns` maps a parameter to a
    column of another name. `weight` is its share of the reward, negative for a penalty,
    0 to record only; `why` says what it is paid for; behind a closed `gate` it is not
    run. ``batch=True``: columns in, list out; ``batch="group"``: the same, a call a
    group where there are groups, and row by row where that call fails; ``group=True``:
    lists of the siblings of one group whose gate is open, and without groups not
    judged; primitives that compare siblings set it themselves. An `async def` is run on
    an event loop. `primary` marks the task itself (by default the component of the
    largest weight); `expects_partial` says that a wrong answer may earn a part of it,
    which probes then do not hold against it. RewardError: inconsistent options.

    >>> Component("short", lambda completion: len(completion) < 10, weight=0.1).asks_for
    ('completion',)
    """

    name: str
    function: Callable[..., Any]
    weight: float = field(default=1.0, kw_only=True)
    why: str = field(default="", kw_only=True)
    gate: Gate | None = field(default=None, kw_only=True)
    columns: Mapping[str, str] | None = field(default=None, kw_only=True)
    range: tuple[float, float] | None = field(default=(0.0, 1.0), kw_only=True)
    batch: bool | Literal["group"] = field(default=False, kw_only=True)
    group: bool = field(default=False, kw_only=True)
    primary: bool = field(default=False, kw_only=True)
    expects_partial: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name, "component")
        # some functions can only be called for several rows
        if not (self.batch or self.group):
            together = getattr(self.function, "together", "")
            object.__setattr__(self, "group", together == "group")
            object.__setattr__(self, "batch", together == "all")
        for problem in self._problems():
            raise RewardError(f"component {self.name!r}: {problem}")
        self._check_calls()
        sources_seen(item for item in (self.function, self.gate) if item is not None)

    def _check_calls(self) -> None:
        """Raise a RewardError where its function or gate cannot be called by name."""
        Call.read(self.function, f"component {self.name!r}", self.columns)
        read_gate(self.gate, f"component {self.name!r}")

    def _problems(self) -> Iterator[str]:
        weight, low_high = self.weight, self.range
        if (
            isinstance(weight, bool)
            or not isinstance(weight, int | float)
            or not math.isfinite(weight)
        ):
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
        return Call.read(self.function, f"component {self.name!r}", self.columns)

    @cached_property
    def gate_call(self) -> Call | None:
        """How its gate is asked whether it is open; ``None`` where there is none."""
        return read_gate(self.gate, f"component {self.name!r}")

    @property
    def calls(self) -> list[Call]:
        """The call of its function, and that of its gate where there is one."""
        if self.gate_call is None:
            return [self.call]
        return [self.call, self.gate_call]

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
        return record


def _is_range(value: Any) -> bool:
    """Return whether a value is (low, high), two numbers that rise."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        return False
    return all(isinstance(end, int | float) for end in value) and value[0] < value[1]
