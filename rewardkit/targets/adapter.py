"""Adapters, which make a trainer's reward function a function of a row."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from itertools import accumulate
from keyword import iskeyword
from operator import add, itemgetter
from types import NoneType
from typing import Any, ClassVar

from rewardkit.errors import LacksKey, preview
from rewardkit.plain import values_by_field
from rewardkit.primitives.primitive import Made
from rewardkit.reasons import Reason
from rewardkit.rewards.component import ColumnName, is_async, parameters
from rewardkit.rewards.load import make_object
from rewardkit.scoring.callers import MadeColumn, RowColumns
from rewardkit.scoring.calls import Calls
from rewardkit.targets.columns import CANONICAL, Row, uses

Arguments = tuple[Sequence[Sequence[Any]], Mapping[str, Sequence[Any]]]
"""Columns of arguments of a function: by position, and by keyword."""


OF_PROMPT = ("prompt_id", "prompt", "ground_truth")
"""Columns with one value for all siblings."""


FORMS: dict[str, Callable[[RowColumns, str], MadeColumn]] = {
    "parsed": lambda rows, name: MadeColumn(json.loads, rows[name]),
    "behind the prompt": lambda rows, name: MadeColumn(add, rows["prompt"], rows[name]),
}
"""Other forms of a column: its JSON parsed, or its text appended to the prompt."""


PAID_KEYS = (
    "score",
    "reward",
    "total_reward",
    "total_score",
    "final_reward",
    "final_score",
    "overall",
    "scores",
    "rewards",
)
"""Keys of the reward in a dict, by precedence, if the trainer defines none."""

PLAIN_KINDS = frozenset({float, int, str, bool, NoneType})


def plain_values(answer: Any) -> Any:
    """Convert an answer to plain values.

    Arrays and tensors become lists or a number, objects with fields a dict.
    """
    if type(answer) in PLAIN_KINDS:
        return answer
    if type(answer) is dict:
        for key, value in answer.items():  # a loop is quickest for a few keys
            if type(key) is not str or type(value) not in PLAIN_KINDS:
                break
        else:
            return answer.copy()
    if isinstance(answer, Mapping):
        return {str(key): plain_values(value) for key, value in answer.items()}
    if isinstance(answer, list | tuple) and not hasattr(answer, "_fields"):
        if PLAIN_KINDS.issuperset(map(type, answer)):
            return list(answer)
        return [plain_values(entry) for entry in answer]
    to_list: Callable[[], Any] | None = getattr(answer, "tolist", None)
    if callable(to_list):
        return to_list()
    fields_of_answer = _fields_of(answer)
    return answer if fields_of_answer is None else plain_values(fields_of_answer)


def _fields_of(answer: Any) -> dict[str, Any] | None:
    """Return the fields of an object as a dict, or None if it has no fields.

    The object is a dataclass, a NamedTuple, a pydantic model, or has one of `PAID_KEYS`
    as an attribute.
    """
    if isinstance(answer, type | Reason):
        return None
    if is_dataclass(answer):
        return values_by_field(answer)
    if isinstance(answer, tuple):
        return answer._asdict()  # type: ignore[attr-defined, no-any-return]
    if hasattr(answer, "model_dump"):
        return dict(answer.model_dump())
    if not any(hasattr(answer, name) for name in PAID_KEYS):
        return None
    names = (*PAID_KEYS, *getattr(answer, "__dict__", ()))
    return {name: getattr(answer, name) for name in names if hasattr(answer, name)}


def values_by_row(answer: Any) -> Any:
    """Convert the answer for several rows; a dict of lists becomes a list of dicts.

    >>> values_by_row({"name": "right", "total_reward": [1.0, 0.5]})
    [{'total_reward': 1.0}, {'total_reward': 0.5}]
    """
    values = plain_values(answer)
    if not isinstance(values, Mapping):
        return values
    columns: dict[str, list[Any]] = {}
    for name, value in values.items():
        inner = value if isinstance(value, Mapping) else {name: value}
        columns |= {key: inner[key] for key in inner if isinstance(inner[key], list)}
    if len({len(column) for column in columns.values()}) != 1:
        return values
    return [
        dict(zip(columns, cells, strict=True))
        for cells in zip(*columns.values(), strict=True)
    ]


@dataclass(frozen=True, repr=False)
class Adapter(Made):
    """Base of callables that call a function as its trainer would.

    A subclass converts rows to arguments in `arguments`, and the answer to a result in
    `result`, by default by `plain_values`. `needs` are the columns that the call
    requires, `method` the name of the method of an object. `together` is "batch" for a
    function of a list of rows, which may be one, "group" for one of all siblings. With
    `gives_row`, one argument has all columns of a row. `makers` make the positional
    arguments, each from a whole row. `forms` are pairs of a column and a key of
    `FORMS`.
    """

    function: Any
    needs: tuple[str, ...] = field(default=(), kw_only=True)
    method: str = field(default="", kw_only=True)
    forms: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)
    together: ClassVar[str] = ""
    gives_row: ClassVar[bool] = False
    makers: ClassVar[tuple[Callable[[Any], Any], ...]] = ()
    result = staticmethod(plain_values)

    @property
    def factory(self) -> str:
        """Return the name in a written file, with the module to make it unique."""
        module = type(self).__module__.rpartition(".")[2]
        return f"rk.targets.{module}.{type(self).__name__}"

    @property
    def called(self) -> Any:
        """Return the function, or the method of the object or of a made object."""
        if not self.method:
            return self.function
        owner = self.function
        if isinstance(owner, type):
            owner = make_object(owner)
        return getattr(owner, self.method)

    @property
    def is_async(self) -> bool:
        """Return whether the answer has to be awaited."""
        return is_async(self.called)

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = []
        for place, column in enumerate(("rollout", *self.needs)):
            is_name = column.isidentifier() and not iskeyword(column)
            name = column if is_name else f"column_{place}"  # such as logged/score
            parameter = inspect.Parameter(name, kind, annotation=ColumnName(column))
            parameters.append(parameter)
        return inspect.Signature(parameters)

    def __call__(self, rollout: Any, *_: Any) -> Any:
        """Return the result for a row (or a list of rows), or an awaitable of it."""
        if not self.together:
            rollout = [rollout]
        rows = RowColumns.of(rollout)
        bound = self.bind_columns(rows, [rows.count])
        arguments = [column[0] for column in bound.positional]
        keywords = {name: column[0] for name, column in bound.keywords.items()}
        answer = bound.function(*arguments, **keywords)
        others = [column[0] for column in bound.result_arguments]
        if self.is_async:
            return _await_result(self.result, answer, others)
        return self.result(answer, *others)

    def bind_columns(self, rows: RowColumns, sizes: Sequence[int]) -> Calls:
        """Return the calls for these rows: one per row, or one per list of a size."""
        if self.forms:
            columns = {name: FORMS[form](rows, name) for name, form in self.forms}
            rows = rows.with_columns(columns)
        positional, keywords = self.arguments(rows)
        count = rows.count
        if self.together:
            count = len(sizes)
            positional = [cut(column, sizes) for column in positional]
            keywords = {name: cut(column, sizes) for name, column in keywords.items()}
            starts = [0, *accumulate(sizes)][:-1]
            for name, value_at in self.shared(rows).items():
                keywords[name] = MadeColumn(value_at, starts)
        return Calls(
            self.called,
            positional,
            keywords,
            count,
            is_async=self.is_async,
            result=self.result,
        )

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return a column of values, one per row, for each argument.

        By default the `makers` make the positional arguments from each rollout.
        """
        rollouts = rows.rows()
        return [MadeColumn(make, rollouts) for make in self.makers], {}

    def shared(self, rows: RowColumns) -> dict[str, Callable[[int], Any]]:
        """Return keyword arguments with one value for all rows of a call.

        Each is a function of the place of the first row of the call.
        """
        return {}

    @property
    def shared_columns(self) -> tuple[str, ...]:
        """Return the columns that need equal values in all rows of a call."""
        return ()

    def gives(self, column: str) -> bool:
        """Return whether the trainer passes a column under another name."""
        return self.gives_row

    def reads(self, column: str) -> bool:
        """Return whether the function's own code may read this column."""
        names = []
        for name in parameters(self.called):
            if CANONICAL.get(name, name) == column:
                names.append(name)
        return not names or any(uses(self.called, name) for name in names)

    def columns(self, row: Row) -> dict[str, Any]:
        """Return columns that the data set needs under the function's own names."""
        return {}


async def _await_result(
    result: Callable[..., Any], answer: Any, others: list[Any]
) -> Any:
    return result(await answer, *others)


def cut(column: Sequence[Any], sizes: Sequence[int]) -> Sequence[list[Any]]:
    """Cut a column into new lists of the given sizes."""
    values = column
    if not isinstance(column, list | MadeColumn):
        values = list(column)

    def part(start: int, end: int) -> list[Any]:
        return values[start:end]  # type: ignore[return-value]

    ends = list(accumulate(sizes))
    return MadeColumn(part, [0, *ends[:-1]], ends)


class LacksColumn(KeyError):
    """A function's read of a value in a column that the rollouts lack."""

    def __init__(self, name: str, column: str) -> None:
        super().__init__(name, column)

    def __str__(self) -> str:
        name, column = self.args
        return f"it reads {name}, and the rollouts have no column {column!r}"


@dataclass(frozen=True, repr=False)
class Key(Made):
    """The number under one key of the result of a trainer's function.

    With `main`, a bare number is the number under this key. `judged` is the key that
    our own files write: if its value is 0, the number is ``None``. A text in `none`
    makes a ``None`` under the key an error, and says what it does in the trainer.

    >>> Key("score", judged="judged")({"score": 0.0, "judged": 0.0}) is None
    True
    """

    key: str
    main: bool = field(default=False, kw_only=True)
    judged: str = field(default="", kw_only=True)
    optional: bool = field(default=False, kw_only=True)
    none: str = field(default="", kw_only=True)

    @property
    def factory(self) -> str:
        """Return the name in a written file."""
        return "rk.targets.adapter.Key"

    def of_column(self, results: Sequence[Any]) -> list[Any] | None:
        """Return the numbers of a column of usual results, None if one is unusual."""
        types = set(map(type, results))
        if types == {float} and self.main:
            return list(results)
        if types != {dict} or self.judged:
            return None
        try:
            scores = list(map(itemgetter(self.key), results))
        except KeyError:
            return None
        return None if self.none and None in scores else scores

    def __call__(self, result: Any) -> Any:
        """Return the number under the key.

        Raises:
            LacksKey: The result has no such key, or is not a dict.
            TypeError: The number is ``None`` and `none` is set.
        """
        score, lacking = result, ""
        if isinstance(result, Mapping):
            if self.judged and result.get(self.judged) == 0:
                return None
            score = result.get(self.key)
            if self.key not in result and not self.optional:
                lacking = f"the keys {preview(list(result))}"
        elif not self.main and result is not None:
            lacking = preview(result)
        if lacking:
            raise LacksKey(
                f"returned {lacking}, without {self.key!r}, which other rows have"
            )
        if score is None and self.none:
            raise TypeError(f"returned None of type NoneType; {self.none}")
        return score
