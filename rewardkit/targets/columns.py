"""Columns for the parameters of functions, and the parameters that code reads."""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeVar

from rewardkit.rewards.component import parameters
from rewardkit.rewards.users_code import without_partial
from rewardkit.rollouts.columns import ALIASES, LOGGED

Row = Mapping[str, Any]
"""One rollout: column -> value, under canonical names."""

T = TypeVar("T")

CANONICAL: dict[str, str] = {}
"""Name of a parameter -> the canonical column that it asks for."""
for canonical_name, aliases in ALIASES.items():
    CANONICAL |= dict.fromkeys(aliases, canonical_name)
CANONICAL |= dict.fromkeys(
    ("label", "labels", "gt", "truth", "expected"), "ground_truth"
)
CANONICAL["prediction"] = "completion"

GENERATED = {*ALIASES["completion"], *ALIASES["messages"], *ALIASES["rollout_id"]}
"""Columns of generated values; the others are those of the data set."""
OF_DATA = ("prompt", "completion", "ground_truth", "data_source")
"""Canonical columns of training sets; no trainer passes the others, which logs have."""

ENV_INFO = "extra_env_info"
"""Column of NeMo-RL's data sets with the truth: under a key, or as a whole."""
OBJECT_COLUMNS = ("extra_info", ENV_INFO)
"""Columns of objects whose keys are further columns, in verl and in NeMo-RL."""

FAMILIAR = ("answer", "solution", "question", "problem")
"""Names that functions look for in their ``**kwargs``."""

RIGHT = """<think>6 * 7 = 42</think>
<answer>42</answer>
The answer is \\boxed{42}.
#### 42"""
WRONG = RIGHT.replace("=", "may well be").replace("42", "41")  # of another length, too
SAMPLE: tuple[Row, ...] = tuple(
    {
        "prompt_id": "sample",
        "prompt": "What is 6 * 7?",
        "completion": completion,
        "ground_truth": "42",
        "data_source": "openai/gsm8k",
        "extra_info": {"index": 0, "split": "train"},
    }
    for completion in (RIGHT, WRONG)
)
"""A right and a wrong completion in usual forms, for trials without rollouts."""

# --- parameters


def named_parameters(function: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters without ``*args`` and ``**kwargs``."""
    named = {}
    for name, parameter in parameters(function).items():
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            named[name] = parameter
    return named


def required_parameters(function: Any) -> list[str]:
    """Return the names of the parameters without a default."""
    names = []
    for name, parameter in named_parameters(function).items():
        if parameter.default is parameter.empty:
            names.append(name)
    return names


def called_parameters(value: Any) -> list[str]:
    """Return the required parameters of a function, or of ``__call__`` of a class.

    >>> class Right:
    ...     def __call__(self, completions, answers, strict=True): ...
    >>> called_parameters(Right)
    ['completions', 'answers']
    """
    if not isinstance(value, type):
        return required_parameters(value) if callable(value) else []
    return required_parameters(value.__call__)[1:]


def keywords_name(function: Any) -> str | None:
    """Return the name of a function's ``**kwargs``, or None."""
    for name, parameter in parameters(function).items():
        if parameter.kind is parameter.VAR_KEYWORD:
            return name
    return None


def takes_anything(function: Any) -> bool:
    """Return whether a function has only ``**kwargs``, as a decorated one may."""
    return keywords_name(function) is not None and not named_parameters(function)


def is_called_with_anything(kind: type) -> bool:
    """Return whether ``__call__`` of a class has only ``**kwargs``.

    >>> class Right:
    ...     def __call__(self, **kwargs): ...
    >>> is_called_with_anything(Right)
    True
    """
    call = vars(kind).get("__call__")
    return keywords_name(call) is not None and [*named_parameters(call)] == ["self"]


def uses(function: Any, parameter: str) -> bool:
    """Return whether the code of a function may read a parameter; True if unknown.

    >>> uses(lambda completion, ground_truth: len(completion), "ground_truth")
    False
    """
    function = inspect.unwrap(without_partial(function))
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(type(function).__call__, "__code__", None)
    return not isinstance(code, CodeType) or _reads(code, parameter)


def reads_keywords(function: Any) -> bool:
    """Return whether a function has ``**kwargs`` and may read them; True if unknown.

    >>> reads_keywords(lambda completion, **kwargs: len(completion))
    False
    """
    name = keywords_name(function)
    if name is None:
        return False
    function = without_partial(function)
    if not isinstance(function, FunctionType | MethodType):
        function = type(function).__call__
    code = getattr(function, "__code__", None)
    if hasattr(function, "__wrapped__") or not isinstance(code, CodeType):
        return True
    return not SEES_VARIABLES.isdisjoint(code.co_names) or _reads(code, name)


SEES_VARIABLES = {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe"}
"""Functions by which code can see its own variables."""


@lru_cache
def _reads(code: CodeType, parameter: str) -> bool:
    """Return whether code reads a parameter; True if it has none of this name."""
    if parameter not in code.co_varnames:
        return True
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(("STORE", "DELETE", "COPY_FREE", "MAKE_CELL")):
            continue
        names = instruction.argval  # a tuple where one instruction reads two
        if names == parameter or (isinstance(names, tuple) and parameter in names):
            return True
    return False


# --- the columns that fill them


def column_of(parameter: str, rows: Sequence[Row] = ()) -> str:
    """Return the column for a parameter without a default.

    By default this is the canonical column of its name. A column of the log with the
    name of the parameter and other values takes precedence; a score of the log with
    this name is used if there is no other column.
    """
    canonical = CANONICAL.get(parameter, parameter)
    for column in OF_DATA:
        if canonical == parameter and _is_renamed(parameter, column, rows):
            return column
    logged = LOGGED + parameter
    if any(logged in row for row in rows):
        if not any(parameter in row or canonical in row for row in rows):
            return logged
    for row in rows:
        if parameter in row and (
            canonical not in row or row[canonical] is not row[parameter]
        ):
            return parameter
    return canonical


def _is_renamed(name: str, column: str, rows: Sequence[Row]) -> bool:
    """Return whether column `name` of the log is the canonical column `column`."""
    for row in rows:
        value = row.get(name)
        if value is None or value is not row.get(column):
            return False
    return bool(rows) and name != column


def source_of(parameter: inspect.Parameter, row: Collection[str]) -> str | None:
    """Return the column of a row that fills a parameter, or None for its default.

    A parameter without a default takes the column of its name, else the canonical
    column of its name, else the log's score of its name. A parameter with a default
    takes the column of its name, unless only logs have that column. It takes the
    canonical column only if the default stands for a missing value: ``answer=""``, not
    ``target=100``.
    """
    name, canonical = parameter.name, CANONICAL.get(parameter.name)
    is_canonical = canonical in row
    if parameter.default is parameter.empty:
        sources = (name, canonical, LOGGED + name)
        return next((source for source in sources if source in row), None)
    if name in row and canonical in (None, *OF_DATA):
        return name
    is_empty = parameter.default is None or (
        isinstance(parameter.default, str) and not parameter.default
    )
    return canonical if is_empty and is_canonical and canonical in OF_DATA else None


class AliasedRow(dict[str, Any]):
    """A row whose columns can also be read by their aliases.

    The keys of its `OBJECT_COLUMNS` can be read, too. Only its own names are listed.

    >>> AliasedRow(ground_truth="4")["answer"]
    '4'
    >>> AliasedRow(extra_env_info={"options": "AB"})["options"]
    'AB'
    """

    def __missing__(self, name: str) -> Any:
        for column in OBJECT_COLUMNS:
            info = dict.get(self, column)
            if isinstance(info, Mapping) and name in info:
                return info[name]
        canonical = CANONICAL.get(name, name)
        if canonical == name or not dict.__contains__(self, canonical):
            raise KeyError(name)
        return self[canonical]

    def __contains__(self, name: object) -> bool:
        return self.get(name, self) is not self

    def get(self, name: Any, default: Any = None) -> Any:
        """Return the value of a column or alias, or the default."""
        try:
            return self[name]
        except KeyError:
            return default


class ObjectRow(AliasedRow):
    """A row, or an object in a row, whose fields are attributes as well as keys."""

    def __missing__(self, name: str) -> Any:
        return _as_object(super().__missing__(name))

    def __getitem__(self, name: str) -> Any:
        return _as_object(super().__getitem__(name))

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error


def _as_object(value: Any) -> Any:
    """Convert dicts in a value to `ObjectRow`."""
    if type(value) is dict:
        return ObjectRow(value)
    return list(map(_as_object, value)) if type(value) is list else value


def takes_argument(function: Any, name: str) -> bool:
    """Return whether a function takes an argument, by name or in its ``**kwargs``."""
    return name in named_parameters(function) or reads_keywords(function)


def fill(
    function: Any, row: Mapping[str, T], trainer_arguments: Mapping[str, T]
) -> dict[str, T]:
    """Return keyword arguments for a function that asks for columns by name.

    `row` is one row, or a table of columns. `trainer_arguments` are the arguments that
    the trainer passes itself.
    """
    arguments = {}
    for name in trainer_arguments:
        if takes_argument(function, name):
            arguments[name] = trainer_arguments[name]
    return arguments | filled_columns(function, row, trainer_arguments)


def filled_columns(
    function: Any, row: Mapping[str, T], others: Collection[str]
) -> dict[str, T]:
    """Return the columns that fill a function's parameters, without the `others`.

    Each parameter takes the column of `source_of`. ``**kwargs`` gets all columns, and
    the prompt and the truth also under the names in `FAMILIAR`.
    """
    named = named_parameters(function)
    sources: dict[str, str | None] = {}
    for name, parameter in named.items():
        sources[name] = source_of(parameter, row.keys())
    if reads_keywords(function):
        for name in (*FAMILIAR, *row):
            if name not in named and (name in row or CANONICAL[name] in row):
                sources[name] = name if name in row else CANONICAL[name]
    columns = {}
    for name, source in sources.items():
        if source is not None and name not in others:
            columns[name] = row[source]
    return columns


def required_columns(
    function: Any, trainer_arguments: Collection[str], rows: Sequence[Row]
) -> tuple[str, ...]:
    """Return the columns that fill the parameters without a default.

    `trainer_arguments` are left out. The ground truth also counts if its parameter has
    a default or if the function reads it from ``**kwargs``, as the function cannot
    judge without it.
    """
    columns: dict[str, None] = {}  # in order, each once
    for name in [*required_parameters(function), *_truths_taken(function, rows)]:
        if name not in trainer_arguments:
            columns[column_of(name, rows)] = None
    return tuple(columns)


def _truths_taken(function: Any, rows: Sequence[Row]) -> list[str]:
    """Return names of the truth that a function reads as ``kwargs["answer"]``.

    If the rows have such a column, also by ``kwargs.get("answer")`` or ``answer=None``.
    """
    keys = []
    for name, parameter in named_parameters(function).items():
        is_optional = parameter.default is not parameter.empty
        is_truth = CANONICAL.get(name, name) == "ground_truth"
        if is_optional and is_truth and uses(function, name):
            if any(source_of(parameter, row) for row in rows):
                keys.append(name)
    for key, is_required in _keywords_read(function):
        if key in ALIASES["ground_truth"] and key not in keys:
            if is_required or any(key in row for row in rows):
                keys.append(key)
    return keys


def asks_for(function: Any, name: str) -> bool:
    """Return whether a function has a parameter or reads a key of its ``**kwargs``.

    >>> asks_for(lambda completions, item: 0.0, "item")
    True
    """
    if name in named_parameters(function):
        return True
    return any(key == name for key, _ in _keywords_read(function))


def _keywords_read(function: Any) -> Iterator[tuple[Any, bool]]:
    """Yield each key of ``**kwargs`` in a function's code, and if it is required."""
    kwargs = keywords_name(function)
    if kwargs is not None:
        yield from keys_read(function, kwargs)


def keys_read(function: Any, name: str) -> Iterator[tuple[Any, bool]]:
    """Yield each key of the dict `name` in a function's code, and if it is required.

    Yields nothing without its source.
    """
    try:
        source = inspect.getsource(without_partial(function))
        tree = ast.parse(textwrap.dedent(source))
    except (OSError, TypeError, SyntaxError):
        return
    names = {name}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=other)],
                value=ast.Name(id=source)
                | ast.BoolOp(values=[ast.Name(id=source), *_]),
            ):  # as in info = extra_info or {}
                names |= {other} if source in names else set()
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(
                value=ast.Name(id=dict_name),
                slice=ast.Constant(key),
                ctx=ast.Load(),
            ):
                if dict_name in names:
                    yield key, True
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=dict_name)),
                args=[ast.Constant(key), *_],
            ):
                if dict_name in names:
                    yield key, False


def columns_asked(
    function: Any, trainer_arguments: Collection[str], rows: Sequence[Row]
) -> dict[str, str]:
    """Return parameter -> column, for the parameters that columns of `rows` fill.

    `trainer_arguments` are left out.
    """
    columns = {}
    for name, parameter in named_parameters(function).items():
        is_filled = parameter.default is parameter.empty or any(
            source_of(parameter, row) is not None for row in rows or SAMPLE
        )
        if is_filled and name not in trainer_arguments:
            columns[name] = column_of(name, rows or SAMPLE)
    kwargs = keywords_name(function)
    if kwargs is not None:
        columns[f"**{kwargs}"] = f"all columns, some also as {', '.join(FAMILIAR)}"
    return columns
