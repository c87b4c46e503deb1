"""The base classes of primitives, checks of their options, and notes for a trace.

A primitive is a frozen, picklable callable whose repr reads like the call that made it.
It is a dataclass named like a function, as users write ``code_block("python")``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from functools import lru_cache, partial
from math import inf
from numbers import Real
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints


class Made:
    """Base of dataclasses that print as the call that makes them.

    Options equal to their defaults are left out. Keyword-only and `PRINTED_NAMED`
    fields print as keywords, a `STAR` field as ``*args``, others by position.
    """

    @property
    def factory(self) -> str:
        """Return the name in the call that makes the object, in snake case."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def __repr__(self) -> str:
        return self.format_call(_format_argument)

    def format_call(self, format_argument: Callable[[Any], str]) -> str:
        """Format the call that makes the object, each argument by `format_argument`."""
        arguments: list[str] = []
        if not is_dataclass(self):  # a user's subclass need not be one
            return f"{self.factory}()"
        for option in fields(self):
            value: Any = getattr(self, option.name)
            printed = option.metadata.get("printed")
            if printed == "star":
                arguments.extend(map(format_argument, value))
                continue
            if option.default is not MISSING and value == option.default:
                continue
            text = format_argument(value)
            if option.kw_only or printed == "named":
                text = f"{option.name}={text}"
            arguments.append(text)
        return f"{self.factory}({', '.join(arguments)})"


class Primitive(Made):
    """Base of primitives, which checks options against their annotations.

    A Literal must be one of its values, an int a whole number of at least 1, a float a
    finite number of at least 0. Other rules are functions in `Annotated`; they take the
    name and the value of the option and return the value to store.
    """

    def __post_init__(self) -> None:
        for option, hint in _hints(type(self)):  # type: ignore[arg-type]
            value = check_option(option, getattr(self, option), hint)
            object.__setattr__(self, option, value)

    def _fill(self, **options: Any) -> None:
        """Set and check the fields of an ``__init__`` that takes a `STAR` field."""
        self.__dict__.update(options)
        self.__post_init__()


class OfText(Primitive):
    """Base of measures of a text; any other value is not judged."""

    def __call__(self, completion: str | None) -> float | None:
        if not isinstance(completion, str):
            return None
        return self.score(completion)

    def score(self, completion: str) -> float:
        """Return the score of a text."""
        raise NotImplementedError


@lru_cache(maxsize=128)
def _hints(primitive: type[Any]) -> list[tuple[str, Any]]:
    hints = get_type_hints(primitive, include_extras=True)
    return [(option.name, hints[option.name]) for option in fields(primitive)]


def check_option(option: str, value: Any, hint: Any) -> Any:
    """Return the value to store, or raise a ValueError if the hint forbids it."""
    origin = get_origin(hint)
    parts = get_args(hint)
    if origin is Annotated:
        for rule in parts[1:]:
            value = rule(option, value)
    elif origin is Literal:
        one_of(option, value, parts)
    elif NoneType in parts:
        kind, *others = (part for part in parts if part is not NoneType)
        if value is not None and not others:
            value = check_option(option, value, kind)
    elif hint is bool:
        true_or_false(**{option: value})
    elif hint is int:
        whole_number(option, value)
    elif hint is float:
        finite_number(option, value)
    elif hint is str and not (isinstance(value, str) and value.strip()):
        raise ValueError(
            f"{option}={value!r} does not fit; give a text that is not empty"
        )
    elif origin is Callable and not callable(value):
        raise ValueError(f"{option}={value!r} does not fit; give a function")
    return value


def keyword_signature(names: Iterable[str]) -> inspect.Signature:
    """Return the signature of a function with these keyword-only parameters."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature([inspect.Parameter(name, keyword) for name in names])


STAR = {"printed": "star"}
"""Metadata of a field that is passed and printed as ``*args``.

Its ``__init__`` also takes the field by name, for `dataclasses.replace`.
"""

PRINTED_NAMED = {"printed": "named"}
"""Metadata of a positional field that prints as a keyword."""


def _format_argument(value: Any) -> str:
    """Format a value by its repr, a function by its name, and never by an address."""
    if hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    text = repr(value)
    if " at 0x" in text:
        return f"{type(value).__qualname__}()"
    return text


def one_of(option: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Raise a ValueError unless `value` is one of `allowed`."""
    if value not in allowed:
        names = ", ".join(map(repr, allowed))
        raise ValueError(f"{option}={value!r} is not known; use one of {names}")


def true_or_false(**options: Any) -> None:
    """Raise a ValueError unless each of these options is a bool."""
    for option, value in options.items():
        if not isinstance(value, bool):
            raise ValueError(f"{option}={value!r} does not fit; give True or False")


def whole_number(option: str, value: Any, least: int = 1) -> Any:
    """Return `value`, or raise a ValueError unless it is an int of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(
            f"{option}={value!r} does not fit; give a whole number from {least}"
        )
    return value


def share_by_mode(share: float, mode: str) -> float:
    """Return a share unchanged, or 1.0 or 0.0 for mode "all" or "any"."""
    if mode == "all":
        return float(share == 1.0)
    if mode == "any":
        return float(share > 0.0)
    return share


def is_amount(value: Any) -> bool:
    """Return whether `value` is a finite number of at least 0, but not a bool."""
    return (
        isinstance(value, Real | Decimal)
        and not isinstance(value, bool)
        and 0 <= float(value) < inf
    )


def finite_number(option: str, value: Any, above: bool = False) -> Any:
    """Return `value`, or raise a ValueError unless it is finite and at least 0.

    With `above` it must be above 0.
    """
    is_number = isinstance(value, Real) and is_amount(value)
    if above and (not is_number or value == 0):
        raise ValueError(f"{option}={value!r} does not fit; give a number above 0")
    if not is_number:
        raise ValueError(f"{option}={value!r} does not fit; give a number from 0")
    return value


def different_texts(option: str, value: Any) -> Any:
    """Return `value`, or raise a ValueError unless it is a tuple of different texts."""
    texts = value if isinstance(value, tuple) else (None,)
    are_texts = all(isinstance(text, str) and text.strip() for text in texts)
    if not are_texts or len(set(texts)) < len(texts):
        raise ValueError(
            f"{option}={value!r} does not fit; give different texts that are not empty"
        )
    return value


ShareMode = Literal["share", "all", "any"]
"""How a measure scores several names: by their share, or 1.0 for all or for any."""

Count = Annotated[int, partial(whole_number, least=0)]
"""A whole number of at least 0."""

Positive = Annotated[float, partial(finite_number, above=True)]
"""A finite number above 0."""

Texts = Annotated[tuple[str, ...], different_texts]
"""Different texts, none of them blank."""


VERDICT = "verdict"
"""Name of the note with the verdict of a model that a component asked.

Its value is a dict with at least the `reason`, and the `cost` if calls cost money. It
is recorded even without a listener."""

_listener: ContextVar[dict[str, Any] | None] = ContextVar(
    "rewardkit_notes", default=None
)


def note(name: str, value: Any) -> None:
    """Add a value to the trace of the row being scored, if there is a listener.

    >>> with listen() as notes:
    ...     note("extra_words", 3)
    >>> notes
    {'extra_words': 3}
    """
    notes = _listener.get()
    if notes is not None:
        notes[name] = value


@contextmanager
def listen(on: bool = True) -> Iterator[dict[str, Any]]:
    """Yield the dict that `note` fills within the block; an inner block hides an outer.

    With ``on=False`` the dict stays empty.
    """
    notes: dict[str, Any] = {}
    token = _listener.set(notes if on else None)
    try:
        yield notes
    finally:
        _listener.reset(token)
