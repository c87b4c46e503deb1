"""How a function is called: which columns its parameters take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any

from rewardkit.errors import RewardError, did_you_mean
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.primitive import Made
from rewardkit.rewards.fingerprint import Recorded


def parameters(function: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters of a callable by name; {} where they cannot be read."""
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


@dataclass(frozen=True)
class Call:
    """A function and the column each of its filled parameters takes.

    Filled are the parameters without a default and those that `columns` names;
    ``*args`` and ``**kwargs`` get nothing.
    """

    function: Callable[..., Any]
    positional: tuple[str, ...]  # columns
    keywords: Mapping[str, str]  # parameter -> column
    owner: str

    @classmethod
    def read(
        cls,
        function: Callable[..., Any],
        owner: str,
        columns: Mapping[str, str] | None = None,
    ) -> Call:
        """Read how `function`, named `owner` in errors, is called.

        RewardError: not callable, no signature, unknown parameter.
        """
        if isinstance(function, Recorded):
            return cls(function, function.asked_for, {}, owner)
        if not callable(function):
            raise RewardError(f"{owner} needs a function, not {function!r}")
        if isinstance(function, type) and issubclass(function, Made):
            name = function.__name__
            raise RewardError(
                f"{owner}: {name} makes the function that is needed; call it: "
                f"{name}(...)"
            )
        try:
            parameters = inspect.signature(function).parameters.values()
        except (ValueError, TypeError):
            raise RewardError(
                f"{owner}: the parameters of {function!r} cannot be read; wrap it in "
                "a function that names "
                "them"
            ) from None
        columns = dict(columns or {})
        named = [
            p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        names = [p.name for p in named]
        for name in columns:
            if name not in names:
                raise RewardError(
                    f"{owner}: columns= names the parameter {name!r}; the "
                    f"function has {names}{did_you_mean(name, names)}"
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
                    f"{owner}: the positional parameter {p.name!r} comes after one "
                    "that is not filled; "
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
    def reads(self) -> tuple[str, ...]:
        """Those of `asks_for` that the function reads: a trainer's may ignore some."""
        reads = getattr(self.function, "reads", None)
        if reads is None:
            return self.asks_for
        return tuple(filter(reads, self.asks_for))

    @property
    def is_async(self) -> bool:
        """Return whether what a function returns has to be awaited."""
        return is_async(self.function)


def is_async(function: Any) -> bool:
    """Return whether what a function returns has to be awaited.

    An object that calls another may say so itself, by an attribute `is_async`.
    """
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "is_async", False) is True or any(
        map(inspect.iscoroutinefunction, (function, type(function).__call__))
    )


def check_name(name: Any, owner: str) -> None:
    """Raise a RewardError unless `name` can be a parameter name."""
    if not isinstance(name, str) or not name.isidentifier() or iskeyword(name):
        raise RewardError(
            f"{owner} {name!r}: a name must be a Python identifier (letters, digits, "
            "_; no keyword), so that "
            "others can ask for it"
        )


def read_gate(gate: Gate | None, owner: str) -> Call | None:
    """Return how a gate is called, None where there is none."""
    if gate is None:
        return None
    owner = f"the gate of {owner}"
    if callable(gate.on):
        return Call.read(gate.on, owner)
    return Call(gate.admits, (gate.on,), {}, owner)
