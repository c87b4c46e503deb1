"""Plain functions of columns, f(completion, ground_truth), under any of their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.errors import RewardError
from rewardkit.rewards.component import parameters
from rewardkit.rewards.load import make_object
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
    ENV_INFO,
    OF_DATA,
    SAMPLE,
    ObjectRow,
    Row,
    called_parameters,
    column_of,
    filled_columns,
    required_columns,
    required_parameters,
    source_of,
)
from rewardkit.targets.target import Target, TrainerReading

OF_COMPLETION = re.compile(
    r"text|string|respon|output|complet|generat|pred|evaluat|candidate|hypothes|reply"
    r"|student"
)
"""Names of a parameter for the completion, unless a column has that name."""
ACTION = "action"
"""Name of the completion in environments; in a class it is one turn of a rollout."""
ITEMS = re.compile(r"(.+?)(?:_str)?(?:s|s?_list|_batch)")
"""Names of parameters for a list of a column's values, such as `response_str_list`."""
OF_ROW = frozenset(
    "row sample example item record entry rollout traj trajectory extras task".split()
)
"""Names of a parameter for the whole row, unless a column has that name."""


def score_and_details(answer: Any) -> Any:
    """Convert an answer to plain values; a tuple of a score and details becomes a dict.

    Source: verl's `default_compute_score` and its forks, which use the first number.

    >>> score_and_details((1.5, 1.0, 0.5))
    {'score': 1.5, 'part_1': 1.0, 'part_2': 0.5}
    """
    if type(answer) is not tuple or len(answer) < 2:
        return plain_values(answer)
    score, *details = map(plain_values, answer)
    if len(details) == 1 and isinstance(details[0], Mapping):
        return {**details[0], "score": score}
    if not {float, int, bool}.issuperset(map(type, (score, *details))):
        return plain_values(answer)
    parts = {f"part_{number}": part for number, part in enumerate(details, 1)}
    return {"score": score, **parts}


@dataclass(frozen=True, repr=False)
class Function(Adapter):
    """A function that asks for columns by parameter name.

    `defaulted` are parameters left at their defaults; `text` is the name of a parameter
    for the completion that is no alias of it.
    """

    defaulted: tuple[str, ...] = field(default=(), kw_only=True)
    text: str = field(default="", kw_only=True)
    result = staticmethod(score_and_details)

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the columns by the function's names, or by position."""
        if self.text:
            rows = rows.with_columns({self.text: rows["completion"]})
        columns = filled_columns(self.called, rows, self.defaulted)
        positional = []
        for name, parameter in parameters(self.called).items():
            if parameter.kind is parameter.POSITIONAL_ONLY and name in columns:
                positional.append(columns.pop(name))
        return positional, columns


class ListFunction(Adapter):
    """A function of lists, f(prompts, responses), here those of a group.

    `needs` has a column for each of its parameters.
    """

    together = "batch"
    result = staticmethod(values_by_row)

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the lists by the names of the parameters."""
        names = required_parameters(self.called)
        return (), {name: rows[self.needs[at]] for at, name in enumerate(names)}


@dataclass(frozen=True, repr=False)
class RowFunction(Function):
    """A function whose parameter `row` takes all columns of a completion."""

    row: str = field(kw_only=True)
    gives_row = True

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return each row, with keys and attributes, and the other columns."""
        return super().arguments(rows.with_columns({self.row: rows.rows(ObjectRow)}))


def _column_of_items(name: str, rows: Sequence[Row]) -> str:
    """Return the column whose values a parameter takes as a list, or "".

    For truths it is the canonical column, which a log may lack, or the object that has
    the truth under another name.
    """
    match = ITEMS.fullmatch(name)
    if not match:
        return ""
    singular = match[1]
    canonical = CANONICAL.get(singular, "")
    truth = canonical if canonical == "ground_truth" else ""
    info = ENV_INFO if truth else ""
    if info and any(map(_has_truth_of_info, rows)):
        return info
    for column in (canonical, singular, column_of(name, rows), info):
        if any(column in row for row in rows):
            return column
    return truth


def _has_truth_of_info(row: Row) -> bool:
    """Return whether the truth is in `ENV_INFO` under another name."""
    info = row.get(ENV_INFO)
    if not isinstance(info, Mapping) or "ground_truth" in info:
        return False
    return any(value is row.get("ground_truth") for value in info.values())


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose readings of a callable that needs at least one column.

    For another object or class, propose its methods, each as a way.
    """
    if callable(value) and not isinstance(value, type):
        return _readings_of(value, value, "", rows)
    names = methods(value)
    owner = value
    if isinstance(value, type) and names:
        try:
            owner = make_object(value)
        except RewardError:  # it needs arguments that nobody passes
            return []
    ways = []
    for name in names:
        method = getattr(owner, name)
        if callable(method):
            ways += _readings_of(method, value, name, rows)
    return ways


METHODS = re.compile(
    r"(?:(?:compute|calculate|get)_)?(?:reward|score)s?|verify|grade|evaluate"
    r"|(?:score|reward|grade|evaluate)_(?:completion|response|answer|output|sample)s?"
)
"""Names of methods that may be rewards, such as those of a worker of ROLL."""


def methods(value: Any) -> list[str]:
    """Return the names of the methods of a class or object that may be rewards.

    >>> class Judged:
    ...     def score_format(self, completion): ...
    ...     def score_completion(self, completion, answer): ...
    >>> methods(Judged)
    ['score_completion']
    """
    if called_parameters(value):
        return ["__call__"]
    return [name for name in dir(value) if METHODS.fullmatch(name)]


def _readings_of(
    function: Any, owner: Any, method: str, rows: Sequence[Row]
) -> list[TrainerReading]:
    """Propose readings of a function, or of an owner's method, of lists and of a row.

    A parameter with a default is filled only if it has the name of a column in logs and
    an empty default: ``answer=""``, not ``level=2``. With the default None it is also
    filled by the column of its name.
    """
    needs = required_columns(function, (), rows)
    if not needs:
        return []
    way = "" if method == "__call__" else method
    names = required_parameters(function)
    ways = []
    items = _columns_of_items(names, rows)
    if "completion" in items:
        mapping = dict(zip(names, items, strict=True))
        lists = ListFunction(owner, needs=tuple(items), method=method)
        reason = _reason("takes lists", way)
        ways.append(TrainerReading(reason, lists, mapping, main=PAID_KEYS, way=way))
    if not ways or not set().union(*rows).isdisjoint(names):  # a value may be a list
        ways += _reading_of_row(function, owner, method, rows, list(needs))
    return ways


def _reading_of_row(
    function: Any, owner: Any, method: str, rows: Sequence[Row], needs: list[str]
) -> list[TrainerReading]:
    """Propose a reading of a function of one completion that needs these columns."""
    columns = set().union(*rows)
    mapping = {name: column_of(name, rows) for name in required_parameters(function)}
    row = text = ""
    for name in needs:
        if name in OF_ROW and name not in columns:
            row, mapping[name] = name, "all columns"
    needs = [name for name in needs if name != row]
    has_completion = "completion" in needs
    if rows and not has_completion:
        for name in needs:
            is_text = OF_COMPLETION.search(name) or (name == ACTION and not method)
            if name not in columns and is_text:
                text, mapping[name] = name, "completion"
                break
    needs = [name for name in needs if name != text]
    if (row or text) and not has_completion:
        needs.insert(0, "completion")
    of_data = dict.fromkeys(OF_DATA)
    defaulted = []
    for name, parameter in parameters(function).items():
        if parameter.default is parameter.empty:
            continue
        is_open = parameter.default is None and name in columns
        source = source_of(parameter, {*of_data, name} if is_open else of_data)
        if source is None or source in mapping.values():
            defaulted.append(name)
        else:
            mapping[name] = column_of(name, rows)
    if len(set(mapping.values())) < len(mapping):
        return []  # two parameters cannot mean one column
    options: dict[str, Any] = {"needs": tuple(needs), "defaulted": tuple(defaulted)}
    options |= {"text": text, "method": method}
    adapter = Function(owner, **options)
    if row:
        adapter = RowFunction(owner, **options, row=row)
    way = "" if method == "__call__" else method
    reason = _reason(f"asks for {', '.join(mapping)}", way)
    return [TrainerReading(reason, adapter, mapping, main=PAID_KEYS, way=way)]


def _columns_of_items(names: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """Return the column of each parameter of lists, or [] if a parameter has none."""
    rows = rows or SAMPLE
    columns = set().union(*rows)
    items = [_column_of_items(name, rows) for name in names]
    if items[1:] and items[0] == "" and "completion" not in items:
        is_plural = names[0].endswith("s") and names[0] not in columns
        if is_plural and OF_COMPLETION.search(names[0]):
            items[0] = "completion"
    return [] if "" in items else items


def _reason(asks: str, method: str) -> str:
    return f"its {method} {asks}" if method else f"it {asks}"


PLAIN = Target(
    name="plain",
    title="a plain function of columns",
    versions="",
    form="f(completion, ground_truth) -> float, or a dict of them",
    readings=readings,
)
