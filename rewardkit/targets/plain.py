"""Plain functions of columns: f(completion, ground_truth), under any name that columns are known by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.rewards.signature import parameters
from rewardkit.targets.adapter import (
    OF_DATA,
    Adapter,
    Arguments,
    Row,
    column_of,
    fill,
    named,
    required,
    source_of,
)
from rewardkit.targets.target import Reading, Target

FORM = "f(completion, ground_truth) -> float, or a dict of them"


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """A function that asks for columns by parameter name; `left` are parameters left at their defaults."""

    left: tuple[str, ...] = field(default=(), kw_only=True)

    def arguments(self, rollout: Row) -> Arguments:
        """The columns under the names that it asks for; those that can only stand first, by position."""
        filled = fill(self.function, rollout, {})
        asked = parameters(self.function).items()
        first = [
            filled.pop(name)
            for name, p in asked
            if p.kind is p.POSITIONAL_ONLY and name in filled
        ]
        return first, {
            name: value for name, value in filled.items() if name not in self.left
        }


def readings(value: Any, rows: Sequence[Row]) -> list[Reading]:
    """That of anything that can be called and asks for something.

    A parameter with a default is filled where it is called as logs call a column:
    ``answer=""``, not ``level=2``.
    """
    needs = (
        required(value, (), rows)
        if callable(value) and not isinstance(value, type)
        else ()
    )
    if not needs:
        return []
    others = {
        name: p for name, p in parameters(value).items() if p.default is not p.empty
    }
    whole = dict.fromkeys(OF_DATA)
    known = [
        name
        for name, p in others.items()
        if (source_of(p, whole) or needs[0]) not in needs
    ]
    adapter = Function(
        value, needs=needs, left=tuple(name for name in others if name not in known)
    )
    mapping = {name: column_of(name, rows) for name in [*named(value), *known]}
    if len(set(mapping.values())) < len(mapping):
        return []  # two parameters cannot mean one column
    return [
        Reading(f"it asks for {', '.join(mapping)}", adapter, mapping, main="score")
    ]


TARGET = Target("plain", "a plain function of columns", "", FORM, readings)
