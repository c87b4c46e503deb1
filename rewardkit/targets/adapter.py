"""Adapters: a trainer's reward function as a function of a row."""

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
"""Columns of what a function is called with: by position, and by keyword."""


OF_PROMPT = ("prompt_id", "prompt", "ground_truth")
"""Columns that siblings share."""


FORMS: dict[str, Callable[[RowColumns, str], MadeColumn]] = {
    "parsed": lambda rows, name: MadeColumn(json.loads, rows[name]),
    "behind the prompt": lambda rows, name: MadeColumn(add, rows["prompt"], rows[name]),
}
"""How a column may be handed over otherwise: what its JSON holds, or as one text."""


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
"""Keys of the number that is paid, where the trainer has none of its own: the first."""

PLAIN_KINDS = frozenset({float, int, str, bool, NoneType})


def plain_values(answer: Any) -> Any:
    """Return an answer as plain values.

    Arrays and tensors are lists or a number, objects with fields a dict of these.
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
    """Return the fields of a result that is an object, None where it has none.

    Of a dataclass, a NamedTuple, a model of pydantic, or what holds a reward.
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
    """Return the answer for several rows; what holds lists as a list of dicts.

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
    """Base of the callables that call a function as its trainer would.

    A subclass says in `arguments` how rows are handed over and in `result` what comes
    back, by default the answer as plain values. `needs` are the columns without which
    it cannot be called; `method` is what is called of an object. Where it is called for
    several rows `together` it gets a list of them: "batch", which may be one, or
    "group", all siblings. Where `gives_row`, one argument holds all that the trainer
    has of a row. `makers` make the positional arguments, each of a whole row. `forms`
    names columns that are handed over otherwise, and how.
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
        """How a file writes it: with its module, as users may have the name, too."""
        module = type(self).__module__.rpartition(".")[2]
        return f"rk.targets.{module}.{type(self).__name__}"

    @property
    def called(self) -> Any:
        """What is called: the function, or its method; of a class that of an object."""
        if not self.method:
            return self.function
        owner = self.function
        if isinstance(owner, type):
            owner = make_object(owner)
        return getattr(owner, self.method)

    @property
    def is_async(self) -> bool:
        """Whether its answer has to be awaited."""
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
        """Return the result for a row (for a list of rows), or an awaitable of it."""
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
        """Return the calls for these rows, one for each or one for so many of them."""
        if self.forms:
            columns = {name: FORMS[form](rows, name) for name, form in self.forms}
            rows = rows.beside(columns)
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
        """Return for each positional and each keyword argument a value a row.

        By default what the `makers` make of each rollout, by position.
        """
        rollouts = rows.rows()
        return [MadeColumn(make, rollouts) for make in self.makers], {}

    def shared(self, rows: RowColumns) -> dict[str, Callable[[int], Any]]:
        """Return the keyword arguments of a call for several rows that are no lists.

        Each is a function of the place of the first of them.
        """
        return {}

    @property
    def shared_columns(self) -> tuple[str, ...]:
        """Columns that have one value for all rows of a call."""
        return ()

    def gives(self, column: str) -> bool:
        """Whether the trainer hands over a column that no parameter is named after."""
        return self.gives_row

    def reads(self, column: str) -> bool:
        """Whether the function's own code reads this column, as far as it shows."""
        names = []
        for name in parameters(self.called):
            if CANONICAL.get(name, name) == column:
                names.append(name)
        return not names or any(uses(self.called, name) for name in names)

    def columns(self, row: Row) -> dict[str, Any]:
        """Return what a data set must call by the function's own names."""
        return {}


async def _await_result(
    result: Callable[..., Any], answer: Any, others: list[Any]
) -> Any:
    return result(await answer, *others)


def cut(column: Sequence[Any], sizes: Sequence[int]) -> Sequence[list[Any]]:
    """Cut a column into new lists of so many values each."""
    values = column
    if not isinstance(column, list | MadeColumn):
        values = list(column)

    def part(start: int, end: int) -> list[Any]:
        return values[start:end]  # type: ignore[return-value]

    ends = list(accumulate(sizes))
    return MadeColumn(part, [0, *ends[:-1]], ends)


class LacksColumn(KeyError):
    """A function read what a column holds that these rollouts do not have."""

    def __init__(self, name: str, column: str) -> None:
        super().__init__(name, column)

    def __str__(self) -> str:
        name, column = self.args
        return f"it reads {name}, and the rollouts have no column {column!r}"


@dataclass(frozen=True, repr=False)
class Key(Made):
    """The number under one key of what a trainer's function returned.

    A bare number stands for the key that is `main`. With `judged`, a key as our own
    files have it, there is no number (``None``) where that is 0. `none` says what comes
    of a ``None`` there, which is an error then.

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
        """How a file writes it."""
        return "rk.targets.adapter.Key"

    def of_column(self, results: Sequence[Any]) -> list[Any] | None:
        """Return the numbers of usual results, None where one has to be looked at."""
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
            LacksKey: The result has no such key, or is no dict.
            TypeError: It is ``None``, which `none` says is an error.
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
