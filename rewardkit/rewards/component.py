"""Component: one scored aspect of a completion, a function that asks for columns by parameter name."""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from keyword import iskeyword
from pathlib import Path
from typing import Any, Literal

from rewardkit.errors import RewardError, did_you_mean
from rewardkit.primitives.gates import Gate

__all__ = ["Call", "Component"]

KINDS = {False: "row", True: "batch", "group": "batch by group"}

SOURCE_HASH = "__rewardkit_source_hash__"
"""Under this name a module that `load_reward` ran holds the hash of the text it was made from."""


@dataclass(frozen=True)
class Call:
    """A function and the column each of its filled parameters takes, read from its signature.

    Filled are the parameters without a default and those that `columns` names; ``*args`` and ``**kwargs`` get
    nothing.
    """

    function: Callable[..., Any]
    positional: tuple[str, ...]  # columns
    keywords: Mapping[str, str]  # parameter -> column
    owner: str

    @classmethod
    def read(cls, function: Callable[..., Any], owner: str, columns: Mapping[str, str] | None = None) -> Call:
        """The call of `function`, named `owner` in errors.

        RewardError: not callable, no signature, unknown parameter.
        """
        if not callable(function):
            raise RewardError(f"{owner} needs a function, not {function!r}")
        try:
            parameters = inspect.signature(function).parameters.values()
        except (ValueError, TypeError):
            raise RewardError(
                f"{owner}: the parameters of {function!r} cannot be read; wrap it in a function that names "
                "them"
            ) from None
        columns = dict(columns or {})
        named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        for parameter in columns:
            if parameter not in [p.name for p in named]:
                raise RewardError(
                    f"{owner}: columns= names the parameter {parameter!r}; the function has "
                    f"{[p.name for p in named]}" + did_you_mean(parameter, [p.name for p in named])
                )
        positional: list[str] = []
        keywords: dict[str, str] = {}
        for place, p in enumerate(named):
            if p.default is not p.empty and p.name not in columns:
                continue
            column = columns.get(p.name, p.name)
            if p.kind is not p.KEYWORD_ONLY and place == len(positional):
                positional.append(column)
            elif p.kind is p.POSITIONAL_ONLY:
                raise RewardError(
                    f"{owner}: the positional parameter {p.name!r} comes after one that is not filled; "
                    "name that in columns="
                )
            else:
                keywords[p.name] = column
        return cls(function, tuple(positional), keywords, owner)

    @property
    def asks_for(self) -> tuple[str, ...]:
        """Names of the columns it needs."""
        return (*self.positional, *self.keywords.values())

    @property
    def is_async(self) -> bool:
        """Whether it has to be awaited: an `async def`, or an object whose `__call__` is one."""
        return is_async(self.function)


def is_async(function: Any) -> bool:
    """Whether what a function returns has to be awaited.

    An object that calls another may say so itself, by an attribute `is_async`.
    """
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "is_async", False) is True or any(
        map(inspect.iscoroutinefunction, (function, type(function).__call__))
    )


@dataclass(frozen=True, eq=False)
class Component:
    """One scored aspect of a completion.

    `function` returns a finite number in `range` (default (0, 1); ``None``: unbounded), a bool, or ``None``
    for "not judged". Its parameters name the columns it needs: rollout columns, fields, earlier components'
    scores; `columns` maps a parameter to a column of another name. `weight` is its share of the reward,
    negative for a penalty, 0 to record only; `why` says what it is paid for; behind a closed `gate` it is not
    run. ``batch=True``: columns in, list out; ``batch="group"``: the same, a call a group where there are
    groups, and row by row where that call fails; ``group=True``: lists of the siblings of one group whose
    gate is open, and without groups not judged. An `async def` is run on an event loop. `primary` marks the
    task itself (by default the component of the largest weight); `expects_partial` says that a wrong answer
    may earn a part of it, which probes then do not hold against it. RewardError: inconsistent options.

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
        owner = f"component {self.name!r}"
        check_name(self.name, "component")
        if (
            isinstance(self.weight, bool)
            or not isinstance(self.weight, int | float)
            or not math.isfinite(self.weight)
        ):
            raise RewardError(f"{owner}: weight={self.weight!r} is not a finite number")
        if self.gate is not None and not isinstance(self.gate, Gate):
            raise RewardError(f"{owner}: gate={self.gate!r} is not a gate; make one with rk.gate(...)")
        if self.columns is not None and not isinstance(self.columns, Mapping):
            raise RewardError(f"{owner}: columns={self.columns!r} is not a dict of parameter: column")
        if self.range is not None and not _is_range(self.range):
            raise RewardError(
                f"{owner}: range={self.range!r} is not (low, high) with low below high; use None for "
                "unbounded"
            )
        if self.batch not in (True, False, "group"):
            raise RewardError(f"{owner}: batch={self.batch!r} is not known; use True, False or 'group'")
        if self.batch and self.group:
            raise RewardError(f"{owner}: batch and group exclude each other; group=True already gets lists")
        self.call  # noqa: B018  read now, so that a bad signature is an error where the component is written
        self.gate_call  # noqa: B018

    @functools.cached_property
    def call(self) -> Call:
        """How its function is called."""
        return Call.read(self.function, f"component {self.name!r}", self.columns)

    @functools.cached_property
    def gate_call(self) -> Call | None:
        """How its gate's predicate is called; ``None`` where the gate is on a column or there is none."""
        return read_gate(self.gate, f"component {self.name!r}")

    @property
    def asks_for(self) -> tuple[str, ...]:
        """Names of the columns its function needs."""
        return self.call.asks_for

    @property
    def asked_for(self) -> tuple[str, ...]:
        """The same, of a component from a run record as well: what it asked for there."""
        return self.function.asked_for if isinstance(self.function, Recorded) else self.asks_for

    def scoring_record(self) -> dict[str, Any]:
        """What decides its scores, as plain data."""
        return {
            "name": self.name,
            "function": describe(self.function),
            "asks_for": list(self.asks_for),
            "gate": describe(self.gate) if self.gate else None,
            "columns": dict(self.columns or {}),
            "range": [low if math.isfinite(low) else str(low) for low in self.range] if self.range else None,
            "kind": "group" if self.group else KINDS[self.batch],
        }

    def paying_record(self) -> dict[str, Any]:
        """What it is paid and why, as plain data."""
        said = {"expects_partial": True} if self.expects_partial else {}
        return {"weight": self.weight, "why": self.why, "primary": self.primary, **said}


HOLDERS = ("rewardkit.primitives.", "rewardkit.targets.", "rewardkit.probes.placing")
"""Where rewardkit's callables that may hold a user's function are defined."""


def _is_range(value: Any) -> bool:
    """Whether a value is (low, high), two numbers that rise."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        return False
    return all(isinstance(end, int | float) for end in value) and value[0] < value[1]


def check_name(name: Any, what: str) -> None:
    """RewardError unless `name` can be a parameter name, which is how others ask for it."""
    if not isinstance(name, str) or not name.isidentifier() or iskeyword(name):
        raise RewardError(
            f"{what} {name!r}: a name must be a Python identifier (letters, digits, _; no keyword), so that "
            "others can ask for it"
        )


def read_gate(gate: Gate | None, owner: str) -> Call | None:
    """The call of a gate's predicate; ``None`` for a gate on a column, or none."""
    return Call.read(gate.on, f"the gate of {owner}") if gate is not None and callable(gate.on) else None


def gate_asks_for(gate: Gate | None, call: Call | None) -> tuple[str, ...]:
    """Names of the columns a gate needs."""
    if gate is None:
        return ()
    return call.asks_for if call is not None else (str(gate.on),)


def describe(function: Any) -> str:
    """How a function is written in records and fingerprints.

    The same on every machine, no memory addresses.
    """
    if isinstance(function, functools.partial):
        bound = [describe(argument) if callable(argument) else repr(argument) for argument in function.args]
        for name, value in function.keywords.items():
            bound.append(f"{name}={describe(value) if callable(value) else repr(value)}")
        return f"partial({', '.join([describe(function.func), *bound])})"
    if isinstance(function, Gate) and callable(function.on):
        return function.on.text if isinstance(function.on, Recorded) else f"gate({describe(function.on)})"
    if hasattr(function, "__qualname__"):
        return f"{_home(function)}{function.__qualname__}"
    text = repr(function)
    return text if " at 0x" not in text else f"{type(function).__qualname__}()"


def _home(function: Any) -> str:
    """What stands before the name of a function of rewardkit: ``rk.verify.`` for a primitive's."""
    if not of_rewardkit(function):
        return ""
    _, place, room, *_ = f"{function.__module__}..".split(".")
    return f"rk.{room}." if place == "primitives" else f"{function.__module__}."


@dataclass(frozen=True, repr=False)
class Recorded:
    """Stands for a function that is only known from a run record: how it was written, what it asked for."""

    text: str
    asked_for: tuple[str, ...] = ()

    def __call__(self) -> Any:
        raise RewardError(f"{self.text} was read from a run record and cannot be run; load the reward itself")

    def __repr__(self) -> str:
        return self.text


def sources(functions: Sequence[Any]) -> dict[str, str]:
    """File name -> hash, for the source files that user functions come from.

    A function without source is "unknown".
    """
    found: dict[str, dict[str, None]] = {}  # hashes in order, each once
    for function in functions:
        for part in user_code(function):
            name, hashed = _source(part if hasattr(part, "__qualname__") else type(part))
            found.setdefault(name, {})[hashed + _captured(part)] = None
    return {name: " ".join(hashes) for name, hashes in sorted(found.items())}


def _source(part: Any) -> tuple[str, str]:
    """Name and hash of the file that a function or class comes from, as it was when it was loaded."""
    try:
        file = inspect.getsourcefile(part)
        if file in ("<string>", "<stdin>"):  # Python 3.13 would give the text of whatever ran last
            raise OSError
        loaded = getattr(part, "__globals__", {}).get(SOURCE_HASH)
        if file and loaded:
            return Path(file).name, loaded
        whole = file and Path(file).is_file()
        text = Path(str(file)).read_bytes() if whole else inspect.getsource(part).encode("utf-8", "replace")
        return Path(file).name if file else describe(part), source_hash(text)
    except (OSError, TypeError):
        return describe(part), "unknown"


def _captured(part: Any) -> str:
    """What a function or object has besides source, hashed: a lambda's place, closure, defaults, state."""
    code = getattr(part, "__code__", None)
    if code is None:
        held = vars(part) if hasattr(part, "__dict__") and not isinstance(part, type) else {}
    else:
        cells = [_cell(cell) for cell in part.__closure__ or ()]
        place = _place(code) if "<lambda>" in part.__qualname__ else None
        held = [item for item in (cells, part.__defaults__, part.__kwdefaults__, place) if item]
    text = repr(held)
    return "" if not held else "/unknown" if " at 0x" in text else f"/{source_hash(text.encode())}"


def _place(code: Any) -> tuple[int, int]:
    """Line and column of what a lambda gives: what tells two in one line apart."""
    return code.co_firstlineno, min((column for _, _, column, _ in code.co_positions() if column), default=0)


def _cell(cell: Any) -> Any:
    try:
        value = cell.cell_contents
    except ValueError:  # not filled yet
        return None
    return describe(value) if callable(value) else value


def source_hash(text: bytes) -> str:
    """Hash of the text of a source file."""
    return hashlib.sha256(text).hexdigest()[:16]


def of_rewardkit(code: Any) -> bool:
    """Whether a function or class is the one of its name in rewardkit, not a wrapper with that name."""
    module = getattr(code, "__module__", None) or ""
    if not module.startswith("rewardkit."):
        return False
    try:
        return operator.attrgetter(code.__qualname__)(sys.modules[module]) is code
    except (AttributeError, KeyError):
        return False


def user_code(function: Any) -> list[Any]:
    """The functions or classes behind a callable that rewardkit's own code does not account for."""
    if isinstance(function, functools.partial):
        return _code_in((function.func, *function.args, *function.keywords.values()))
    if isinstance(function, Gate):
        return _code_in((function.on,))
    code = function if hasattr(function, "__qualname__") else type(function)
    if not of_rewardkit(code) or not code.__module__.startswith(HOLDERS):
        return [function]
    values = [getattr(function, item.name) for item in fields(function)] if is_dataclass(function) else []
    return _code_in(
        tuple(inner for value in values for inner in (value if isinstance(value, tuple) else (value,)))
    )


def _code_in(values: tuple[Any, ...]) -> list[Any]:
    """The user's code among what a callable holds: functions, and tokenizers, which need not be callable."""
    return [
        part
        for value in values
        if callable(value) or (hasattr(value, "encode") and not isinstance(value, str))
        for part in user_code(value)
    ]
