"""Adapters: a trainer's reward function as a function of the whole row, called as the trainer would."""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, ClassVar

from rewardkit.errors import preview
from rewardkit.primitives.primitive import Made
from rewardkit.rewards.signature import is_async, parameters
from rewardkit.rollouts.columns import ALIASES

Row = Mapping[str, Any]
"""One rollout: column -> value, under canonical names."""

Arguments = tuple[Sequence[Any], Mapping[str, Any]]
"""What a function is called with: by position, and by keyword."""

CANONICAL = {
    alias: canonical for canonical, aliases in ALIASES.items() for alias in aliases
}
CANONICAL |= dict.fromkeys(
    (
        "label",
        "labels",
        "gt",
        "truth",
        "expected",
        "expected_answer",
        "correct_answer",
        "reference_answer",
    ),
    "ground_truth",
)
"""A parameter's name -> the canonical column that it asks for."""

OF_DATA = ("prompt", "completion", "ground_truth", "data_source")
"""Canonical columns that training sets have; the others are a log's: a trainer does not hand them over."""

FAMILIAR = ("answer", "solution", "question", "problem")
"""What functions look for in their ``**kwargs``."""


RIGHT = "<think>6 * 7 = 42</think>\n<answer>42</answer>\nThe answer is \\boxed{42}.\n#### 42"
SAMPLE: tuple[Row, ...] = tuple(
    {
        "prompt_id": "sample",
        "prompt": "What is 6 * 7?",
        "completion": text,
        "ground_truth": "42",
        "data_source": "openai/gsm8k",
        "extra_info": {"index": 0, "split": "train"},
    }
    for text in (
        RIGHT,
        RIGHT.replace("=", "may well be").replace("42", "41"),
    )  # of another length, too
)
"""Where no rollouts are given: one right and one wrong completion, in the usual forms of answers."""


@dataclass(frozen=True, repr=False)
class Adapter(Made):
    """Base of the callables that hold a trainer's function and call it with what its parameters mean there.

    A subclass says in `arguments` how a row is handed over and in `result` what comes
    back. `needs` are the columns without which it cannot be called; `method` is what is
    called of an object. Where it is called for several rows `together` it gets a list
    of them: "batch", which may be one, or "group", all siblings.
    """

    function: Any
    needs: tuple[str, ...] = field(default=(), kw_only=True)
    method: str = field(default="", kw_only=True)
    together: ClassVar[str] = ""

    @property
    def factory(self) -> str:
        """How a file writes it: by its module, so that a name of the user's code is never another thing."""
        return f"rk.targets.{type(self).__module__.rpartition('.')[2]}.{type(self).__name__}"

    @property
    def called(self) -> Any:
        """What is called: the function itself, or a method of it, if a subclass does not say otherwise."""
        return getattr(self.function, self.method) if self.method else self.function

    @property
    def is_async(self) -> bool:
        """Whether its answer has to be awaited."""
        return is_async(self.called)

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature(
            [inspect.Parameter(name, kind) for name in ("rollout", *self.needs)]
        )

    def __call__(self, rollout: Any, *_: Any) -> Any:
        """What the function gives for a row (for a list of rows), or an awaitable of it."""
        positional, keywords = self.arguments(rollout)
        answer = self.called(*positional, **keywords)
        return (
            self._later(answer, rollout)
            if self.is_async
            else self.result(answer, rollout)
        )

    async def _later(self, answer: Any, rollout: Any) -> Any:
        return self.result(await answer, rollout)

    def arguments(self, rollout: Any) -> Arguments:
        """Positional and keyword arguments for a row (for a list of rows)."""
        raise NotImplementedError

    def result(self, answer: Any, rollout: Any) -> Any:
        """The answer as plain values."""
        return plain(answer)

    def reads(self, column: str) -> bool:
        """Whether the function's own code reads what it is handed of this column, as far as can be told."""
        names = [
            name
            for name in parameters(self.called)
            if CANONICAL.get(name, name) == column
        ]
        return not names or any(uses(self.called, name) for name in names)

    def columns(self, row: Row) -> dict[str, Any]:
        """What a data set must call by the function's own names for the trainer to hand it over."""
        return {}


class LacksColumn(KeyError):
    """A function read what a column holds that these rollouts do not have."""

    def __init__(self, read: str, column: str) -> None:
        super().__init__(read, column)

    def __str__(self) -> str:
        read, column = self.args
        return f"it reads {read}, and the rollouts have no column {column!r}"


@dataclass(frozen=True, repr=False)
class Key(Made):
    """The number under one key of what a trainer's function gave.

    A bare number stands for the key that is `main`. With `judged`, a key as our own
    files give it, there is no number (``None``) where that is 0. ValueError: it did not
    give that key. TypeError: it gave ``None``, where `none` says what comes of that.

    >>> Key("score", judged="judged")({"score": 0.0, "judged": 0.0}) is None
    True
    """

    key: str
    main: bool = field(default=False, kw_only=True)
    judged: str = field(default="", kw_only=True)
    none: str = field(default="", kw_only=True)

    @property
    def factory(self) -> str:
        """How a file writes it."""
        return "rk.targets.adapter.Key"

    def __call__(self, result: Any) -> Any:
        """The number under the key."""
        found = result
        if isinstance(result, Mapping):
            if self.judged and result.get(self.judged) == 0:
                return None
            if self.key not in result:
                raise ValueError(
                    f"it returned the keys {list(result)}, without {self.key!r}"
                )
            found = result[self.key]
        elif not (self.main or result is None):
            raise ValueError(
                f"it returned {preview(result)}, not a dict with {self.key!r}"
            )
        if found is None and self.none:
            raise TypeError(f"returned None of type NoneType; {self.none}")
        return found


def column_of(parameter: str, rows: Sequence[Row] = ()) -> str:
    """The column that a parameter of this name takes: that one, or the canonical one it is a name for."""
    canonical = CANONICAL.get(parameter, parameter)
    having = [row for row in rows if parameter in row]
    same = all(canonical in row and row[canonical] is row[parameter] for row in having)
    return (
        canonical if same else parameter
    )  # a log's own name for a column stands beside the canonical one


def source_of(parameter: inspect.Parameter, row: Row) -> str | None:
    """The column of a row that fills a parameter; ``None`` where it is left at its default.

    One without a default takes the column of its name, else the canonical one that it
    is a name for. One with a default is filled by the column of its name, if that is no
    column of the log alone; by a canonical one only where the default says that there
    may be none: ``answer=""``, not ``target=100``.
    """
    name, canonical = parameter.name, CANONICAL.get(parameter.name)
    if parameter.default is parameter.empty:
        return name if name in row else canonical if canonical in row else None
    if name in row and canonical in (None, *OF_DATA):
        return name
    empty = parameter.default is None or (
        isinstance(parameter.default, str) and not parameter.default
    )
    return canonical if empty and canonical in OF_DATA and canonical in row else None


def alike(row: Row) -> dict[str, Any]:
    """The row with each column also under the other names it is known by, and what its `extra_info` holds.

    >>> alike({"ground_truth": "4"})["answer"]
    '4'
    """
    info = row.get("extra_info")
    inner = (
        {str(name): value for name, value in info.items()}
        if isinstance(info, Mapping)
        else {}
    )
    names = {
        alias: row[canonical]
        for alias, canonical in CANONICAL.items()
        if canonical in row
    }
    return {**names, **inner, **row}


def fill(function: Any, row: Row, own: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments for a function that asks for a data set's columns by name.

    `own` are the trainer's. Each other parameter takes the column that `source_of`
    says; ``**kwargs`` gets all columns, and the prompt and the truth also under the
    names that functions look for.
    """
    asked, everything = with_names(function), takes_all(function)
    filled = {name: value for name, value in own.items() if everything or name in asked}
    for name, p in asked.items():
        source = None if name in own else source_of(p, row)
        if source is not None:
            filled[name] = row[source]
    if everything:
        others = {
            name: row[CANONICAL[name]] for name in FAMILIAR if CANONICAL[name] in row
        } | dict(row)
        filled |= {
            name: value
            for name, value in others.items()
            if name not in asked and name not in own
        }
    return filled


def takes_all(function: Any) -> bool:
    """Whether it has ``**kwargs``."""
    return any(p.kind is p.VAR_KEYWORD for p in parameters(function).values())


def with_names(function: Any) -> dict[str, inspect.Parameter]:
    """The parameters that have a name to ask by."""
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {
        name: p for name, p in parameters(function).items() if p.kind not in several
    }


def named(function: Any) -> list[str]:
    """Those of them without a default."""
    return [name for name, p in with_names(function).items() if p.default is p.empty]


def required(
    function: Any, own: Collection[str], rows: Sequence[Row] = ()
) -> tuple[str, ...]:
    """The columns that a function's parameters without a default take, beside the trainer's `own`.

    And the ground truth that it takes out of its ``**kwargs``.
    """
    names = [*named(function), *truths_taken(function, rows)]
    return tuple(
        dict.fromkeys(column_of(name, rows) for name in names if name not in own)
    )


def truths_taken(function: Any, rows: Sequence[Row]) -> list[str]:
    """Names of the ground truth that a function's source takes as ``kwargs["answer"]``.

    Or as ``kwargs.get("answer")``, where these rows have one.
    """
    kwargs = {p.name for p in parameters(function).values() if p.kind is p.VAR_KEYWORD}
    try:
        tree = (
            ast.parse(textwrap.dedent(inspect.getsource(function)))
            if kwargs
            else ast.Module([], [])
        )
    except (OSError, TypeError, SyntaxError):
        return []
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(
                value=ast.Name(id=name), slice=ast.Constant(value=key)
            ) if name in kwargs:
                found.append(key)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name)),
                args=[ast.Constant(value=key), *_],
            ):
                found += (
                    [key] if name in kwargs and any(key in row for row in rows) else []
                )
    return [key for key in dict.fromkeys(found) if key in ALIASES["ground_truth"]]


def columns_asked(
    function: Any, own: Collection[str], rows: Sequence[Row]
) -> dict[str, str]:
    """For the parameters that columns of these rows fill, beside the trainer's `own`: which column."""
    rows = rows or SAMPLE
    found = {
        name: column_of(name, rows)
        for name, p in with_names(function).items()
        if name not in own
        and (p.default is p.empty or any(source_of(p, row) is not None for row in rows))
    }
    others = [
        f"**{name}"
        for name, p in parameters(function).items()
        if p.kind is p.VAR_KEYWORD
    ]
    return found | dict.fromkeys(
        others, f"all columns, some also as {', '.join(FAMILIAR)}"
    )


def takes_anything(function: Any) -> bool:
    """Whether it asks for nothing by name and takes all keywords, as what a decorator makes may do."""
    return takes_all(function) and not with_names(function)


def uses(function: Any, parameter: str) -> bool:
    """Whether the function's own code reads the parameter; true where that cannot be told.

    >>> uses(lambda completion, ground_truth: len(completion), "ground_truth")
    False
    """
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None) or getattr(
        type(function).__call__, "__code__", None
    )
    if not isinstance(code, CodeType) or parameter not in code.co_varnames:
        return True
    return any(
        parameter == item or (isinstance(item, tuple) and parameter in item)
        for instruction in dis.get_instructions(code)
        if not instruction.opname.startswith(
            ("STORE", "DELETE", "COPY_FREE", "MAKE_CELL")
        )
        for item in (instruction.argval,)
    )


def plain(value: Any) -> Any:
    """A result as plain Python values: arrays and tensors as lists, those of one number as the number."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    to_list: Callable[[], Any] | None = getattr(value, "tolist", None)
    return to_list() if callable(to_list) else value
