"""The shape that all primitives share.

A frozen, picklable callable whose repr reads like the call that made it. A primitive is
its own factory: a dataclass with the name that people write, ``code_block("python")``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal
from functools import lru_cache, partial
from math import inf
from numbers import Real
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints


class Made:
    """Base of dataclasses that print as the call that makes them.

    Positional options print as such where they have no default or another value, a
    `STAR` field as ``*args``, keyword-only and `NAMED` ones as keywords where they
    differ from their default.
    """

    @property
    def factory(self) -> str:
        """What makes it, as people write it."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def __repr__(self) -> str:
        return self.written(_named)

    def written(self, write: Callable[[Any], str]) -> str:
        """The call that makes it, with each argument as `write` writes it."""
        parts: list[str] = []
        options: tuple[Field[Any], ...] = (
            fields(self) if is_dataclass(self) else ()
        )  # a user's may be none
        for option in options:
            value: Any = getattr(self, option.name)
            if option.metadata.get("printed") == "star":
                parts.extend(write(item) for item in value)
            elif option.default is MISSING or value != option.default:
                keyword = option.kw_only or option.metadata.get("printed") == "named"
                parts.append(
                    f"{option.name}={write(value)}" if keyword else write(value)
                )
        return f"{self.factory}({', '.join(parts)})"


class Primitive(Made):
    """A primitive, whose options are checked against their annotations: ValueError in one sentence.

    A Literal is one of its values, an int a whole number from 1, a float a finite
    number from 0; other rules are functions of the option's name and value in
    `Annotated`, which give back the value to keep.
    """

    def __post_init__(self) -> None:
        for option, hint in _hints(type(self)):  # type: ignore[arg-type]
            object.__setattr__(
                self, option, _checked(option, getattr(self, option), hint)
            )

    def _fill(self, **options: Any) -> None:
        """The rest of an ``__init__`` that takes a `STAR` field."""
        self.__dict__.update(options)
        self.__post_init__()


class OfText(Primitive):
    """Base of the measures of a text; what is no text is not judged."""

    def __call__(self, completion: str | None) -> float | None:
        return self.score(completion) if isinstance(completion, str) else None

    def score(self, completion: str) -> float:
        """The score of a text."""
        raise NotImplementedError


@lru_cache(maxsize=128)
def _hints(made: type[Any]) -> list[tuple[str, Any]]:
    hints = get_type_hints(made, include_extras=True)
    return [(option.name, hints[option.name]) for option in fields(made)]


def _checked(option: str, value: Any, hint: Any) -> Any:
    """The value as it is kept. ValueError: it is none that the hint allows."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        for rule in parts[1:]:
            value = rule(option, value)
    elif origin is Literal:
        one_of(option, value, parts)
    elif NoneType in parts:
        kind, *others = (part for part in parts if part is not NoneType)
        value = value if value is None or others else _checked(option, value, kind)
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


STAR = {"printed": "star"}
"""Metadata of a field that is given, and prints, as ``*args``.

Its ``__init__`` takes the field by name, too, as `dataclasses.replace` gives it.
"""

NAMED = {"printed": "named"}
"""Metadata of a positional field that prints as a keyword."""


def _named(value: Any) -> str:
    """How an argument prints: a function by its name, nothing by where it lies in memory."""
    text = str(value.__qualname__) if hasattr(value, "__qualname__") else repr(value)
    return text if " at 0x" not in text else f"{type(value).__qualname__}()"


def one_of(option: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Raise a ValueError with one sentence unless `value` is one of `allowed`."""
    if value not in allowed:
        raise ValueError(
            f"{option}={value!r} is not known; use one of {', '.join(map(repr, allowed))}"
        )


def true_or_false(**options: Any) -> None:
    """Raise a ValueError with one sentence unless each of these options is a bool."""
    for option, value in options.items():
        if not isinstance(value, bool):
            raise ValueError(f"{option}={value!r} does not fit; give True or False")


def whole_number(option: str, value: Any, least: int = 1) -> Any:
    """The value. ValueError with one sentence: it is no whole number from `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(
            f"{option}={value!r} does not fit; give a whole number from {least}"
        )
    return value


def is_amount(value: Any) -> bool:
    """Whether it is a number from 0 on that is not infinite, and no bool."""
    return (
        isinstance(value, Real | Decimal)
        and not isinstance(value, bool)
        and 0 <= float(value) < inf
    )


def finite_number(option: str, value: Any, above: bool = False) -> Any:
    """The value. ValueError with one sentence: it is no finite number from 0, or not `above` it."""
    if not (isinstance(value, Real) and is_amount(value)) or (above and value == 0):
        raise ValueError(
            f"{option}={value!r} does not fit; give a number {'above' if above else 'from'} 0"
        )
    return value


def different_texts(option: str, value: Any) -> Any:
    """The value. ValueError with one sentence: it holds what is no text, an empty one, or one twice."""
    texts = value if isinstance(value, tuple) else (None,)
    if not all(isinstance(text, str) and text.strip() for text in texts) or len(
        {*texts}
    ) < len(texts):
        raise ValueError(
            f"{option}={value!r} does not fit; give different texts that are not empty"
        )
    return value


Count = Annotated[int, partial(whole_number, least=0)]
"""A whole number from 0."""

Positive = Annotated[float, partial(finite_number, above=True)]
"""A finite number above 0."""

Texts = Annotated[tuple[str, ...], different_texts]
"""Different texts with something in them."""
