"""Plain functions of columns, f(completion, ground_truth), by any of their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.rewards.component import parameters
from rewardkit.scoring.callers import RowColumns
from rewardkit.targets.adapter import (
    PAID_KEYS,
    Adapter,
    Arguments,
    plain_values,
    values_by_row,
)
from rewardkit.targets.columns import (
    CANONICAL,
    OF_DATA,
    SAMPLE,
    Row,
    column_of,
    filled_columns,
    required_columns,
    required_parameters,
    source_of,
)
from rewardkit.targets.target import Target, TrainerReading

OF_COMPLETION = re.compile(
    r"text|string|respon|output|complet|generat|predict|evaluat|candidate|reply|student"
)
"""Names of a first parameter that no column has, and that is for the completion."""


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """A function that asks for columns by parameter name.

    `defaulted` are parameters left at their defaults; `text` takes the completion under
    a name of its own.
    """

    defaulted: tuple[str, ...] = field(default=(), kw_only=True)
    text: str = field(default="", kw_only=True)

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the columns by the names that it asks for, or by position."""
        if self.text:
            rows = rows.beside({self.text: rows["completion"]})
        columns = filled_columns(self.function, rows, self.defaulted)
        positional = []
        for name, parameter in parameters(self.function).items():
            if parameter.kind is parameter.POSITIONAL_ONLY and name in columns:
                positional.append(columns.pop(name))
        return positional, columns

    @property
    def _result(self) -> Callable[..., Any]:
        return score_and_details


class ListFunction(Adapter):
    """A function of lists, f(prompts, responses): here of a group."""

    together = "batch"

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the columns whose values it asks for in the plural."""
        arguments = {}
        for name in required_parameters(self.function):
            arguments[name] = rows[_column_of_items(name, rows)]
        return (), arguments

    def result(self, answer: Any) -> Any:
        """Return a list: of numbers, or of dicts."""
        return values_by_row(answer)


def score_and_details(answer: Any) -> Any:
    """Return an answer as plain values; a score beside a dict is one of its keys."""
    if type(answer) is tuple and len(answer) == 2 and isinstance(answer[1], Mapping):
        score, details = map(plain_values, answer)
        return {**details, "score": score}
    return plain_values(answer)


def _column_of_items(name: str, columns: Container[str]) -> str:
    """Return the column that a parameter takes a list of, "" where there is none."""
    singular = name.removesuffix("s")
    for column in (CANONICAL.get(singular, ""), singular):
        if singular != name and name not in columns and column in columns:
            return column
    return ""


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
    text, columns = "", set().union(*(rows or SAMPLE))
    items = [_column_of_items(name, columns) for name in required_parameters(value)]
    if "completion" in items and "" not in items:
        mapping = dict(zip(required_parameters(value), items, strict=True))
        lists = ListFunction(value, needs=tuple(items))
        return [TrainerReading("it takes lists", lists, mapping, main=PAID_KEYS)]
    if rows and "completion" not in needs and needs[0] not in columns:
        if OF_COMPLETION.search(needs[0]):
            text, needs = needs[0], ("completion", *needs[1:])
    adapter = Function(value, needs=needs, defaulted=tuple(defaulted), text=text)
    mapping = {}
    for name in [*required_parameters(value), *filled]:
        mapping[name] = "completion" if name == text else column_of(name, rows)
    if len(set(mapping.values())) < len(mapping):
        return []  # two parameters cannot mean one column
    reason = f"it asks for {', '.join(mapping)}"
    return [TrainerReading(reason, adapter, mapping, main=PAID_KEYS)]


PLAIN = Target(
    name="plain",
    title="a plain function of columns",
    versions="",
    form="f(completion, ground_truth) -> float, or a dict of them",
    readings=readings,
)
