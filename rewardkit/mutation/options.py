"""Changes of what a primitive was made with: the other match, a looser limit, an alternative left out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

from rewardkit.primitives import extract, verify
from rewardkit.primitives.extract import Extractor
from rewardkit.primitives.primitive import Primitive
from rewardkit.rewards.expression import expression
from rewardkit.rewards.fingerprint import describe, of_rewardkit

FACTORS = (0.7, 1.3)
"""By which a limit is changed. Our choice: less is a matter of taste, more is noticed by any case."""

SMALL = 10
"""Counts below are changed by one. Our choice."""

TOLERANCES = {"relative": 0.01, "absolute": 1.0}
"""That an exact comparison is given: a hundredth, and one. Our choice: what is off by one is then right."""

NEVER = ("timeout", "tokenizer")
"""Options that decide how long a call may take, or what a word is, and not what is asked for."""

EXCHANGED: Mapping[Any, tuple[Any, str]] = {
    verify.numbers_equal: (verify.matches, "compares texts, not numbers"),
    verify.math_equal: (verify.numbers_equal, "compares plain numbers only"),
    verify.matches: (verify.contains, "is met by a text that contains the truth"),
    verify.contains: (verify.matches, "asks for the truth alone"),
    verify.choice_equal: (verify.matches, "compares texts, not letters"),
    verify.f1: (verify.matches, "asks for the whole truth"),
    verify.lists_equal: (verify.sets_equal, "passes over the order"),
    verify.sets_equal: (verify.lists_equal, "asks for the order, too"),
}
"""The verification that stands nearest, and what it would do."""

MATCHES = {"last": "first", "first": "last"}


@dataclass(frozen=True)
class Change:
    """A function with one thing changed: what it `says` goes behind the name of what has the function."""

    kind: str
    function: Any
    says: str
    before: str
    after: str


_Changes = Iterator[tuple[str, Any, str]]
"""Kind, changed callable or value, what it does."""


def option_changes(function: Any, filled: Collection[str] = ()) -> Iterator[Change]:
    """A callable with one option changed, each in turn; none for what has no options that can be read.

    `filled` are the parameters that columns fill, which are no options. Of what asks a model there are none,
    as each would be paid for.

    >>> from rewardkit.primitives.extract import tag
    >>> next(option_changes(tag("answer"))).after
    "rk.extract.tag('answer', which='first')"
    """
    if getattr(function, "asks_model", False):
        return
    changes = (
        _of_primitive(function)
        if isinstance(function, Primitive)
        else _of_call(function, filled)
    )
    before = written(function)
    for kind, changed, says in changes:
        if (after := written(changed)) != before:
            yield Change(kind, changed, says, before, after)


def written(function: Any) -> str:
    """A callable as a person writes it: ``rk.extract.tag('answer')``; a user's function by its name."""
    return expression(
        function, lambda value, _: getattr(value, "__qualname__", "") or describe(value)
    )


def _of_primitive(made: Any) -> _Changes:
    """Changes of a primitive's own options, and of the primitives in it."""
    for option in fields(made):
        value = getattr(made, option.name)
        if isinstance(value, tuple):
            changes = _of_parts(value)
        elif isinstance(value, Extractor):
            changes = _of_primitive(value)
        else:
            changes = _of_value(option.name, value)
        for kind, other, says in changes:
            if isinstance(made, extract.every) and kind == "match":
                continue  # where all matches count, the first and the last are one
            with suppress(ValueError, TypeError):  # it contradicts the other options
                yield kind, replace(made, **{option.name: other}), says
    if isinstance(made, extract.within):
        inner = extract.within(*made.inner) if len(made.inner) > 1 else made.inner[0]
        yield (
            "alternative",
            inner,
            f"looks in the whole text, not only in {written(made.outer)}",
        )
        yield "alternative", made.outer, f"takes all of {written(made.outer)}"


def _of_parts(parts: tuple[Any, ...]) -> _Changes:
    """Names, words or extractors: one fewer, or one of them changed."""
    for at, part in enumerate(parts):
        before, after = parts[:at], parts[at + 1 :]
        if len(parts) > 1:
            yield "alternative", before + after, f"leaves out {written(part)}"
        if isinstance(part, Extractor):
            for kind, changed, says in _of_primitive(part):
                yield kind, (*before, changed, *after), f"{says}, in {written(part)}"


def _of_call(function: Any, filled: Collection[str]) -> _Changes:
    """Changes of a function's options, those that are bound and those left at their default."""
    whole = (
        function
        if isinstance(function, functools.partial)
        else functools.partial(function)
    )
    inner, arguments, bound = whole.func, whole.args, whole.keywords
    if not inspect.isfunction(inner):
        return
    own = of_rewardkit(inner) and inner.__module__.startswith("rewardkit.primitives.")
    for name, parameter in inspect.signature(inner).parameters.items():
        value = bound.get(name, parameter.default)
        if (
            name in filled
            or value is parameter.empty
            or (isinstance(value, str) and not own)
        ):
            continue
        for kind, other, says in _of_value(name, value, exact=own):
            keywords = {key: item for key, item in bound.items() if key != name}
            keywords |= {name: other} if other != parameter.default else {}
            changed = (
                functools.partial(inner, *arguments, **keywords)
                if keywords or arguments
                else inner
            )
            with suppress(ValueError, TypeError):
                if own:
                    changed("1", "1")  # do the options go together?
                yield kind, changed, says
    if inner in EXCHANGED:
        other, says = EXCHANGED[inner]
        yield (
            "comparison",
            functools.partial(other, *arguments) if arguments else other,
            says,
        )


def _of_value(name: str, value: Any, *, exact: bool = False) -> _Changes:
    """What may stand in place of the value of an option; an `exact` comparison is given a tolerance."""
    if name in NEVER:
        return
    if name == "which" and value in MATCHES:
        yield (
            "match",
            MATCHES[value],
            f"takes the {MATCHES[value]} match, not the {value}",
        )
    elif isinstance(value, bool):
        yield "option", not value, f"has {name}={not value}"
    elif isinstance(value, int | float):
        if value == 0 and exact and name in TOLERANCES:
            yield (
                "threshold",
                TOLERANCES[name],
                f"has a tolerance, {name}={TOLERANCES[name]:g}",
            )
        for other in scaled(value):
            yield "threshold", other, f"has {name}={other:g}, not {value:g}"


def scaled(value: float) -> tuple[float, ...]:
    """Values a little below and above a limit; none for 0, which stands for a limit that is not there.

    >>> scaled(4), scaled(14), scaled(0.5), scaled(0)
    ((3, 5), (10, 18), (0.35, 0.65), ())
    """
    if isinstance(value, int) and 0 < abs(value) < SMALL:
        return (value - 1, value + 1)
    both = (value * by for by in FACTORS) if value else ()
    return tuple(
        round(other) if isinstance(value, int) else float(f"{other:.6g}")
        for other in both
    )
