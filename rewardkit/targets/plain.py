"""Plain functions of columns, f(completion, ground_truth), by any of their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.rewards.component import parameters
from rewardkit.scoring.callers import RowColumns
from rewardkit.targets.adapter import Adapter, Arguments
from rewardkit.targets.columns import (
    OF_DATA,
    Row,
    column_of,
    filled_columns,
    required_columns,
    required_parameters,
    source_of,
)
from rewardkit.targets.target import Target, TrainerReading


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """A function that asks for columns by parameter name.

    `defaulted` are parameters left at their defaults.
    """

    defaulted: tuple[str, ...] = field(default=(), kw_only=True)

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the columns by the names that it asks for, or by position."""
        columns = filled_columns(self.function, rows, self.defaulted)
        positional = []
        for name, parameter in parameters(self.function).items():
            if parameter.kind is parameter.POSITIONAL_ONLY and name in columns:
                positional.append(columns.pop(name))
        return positional, columns


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Return the reading of anything that can be called and asks for something.

    A parameter with a default is filled where it is called as logs call a column:
    ``answer=""``, not ``level=2``.
    """
    if not callable(value) or isinstance(value, type):
        return []
    needs = required_columns(value, (), rows)
    if not needs:
        return []
    row = dict.fromkeys(OF_DATA)
    filled, defaulted = [], []
    for name, parameter in parameters(value).items():
        if parameter.default is parameter.empty:
            continue
        source = source_of(parameter, row)
        if source is None or source in needs:
            defaulted.append(name)
        else:
            filled.append(name)
    adapter = Function(value, needs=needs, defaulted=tuple(defaulted))
    mapping = {}
    for name in [*required_parameters(value), *filled]:
        mapping[name] = column_of(name, rows)
    if len(set(mapping.values())) < len(mapping):
        return []  # two parameters cannot mean one column
    reason = f"it asks for {', '.join(mapping)}"
    return [TrainerReading(reason, adapter, mapping, main="score")]


PLAIN = Target(
    name="plain",
    title="a plain function of columns",
    versions="",
    form="f(completion, ground_truth) -> float, or a dict of them",
    readings=readings,
)
